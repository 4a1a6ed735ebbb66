"""Logins of the dashboard. Only the hash of a login's key is ever here."""

from dataclasses import asdict
from datetime import datetime
from uuid import UUID

from memory_butler.models import Login, Role
from memory_butler.store.database import Session


async def open_one(session: Session, login: Login) -> None:
    row = {key: value for key, value in asdict(login).items() if key not in ("tenant", "seen_at")}
    await session.send("sessions.open", **row)


async def shown(session: Session, digest: bytes) -> Login | None:
    """The login that has this hash, whichever tenant's it is. Only whoever has its key knows the hash."""
    await session.send("tokens.show", hash=digest.hex())
    row = await session.one("sessions.shown", hash=digest)
    return Login(**{**row, "role": Role(row["role"])}) if row else None


async def token_is_good(session: Session, token_id: UUID, now: datetime) -> bool:
    row = await session.one("sessions.token_is_good", id=token_id, now=now)
    return bool(row and row["good"])


async def seen(session: Session, digest: bytes, now: datetime) -> None:
    await session.send("sessions.seen", hash=digest, now=now)


async def close(session: Session, digest: bytes) -> None:
    await session.send("sessions.close", hash=digest)
