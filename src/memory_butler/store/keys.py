"""Idempotency keys: what was answered the first time."""

from collections.abc import Collection, Sequence
from datetime import datetime

from memory_butler.store.database import Row, Session
from memory_butler.store.recordsets import recordset

# Whose key it is, and the key.
Owned = tuple[str, str]


async def find(session: Session, wanted: Collection[Owned], now: datetime) -> dict[Owned, Row]:
    """Those of some keys that were used before, each with the request and what it was answered."""
    butlers, keys = [butler for butler, _ in wanted], [key for _, key in wanted]
    rows = await session.all("database.find_keys", butlers=butlers, keys=keys, now=now)
    return {(row["butler"], row["key"]): row for row in rows}


async def keep(session: Session, rows: Sequence[Row], *, now: datetime, expires_at: datetime) -> None:
    await session.send("database.keep_keys", rows=recordset(rows), now=now, expires_at=expires_at)
