"""Idempotency keys with their stored responses."""

from collections.abc import Collection, Sequence
from datetime import datetime

from memory_butler.store.gate.database import Row, Transaction
from memory_butler.store.gate.recordsets import recordset

# The butler and its key.
Owned = tuple[str, str]


async def find(transaction: Transaction, wanted: Collection[Owned], now: datetime) -> dict[Owned, Row]:
    """The used ones of some keys, each with its request hash and response."""
    butlers, keys = [butler for butler, _ in wanted], [key for _, key in wanted]
    rows = await transaction.all("database.find_keys", butlers=butlers, keys=keys, now=now)
    return {(row["butler"], row["key"]): row for row in rows}


async def keep(transaction: Transaction, rows: Sequence[Row], *, now: datetime, expires_at: datetime) -> None:
    await transaction.send("database.keep_keys", rows=recordset(rows), now=now, expires_at=expires_at)
