"""ASGI middleware: routes dashboard requests, authenticates them, and passes everything else to the API unchanged.

NiceGUI is loaded with the first request for a page.
"""

import asyncio
import logging
from collections.abc import Callable, MutableMapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.applications import Starlette
from starlette.datastructures import URL, Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memory_butler.adapters.dashboard.server import routes
from memory_butler.adapters.dashboard.server.dashboard_context import DashboardContext
from memory_butler.adapters.dashboard.server.login import (
    COOKIE,
    TENANT_COOKIE,
    build_login_router,
    closed_page,
    login_url,
    not_found_page,
)
from memory_butler.adapters.dashboard.server.page_context import PageContext
from memory_butler.adapters.dashboard.server.page_limit import PageLimit, is_embedded_elsewhere
from memory_butler.adapters.http.loopback_guard import LOOPBACK, BodyLimit, host_name, origin_name
from memory_butler.adapters.http.problems import MISDIRECTED, problem_response, request_id_from
from memory_butler.adapters.lazy_resources import LazyResources
from memory_butler.errors import MemoryButlerError, PermissionDenied
from memory_butler.models import Principal
from memory_butler.operations.access.logins import principal_of
from memory_butler.policy.access.roles import switch_tenant
from memory_butler.policy.memories.validation import slug

# NiceGUI needs inline scripts and evaluates its templates. So this policy prevents framing and exfiltration; that no
# text of a memory becomes a script is ensured by how it is drawn (components.elements).
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'self'{provider}; "
    "frame-ancestors 'none'; object-src 'none'"
)
FORM_BYTES = 16_384
PROXY_ADVICE = (
    "If this is the server's own page: make the proxy forward the Host header, or set dashboard.public_url "
    "to the address in your browser."
)
WEBSOCKET_CLOSE = {"type": "websocket.close", "code": 1008}
log = logging.getLogger(__name__)


