"""Who is calling over HTTP: a bearer token says it, and nothing else.

The principal travels with the request. Where no authentication is required, every caller is the person whose local
store this is; then only this machine is served.
"""

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextvars import ContextVar

from fastmcp.server.dependencies import get_http_request
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from memory_butler.adapters.opening import LateButler
from memory_butler.errors import MemoryButlerError, PermissionDenied
from memory_butler.models import Principal
from memory_butler.operations import tokens
from memory_butler.policy.admission import slug
from memory_butler.policy.roles import visiting

TENANT_HEADER = "memory-butler-tenant"
REMEMBERED = 10_000
LONGEST_TOKEN = 8192
OPEN_PATHS = frozenset({"/health/live", "/health/ready"})

Recogniser = Callable[[str], Awaitable[Principal | None]]


# Set by doors that call tools themselves.
calling: ContextVar[Principal | None] = ContextVar("calling", default=None)


def shown_principal() -> Principal | None:
    """Who the HTTP request that is being answered comes from, if it had to say so."""
    if found := calling.get():
        return found
    try:
        request = get_http_request()
    except RuntimeError:
        return None
    found = request.scope.get("state", {}).get("principal")
    return found if isinstance(found, Principal) else None


class Identities:
    """Recognises bearers. Those of the store are remembered for a moment, so that not every call asks for them."""

    def __init__(self, late: LateButler, others: tuple[Recogniser, ...] = ()) -> None:
        self._late = late
        self._others = others
        self._known: OrderedDict[str, tuple[float, Principal]] = OrderedDict()

    async def principal_of(self, bearer: str) -> Principal:
        if not bearer or len(bearer) > LONGEST_TOKEN:
            raise tokens.unknown()
        for recognise in self._others:
            found = await recognise(bearer)
            if found is not None:
                return found
        return await self._by_token(bearer)

    async def _by_token(self, bearer: str) -> Principal:
        service = self._late.settings.service
        until, known = self._known.get(bearer, (0.0, None))
        if known is not None and time.monotonic() < until:
            return known
        butler = await self._late.get(self._late.settings.deadline_seconds * 0.8)
        principal = await tokens.recognise(butler, bearer)
        await tokens.note_use(butler, principal)
        self._known[bearer] = (time.monotonic() + service.token_cache_seconds, principal)
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return principal


class Authentication:
    """Lets nobody in who does not say who they are."""

    def __init__(self, app: ASGIApp, identities: Identities) -> None:
        self._app = app
        self._identities = identities

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in OPEN_PATHS:
            return await self._app(scope, receive, send)
        headers = Headers(scope=scope)
        try:
            principal = await self._identities.principal_of(_bearer(headers))
            if TENANT_HEADER in headers:
                principal = visiting(principal, slug(headers[TENANT_HEADER], "tenant"))
        except PermissionDenied as problem:
            unauthenticated = {"www-authenticate": 'Bearer realm="memory-butler"'}
            answer = JSONResponse(problem.as_dict(), status_code=401, headers=unauthenticated)
            return await answer(scope, receive, send)
        except MemoryButlerError as problem:
            return await JSONResponse(problem.as_dict(), status_code=503)(scope, receive, send)
        scope.setdefault("state", {})["principal"] = principal
        return await self._app(scope, receive, send)


def _bearer(headers: Headers) -> str:
    given = headers.getlist("authorization")
    scheme, _, bearer = given[0].partition(" ") if len(given) == 1 else ("", "", "")
    if scheme.lower() != "bearer" or not bearer.strip():
        raise PermissionDenied(
            "This server answers only to callers who say who they are.",
            recovery="Send the header `Authorization: Bearer <token>`; `memory-butler token create` makes one.",
        )
    return bearer.strip()
