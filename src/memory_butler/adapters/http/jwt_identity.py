"""Authentication with JSON Web Tokens of an identity provider.

The provider's public keys come from its key set. They are fetched in a thread, cached, and fetched again when a token
names an unknown key, at most every 10 seconds.
"""

import asyncio
import json
import logging
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
from joserfc import jwt
from joserfc.errors import ExpiredTokenError, InvalidClaimError, JoseError, MissingClaimError, SecurityWarning
from joserfc.jwk import JWKRegistry, Key, OctKey
from joserfc.jws import JWSRegistry, extract_compact

from memory_butler.errors import InvalidInput, MemoryButlerError, PermissionDenied, TargetUnavailable
from memory_butler.models import Principal, Role
from memory_butler.policy.memories.validation import LABEL_CHARACTERS, clean_text, slug
from memory_butler.settings import JwtSettings, is_loopback_host

FETCH_SECONDS = 3.0
# Bad tokens with unknown keys must not be able to make us flood the provider.
REFETCH_SECONDS = 10.0
KEY_SET_BYTES = 1_000_000
MAX_TIMESTAMP = datetime.max.replace(microsecond=0, tzinfo=UTC).timestamp()

log = logging.getLogger(__name__)


class KeySet:
    """Cache of the provider's public keys."""

    def __init__(self, source: str, cache_seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._source = source
        self._cache_seconds = cache_seconds
        self._clock = clock
        self._keys: tuple[Key, ...] = ()
        self._fetched_at: float | None = None
        self._tried_at: float | None = None
        self._fetching = asyncio.Lock()

    async def find(self, key_id: str | None) -> list[Key]:
        """Return the keys that a token may be signed with: the one it names, or all if it names none."""
        if self._fetched_at is None or self._clock() - self._fetched_at >= self._cache_seconds:
            await self._fetch(since=self._clock())
        keys = self._with_id(key_id)
        if not keys:
            await self._fetch(since=self._clock())
            keys = self._with_id(key_id)
        return keys

    def _with_id(self, key_id: str | None) -> list[Key]:
        return [key for key in self._keys if key_id is None or key.kid == key_id]

    async def _fetch(self, since: float) -> None:
        """Fetch the key set, unless another task did so meanwhile, or within the last 10 seconds.

        Cached keys stay in use while the provider cannot be reached.
        """
        async with self._fetching:
            now = self._clock()
            if self._tried_at is not None and (self._tried_at >= since or now - self._tried_at < REFETCH_SECONDS):
                if self._fetched_at is None:
                    raise _unreachable()
                return
            self._tried_at = now
            try:
                self._keys = await asyncio.to_thread(read_key_set, self._source)
                self._fetched_at = self._clock()
            except MemoryButlerError as problem:
                log.warning("reading the keys of the identity provider failed: %s", problem.message)
                if self._fetched_at is None:
                    raise _unreachable() from problem


def _unreachable() -> TargetUnavailable:
    return TargetUnavailable(
        "The keys of the identity provider cannot be read, so its tokens cannot be verified.",
        recovery="Try again later; the server's log has the reason.",
    )


def read_key_set(source: str) -> tuple[Key, ...]:
    """Return the public keys of a key set, from a URL or a file; symmetric keys are ignored."""
    try:
        text = _download(source) if "://" in source else Path(source).expanduser().read_bytes()
        listed = list(json.loads(text)["keys"])
    except (OSError, httpx.HTTPError, httpx.InvalidURL) as problem:
        raise TargetUnavailable(f"The key set at {source} cannot be read: {type(problem).__name__}.") from problem
    except (ValueError, KeyError, TypeError) as problem:
        raise InvalidInput(f"{source} is not a key set (JWKS).") from problem
    keys = tuple(key for data in listed if isinstance(data, dict) for key in _imported(data))
    if not keys:
        raise InvalidInput(f"The key set at {source} has no public key for signatures.")
    return keys


def _download(address: str) -> bytes:
    is_here = is_loopback_host(urlsplit(address).hostname)
    with httpx.Client(timeout=FETCH_SECONDS, trust_env=not is_here) as web, web.stream("GET", address) as reply:
        reply.raise_for_status()
        text = b""
        for piece in reply.iter_bytes():
            text += piece
            if len(text) > KEY_SET_BYTES:
                raise ValueError(f"longer than {KEY_SET_BYTES} bytes")
        if not reply.is_success:
            raise httpx.HTTPError(f"status {reply.status_code}")
        return text


def _imported(data: dict[str, Any]) -> list[Key]:
    """Return the key, or nothing if it is symmetric, malformed or not for signatures."""
    try:
        key = JWKRegistry.import_key(data)
    except (JoseError, ValueError, TypeError, KeyError):
        return []
    return [] if isinstance(key, OctKey) or data.get("use", "sig") != "sig" else [key]


class JwtIdentity:
    """Verifies JSON Web Tokens of the configured provider."""

    def __init__(
        self,
        settings: JwtSettings,
        default_butler: str,
        *,
        clock: Callable[[], float] = time.time,
        ticking: Callable[[], float] = time.monotonic,
    ) -> None:
        assert settings.issuer and settings.audience and settings.key_set
        self._settings = settings
        self._issuer, self._audience = settings.issuer, settings.audience
        self._default_butler = default_butler
        self._clock = clock
        self._keys = KeySet(settings.key_set, settings.key_set_minutes * 60, ticking)
        self._signatures = JWSRegistry(algorithms=settings.algorithms, strict_check_header=False)

    async def __call__(self, bearer: str) -> Principal | None:
        """Return the principal of the token, with its expiry; None if it is no JWT."""
        claims = await self.claims(bearer)
        return None if claims is None else replace(self.principal(claims), expires_at=_moment(claims["exp"]))

    async def claims(self, bearer: str) -> dict[str, Any] | None:
        """Return the claims of a token that is valid now; None if it is no JWT."""
        header = _header(bearer)
        if header is None:
            return None
        algorithm, key_id = header.get("alg"), header.get("kid")
        if algorithm not in self._settings.algorithms or not isinstance(key_id, str | None):
            raise _refused("it is not signed in a way that is accepted here")
        claims = self._verified(bearer, await self._keys.find(key_id), str(algorithm))
        self._check(claims)
        return claims

    def _verified(self, bearer: str, keys: list[Key], algorithm: str) -> dict[str, Any]:
        for key in keys:
            if key.get("alg", algorithm) != algorithm:
                continue
            try:
                with warnings.catch_warnings():
                    # "EdDSA" is deprecated, but tokens still use it.
                    warnings.simplefilter("ignore", SecurityWarning)
                    return jwt.decode(bearer, key, None, self._signatures).claims
            except (JoseError, ValueError, TypeError):
                continue
        raise _refused("its signature is not the identity provider's")

    def _check(self, claims: dict[str, Any]) -> None:
        rules = jwt.JWTClaimsRegistry(
            now=int(self._clock()),
            leeway=round(self._settings.leeway_seconds),
            iss={"essential": True, "value": self._issuer},
            aud={"essential": True, "value": self._audience},
            exp={"essential": True},
        )
        try:
            rules.validate(claims)
        except ExpiredTokenError:
            raise _refused("it has expired") from None
        except MissingClaimError as problem:
            raise _refused(f"it lacks a claim ({problem.claim})") from None
        except InvalidClaimError as problem:
            raise _refused(f"its claim {problem.claim} does not fit this service") from None

    def names_tenant(self, claims: Mapping[str, Any]) -> bool:
        return _claim(claims, self._settings.tenant_claim) is not None

    def principal(self, claims: Mapping[str, Any]) -> Principal:
        settings = self._settings
        role = self._role(_claim(claims, settings.role_claim))
        butler = _claim(claims, settings.butler_claim)
        if butler is None and role.governs:
            butler = self._default_butler
        name = _claim(claims, settings.name_claim)
        return Principal(
            tenant=_exactly(_claim(claims, settings.tenant_claim), settings.tenant_claim),
            butler=_exactly(butler, settings.butler_claim),
            role=role,
            name=None if name is None else _label(name, settings.name_claim),
        )

    def _role(self, given: object) -> Role:
        if given is None:
            return Role.READER
        try:
            return Role(given)  # type: ignore[arg-type]
        except ValueError:
            raise _refused(f"its claim {self._settings.role_claim} names no role") from None


def _header(bearer: str) -> dict[str, Any] | None:
    if bearer.count(".") != 2:
        return None
    try:
        header = extract_compact(bearer.encode()).headers()
    except (JoseError, ValueError, TypeError):
        return None
    return header if "alg" in header else None


def _claim(claims: Mapping[str, Any], name: str) -> Any:
    """Return a claim by its name; a name with dots may also be a path into nested claims."""
    if name in claims:
        return claims[name]
    value: Any = claims
    for part in name.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _moment(seconds: float) -> datetime:
    """Convert the time of a claim, capped at the latest date that Python knows."""
    return datetime.fromtimestamp(min(MAX_TIMESTAMP, seconds), UTC)


def _exactly(given: object, claim: str) -> str:
    """Return a tenant or butler unchanged. It is never normalised: two names must not become one."""
    if given is None:
        raise _refused(f"it lacks the claim {claim}")
    try:
        if slug(given, claim) == given:
            return str(given)
    except InvalidInput:
        pass
    raise _refused(f"its claim {claim} is not of the form a-z, 0-9, '.', '_' or '-'")


def _label(given: object, claim: str) -> str:
    try:
        return clean_text(given, claim, LABEL_CHARACTERS)
    except InvalidInput:
        raise _refused(f"its claim {claim} is not a valid name") from None


def _refused(why: str) -> PermissionDenied:
    return PermissionDenied(
        f"The token was refused: {why}.", recovery="Get a new token for this service from your identity provider."
    )
