"""Authentication over HTTP, by bearer token only.

The principal is stored in the request scope. Without authentication, every caller is the local user; then the server
accepts requests from this machine only.
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

from memory_butler.adapters.http.problems import UNAUTHENTICATED, problem_response, request_id_from
from memory_butler.adapters.http.single_flight import SingleFlight
from memory_butler.adapters.lazy_resources import LazyResources
from memory_butler.errors import InvalidInput, MemoryButlerError, PermissionDenied
from memory_butler.metrics import calls
from memory_butler.models import Principal
from memory_butler.operations.access import tokens
from memory_butler.policy.access.roles import switch_tenant
from memory_butler.policy.memories.validation import slug
from memory_butler.settings import Settings

TENANT_HEADER = "memory-butler-tenant"
MAX_CACHED = 10_000
MAX_TOKEN_CHARACTERS = 8192
OPEN_PATHS = frozenset({"/health/live", "/health/ready"})
CHALLENGE = 'Bearer realm="memory-butler"'

TokenVerifier = Callable[[str], Awaitable[Principal | None]]


# Set by REST and hooks, which call tools in process.
in_process_principal: ContextVar[Principal | None] = ContextVar("in_process_principal", default=None)


def request_principal(*, required: bool = False) -> Principal | None:
    """Return the authenticated principal of the current HTTP request, if any.

    `required`: refuse a request without a principal instead of treating it as the local user.
    """
    if principal := in_process_principal.get():
        return principal
    try:
        request = get_http_request()
    except RuntimeError:
        # Not over HTTP: the user who started this process over stdio.
        return None
    principal = request.scope.get("state", {}).get("principal")
    if isinstance(principal, Principal):
        return principal
    if required:
        raise unauthenticated()
    return None


class Identities:
    """Maps bearer tokens to principals. API tokens are cached by their digest, so that not every call looks them up."""

    def __init__(self, lazy: LazyResources) -> None:
        self._lazy = lazy
        self._verifiers = token_verifiers(lazy.settings)
        self._cache: OrderedDict[bytes, tuple[float, Principal]] = OrderedDict()
        self._lookups: SingleFlight[Principal] = SingleFlight()

    async def principal_of(self, bearer: str) -> Principal:
        if not bearer or len(bearer) > MAX_TOKEN_CHARACTERS:
            raise tokens.invalid_token()
        for verify in self._verifiers:
            principal = await verify(bearer)
            if principal is not None:
                return principal
        if not bearer.startswith(tokens.PREFIX):
            raise tokens.invalid_token()
        return await self._by_token(bearer)

    async def _by_token(self, bearer: str) -> Principal:
        digest = hashlib.sha256(bearer.encode("utf-8", "surrogatepass")).digest()
        until, cached = self._cache.get(digest, (0.0, None))
        if cached is not None and time.monotonic() < until:
            return cached
        return await self._lookups.shared(digest, partial(self._look_up, digest, bearer))

    async def _look_up(self, digest: bytes, bearer: str) -> Principal:
        resources = await self._lazy.get_for_call()
        try:
            async with self._lookups.slot():
                asked_at = time.monotonic()
                principal, expires_at = await tokens.authenticate(resources, bearer)
        except PermissionDenied:
            self._cache.pop(digest, None)
            raise
        seconds = self._lazy.settings.service.token_cache_seconds
        if expires_at is not None:
            seconds = min(seconds, (expires_at - resources.clock()).total_seconds())
        self._cache[digest] = (asked_at + seconds, principal)
        self._cache.move_to_end(digest)
        while len(self._cache) > MAX_CACHED:
            self._cache.popitem(last=False)
        return principal


def token_verifiers(settings: Settings) -> tuple[TokenVerifier, ...]:
    """Return the verifier of the configured identity provider, if there is one."""
    jwt = settings.service.jwt
    if not jwt.issuer:
        return ()
    # Imported here: the libraries for signatures and keys are needed only with an identity provider.
    from memory_butler.adapters.http.jwt_identity import JwtIdentity  # noqa: PLC0415

    return (JwtIdentity(jwt, settings.butler),)


class Authentication:
    """Middleware: unauthenticated requests get 401, a tenant that the token does not allow gets 403."""

    def __init__(self, app: ASGIApp, identities: Identities) -> None:
        self._app = app
        self._identities = identities

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            return await send({"type": "websocket.close", "code": 1008})
        refused = await self._refusal(scope) if scope["type"] == "http" and scope["path"] not in OPEN_PATHS else None
        return await (refused or self._app)(scope, receive, send)

    async def _refusal(self, scope: Scope) -> Response | None:
        """Store the principal in the request scope; returns the error response if there is none."""
        headers = Headers(scope=scope)
        # A principal from elsewhere is never trusted.
        scope["state"] = {key: value for key, value in scope.get("state", {}).items() if key != "principal"}
        try:
            principal = await self._identities.principal_of(_bearer(headers))
        except PermissionDenied as problem:
            calls.UNAUTHENTICATED.inc()
            shown = ', error="invalid_token"' if "authorization" in headers else ""
            challenge = {"www-authenticate": CHALLENGE + shown}
            return problem_response(problem, request_id_from(scope), status=UNAUTHENTICATED, headers=challenge)
        except MemoryButlerError as problem:
            return problem_response(problem, request_id_from(scope))
        try:
            scope["state"]["principal"] = _in_tenant(principal, headers.getlist(TENANT_HEADER))
            scope["state"]["recheck"] = partial(self._authenticate, headers)
        except MemoryButlerError as problem:
            return problem_response(problem, request_id_from(scope))
        return None

    async def _authenticate(self, headers: Headers) -> Principal:
        """Authenticate again, for a response that takes long."""
        return _in_tenant(await self._identities.principal_of(_bearer(headers)), headers.getlist(TENANT_HEADER))


def _in_tenant(principal: Principal, tenants: list[str]) -> Principal:
    """Switch to the tenant of the header, if there is one."""
    if not tenants:
        return principal
    if len(tenants) > 1:
        raise InvalidInput(f"The header {TENANT_HEADER} was sent {len(tenants)} times.", recovery="Send it once.")
    return switch_tenant(principal, slug(tenants[0], "tenant"))


def unauthenticated() -> PermissionDenied:
    return PermissionDenied(
        "This server requires authentication.",
        recovery="Send one header `Authorization: Bearer <token>` with each request;"
        " `memory-butler token create` creates a token.",
    )


def _bearer(headers: Headers) -> str:
    values = headers.getlist("authorization")
    scheme, _, bearer = values[0].partition(" ") if len(values) == 1 else ("", "", "")
    if scheme.lower() != "bearer" or not bearer.strip():
        raise unauthenticated()
    return bearer.strip()
