"""Dashboard logins: they end on logout, after idle time, at expiry, or when their token is revoked."""

import hashlib
import secrets
from contextlib import suppress
from datetime import timedelta

from memory_butler.errors import DeadlinePassed, OverloadRejected, PermissionDenied, TargetUnavailable
from memory_butler.models import Login, Principal
from memory_butler.resources import Resources
from memory_butler.store.access import logins

MAX_SEEN_INTERVAL = timedelta(minutes=1)


def seen_interval(resources: Resources) -> timedelta:
    """Interval between updates of `seen_at`: a quarter of the idle timeout, at most one minute."""
    return min(MAX_SEEN_INTERVAL, timedelta(minutes=resources.settings.dashboard.idle_minutes) / 4)


async def log_in(resources: Resources, principal: Principal) -> str:
    """Log a user in and return the secret key for the browser; only its hash is stored.

    The login expires with the token that was shown, if that is earlier: an external token cannot be checked again.
    """
    now, key = resources.clock(), secrets.token_urlsafe(32)
    latest = now + timedelta(hours=resources.settings.dashboard.session_hours)
    expires_at = min(principal.expires_at or latest, latest)
    if expires_at <= now:
        # Authentication tolerates some clock skew; a login with such a token would have expired already.
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
    async with resources.database.unlocked_write(principal.tenant) as transaction:
        await logins.open_one(transaction, login)
    return key


async def authenticate(resources: Resources, key: str, *, is_there: bool = True) -> Login | None:
    """Returns the login of a key, or None if it has ended. `is_there=False` (automatic refresh) is no activity."""
    now = resources.clock()
    idle = timedelta(minutes=resources.settings.dashboard.idle_minutes)
    login = await _find(resources, key)
    if login is None or now >= min(login.expires_at, login.seen_at + idle):
        return None
    if login.token_id is not None:
        async with resources.database.read(login.tenant) as transaction:
            if not await logins.token_is_good(transaction, login.token_id, now):
                return None
    if is_there and now - login.seen_at >= seen_interval(resources):
        # Failing to update `seen_at` must not reject the user.
        with suppress(TargetUnavailable, DeadlinePassed, OverloadRejected):
            async with resources.database.unlocked_write(login.tenant) as transaction:
                await logins.touch(transaction, login.hash, now)
    return login


async def log_out(resources: Resources, key: str) -> None:
    login = await _find(resources, key)
    if login is not None:
        async with resources.database.unlocked_write(login.tenant) as transaction:
            await logins.close(transaction, login.hash)


async def _find(resources: Resources, key: str) -> Login | None:
    async with resources.database.read("") as transaction:
        return await logins.find(transaction, _digest(key))


def principal_of(login: Login) -> Principal:
    return Principal(login.tenant, login.butler, login.role, name=login.name, token_id=login.token_id)


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()
