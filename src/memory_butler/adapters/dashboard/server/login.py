"""Login, logout and tenant switch: plain HTML without scripts, so that NiceGUI is not loaded before a login."""

import functools
import re
from html import escape
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import parse_qs, quote, unquote, urlencode

from starlette.datastructures import URL
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Route, Router

from memory_butler.adapters.dashboard.actions.error_texts import user_text
from memory_butler.adapters.dashboard.server import oidc, routes
from memory_butler.adapters.dashboard.server.assets import REVALIDATE, STYLES, asset_url, serve_asset
from memory_butler.adapters.dashboard.server.dashboard_context import DashboardContext
from memory_butler.adapters.http.identity import CHALLENGE
from memory_butler.adapters.http.local_access import START
from memory_butler.adapters.http.problems import STATUS, UNAUTHENTICATED
from memory_butler.adapters.mcp.tool_base import within
from memory_butler.errors import MemoryButlerError, NotFound, PermissionDenied
from memory_butler.models import Caller
from memory_butler.operations.access.cross_tenant_audit import audit_access
from memory_butler.operations.access.logins import principal_of
from memory_butler.policy.access.roles import switch_tenant
from memory_butler.policy.memories.validation import slug

COOKIE, TENANT_COOKIE = "memory_butler_session", "memory_butler_tenant"
# One cookie per login in progress, named by the start of its state: two windows do not disturb each other.
OIDC_COOKIE_PREFIX = "memory_butler_login_"
MAX_NEXT_CHARACTERS = 2000
START_SECONDS = 30 * 24 * 3600
NO_STORE = {"cache-control": "no-store"}
_FONT = re.compile(r"[0-9a-f]+\.woff2")


def build_login_router(dashboard: DashboardContext) -> Router:
    """The routes that are served without NiceGUI."""
    handlers = LoginRoutes(dashboard)
    return Router(
        [
            Route(routes.LOGIN, handlers.login_form, methods=["GET"]),
            Route(routes.LOGIN, handlers.submit_token, methods=["POST"]),
            Route(routes.LOGOUT, handlers.log_out, methods=["POST"]),
            Route(routes.TENANT, handlers.switch_tenant, methods=["POST"]),
            Route(routes.PROVIDER, handlers.start_oidc, methods=["POST"]),
            Route(routes.RETURN, handlers.finish_oidc, methods=["GET"]),
            Route(START, handlers.start, methods=["GET"]),
            Route(routes.STATIC + "fonts.css", _font, methods=["GET"]),
            Route(routes.STATIC + "fonts/{name}", _font, methods=["GET"]),
            Route(routes.STATIC + "{name}", serve_asset, methods=["GET"]),
        ]
    )


def login_url(wanted: URL, *, expired: bool) -> str:
    path_and_query = wanted.path + (f"?{wanted.query}" if wanted.query else "")
    params = {"next": path_and_query} if path_and_query != "/" else {}
    query = urlencode({**params, **({"expired": "1"} if expired else {})})
    return routes.LOGIN + (f"?{query}" if query else "")


