"""Memories that wait for a person's decision."""

from collections.abc import Sequence
from uuid import UUID

from memory_butler.models import Memory, MemoryType
from memory_butler.store.gate.database import Row, Transaction
from memory_butler.store.memories.memories import as_memory

_SAME = {
    MemoryType.FACT: "quarantine.same_fact",
    MemoryType.RULE: "quarantine.same_rule",
    MemoryType.EPISODE: "quarantine.same_episode",
}


async def waiting(transaction: Transaction, limit: int) -> tuple[list[Memory], int]:
    """The quarantined memories, oldest first, and the number of all of them."""
    listed = await transaction.all("quarantine.waiting", limit=limit)
    found: dict[UUID, Memory] = {}
    for kind in MemoryType:
        if ids := [row["id"] for row in listed if row["type"] == kind]:
            rows = await transaction.all(f"quarantine.find:{kind}", ids=ids)
            found |= {row["id"]: as_memory(kind, row) for row in rows}
    return [found[row["id"]] for row in listed], listed[0]["total"] if listed else 0


async def find_waiting(transaction: Transaction, kind: MemoryType, wanted: Row) -> Row | None:
    """The quarantined memory with these values of `content_hash` and of the columns of its place."""
    return await transaction.one(_SAME[kind], **wanted)


async def contested_values(transaction: Transaction, facts: Sequence[UUID]) -> list[Row]:
    """The current values that quarantined facts would change: `contester`, `ref` and `content`."""
    return await transaction.all("quarantine.contested_values", ids=list(facts))
