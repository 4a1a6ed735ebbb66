"""Sessions: who is logged in to the dashboard, until they leave, are away for too long, or lose their token."""

import hashlib
import secrets
from contextlib import suppress
from datetime import timedelta

from memory_butler.butler import Butler
from memory_butler.errors import DeadlinePassed, OverloadRejected, PermissionDenied, TargetUnavailable
from memory_butler.models import Login, Principal
from memory_butler.store import sessions

SEEN_NOTED_EVERY = timedelta(minutes=1)


def noted_every(butler: Butler) -> timedelta:
    """How often it is noted that somebody is there: well before they would be taken for gone."""
    return min(SEEN_NOTED_EVERY, timedelta(minutes=butler.settings.dashboard.idle_minutes) / 4)


async def begin(butler: Butler, principal: Principal) -> str:
    """Log somebody in; the key is for their browser, and nobody can read it again.

    What they showed may end before a login usually does. Nobody can be asked about it later, so the login ends with it.
    """
    now, key = butler.clock(), secrets.token_urlsafe(32)
    usual = now + timedelta(hours=butler.settings.dashboard.session_hours)
    expires_at = min(principal.expires_at or usual, usual)
    if expires_at <= now:
        # Where clocks differ, callers are let in for a moment longer; a login would be over before it began.
        raise PermissionDenied("The token has expired.", recovery="Log in with a new one.")
    login = Login(
        tenant=principal.tenant,
        hash=_digest(key),
        butler=principal.butler,
        role=principal.role,
        name=principal.name,
        token_id=principal.token_id,
        created_at=now,
        expires_at=expires_at,
        seen_at=now,
    )
    async with butler.database.aside(principal.tenant) as session:
        await sessions.open_one(session, login)
    return key


async def recognise(butler: Butler, key: str, *, is_there: bool = True) -> Login | None:
    """Whose login this is; nobody's if it is over. A page that asks by itself does not count as somebody there."""
    now = butler.clock()
    idle = timedelta(minutes=butler.settings.dashboard.idle_minutes)
    login = await _shown(butler, key)
    if login is None or now >= min(login.expires_at, login.seen_at + idle):
        return None
    if login.token_id is not None:
        async with butler.database.read(login.tenant) as session:
            if not await sessions.token_is_good(session, login.token_id, now):
                return None
    if is_there and now - login.seen_at >= noted_every(butler):
        # Whether it is noted decides nothing yet: nobody is turned away because of it.
        with suppress(TargetUnavailable, DeadlinePassed, OverloadRejected):
            async with butler.database.aside(login.tenant) as session:
                await sessions.seen(session, login.hash, now)
    return login


async def end(butler: Butler, key: str) -> None:
    """Log somebody out."""
    login = await _shown(butler, key)
    if login is not None:
        async with butler.database.aside(login.tenant) as session:
            await sessions.close(session, login.hash)


async def _shown(butler: Butler, key: str) -> Login | None:
    async with butler.database.read("") as session:
        return await sessions.shown(session, _digest(key))


def principal_of(login: Login) -> Principal:
    return Principal(login.tenant, login.butler, login.role, name=login.name, token_id=login.token_id)


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()
