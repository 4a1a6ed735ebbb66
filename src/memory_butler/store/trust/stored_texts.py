"""The stored texts of all memories, a page at a time."""

from collections.abc import AsyncIterator
from uuid import UUID

from memory_butler.store.gate.database import Database, Row

PAGE = 500


async def count(database: Database, tenant: str) -> int:
    async with database.read(tenant) as transaction:
        row = await transaction.one("stored_texts.count")
    return int(row["texts"]) if row else 0


async def pages(database: Database, tenant: str) -> AsyncIterator[list[Row]]:
    """Yields all texts, current and past. Each page is read in its own transaction."""
    after: tuple[UUID, bytes] = (UUID(int=0), b"")
    while True:
        async with database.read(tenant) as transaction:
            rows = await transaction.all("stored_texts.page", after_id=after[0], after_hash=after[1], size=PAGE)
        if rows:
            yield rows
            after = (rows[-1]["memory_id"], bytes(rows[-1]["hash"]))
        if len(rows) < PAGE:
            return
