"""Load the memories that a proposal wants to update or confirm."""

from collections.abc import Sequence
from contextlib import suppress
from uuid import UUID

from memory_butler.errors import InvalidInput
from memory_butler.models import GLOBAL_SCOPE, LIVE, Caller, Fact, KnownMemory, Maturity, MemoryType, Rule
from memory_butler.policy.memories.validation import parse_handle
from memory_butler.resources import Resources
from memory_butler.store.memories import memories

MAX_TARGETS = 100


async def proposal_targets(resources: Resources, shard: Caller, proposal: object) -> tuple[KnownMemory, ...]:
    """Returns the targets of a proposal's updates and confirmations that the shard's butler may change."""
    lists = [proposal.get(name) for name in ("updates", "confirmations")] if isinstance(proposal, dict) else []
    items = [item for entries in lists if isinstance(entries, list) for item in entries[:MAX_TARGETS]]
    handles = [item["target"] for item in items if isinstance(item, dict) and isinstance(item.get("target"), str)]
    ids = []
    async with resources.database.read(shard.principal.tenant) as transaction:
        for text in handles:
            for kind in (MemoryType.FACT, MemoryType.RULE):
                with suppress(InvalidInput):
                    handle = parse_handle(kind, text)
                    memory = await memories.get(transaction, handle.type, handle.id, handle.ref)
                    ids += [memory.id] if memory else []
    return await known_targets(resources, shard, ids)


async def known_targets(resources: Resources, shard: Caller, ids: Sequence[UUID]) -> tuple[KnownMemory, ...]:
    """Returns the live facts and rules with these ids that the shard's butler may change."""
    found: list[Fact | Rule] = []
    async with resources.database.read(shard.principal.tenant) as transaction:
        for one in dict.fromkeys(ids):
            for kind in (MemoryType.FACT, MemoryType.RULE):
                memory = await memories.get(transaction, kind, one, None)
                found += [memory] if isinstance(memory, Fact | Rule) else []
    scopes = (shard.principal.butler, GLOBAL_SCOPE)
    return tuple(known_from_memory(one) for one in found if one.validity in LIVE and one.scope in scopes)


def known_from_memory(memory: Fact | Rule) -> KnownMemory:
    if isinstance(memory, Rule):
        is_warning = memory.maturity is Maturity.ANTI_PATTERN
        return KnownMemory(
            type=memory.type, id=memory.id, ref=memory.ref, content=memory.content, is_warning=is_warning
        )
    return KnownMemory(
        type=memory.type,
        id=memory.id,
        ref=memory.ref,
        content=memory.content,
        subject=memory.subject_label,
        predicate=memory.predicate_label,
        valid_at=memory.valid_at,
    )
