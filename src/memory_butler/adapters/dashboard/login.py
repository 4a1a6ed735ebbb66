"""Logging in and out: plain pages without script, so that nothing needs to be loaded before somebody is known."""

from html import escape
from importlib.resources import files
from urllib.parse import parse_qs, urlencode

from starlette.datastructures import URL
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route, Router

from memory_butler.adapters.dashboard import places
from memory_butler.adapters.dashboard.desk import Desk
from memory_butler.errors import MemoryButlerError

COOKIE, TENANT_COOKIE = "memory_butler_session", "memory_butler_tenant"
LONGEST_NEXT = 2000
FILES = {"look.css": "text/css", "icon.svg": "image/svg+xml"}
NEVER_KEPT = {"cache-control": "no-store"}
KEPT = {"cache-control": "no-cache"}


def build_plain(desk: Desk) -> Router:
    """What is served without NiceGUI."""
    door = Door(desk)
    return Router(
        [
            Route(places.LOGIN, door.ask, methods=["GET"]),
            Route(places.LOGIN, door.enter, methods=["POST"]),
            Route(places.LOGOUT, door.leave, methods=["POST"]),
            Route(places.TENANT, door.visit, methods=["POST"]),
            Route(places.STATIC + "{name}", _file, methods=["GET"]),
        ]
    )


def login_address(wanted: URL, *, expired: bool) -> str:
    """Where to log in, and to come back from."""
    address = wanted.path + (f"?{wanted.query}" if wanted.query else "")
    said = {"next": address} if address != "/" else {}
    query = urlencode({**said, **({"expired": "1"} if expired else {})})
    return places.LOGIN + (f"?{query}" if query else "")


class Door:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def ask(self, request: Request) -> Response:
        if self._desk.is_open:
            return RedirectResponse("/", 303)
        said = "Your login has ended. Log in again." if request.query_params.get("expired") else None
        return _page(_own_path(request.query_params.get("next")), said)

    async def enter(self, request: Request) -> Response:
        form = await _form(request)
        back = _own_path(form.get("next"))
        try:
            key = await self._desk.enter(form.get("token", "").strip())
        except MemoryButlerError as problem:
            return _page(back, f"{problem.message} {problem.recovery or ''}", status=403)
        answer = RedirectResponse(back, 303, headers=NEVER_KEPT)
        self._set(answer, request, COOKIE, key)
        answer.delete_cookie(TENANT_COOKIE, path="/")
        return answer

    async def leave(self, request: Request) -> Response:
        await self._desk.leave(request.cookies.get(COOKIE))
        answer = RedirectResponse(places.LOGIN, 303, headers=NEVER_KEPT)
        for name in (COOKIE, TENANT_COOKIE):
            answer.delete_cookie(name, path="/")
        return answer

    async def visit(self, request: Request) -> Response:
        """Look at another tenant. Whether that is allowed is asked with every page, and every look is on record."""
        form = await _form(request)
        answer = RedirectResponse(_own_path(form.get("next")), 303, headers=NEVER_KEPT)
        tenant = form.get("tenant", "").strip()
        if tenant:
            self._set(answer, request, TENANT_COOKIE, tenant[:64])
        else:
            answer.delete_cookie(TENANT_COOKIE, path="/")
        return answer

    def _set(self, answer: Response, request: Request, name: str, value: str) -> None:
        public = self._desk.settings.dashboard.public_url or ""
        secure = request.url.scheme == "https" or public.startswith("https:")
        seconds = int(self._desk.settings.dashboard.session_hours * 3600)
        # Lax, because whoever follows a link in a mail should arrive logged in; nothing is changed by following one.
        answer.set_cookie(name, value, max_age=seconds, path="/", httponly=True, samesite="lax", secure=secure)


async def _form(request: Request) -> dict[str, str]:
    text = (await request.body()).decode("utf-8", "replace")
    return {name: values[0] for name, values in parse_qs(text, keep_blank_values=True).items()}


def _own_path(wanted: str | None) -> str:
    """An address of ours to go on to; anything else leads to the first page."""
    is_path = bool(wanted) and wanted.startswith("/") and not wanted.startswith(("//", "/\\"))  # type: ignore[union-attr]
    plain = wanted if is_path and wanted and len(wanted) <= LONGEST_NEXT and wanted.isprintable() else "/"
    return plain if places.is_ours(plain.partition("?")[0]) and plain.partition("?")[0] not in places.PLAIN else "/"


def _page(back: str, said: str | None, status: int = 200) -> Response:
    note = f'<p class="mb-note mb-note-warn" role="alert">{escape(said)}</p>' if said else ""
    return HTMLResponse(_LOGIN.format(note=note, back=escape(back)), status, headers=NEVER_KEPT)


async def _file(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in FILES:
        return Response(status_code=404)
    text = (files("memory_butler.adapters.dashboard") / name).read_bytes()
    return Response(text, media_type=FILES[name], headers=KEPT)


_LOGIN = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Log in · Memory Butler</title>
<link rel="icon" href="/dashboard/icon.svg">
<link rel="stylesheet" href="/dashboard/look.css">
</head>
<body class="mb-login">
<main class="mb-card">
<img src="/dashboard/icon.svg" alt="" width="44" height="44">
<h1>Memory Butler</h1>
<p class="mb-muted">Log in to see, correct and govern what is remembered.</p>
{note}
<form method="post" action="/login">
<input type="hidden" name="next" value="{back}">
<label for="token">Token</label>
<input id="token" name="token" type="password" autocomplete="current-password" required autofocus>
<button type="submit">Log in</button>
</form>
<p class="mb-muted mb-small">An administrator makes tokens: <code>memory-butler token create</code></p>
</main>
</body>
</html>
"""
