"""Tokens: make, list and revoke them, and recognise whoever shows one."""

import hashlib
import secrets
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

from memory_butler.butler import Butler
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
from memory_butler.operations.browse import MOST, USUAL
from memory_butler.operations.cursors import Cursors, cut
from memory_butler.operations.visits import note_visit
from memory_butler.policy.admission import optional_label, slug, whole_number
from memory_butler.policy.roles import check_role, visiting
from memory_butler.store import listings, tokens

PREFIX = "mbt_"
USE_NOTED_EVERY = timedelta(minutes=5)


async def create(butler: Butler, wanted: NewToken, caller: Caller | None = None) -> tuple[Token, str]:
    """A new token and its secret, which nobody can ever read again."""
    caller = caller or butler.local_caller()
    check_role(caller.principal, "tokens")
    role, tenant = _role(wanted.role), slug(wanted.tenant, "tenant")
    # Where nobody is yet, there is nobody to tell.
    with suppress(NotFound):
        await _enter(butler, caller, tenant, granting=role)
    now = butler.clock()
    if wanted.expires_at is not None and wanted.expires_at <= now:
        raise InvalidInput("expires_at is not in the future.")
    secret = PREFIX + secrets.token_urlsafe(32)
    owner = slug(wanted.butler, "butler")
    token = Token(
        tenant=tenant,
        id=butler.make_id(now),
        label=optional_label(wanted.label, "label") or f"{role} {owner}",
        butler=owner,
        role=role,
        created_at=now,
        created_by=caller.principal.actor,
        expires_at=wanted.expires_at,
    )
    async with butler.database.write(tenant, now) as session:
        await tokens.add(session, token, _digest(secret))
    return token, secret


async def listed(
    butler: Butler, tenant: str, caller: Caller | None = None, *, limit: int = USUAL, cursor: str | None = None
) -> Page[Token]:
    """The tokens of a tenant, the newest first, without their secrets."""
    caller = caller or butler.local_caller()
    check_role(caller.principal, "tokens")
    most, tenant = whole_number(limit, "limit", 1, MOST), slug(tenant, "tenant")
    cursors = Cursors("tokens", tenant)
    after = cursors.read(cursor, datetime.fromisoformat, UUID)
    await _enter(butler, caller, tenant)
    async with butler.database.read(tenant) as session:
        found = await listings.tokens(session, after=after, limit=most + 1)
    return cut(found, most, cursors, lambda token: [token.created_at.isoformat(), str(token.id)])


async def revoke(butler: Butler, tenant: str, token_id: UUID, caller: Caller | None = None) -> Token:
    """Make a token worthless at once."""
    caller = caller or butler.local_caller()
    check_role(caller.principal, "tokens")
    tenant = slug(tenant, "tenant")
    await _enter(butler, caller, tenant)
    now = butler.clock()
    async with butler.database.write(tenant, now) as session:
        token = await tokens.revoke(session, token_id, now)
    if token is None:
        raise NotFound("There is no such token.", recovery="`memory-butler token list` shows the tokens of a tenant.")
    return token


async def recognise(butler: Butler, secret: str) -> Principal:
    """Whose token this is. One that is unknown, revoked or past its time is refused with the same words."""
    return _principal(await _shown(butler, secret, butler.clock()))


async def _shown(butler: Butler, secret: str, now: datetime) -> Token:
    token = await tokens.shown(butler.database, _digest(secret))
    if token is None or not _is_good(token, now):
        raise unknown()
    return token


def _principal(token: Token) -> Principal:
    return Principal(token.tenant, token.butler, token.role, name=token.label, token_id=token.id)


async def admit(butler: Butler, secret: str) -> tuple[Principal, datetime | None]:
    """Whose token this is and until when; and note that it was used, to five minutes."""
    now = butler.clock()
    token = await _shown(butler, secret, now)
    if token.last_used_at is None or now - token.last_used_at > USE_NOTED_EVERY:
        # Whether it is noted decides nothing: a caller is not turned away because of it.
        with suppress(TargetUnavailable, DeadlinePassed, OverloadRejected):
            async with butler.database.aside(token.tenant, relaxed=True) as session:
                await tokens.used(session, token.id, now, USE_NOTED_EVERY)
    return _principal(token), token.expires_at


def unknown() -> PermissionDenied:
    return PermissionDenied(
        "The token is not known, was revoked or has expired.",
        recovery="Ask an administrator for a new one: `memory-butler token create`.",
    )


def _is_good(token: Token, now: datetime) -> bool:
    return token.revoked_at is None and (token.expires_at is None or token.expires_at > now)


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def _role(name: str) -> Role:
    try:
        return Role(name)
    except ValueError:
        raise InvalidInput(f"role must be one of {', '.join(Role)}, not {name!r}.") from None


async def _enter(butler: Butler, caller: Caller, tenant: str, *, granting: Role = Role.READER) -> None:
    """Nobody hands out more than they have: operators are made by operators and by the person at the machine.

    Whoever comes from another tenant leaves a trace there.
    """
    principal = visiting(caller.principal, tenant)
    if granting is Role.OPERATOR and principal.role is not Role.OPERATOR:
        raise PermissionDenied(
            "Only an operator may make an operator's token.",
            recovery="Choose another role, or ask an operator or the person at the server's machine to make it.",
        )
    if principal is not caller.principal:
        await note_visit(butler, replace(caller, principal=principal), "tokens")
