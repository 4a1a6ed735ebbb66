"""Who is calling over HTTP: a bearer token says it, and nothing else.

The principal travels with the request. Where no authentication is required, every caller is the person whose local
store this is; then only this machine is served.
"""

import hashlib
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from functools import partial

from fastmcp.server.dependencies import get_http_request
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from memory_butler.adapters import metrics
from memory_butler.adapters.enquiries import Enquiries
from memory_butler.adapters.opening import LateButler
from memory_butler.adapters.problems import UNAUTHENTICATED, problem_response, request_id_from
from memory_butler.errors import InvalidInput, MemoryButlerError, PermissionDenied
from memory_butler.models import Principal
from memory_butler.operations import tokens
from memory_butler.policy.admission import slug
from memory_butler.policy.roles import visiting
from memory_butler.settings import Settings

TENANT_HEADER = "memory-butler-tenant"
REMEMBERED = 10_000
LONGEST_TOKEN = 8192
OPEN_PATHS = frozenset({"/health/live", "/health/ready"})
CHALLENGE = 'Bearer realm="memory-butler"'

Recogniser = Callable[[str], Awaitable[Principal | None]]


# Set by doors that call tools themselves.
calling: ContextVar[Principal | None] = ContextVar("calling", default=None)


def shown_principal(*, required: bool = False) -> Principal | None:
    """Who the HTTP request that is being answered comes from, if it had to say so.

    Where it is required, a request that got in without saying it is refused rather than taken for the local person.
    """
    if found := calling.get():
        return found
    try:
        request = get_http_request()
    except RuntimeError:
        # Not over HTTP at all: the person who started this process over stdio.
        return None
    found = request.scope.get("state", {}).get("principal")
    if isinstance(found, Principal):
        return found
    if required:
        raise nobody()
    return None


class Identities:
    """Recognises bearers. Those of the store are remembered for a moment, by their digest, so that not every call asks
    for them."""

    def __init__(self, late: LateButler, others: tuple[Recogniser, ...] = ()) -> None:
        self._late = late
        self._others = others
        self._known: OrderedDict[bytes, tuple[float, Principal]] = OrderedDict()
        self._enquiries: Enquiries[Principal] = Enquiries()

    @classmethod
    def from_settings(cls, late: LateButler) -> "Identities":
        return cls(late, recognisers(late.settings))

    async def principal_of(self, bearer: str) -> Principal:
        if not bearer or len(bearer) > LONGEST_TOKEN:
            raise tokens.unknown()
        for recognise in self._others:
            found = await recognise(bearer)
            if found is not None:
                return found
        if not bearer.startswith(tokens.PREFIX):
            raise tokens.unknown()
        return await self._by_token(bearer)

    async def _by_token(self, bearer: str) -> Principal:
        digest = hashlib.sha256(bearer.encode("utf-8", "surrogatepass")).digest()
        until, known = self._known.get(digest, (0.0, None))
        if known is not None and time.monotonic() < until:
            return known
        return await self._enquiries.shared(digest, partial(self._found, digest, bearer))

    async def _found(self, digest: bytes, bearer: str) -> Principal:
        butler = await self._late.get(self._late.settings.deadline_seconds * 0.8)
        try:
            async with self._enquiries.turn():
                asked_at, (principal, expires_at) = time.monotonic(), await tokens.admit(butler, bearer)
        except PermissionDenied:
            self._known.pop(digest, None)
            raise
        seconds = self._late.settings.service.token_cache_seconds
        if expires_at is not None:
            seconds = min(seconds, (expires_at - butler.clock()).total_seconds())
        self._known[digest] = (asked_at + seconds, principal)
        self._known.move_to_end(digest)
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return principal


def recognisers(settings: Settings) -> tuple[Recogniser, ...]:
    """Those of identity providers, as far as any is configured."""
    given = settings.service.jwt
    if not given.issuer:
        return ()
    # Checking signatures and fetching keys takes libraries that no other server needs.
    from memory_butler.adapters.jwt_identity import JwtIdentity  # noqa: PLC0415

    return (JwtIdentity(given, settings.butler),)


class Authentication:
    """Lets nobody in who does not say who they are: 401. Who wants more than their token allows is told so: 403."""

    def __init__(self, app: ASGIApp, identities: Identities) -> None:
        self._app = app
        self._identities = identities

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            return await send({"type": "websocket.close", "code": 1008})
        refused = await self._refusal(scope) if scope["type"] == "http" and scope["path"] not in OPEN_PATHS else None
        return await (refused or self._app)(scope, receive, send)

    async def _refusal(self, scope: Scope) -> Response | None:
        """Put the principal into the request; or the answer to whoever has none."""
        headers = Headers(scope=scope)
        # Nothing that was put there before us counts.
        scope["state"] = {key: value for key, value in scope.get("state", {}).items() if key != "principal"}
        try:
            principal = await self._identities.principal_of(_bearer(headers))
        except PermissionDenied as problem:
            metrics.UNAUTHENTICATED.inc()
            shown = ', error="invalid_token"' if "authorization" in headers else ""
            challenge = {"www-authenticate": CHALLENGE + shown}
            return problem_response(problem, request_id_from(scope), status=UNAUTHENTICATED, headers=challenge)
        except MemoryButlerError as problem:
            return problem_response(problem, request_id_from(scope))
        try:
            scope["state"]["principal"] = _at(principal, headers.getlist(TENANT_HEADER))
            scope["state"]["recheck"] = partial(self._again, headers)
        except MemoryButlerError as problem:
            return problem_response(problem, request_id_from(scope))
        return None

    async def _again(self, headers: Headers) -> Principal:
        """Who it is by now, for an answer that takes long."""
        return _at(await self._identities.principal_of(_bearer(headers)), headers.getlist(TENANT_HEADER))


def _at(principal: Principal, wanted: list[str]) -> Principal:
    """The caller in the tenant that was asked for; in its own if none was."""
    if not wanted:
        return principal
    if len(wanted) > 1:
        raise InvalidInput(f"The header {TENANT_HEADER} is there more than once.", recovery="Send it once.")
    return visiting(principal, slug(wanted[0], "tenant"))


def nobody() -> PermissionDenied:
    return PermissionDenied(
        "This server answers only to callers who say who they are.",
        recovery="With each request send one header `Authorization: Bearer <token>`;"
        " `memory-butler token create` makes a token.",
    )


def _bearer(headers: Headers) -> str:
    given = headers.getlist("authorization")
    scheme, _, bearer = given[0].partition(" ") if len(given) == 1 else ("", "", "")
    if scheme.lower() != "bearer" or not bearer.strip():
        raise nobody()
    return bearer.strip()
