"""Looking up what a proposal speaks of."""

from collections.abc import Sequence
from contextlib import suppress
from uuid import UUID

from memory_butler.butler import Butler
from memory_butler.errors import InvalidInput
from memory_butler.models import GLOBAL_SCOPE, LIVE, Caller, Fact, Known, Maturity, MemoryType, Rule
from memory_butler.policy.admission import parse_handle
from memory_butler.store import facts, rules

MOST_NAMED = 100


async def named_in(butler: Butler, shard: Caller, proposal: object) -> tuple[Known, ...]:
    """What a proposal wants to update or confirm, as far as the shard's butler may change it."""
    lists = [proposal.get(name) for name in ("updates", "confirmations")] if isinstance(proposal, dict) else []
    items = [item for given in lists if isinstance(given, list) for item in given[:MOST_NAMED]]
    handles = [item["target"] for item in items if isinstance(item, dict) and isinstance(item.get("target"), str)]
    ids = []
    async with butler.database.read(shard.principal.tenant) as session:
        for text in handles:
            for kind, store in ((MemoryType.FACT, facts), (MemoryType.RULE, rules)):
                with suppress(InvalidInput):
                    handle = parse_handle(kind, text)
                    found: Fact | Rule | None = await store.get(session, handle.id, handle.ref)
                    ids += [found.id] if found else []
    return await known_targets(butler, shard, ids)


async def known_targets(butler: Butler, shard: Caller, ids: Sequence[UUID]) -> tuple[Known, ...]:
    """The live facts and rules with these ids that the shard's butler may change."""
    found: list[Fact | Rule] = []
    async with butler.database.read(shard.principal.tenant) as session:
        for one in dict.fromkeys(ids):
            memory = await facts.get(session, one, None) or await rules.get(session, one, None)
            if memory:
                found.append(memory)
    scopes = (shard.principal.butler, GLOBAL_SCOPE)
    return tuple(known_of(one) for one in found if one.validity in LIVE and one.scope in scopes)


def known_of(memory: Fact | Rule) -> Known:
    if isinstance(memory, Rule):
        is_warning = memory.maturity is Maturity.ANTI_PATTERN
        return Known(type=memory.type, id=memory.id, ref=memory.ref, content=memory.content, is_warning=is_warning)
    return Known(
        type=memory.type,
        id=memory.id,
        ref=memory.ref,
        content=memory.content,
        subject=memory.subject_label,
        predicate=memory.predicate_label,
        valid_at=memory.valid_at,
    )
