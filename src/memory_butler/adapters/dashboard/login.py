"""Logging in and out: plain pages without script, so that nothing needs to be loaded before somebody is known."""

import functools
import re
from html import escape
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import parse_qs, quote, unquote, urlencode

from starlette.datastructures import URL
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Route, Router

from memory_butler.adapters.answering import within
from memory_butler.adapters.dashboard import oidc, places
from memory_butler.adapters.dashboard.complaints import words_of
from memory_butler.adapters.dashboard.desk import Desk
from memory_butler.adapters.problems import STATUS
from memory_butler.errors import MemoryButlerError, NotFound, PermissionDenied
from memory_butler.models import Caller
from memory_butler.operations.sessions import principal_of
from memory_butler.operations.visits import note_visit
from memory_butler.policy.admission import slug
from memory_butler.policy.roles import visiting

COOKIE, TENANT_COOKIE = "memory_butler_session", "memory_butler_tenant"
# One for each login that is under way, by the beginning of its state: two windows do not disturb each other.
BEGUN = "memory_butler_login_"
LONGEST_NEXT = 2000
FILES = {"look.css": "text/css", "icon.svg": "image/svg+xml"}
NEVER_KEPT = {"cache-control": "no-store"}
KEPT = {"cache-control": "no-cache"}
_FONT = re.compile(r"[0-9a-f]+\.woff2")


