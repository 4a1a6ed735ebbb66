"""Memories that came from one source alone: what goes with it when it is forgotten."""

from uuid import UUID

from memory_butler.models import Caller, MemoryType
from memory_butler.operations.trust.exact_matches import MatchedMemory, matched
from memory_butler.policy.access import visibility
from memory_butler.store.gate.database import Transaction
from memory_butler.store.trust import purging

DERIVED = "derived from it alone"


async def derived_in_use(transaction: Transaction, caller: Caller, source: UUID) -> list[MatchedMemory]:
    """The facts and rules in use that were derived from a memory alone, directly or not, and that the caller may write.

    A source that was forgotten before does not count as another one.
    """
    besides = await purging.withdrawn_sources(transaction, source)
    found: set[UUID] = {source}
    while more := await purging.derived_only(transaction, found, besides):
        found |= set(more)
    rows = await purging.live(transaction, found - {source})
    return [matched(row, [DERIVED]) for row in rows if visibility.may_write(caller.principal, row["owner"])]


def by_type(memories: list[MatchedMemory]) -> dict[MemoryType, list[UUID]]:
    """The ids of memories by their type."""
    return {kind: [one.id for one in memories if one.type is kind] for kind in MemoryType}