class LoginRoutes:
    def __init__(self, dashboard: DashboardContext) -> None:
        self._dashboard = dashboard
        self._provider = (
            oidc.IdentityProvider(dashboard.settings) if dashboard.settings.dashboard.login.authorize_url else None
        )

    async def login_form(self, request: Request) -> Response:
        if self._dashboard.is_open:
            return RedirectResponse("/", 303)
        notice = "Your login has ended. Log in again." if request.query_params.get("expired") else None
        return self._page(_safe_next(request.query_params.get("next")), notice)

    async def start(self, request: Request) -> Response:
        """Follow the start link of the local shape: a right key becomes a cookie."""
        access, back = self._dashboard.local_access, _safe_next(request.query_params.get("next"))
        value = access.cookie_for(request.query_params.get("key", ""))
        if value is None:
            return RedirectResponse(back, 303, headers=NO_STORE) if access.allows_page(request.scope) else closed_page()
        answer = RedirectResponse(back, 303, headers=NO_STORE)
        self._set_cookie(answer, request, access.cookie, value, seconds=START_SECONDS)
        return answer

    async def submit_token(self, request: Request) -> Response:
        form = await _form(request)
        back = _safe_next(form.get("next"))
        try:
            key = await self._dashboard.log_in_with_token(form.get("token", "").strip())
        except MemoryButlerError as problem:
            return self._login_failed(back, problem)
        return self._logged_in(request, back, key)

    async def start_oidc(self, request: Request) -> Response:
        if self._provider is None:
            return RedirectResponse(routes.LOGIN, 303)
        secret, back = oidc.new_secret(), _safe_next((await _form(request)).get("next"))
        target = self._provider.authorization_url(secret, self._callback_url(request))
        answer = RedirectResponse(target, 303, headers=NO_STORE)
        name, value = OIDC_COOKIE_PREFIX + oidc.state_of(secret)[:12], f"{secret}.{quote(back, safe='')}"
        self._set_cookie(answer, request, name, value, seconds=oidc.LOGIN_MINUTES * 60, path=routes.LOGIN)
        return answer

    async def finish_oidc(self, request: Request) -> Response:
        """Handle the identity provider's redirect back."""
        if self._provider is None:
            return RedirectResponse(routes.LOGIN, 303)
        params = dict(request.query_params)
        name = OIDC_COOKIE_PREFIX + params.get("state", "")[:12]
        secret, _, path_and_query = request.cookies.get(name, "").partition(".")
        back = _safe_next(unquote(path_and_query))
        try:
            if not secret:
                raise PermissionDenied(
                    "This login was not started in this browser, or it took too long.", recovery=oidc.TRY_AGAIN
                )
            login = self._provider.authenticate(params, secret, self._callback_url(request))
            key = await self._dashboard.log_in(await within(self._dashboard.settings.deadline_seconds, login))
        except MemoryButlerError as problem:
            answer = self._login_failed(back, problem)
        else:
            answer = self._logged_in(request, back, key)
        if name in request.cookies:
            answer.delete_cookie(name, path=routes.LOGIN)
        return answer

    async def log_out(self, request: Request) -> Response:
        try:
            await self._dashboard.log_out(request.cookies.get(COOKIE))
        except MemoryButlerError as problem:
            # Keep the cookie: without it the user could not end the login, which stays valid for hours.
            page = _LOGOUT_FAILED.format(title="Log out", words=escape(user_text(problem)))
            return HTMLResponse(page, STATUS[problem.error_class], headers=NO_STORE)
        answer = RedirectResponse(routes.LOGIN, 303, headers=NO_STORE)
        for name in (COOKIE, TENANT_COOKIE):
            answer.delete_cookie(name, path="/")
        return answer

    async def switch_tenant(self, request: Request) -> Response:
        """Switch to another tenant; an empty name switches back. Every page checks the permission again, and every
        access is audited in that tenant."""
        form = await _form(request)
        back, wanted = _safe_next(form.get("next")), form.get("tenant", "").strip()
        answer = RedirectResponse(back, 303, headers=NO_STORE)
        if not wanted:
            answer.delete_cookie(TENANT_COOKIE, path="/")
            return answer
        try:
            tenant = await self._check_tenant(request.cookies.get(COOKIE), wanted)
        except MemoryButlerError as problem:
            page = _TENANT_FAILED.format(title="Switch tenant", words=escape(user_text(problem)), back=escape(back))
            return HTMLResponse(page, STATUS[problem.error_class], headers=NO_STORE)
        self._set_cookie(answer, request, TENANT_COOKIE, tenant)
        return answer

    async def _check_tenant(self, key: str | None, wanted: str) -> str:
        """The tenant's normalised name, if it exists and the user may access it."""
        login = None if self._dashboard.is_open else await self._dashboard.find_login(key)
        if login is None:
            raise PermissionDenied("You are not logged in.")
        try:
            principal = switch_tenant(principal_of(login), slug(wanted, "tenant"))
        except PermissionDenied:
            raise
        except MemoryButlerError:
            raise NotFound(f"There is no tenant {wanted[:64]!r}.") from None
        await self._dashboard.call(lambda butler: audit_access(butler, Caller(principal), "dashboard"))
        return principal.tenant

    def _callback_url(self, request: Request) -> str:
        """The callback URL, which must be registered with the provider: built from the server's public URL."""
        here = self._dashboard.settings.dashboard.public_url or f"{request.url.scheme}://{request.url.netloc}"
        return here.rstrip("/") + routes.RETURN

    def _logged_in(self, request: Request, back: str, key: str) -> Response:
        answer = RedirectResponse(back, 303, headers=NO_STORE)
        self._set_cookie(answer, request, COOKIE, key)
        answer.delete_cookie(TENANT_COOKIE, path="/")
        return answer

    def _set_cookie(
        self, answer: Response, request: Request, name: str, value: str, *, seconds: int = 0, path: str = "/"
    ) -> None:
        public = self._dashboard.settings.dashboard.public_url or ""
        secure = request.url.scheme == "https" or public.startswith("https:")
        seconds = seconds or int(self._dashboard.settings.dashboard.session_hours * 3600)
        # Lax, so that a user who follows a link in a mail, or returns from the provider, arrives logged in;
        # following a link changes nothing.
        answer.set_cookie(name, value, max_age=seconds, path=path, httponly=True, samesite="lax", secure=secure)

    def _login_failed(self, back: str, problem: MemoryButlerError) -> Response:
        return self._page(back, user_text(problem), STATUS[problem.error_class])

    def _page(self, back: str, notice: str | None, status: int = 200) -> Response:
        note = f'<p class="mb-note mb-note-warn" role="alert">{escape(notice)}</p>' if notice else ""
        provider = _PROVIDER.format(name=escape(self._provider.name), back=escape(back)) if self._provider else ""
        page = _LOGIN.format(
            title="Log in",
            note=note,
            back=escape(back),
            provider=provider,
            autofocus="" if self._provider else " autofocus",
        )
        return HTMLResponse(page, status, headers=NO_STORE)


