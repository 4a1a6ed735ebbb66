"""The front of the server: which requests are the dashboard's, who is asking, and what they are let into.

The API stands behind it unchanged, with its own guards. NiceGUI is loaded with the first page that is asked for.
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

from memory_butler.adapters.dashboard import places
from memory_butler.adapters.dashboard.desk import Desk
from memory_butler.adapters.dashboard.login import COOKIE, TENANT_COOKIE, build_plain, login_address, nothing_here
from memory_butler.adapters.dashboard.visitor import Visitor
from memory_butler.adapters.guard import LOOPBACK, BodyLimit, host_name, origin_name
from memory_butler.adapters.opening import LateButler
from memory_butler.adapters.problems import MISDIRECTED, problem_response, request_id_from
from memory_butler.errors import MemoryButlerError, PermissionDenied
from memory_butler.models import Principal
from memory_butler.operations.sessions import principal_of
from memory_butler.policy.admission import slug
from memory_butler.policy.roles import visiting

# NiceGUI needs inline scripts and evaluates its templates, so this stops pages from being framed and words from being
# carried away; that no memory becomes script is up to how it is shown.
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'self'{provider}; "
    "frame-ancestors 'none'; object-src 'none'"
)
FORM_BYTES = 16_384
BEHIND_A_PROXY = (
    "If this is the server's own page: have the proxy before it pass on the Host header, or set dashboard.public_url "
    "to the address in your browser."
)
REFUSED = {"type": "websocket.close", "code": 1008}
log = logging.getLogger(__name__)


class Front:
    def __init__(self, api: ASGIApp, desk: Desk) -> None:
        self._api = api
        self._desk = desk
        self._plain = BodyLimit(build_plain(desk), FORM_BYTES, desk.settings.deadline_seconds)
        self._names = LOOPBACK | {desk.settings.host.lower()}
        self._loading = asyncio.Lock()
        self._pages: ASGIApp | None = None
        self._while_it_runs = AsyncExitStack()
        provider = urlsplit(desk.settings.dashboard.login.authorize_url or "")
        policy = CONTENT_POLICY.format(provider=f" {provider.scheme}://{provider.netloc}" if provider.netloc else "")
        self._headers = {
            "content-security-policy": policy,
            "x-content-type-options": "nosniff",
            "referrer-policy": "same-origin",
            "cross-origin-opener-policy": "same-origin",
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await self._api(scope, self._ending(receive), send)
        if not places.is_ours(scope["path"]):
            return await self._elsewhere(scope, receive, send)
        refused = self._strange(scope)
        if refused is None:
            try:
                return await self._let_in(scope, receive, self._with_headers(send))
            except MemoryButlerError as problem:
                refused = problem_response(problem, request_id_from(scope))
        return await (send(REFUSED) if scope["type"] == "websocket" else refused(scope, receive, send))

    async def _elsewhere(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The API's to answer; but a person who mistyped an address gets a page, with the way home."""
        if not _is_a_person(scope):
            return await self._api(scope, receive, send)
        is_nothing = False

        async def sent(message: MutableMapping[str, Any]) -> None:
            nonlocal is_nothing
            is_nothing = is_nothing or message.get("status") == 404
            if not is_nothing:
                await send(message)

        await self._api(scope, receive, sent)
        if is_nothing:
            await nothing_here()(scope, receive, self._with_headers(send))

    def _ending(self, receive: Receive) -> Receive:
        """The dashboard ends before what it works with does."""

        async def heard() -> Message:
            message = await receive()
            if message["type"] == "lifespan.shutdown":
                await self._desk.close()
                await self._while_it_runs.aclose()
            return message

        return heard

    def _strange(self, scope: Scope) -> Response | None:
        """The answer to whoever comes under another name or from another site's page."""
        headers = Headers(scope=scope)
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or (self._desk.is_open and host_name(hosts[0]) not in self._names):
            problem = PermissionDenied(
                "This server answers to localhost only." if self._desk.is_open else "The request names no host.",
                recovery="Use the address it printed when it started.",
            )
            return problem_response(problem, request_id_from(scope), status=MISDIRECTED)
        if not all(self._is_own(origin, hosts[0]) for origin in origins):
            problem = PermissionDenied("Web pages of other sites may not reach this server.", recovery=BEHIND_A_PROXY)
            return problem_response(problem, request_id_from(scope))
        return None

    def _is_own(self, origin: str, host: str) -> bool:
        public = self._desk.settings.dashboard.public_url
        here = {host.lower(), urlsplit(public).netloc.lower() if public else ""} - {""}
        return bool(origin_name(origin)) and urlsplit(origin).netloc.lower() in here

    async def _let_in(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        if path in places.PLAIN or path.startswith(places.STATIC):
            return await self._plain(scope, receive, send)
        if places.is_for_everybody(path):
            # Who it is would make no difference, and to find out costs a look into the store.
            return await (await self._loaded())(scope, receive, send)
        cookies, is_line = Request({**scope, "type": "http"}).cookies, path.startswith(places.LINE)
        visitor = await self._visitor(cookies.get(COOKIE), cookies.get(TENANT_COOKIE), is_there=not is_line)
        if visitor is None:
            if is_line:
                raise PermissionDenied("Nobody is logged in.")
            elsewhere = RedirectResponse(login_address(URL(scope=scope), expired=COOKIE in cookies), 303)
            return await elsewhere(scope, receive, send)
        pages = await self._loaded()
        if is_line:
            scope = _line_of(scope, visitor)
        scope["state"] = {**scope.get("state", {}), "visitor": visitor}
        return await pages(scope, receive, send)

    async def _visitor(self, key: str | None, tenant: str | None, *, is_there: bool) -> Visitor | None:
        """Who is asking, in the tenant they chose; nobody if nobody is logged in.

        The line of an open page asks again and again where it cannot stay open: that is nobody who is there.
        """
        if self._desk.is_open:
            return Visitor(self._desk, self._desk.local())
        login = await self._desk.login_of(key, is_there=is_there)
        if login is None:
            return None
        return Visitor(self._desk, _in_tenant(principal_of(login), tenant), key)

    async def _loaded(self) -> ASGIApp:
        async with self._loading:
            pages = self._pages
            if pages is None:
                running = await asyncio.to_thread(_load)
                pages = self._pages = await self._while_it_runs.enter_async_context(running())
        return pages

    def _with_headers(self, send: Send) -> Send:
        async def sent(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(self._headers)
            await send(message)

        return sent


def build_dashboard(late: LateButler) -> ASGIApp:
    """The dashboard alone, for a server that has nothing else."""

    async def live(request: Request) -> Response:
        return JSONResponse({"status": "live", "service": "memory-butler dashboard"})

    return Front(Starlette(routes=[Route("/health/live", live)], lifespan=late.lifespan), Desk(late))


def _load() -> Callable[[], AbstractAsyncContextManager[ASGIApp]]:
    from memory_butler.adapters.dashboard.running import running  # noqa: PLC0415 (only where somebody looks)

    return running


def _is_a_person(scope: Scope) -> bool:
    """Whether a browser was sent to look at something: nobody else wants a page more than anything."""
    if scope["type"] != "http" or scope["method"] != "GET" or places.is_for_programs(scope["path"]):
        return False
    kinds = {}
    for part in Headers(scope=scope).get("accept", "").split(","):
        kind, *options = (one.strip().lower() for one in part.split(";"))
        kinds[kind] = next((_number(one[2:]) for one in options if one.startswith("q=")), 1.0)
    wanted = kinds.get("text/html", 0.0)
    return wanted > 0 and wanted >= max(kinds.values()) and wanted > kinds.get("application/json", 0.0)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def _in_tenant(principal: Principal, tenant: str | None) -> Principal:
    try:
        return visiting(principal, slug(tenant, "tenant")) if tenant else principal
    except MemoryButlerError:
        # What an earlier login chose is not this one's.
        return principal


def _line_of(scope: Scope, visitor: Visitor) -> Scope:
    """A line as NiceGUI gets it. It is for a page, and for whoever opened that."""
    from nicegui import Client  # noqa: PLC0415 (loaded by now)

    query = dict(reversed(parse_qsl(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)))
    if not query.get("client_id"):
        raise PermissionDenied("The line is for no page.")
    client = Client.instances.get(query["client_id"])
    if client is None:
        # The page of a server that was here before. Asked to name its page at once, the line is refused by NiceGUI
        # with the words at which the page loads itself again; a status would have it try for ever.
        return {**scope, "query_string": urlencode({**query, "implicit_handshake": "true"}).encode()}
    opener = getattr(client.request.state, "visitor", None)
    if not isinstance(opener, Visitor) or opener.desk is not visitor.desk or opener.key != visitor.key:
        raise PermissionDenied("This page was opened by somebody else.")
    return scope
