"""Look: one memory with everything that is known of it."""

from datetime import datetime

from memory_butler.butler import Butler
from memory_butler.errors import NotFound
from memory_butler.models import Caller, Episode, Fact, Memory, MemoryType, Portrait
from memory_butler.operations.once import trail
from memory_butler.policy import confidence, reach
from memory_butler.policy.admission import Handle, parse_handle
from memory_butler.policy.lifecycle import is_exempt
from memory_butler.policy.tiers import tier_of
from memory_butler.store import episodes, events, facts, links, rules
from memory_butler.store.database import Session


async def look(butler: Butler, memory_type: str, handle: str, caller: Caller | None = None) -> Portrait:
    """The memory, its links both ways, its line of supersession and its history. Counts as a reference."""
    caller = caller or butler.local_caller()
    wanted = parse_handle(memory_type, handle)
    now = butler.clock()
    async with butler.database.write(caller.principal.tenant, now, relaxed=True) as session:
        memory = await require(session, caller, wanted)
        around = await links.around(session, memory.id)
        chain = await facts.chain(session, memory.id) if isinstance(memory, Fact) else []
        history = await events.of_memory(session, memory.id)
        await events.bump(session, trail(butler, caller, now), [memory.id], "get")
    rated = _rated(memory)
    return Portrait(
        memory=memory,
        tier=tier_of(
            memory.type, permanence=getattr(memory, "permanence", None), maturity=getattr(memory, "maturity", None)
        ),
        effective_confidence=round(confidence.effective_confidence(*rated, now), 6) if rated else 1.0,
        fades_at=_falls_below(confidence.FADING_BELOW, memory),
        expires_at=memory.expires_at if isinstance(memory, Episode) else _falls_below(confidence.EXPIRED_BELOW, memory),
        links=tuple(around),
        chain=tuple(chain) if len(chain) > 1 else (),
        events=tuple(history),
    )


async def require(session: Session, caller: Caller, handle: Handle) -> Memory:
    """The memory a handle names, if the caller may see it."""
    found: Memory | None
    if handle.type is MemoryType.FACT:
        found = await facts.get(session, handle.id, handle.ref)
    elif handle.type is MemoryType.RULE:
        found = await rules.get(session, handle.id, handle.ref)
    else:
        found = await episodes.get(session, handle.id, handle.ref)
        grave = None if found else await episodes.find_tombstone(session, handle.id, handle.ref)
        if grave and reach.may_see(caller.principal, grave["butler"], is_episode=True):
            raise NotFound(
                f"{handle} was deleted on {grave['deleted_at'].date()} ({grave['reason']}); only its trace is kept.",
                recovery="What was learned from it is linked to it: search for that instead.",
            )
    owner = found.butler if isinstance(found, Episode) else found.scope if found else ""
    if found is None or not reach.may_see(caller.principal, owner, is_episode=isinstance(found, Episode)):
        raise NotFound(f"There is no {handle}.")
    return found


def _rated(memory: Memory) -> tuple[float, float, datetime] | None:
    """Confidence, decay rate and anchor of a memory that has them."""
    if isinstance(memory, Episode):
        return None
    anchored_at = confidence.anchor(memory.created_at, memory.last_confirmed_at)
    return memory.confidence, 0.0 if is_exempt(memory) else memory.decay_rate, anchored_at


def _falls_below(threshold: float, memory: Memory) -> datetime | None:
    """When a memory passes a threshold if nothing happens."""
    rated = _rated(memory)
    return confidence.falls_below(threshold, *rated) if rated else None