async def _form(request: Request) -> dict[str, str]:
    text = (await request.body()).decode("utf-8", "replace")
    return {name: values[0] for name, values in parse_qs(text, keep_blank_values=True).items()}


def _safe_next(wanted: str | None) -> str:
    """A path of the dashboard to redirect to; anything else becomes the overview."""
    is_path = bool(wanted) and wanted.startswith("/") and not wanted.startswith(("//", "/\\"))  # type: ignore[union-attr]
    target = wanted if is_path and wanted and len(wanted) <= MAX_NEXT_CHARACTERS and wanted.isprintable() else "/"
    path = target.partition("?")[0]
    return target if routes.is_dashboard_path(path) and path not in routes.LOGIN_PATHS else "/"


async def _font(request: Request) -> Response:
    """The font of all other pages. It is part of the NiceGUI package, which is not imported for this."""
    name = request.path_params.get("name", "")
    if name and not _FONT.fullmatch(name):
        return Response(status_code=404)
    folder = _font_folder()
    found = folder / "fonts" / name if name else folder / "fonts.css"
    return FileResponse(found, headers={"cache-control": REVALIDATE}) if found.is_file() else Response(status_code=404)


@functools.cache
def _font_folder() -> Path:
    package = find_spec("nicegui")
    assert package is not None and package.origin
    return Path(package.origin).parent / "static"


def closed_page() -> Response:
    """The page of a browser that the server does not know to be its owner's."""
    headers = {**NO_STORE, "www-authenticate": CHALLENGE}
    return HTMLResponse(_CLOSED.format(title="Open the dashboard"), UNAUTHENTICATED, headers=headers)


def not_found_page() -> Response:
    return HTMLResponse(_NOT_FOUND.format(title="Not found"), 404, headers=NO_STORE)


_HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title} · Memory Butler</title>
<link rel="icon" href="/dashboard/icon.svg">
<link rel="stylesheet" href="/dashboard/fonts.css">
<link rel="stylesheet" href="{styles}">
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


def _whole_page(content: str) -> str:
    return _HEAD.replace("{styles}", asset_url(STYLES)) + content + _FOOT


_LOGIN = _whole_page("""<p class="mb-muted">Log in to inspect and correct the stored memories.</p>
{note}
{provider}
<form method="post" action="/login">
<input type="hidden" name="next" value="{back}">
<label for="token">Token</label>
<input id="token" name="token" type="password" autocomplete="current-password" required{autofocus}>
<button type="submit">Log in</button>
</form>
<p class="mb-muted mb-small">Administrators create tokens: <code>memory-butler token create</code></p>
""")
_PROVIDER = """<form method="post" action="/login/provider">
<input type="hidden" name="next" value="{back}">
<button type="submit" autofocus>Log in with {name}</button>
</form>
<p class="mb-muted mb-small mb-or">or with a token</p>"""
_TENANT_FAILED = _whole_page("""<p class="mb-note mb-note-warn" role="alert">{words}</p>
<p><a href="{back}">Back</a></p>
""")
_LOGOUT_FAILED = _whole_page("""<p class="mb-note mb-note-warn" role="alert">You are still logged in. {words}</p>
<form method="post" action="/logout">
<button type="submit" autofocus>Log out</button>
</form>
<p><a href="/">Home</a></p>
""")
_CLOSED = _whole_page("""<p>This dashboard is open to the account that runs it only.</p>
<p class="mb-muted">On that account, run this command. It opens the dashboard in your browser:</p>
<p><code>memory-butler dashboard --link --open</code></p>
<p class="mb-muted mb-small">Or use the link that <code>memory-butler serve</code> printed when it started.</p>
""")
_NOT_FOUND = _whole_page("""<p>There is no page at this address.</p>
<p class="mb-muted">It may have moved, or the address is incomplete.</p>
<p><a href="/">Home</a></p>
""")