def build_plain(desk: Desk) -> Router:
    """What is served without NiceGUI."""
    door = Door(desk)
    return Router(
        [
            Route(places.LOGIN, door.ask, methods=["GET"]),
            Route(places.LOGIN, door.enter, methods=["POST"]),
            Route(places.LOGOUT, door.leave, methods=["POST"]),
            Route(places.TENANT, door.visit, methods=["POST"]),
            Route(places.PROVIDER, door.begin, methods=["POST"]),
            Route(places.RETURN, door.come_back, methods=["GET"]),
            Route(places.STATIC + "fonts.css", _font, methods=["GET"]),
            Route(places.STATIC + "fonts/{name}", _font, methods=["GET"]),
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
        self._provider = oidc.Provider(desk.settings) if desk.settings.dashboard.login.authorize_url else None

    async def ask(self, request: Request) -> Response:
        if self._desk.is_open:
            return RedirectResponse("/", 303)
        said = "Your login has ended. Log in again." if request.query_params.get("expired") else None
        return self._page(_own_path(request.query_params.get("next")), said)

    async def enter(self, request: Request) -> Response:
        form = await _form(request)
        back = _own_path(form.get("next"))
        try:
            key = await self._desk.enter(form.get("token", "").strip())
        except MemoryButlerError as problem:
            return self._refused(back, problem)
        return self._entered(request, back, key)

    async def begin(self, request: Request) -> Response:
        """To the identity provider, to say there who one is."""
        if self._provider is None:
            return RedirectResponse(places.LOGIN, 303)
        secret, back = oidc.new_secret(), _own_path((await _form(request)).get("next"))
        there = self._provider.question(secret, self._returning(request))
        answer = RedirectResponse(there, 303, headers=NEVER_KEPT)
        name, kept = BEGUN + oidc.state_of(secret)[:12], f"{secret}.{quote(back, safe='')}"
        self._set(answer, request, name, kept, seconds=oidc.MINUTES * 60, path=places.LOGIN)
        return answer

    async def come_back(self, request: Request) -> Response:
        """From the identity provider, with its answer."""
        if self._provider is None:
            return RedirectResponse(places.LOGIN, 303)
        given = dict(request.query_params)
        name = BEGUN + given.get("state", "")[:12]
        secret, _, address = request.cookies.get(name, "").partition(".")
        back = _own_path(unquote(address))
        try:
            if not secret:
                raise PermissionDenied(
                    "This login was not begun in this browser, or it took too long.", recovery=oidc.AGAIN
                )
            asked = self._provider.answer(given, secret, self._returning(request))
            key = await self._desk.admit(await within(self._desk.settings.deadline_seconds, asked))
        except MemoryButlerError as problem:
            answer = self._refused(back, problem)
        else:
            answer = self._entered(request, back, key)
        if name in request.cookies:
            answer.delete_cookie(name, path=places.LOGIN)
        return answer

    async def leave(self, request: Request) -> Response:
        try:
            await self._desk.leave(request.cookies.get(COOKIE))
        except MemoryButlerError as problem:
            # The cookie stays: without it nobody could end the login, and it would hold for hours.
            page = _STILL_IN.format(title="Log out", words=escape(words_of(problem)))
            return HTMLResponse(page, STATUS[problem.error_class], headers=NEVER_KEPT)
        answer = RedirectResponse(places.LOGIN, 303, headers=NEVER_KEPT)
        for name in (COOKIE, TENANT_COOKIE):
            answer.delete_cookie(name, path="/")
        return answer

    async def visit(self, request: Request) -> Response:
        """Look at another tenant; an empty name leads home. Whether that is allowed is asked with every page, and
        every look is on record there."""
        form = await _form(request)
        back, wanted = _own_path(form.get("next")), form.get("tenant", "").strip()
        answer = RedirectResponse(back, 303, headers=NEVER_KEPT)
        if not wanted:
            answer.delete_cookie(TENANT_COOKIE, path="/")
            return answer
        try:
            tenant = await self._reached(request.cookies.get(COOKIE), wanted)
        except MemoryButlerError as problem:
            page = _ELSEWHERE.format(title="Another tenant", words=escape(words_of(problem)), back=escape(back))
            return HTMLResponse(page, STATUS[problem.error_class], headers=NEVER_KEPT)
        self._set(answer, request, TENANT_COOKIE, tenant)
        return answer

    async def _reached(self, key: str | None, wanted: str) -> str:
        """The tenant that is wanted, if there is one and this person may look at it."""
        login = None if self._desk.is_open else await self._desk.login_of(key)
        if login is None:
            raise PermissionDenied("Nobody is logged in.")
        try:
            principal = visiting(principal_of(login), slug(wanted, "tenant"))
        except PermissionDenied:
            raise
        except MemoryButlerError:
            raise NotFound(f"There is no tenant {wanted[:64]!r}.") from None
        await self._desk.asking(lambda butler: note_visit(butler, Caller(principal), "dashboard"))
        return principal.tenant

    def _returning(self, request: Request) -> str:
        """Where the provider leads back to: the address people use, which the provider has to know."""
        here = self._desk.settings.dashboard.public_url or f"{request.url.scheme}://{request.url.netloc}"
        return here.rstrip("/") + places.RETURN

    def _entered(self, request: Request, back: str, key: str) -> Response:
        answer = RedirectResponse(back, 303, headers=NEVER_KEPT)
        self._set(answer, request, COOKIE, key)
        answer.delete_cookie(TENANT_COOKIE, path="/")
        return answer

    def _set(
        self, answer: Response, request: Request, name: str, value: str, *, seconds: int = 0, path: str = "/"
    ) -> None:
        public = self._desk.settings.dashboard.public_url or ""
        secure = request.url.scheme == "https" or public.startswith("https:")
        seconds = seconds or int(self._desk.settings.dashboard.session_hours * 3600)
        # Lax, because whoever follows a link in a mail, or comes back from the provider, should arrive logged in;
        # nothing is changed by following a link.
        answer.set_cookie(name, value, max_age=seconds, path=path, httponly=True, samesite="lax", secure=secure)

    def _refused(self, back: str, problem: MemoryButlerError) -> Response:
        return self._page(back, words_of(problem), STATUS[problem.error_class])

    def _page(self, back: str, said: str | None, status: int = 200) -> Response:
        note = f'<p class="mb-note mb-note-warn" role="alert">{escape(said)}</p>' if said else ""
        provider = _PROVIDER.format(name=escape(self._provider.name), back=escape(back)) if self._provider else ""
        page = _LOGIN.format(
            title="Log in",
            note=note,
            back=escape(back),
            provider=provider,
            autofocus="" if self._provider else " autofocus",
        )
        return HTMLResponse(page, status, headers=NEVER_KEPT)


async def _form(request: Request) -> dict[str, str]:
    text = (await request.body()).decode("utf-8", "replace")
    return {name: values[0] for name, values in parse_qs(text, keep_blank_values=True).items()}


def _own_path(wanted: str | None) -> str:
    """An address of ours to go on to; anything else leads to the first page."""
    is_path = bool(wanted) and wanted.startswith("/") and not wanted.startswith(("//", "/\\"))  # type: ignore[union-attr]
    plain = wanted if is_path and wanted and len(wanted) <= LONGEST_NEXT and wanted.isprintable() else "/"
    return plain if places.is_ours(plain.partition("?")[0]) and plain.partition("?")[0] not in places.PLAIN else "/"


async def _file(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in FILES:
        return Response(status_code=404)
    text = (files("memory_butler.adapters.dashboard") / name).read_bytes()
    return Response(text, media_type=FILES[name], headers=KEPT)


async def _font(request: Request) -> Response:
    """The letters of all other pages. They come with NiceGUI, which need not be loaded for that."""
    name = request.path_params.get("name", "")
    if name and not _FONT.fullmatch(name):
        return Response(status_code=404)
    folder = _font_folder()
    found = folder / "fonts" / name if name else folder / "fonts.css"
    return FileResponse(found, headers=KEPT) if found.is_file() else Response(status_code=404)


@functools.cache
def _font_folder() -> Path:
    package = find_spec("nicegui")
    assert package is not None and package.origin
    return Path(package.origin).parent / "static"


def nothing_here() -> Response:
    """For a person who came to an address that is none."""
    return HTMLResponse(_NOTHING.format(title="Nothing here"), 404, headers=NEVER_KEPT)


_HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title} · Memory Butler</title>
<link rel="icon" href="/dashboard/icon.svg">
<link rel="stylesheet" href="/dashboard/fonts.css">
<link rel="stylesheet" href="/dashboard/look.css">
</head>
<body class="mb-login">
<main class="mb-card">
<img src="/dashboard/icon.svg" alt="" width="44" height="44">
<h1>Memory Butler</h1>
"""
_FOOT = """</main>
</body>
</html>
"""
_LOGIN = (
    _HEAD
    + """<p class="mb-muted">Log in to see, correct and govern what is remembered.</p>
{note}
{provider}
<form method="post" action="/login">
<input type="hidden" name="next" value="{back}">
<label for="token">Token</label>
<input id="token" name="token" type="password" autocomplete="current-password" required{autofocus}>
<button type="submit">Log in</button>
</form>
<p class="mb-muted mb-small">An administrator makes tokens: <code>memory-butler token create</code></p>
"""
    + _FOOT
)
_PROVIDER = """<form method="post" action="/login/provider">
<input type="hidden" name="next" value="{back}">
<button type="submit" autofocus>Log in with {name}</button>
</form>
<p class="mb-muted mb-small mb-or">or with a token</p>"""
_ELSEWHERE = (
    _HEAD
    + """<p class="mb-note mb-note-warn" role="alert">{words}</p>
<p><a href="{back}">Back to where you were</a></p>
"""
    + _FOOT
)
_STILL_IN = (
    _HEAD
    + """<p class="mb-note mb-note-warn" role="alert">You are still logged in. {words}</p>
<form method="post" action="/logout">
<button type="submit" autofocus>Log out</button>
</form>
<p><a href="/">To the overview</a></p>
"""
    + _FOOT
)
_NOTHING = (
    _HEAD
    + """<p>There is nothing at this address.</p>
<p class="mb-muted">What it led to may have moved, or the address was cut short.</p>
<p><a href="/">To the overview</a></p>
"""
    + _FOOT
)
