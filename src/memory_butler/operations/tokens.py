"""Tokens: make, list and revoke them, and recognise whoever shows one."""

import hashlib
import secrets
from datetime import datetime
from uuid import UUID

from memory_butler.butler import Butler
from memory_butler.errors import InvalidInput, NotFound, PermissionDenied
from memory_butler.models import Caller, NewToken, Principal, Role, Token
from memory_butler.policy.admission import optional_label, slug
from memory_butler.policy.roles import check_role, visiting
from memory_butler.store import tokens

PREFIX = "mbt_"


async def create(butler: Butler, wanted: NewToken, caller: Caller | None = None) -> tuple[Token, str]:
    """A new token and its secret, which nobody can ever read again."""
    caller = caller or butler.local_caller()
    check_role(caller.principal, "tokens")
    role, tenant = _role(wanted.role), slug(wanted.tenant, "tenant")
    _check_granting(caller.principal, role, tenant)
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


async def listed(butler: Butler, tenant: str, caller: Caller | None = None) -> list[Token]:
    """The tokens of a tenant, the newest first, without their secrets."""
    caller = caller or butler.local_caller()
    check_role(caller.principal, "tokens")
    _check_granting(caller.principal, Role.READER, slug(tenant, "tenant"))
    async with butler.database.read(tenant) as session:
        return await tokens.listed(session)


async def revoke(butler: Butler, tenant: str, token_id: UUID, caller: Caller | None = None) -> Token:
    """Make a token worthless at once."""
    caller = caller or butler.local_caller()
    check_role(caller.principal, "tokens")
    _check_granting(caller.principal, Role.READER, slug(tenant, "tenant"))
    now = butler.clock()
    async with butler.database.write(tenant, now) as session:
        token = await tokens.revoke(session, token_id, now)
    if token is None:
        raise NotFound("There is no such token.", recovery="`memory-butler token list` shows the tokens of a tenant.")
    return token


async def recognise(butler: Butler, secret: str) -> Principal:
    """Whose token this is. One that is unknown, revoked or past its time is refused with the same words."""
    now = butler.clock()
    async with butler.database.read("") as session:
        token = await tokens.shown(session, _digest(secret))
    if token is None or not _is_good(token, now):
        raise unknown()
    return Principal(token.tenant, token.butler, token.role, name=token.label, token_id=token.id)


async def note_use(butler: Butler, principal: Principal) -> None:
    """Note when a token was last used, to the minute."""
    if principal.token_id is not None:
        async with butler.database.aside(principal.tenant) as session:
            await tokens.used(session, principal.token_id, butler.clock())


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


def _check_granting(principal: Principal, role: Role, tenant: str) -> None:
    """Nobody hands out more than they have: operators are made by operators and by the person at the machine."""
    visiting(principal, tenant)
    if role is Role.OPERATOR and principal.role is not Role.OPERATOR:
        raise PermissionDenied("Only an operator may make an operator's token.")
