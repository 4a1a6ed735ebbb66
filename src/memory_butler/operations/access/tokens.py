"""API tokens: create, list, revoke and authenticate."""

import hashlib
import secrets
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

from memory_butler.errors import (
    DeadlinePassed,
    InvalidInput,
    NotFound,
    OverloadRejected,
    PermissionDenied,
    TargetUnavailable,
)
from memory_butler.models import Caller, NewToken, Principal, Role, Token
from memory_butler.models.listings import Page
from memory_butler.operations.access.cross_tenant_audit import audit_access
from memory_butler.operations.browse.cursors import Cursors, cut_page
from memory_butler.operations.browse.listings import DEFAULT_LIMIT, MAX_LIMIT
from memory_butler.policy.access.roles import switch_tenant
from memory_butler.policy.memories.validation import optional_label, slug, whole_number
from memory_butler.resources import Resources, on_replica
from memory_butler.store.access import tokens
from memory_butler.store.browse import listings

PREFIX = "mbt_"
USE_INTERVAL = timedelta(minutes=5)


async def create(resources: Resources, wanted: NewToken, caller: Caller | None = None) -> tuple[Token, str]:
    """Create a token. Returns it with its secret; only the hash of the secret is stored."""
    caller = resources.allowed(caller, "tokens")
    role, tenant = _role(wanted.role), slug(wanted.tenant, "tenant")
    # A new tenant does not exist yet, so there is no audit log to write to.
    with suppress(NotFound):
        await _authorize(resources, caller, tenant, granting=role)
    now = resources.clock()
    if wanted.expires_at is not None and wanted.expires_at <= now:
        raise InvalidInput(
            f"expires_at {wanted.expires_at.isoformat()} is not in the future.", recovery="Pass a later time, or none."
        )
    secret = PREFIX + secrets.token_urlsafe(32)
    owner = slug(wanted.butler, "butler")
    token = Token(
        tenant=tenant,
        id=resources.make_id(now),
        label=optional_label(wanted.label, "label") or f"{role} {owner}",
        butler=owner,
        role=role,
        created_at=now,
        created_by=caller.principal.actor,
        expires_at=wanted.expires_at,
    )
    async with resources.database.write(tenant, now) as transaction:
        await tokens.add(transaction, token, _digest(secret))
    return token, secret


async def list_tokens(
    resources: Resources,
    tenant: str,
    caller: Caller | None = None,
    *,
    limit: int = DEFAULT_LIMIT,
    cursor: str | None = None,
) -> Page[Token]:
    """Returns the tokens of a tenant, newest first, without secrets."""
    caller = resources.allowed(caller, "tokens")
    most, tenant = whole_number(limit, "limit", 1, MAX_LIMIT), slug(tenant, "tenant")
    cursors = Cursors("tokens", tenant)
    after = cursors.decode(cursor, datetime.fromisoformat, UUID)
    await _authorize(resources, caller, tenant)
    async with resources.database.read(tenant) as transaction:
        found = await listings.tokens(transaction, after=after, limit=most + 1)
    return cut_page(found, most, cursors, lambda token: [token.created_at.isoformat(), str(token.id)])


async def revoke(resources: Resources, tenant: str, token_id: UUID, caller: Caller | None = None) -> Token:
    """Revoke a token with immediate effect."""
    caller = resources.allowed(caller, "tokens")
    tenant = slug(tenant, "tenant")
    await _authorize(resources, caller, tenant)
    now = resources.clock()
    async with resources.database.write(tenant, now) as transaction:
        token = await tokens.revoke(transaction, token_id, now)
        if token and token.role is Role.OPERATOR and caller.principal.role is not Role.OPERATOR:
            # Rolls the revocation back.
            raise PermissionDenied(
                "Only an operator may revoke an operator token.",
                recovery="Ask an operator or a local user on the server's machine.",
            )
    if token is None:
        raise NotFound(
            f"There is no token {token_id}.", recovery="`memory-butler token list` shows the tokens of a tenant."
        )
    return token


async def _shown(resources: Resources, digest: bytes) -> Token | None:
    return await tokens.shown(resources.database, digest)


async def _find_valid(resources: Resources, secret: str, now: datetime) -> Token:
    digest = _digest(secret)
    try:
        token = await tokens.shown(resources.database, digest)
    except TargetUnavailable:
        if not resources.database.read_plane:
            raise
        # Without the primary, a replica has the tokens up to a moment ago.
        token = await on_replica(_shown)(resources, digest)
    if token is None or not _is_valid(token, now):
        raise invalid_token()
    return token


def _principal(token: Token) -> Principal:
    return Principal(token.tenant, token.butler, token.role, name=token.label, token_id=token.id)


async def authenticate(resources: Resources, secret: str) -> tuple[Principal, datetime | None]:
    """Returns the principal of a token and its expiry, and records the use, at most every five minutes.

    Unknown, revoked and expired tokens get the same error.
    """
    now = resources.clock()
    token = await _find_valid(resources, secret, now)
    if token.last_used_at is None or now - token.last_used_at > USE_INTERVAL:
        # Failing to record the use must not reject the caller.
        with suppress(TargetUnavailable, DeadlinePassed, OverloadRejected):
            async with resources.database.unlocked_write(token.tenant, relaxed=True) as transaction:
                await tokens.used(transaction, token.id, now, USE_INTERVAL)
    return _principal(token), token.expires_at


def invalid_token() -> PermissionDenied:
    return PermissionDenied(
        "The token is not known, was revoked or has expired.",
        recovery="Ask an administrator for a new token: `memory-butler token create`.",
    )


def _is_valid(token: Token, now: datetime) -> bool:
    return token.revoked_at is None and (token.expires_at is None or token.expires_at > now)


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def _role(name: str) -> Role:
    try:
        return Role(name)
    except ValueError:
        raise InvalidInput(f"role {name!r} is unknown.", recovery=f"Use one of: {', '.join(Role)}.") from None


async def _authorize(resources: Resources, caller: Caller, tenant: str, *, granting: Role = Role.READER) -> None:
    """Check the caller's rights in a tenant and audit access from another one.

    Only an operator, or a local user on the server's machine, may create an operator token.
    """
    principal = switch_tenant(caller.principal, tenant)
    if granting is Role.OPERATOR and principal.role is not Role.OPERATOR:
        raise PermissionDenied(
            "Only an operator may create an operator token.",
            recovery="Choose another role, or ask an operator or a local user on the server's machine.",
        )
    if principal is not caller.principal:
        await audit_access(resources, replace(caller, principal=principal), "tokens")