class DashboardMiddleware:
    def __init__(self, api: ASGIApp, dashboard: DashboardContext) -> None:
        self._api = api
        self._dashboard = dashboard
        self._login_app = BodyLimit(build_login_router(dashboard), FORM_BYTES, dashboard.settings.deadline_seconds)
        self._allowed_hosts = LOOPBACK | {dashboard.settings.host.lower()}
        self._page_limit = PageLimit(dashboard.settings)
        self._load_lock = asyncio.Lock()
        self._pages: ASGIApp | None = None
        self._exit_stack = AsyncExitStack()
        provider = urlsplit(dashboard.settings.dashboard.login.authorize_url or "")
        policy = CONTENT_POLICY.format(provider=f" {provider.scheme}://{provider.netloc}" if provider.netloc else "")
        self._headers = {
            "content-security-policy": policy,
            "x-content-type-options": "nosniff",
            "referrer-policy": "same-origin",
            "cross-origin-opener-policy": "same-origin",
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await self._api(scope, self._close_on_shutdown(receive), send)
        if not routes.is_dashboard_path(scope["path"]):
            return await self._pass_to_api(scope, receive, send)
        rejection = self._check_origin(scope)
        if rejection is None:
            try:
                return await self._serve(scope, receive, self._with_headers(send))
            except MemoryButlerError as problem:
                rejection = problem_response(problem, request_id_from(scope))
        return await (send(WEBSOCKET_CLOSE) if scope["type"] == "websocket" else rejection(scope, receive, send))

    async def _pass_to_api(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the API answer; but a browser with a mistyped URL gets an HTML page instead of the API's JSON 404."""
        if not _wants_html(scope):
            return await self._api(scope, receive, send)
        is_not_found = False

        async def send_through(message: MutableMapping[str, Any]) -> None:
            nonlocal is_not_found
            is_not_found = is_not_found or message.get("status") == 404
            if not is_not_found:
                await send(message)

        await self._api(scope, receive, send_through)
        if is_not_found:
            await not_found_page()(scope, receive, self._with_headers(send))

    def _close_on_shutdown(self, receive: Receive) -> Receive:
        """Close the dashboard before the resources it uses."""

        async def receive_through() -> Message:
            message = await receive()
            if message["type"] == "lifespan.shutdown":
                await self._dashboard.close()
                await self._exit_stack.aclose()
            return message

        return receive_through

    def _check_origin(self, scope: Scope) -> Response | None:
        """The error response for a wrong Host header or a request from another site's page; None if both are right."""
        headers = Headers(scope=scope)
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or (self._dashboard.is_open and host_name(hosts[0]) not in self._allowed_hosts):
            problem = PermissionDenied(
                "This server only accepts requests to localhost."
                if self._dashboard.is_open
                else "The request has no Host header.",
                recovery="Use the address that the server printed at start.",
            )
            return problem_response(problem, request_id_from(scope), status=MISDIRECTED)
        is_embedded = scope["path"] not in routes.LOGIN_PATHS and is_embedded_elsewhere(headers)
        if is_embedded or not all(self._is_own(origin, hosts[0]) for origin in origins):
            problem = PermissionDenied("Pages of other sites may not access this server.", recovery=PROXY_ADVICE)
            return problem_response(problem, request_id_from(scope))
        return None

    def _is_own(self, origin: str, host: str) -> bool:
        public = self._dashboard.settings.dashboard.public_url
        own = {host.lower(), urlsplit(public).netloc.lower() if public else ""} - {""}
        return bool(origin_name(origin)) and urlsplit(origin).netloc.lower() in own

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        if path in routes.LOGIN_PATHS or path.startswith(routes.STATIC):
            return await self._login_app(scope, receive, send)
        if routes.is_public(path):
            # Static files need no login; looking it up would cost a query.
            return await (await self._load_pages())(scope, receive, send)
        if not self._dashboard.local_access.allows_page(scope):
            if path.startswith(routes.WEBSOCKET):
                raise PermissionDenied("This page was opened without the start link.")
            return await closed_page()(scope, receive, send)
        cookies, is_websocket = Request({**scope, "type": "http"}).cookies, path.startswith(routes.WEBSOCKET)
        context = await self._authenticate(
            cookies.get(COOKIE), cookies.get(TENANT_COOKIE), is_activity=not is_websocket
        )
        if context is None:
            if is_websocket:
                raise PermissionDenied("You are not logged in.")
            redirect = RedirectResponse(login_url(URL(scope=scope), expired=COOKIE in cookies), 303)
            return await redirect(scope, receive, send)
        pages = await self._load_pages()
        if is_websocket:
            scope = _websocket_scope(scope, context)
        scope["state"] = {**scope.get("state", {}), "page_context": context}
        if is_websocket:
            return await pages(scope, receive, send)
        async with self._page_limit.building(context.key):
            return await pages(scope, receive, send)

    async def _authenticate(self, key: str | None, tenant: str | None, *, is_activity: bool) -> PageContext | None:
        """The user in the chosen tenant, or None without a login.

        Websocket requests are no user activity: where the connection cannot stay open, a page polls by itself.
        """
        if self._dashboard.is_open:
            return PageContext(self._dashboard, self._dashboard.local_principal())
        login = await self._dashboard.find_login(key, is_activity=is_activity)
        if login is None or not self._dashboard.may_log_in(login.role):
            return None
        return PageContext(self._dashboard, _in_tenant(principal_of(login), tenant), key)

    async def _load_pages(self) -> ASGIApp:
        async with self._load_lock:
            pages = self._pages
            if pages is None:
                running = await asyncio.to_thread(_load)
                pages = self._pages = await self._exit_stack.enter_async_context(running())
        return pages

    def _with_headers(self, send: Send) -> Send:
        async def send_through(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(self._headers)
            await send(message)

        return send_through


def build_dashboard(lazy: LazyResources) -> ASGIApp:
    """The dashboard as the only application of a server."""

    async def live(request: Request) -> Response:
        return JSONResponse({"status": "live", "service": "memory-butler dashboard"})

    return DashboardMiddleware(
        Starlette(routes=[Route("/health/live", live)], lifespan=lazy.lifespan), DashboardContext(lazy)
    )


def _load() -> Callable[[], AbstractAsyncContextManager[ASGIApp]]:
    from memory_butler.adapters.dashboard.server.nicegui_setup import running  # noqa: PLC0415 (loaded on demand)

    return running


def _wants_html(scope: Scope) -> bool:
    """True if the client prefers HTML to everything else, as browsers do."""
    if scope["type"] != "http" or scope["method"] != "GET" or routes.is_api_path(scope["path"]):
        return False
    qualities = {}
    for part in Headers(scope=scope).get("accept", "").split(","):
        media_type, *options = (one.strip().lower() for one in part.split(";"))
        qualities[media_type] = next((_number(one[2:]) for one in options if one.startswith("q=")), 1.0)
    html_quality = qualities.get("text/html", 0.0)
    return (
        html_quality > 0
        and html_quality >= max(qualities.values())
        and html_quality > qualities.get("application/json", 0.0)
    )


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def _in_tenant(principal: Principal, tenant: str | None) -> Principal:
    try:
        return switch_tenant(principal, slug(tenant, "tenant")) if tenant else principal
    except MemoryButlerError:
        # A tenant chosen in an earlier login.
        return principal


def _websocket_scope(scope: Scope, context: PageContext) -> Scope:
    """The scope for NiceGUI's websocket. It must name a page that the same user opened."""
    from nicegui import Client  # noqa: PLC0415 (loaded by now)

    query = dict(reversed(parse_qsl(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)))
    if not query.get("client_id"):
        raise PermissionDenied("The websocket request names no page.")
    client = Client.instances.get(query["client_id"])
    if client is None:
        # A page of an earlier server process. With the implicit handshake NiceGUI answers with the message that makes
        # the page reload itself; an error status would make it retry forever.
        return {**scope, "query_string": urlencode({**query, "implicit_handshake": "true"}).encode()}
    opened_by = getattr(client.request.state, "page_context", None)
    if (
        not isinstance(opened_by, PageContext)
        or opened_by.dashboard is not context.dashboard
        or opened_by.key != context.key
    ):
        raise PermissionDenied("This page was opened by another user.")
    return scope
