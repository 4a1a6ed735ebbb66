"""Possible duplicates: facts in use that say the same about the same subject under another property or scope."""

from dataclasses import dataclass

from memory_butler.models import EVERY_SCOPE, Caller, Fact, MemoryType
from memory_butler.models.listings import Listing
from memory_butler.operations.browse import listings
from memory_butler.policy.access import visibility
from memory_butler.policy.memories.validation import whole_number
from memory_butler.resources import Resources, on_replica
from memory_butler.store.browse import duplicates as store

MAX_PAIRS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two facts with the same words; `newer` is the one that could go."""

    older: Fact
    newer: Fact


@on_replica
async def duplicates(resources: Resources, caller: Caller | None = None, *, limit: int = 20) -> list[Pair]:
    """Returns pairs of facts of one subject whose content is equal but for case and a full stop."""
    caller = resources.allowed(caller, "list_memories")
    limit = whole_number(limit, "limit", 1, MAX_PAIRS)
    reach = visibility.readable(caller.principal, EVERY_SCOPE if caller.principal.role.governs else None, None)
    async with resources.database.read(caller.principal.tenant) as transaction:
        pairs = await store.equal_contents(transaction, reach, limit)
    if not pairs:
        return []
    ids = tuple(dict.fromkeys(one for pair in pairs for one in pair))
    scope = EVERY_SCOPE if caller.principal.role.governs else None
    found = await listings.memories(
        resources,
        Listing(type=MemoryType.FACT, ids=ids[: listings.MAX_LIMIT], scope=scope),
        caller,
        limit=listings.MAX_LIMIT,
    )
    facts = {one.memory.id: one.memory for one in found.items if isinstance(one.memory, Fact)}
    return [Pair(older=facts[a], newer=facts[b]) for a, b in pairs if a in facts and b in facts]
