"""Idempotency keys with their stored responses."""

from collections.abc import Collection, Sequence
from datetime import datetime
from functools import partial

from memory_butler.store.encryption.vault import REQUEST_HASH
from memory_butler.store.gate.database import Row, Transaction
from memory_butler.store.gate.recordsets import recordset

# The butler and its key.
Owned = tuple[str, str]


async def find(transaction: Transaction, wanted: Collection[Owned], now: datetime) -> dict[Owned, Row]:
    """The used ones of some keys, each with its request hash and response. `keyed` makes the hash that a tenant with
    encrypted memories stores: a plain one would let anybody test guesses of the text."""
    butlers, keys = [butler for butler, _ in wanted], [key for _, key in wanted]
    rows = await transaction.all("database.find_keys", butlers=butlers, keys=keys, now=now)
    vault = transaction.vault
    if vault and vault.has_index_key():
        rows = [{**row, "keyed": partial(vault.keyed, purpose=REQUEST_HASH)} for row in rows]
    return {(row["butler"], row["key"]): row for row in rows}


async def keep(transaction: Transaction, rows: Sequence[Row], *, now: datetime, expires_at: datetime) -> None:
    vault = transaction.vault
    if vault and vault.has_index_key():
        rows = [{**row, "request_hash": vault.keyed(row["request_hash"], REQUEST_HASH)} for row in rows]
    await transaction.send("database.keep_keys", rows=recordset(rows), now=now, expires_at=expires_at)
