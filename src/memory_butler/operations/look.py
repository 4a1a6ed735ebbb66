"""Look: one memory with everything that is known of it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from memory_butler.butler import Butler
from memory_butler.errors import NotFound
from memory_butler.models import (
    GLOBAL_SCOPE,
    LIVE,
    Caller,
    Episode,
    Event,
    Fact,
    Memory,
    MemoryType,
    Portrait,
    Rule,
    StoryLine,
    Tier,
)
from memory_butler.operations.once import trail
from memory_butler.policy import confidence, reach, story, upkeep
from memory_butler.policy.admission import Handle, parse_handle
from memory_butler.policy.lifecycle import is_exempt
from memory_butler.policy.tiers import tier_of
from memory_butler.settings import Settings
from memory_butler.store import aliases, episodes, events, facts, links, rules, undo
from memory_butler.store.database import Session


async def look(
    butler: Butler, memory_type: str, handle: str, caller: Caller | None = None, *, bump: bool = True
) -> Portrait:
    """The memory, its links both ways, its line of supersession, its history in words and what becomes of it.

    Counts as a reference, unless `bump` is off: then it is a pure read.
    """
    caller = caller or butler.local_caller()
    wanted = parse_handle(memory_type, handle)
    now = butler.clock()
    tenant = caller.principal.tenant
    opened = butler.database.write(tenant, now, relaxed=True) if bump else butler.database.read(tenant)
    async with opened as session:
        memory = await require(session, caller, wanted)
        eyes = reach.eyes(caller.principal)
        scopes = None if eyes is None else (GLOBAL_SCOPE, eyes)
        around, hidden = await links.around(session, memory.id, eyes), await links.hidden(session, memory.id, eyes)
        [shown] = await without_strange_sources(session, caller, [memory])
        chain = await facts.chain(session, memory.id) if isinstance(memory, Fact) else []
        also_called = await aliases.of_subject(session, memory.subject, scopes) if isinstance(memory, Fact) else []
        history = await events.of_memory(session, memory.id)
        known = await undo.around(session, memory.id)
        if bump:
            await events.bump(session, trail(butler, caller, now), [memory.id], "get")
    tier = tier_of(
        memory.type, permanence=getattr(memory, "permanence", None), maturity=getattr(memory, "maturity", None)
    )
    fades_at, expires_at = _ends(memory)
    prospects = {"fades_at": fades_at, "expires_at": expires_at, **_upkeep(butler.settings, memory, tier)}
    return Portrait(
        memory=shown,
        tier=tier,
        effective_confidence=confidence_now(memory, now),
        fades_at=fades_at,
        expires_at=expires_at,
        links=tuple(around),
        chain=tuple(chain) if len(chain) > 1 else (),
        events=tuple(history),
        story=told(history, known),
        outlook=story.outlook(memory, now, **prospects),
        aliases=tuple(also_called),
        hidden_links=hidden,
    )


async def without_strange_sources(session: Session, caller: Caller, memories: Sequence[Memory]) -> list[Memory]:
    """Memories as the caller may see them: which episode of another butler one came from is not told."""
    eyes = reach.eyes(caller.principal)
    sources = [one.source_episode_id for one in memories if not isinstance(one, Episode) and one.source_episode_id]
    if eyes is None or not sources:
        return list(memories)
    own = await links.owned(session, sources, eyes)
    return [
        one if isinstance(one, Episode) or one.source_episode_id in own else replace(one, source_episode_id=None)
        for one in memories
    ]


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


def confidence_now(memory: Memory, now: datetime) -> float:
    """How certain it is by now, with its fading; an episode is what was said, and stays so."""
    if isinstance(memory, Episode):
        return 1.0
    decay_rate = 0.0 if is_exempt(memory) else memory.decay_rate
    return round(confidence.effective_confidence(memory.confidence, decay_rate, _anchor(memory), now), 6)


def _anchor(memory: Fact | Rule) -> datetime:
    return confidence.anchor(memory.created_at, memory.last_confirmed_at)


def _ends(memory: Memory) -> tuple[datetime | None, datetime | None]:
    """When a memory fades and expires, or an episode is deleted, if nothing happens; None if it never does."""
    if isinstance(memory, Episode):
        return None, None if memory.pinned else memory.expires_at
    if memory.validity not in LIVE or is_exempt(memory):
        return None, None
    rated = memory.confidence, memory.decay_rate, _anchor(memory)
    return (
        confidence.falls_below(confidence.FADING_BELOW, *rated),
        confidence.falls_below(confidence.EXPIRED_BELOW, *rated),
    )


def _upkeep(settings: Settings, memory: Memory, tier: Tier) -> dict[str, Any]:
    """What the sweep does to it beside letting it decay: unused for too long it goes, used often an episode stays."""
    if isinstance(memory, Episode):
        is_kept = upkeep.outlives_its_time(
            pinned=memory.pinned,
            active=memory.validity in LIVE,
            consolidated=memory.consolidated,
            reference_count=memory.reference_count,
            protected_from=settings.lifecycle_of(memory.butler).eden.protected_from,
        )
        return {"is_kept": is_kept}
    lifecycle = settings.lifecycle_of(memory.source_butler)
    days = (lifecycle.long if tier is Tier.LONG else lifecycle.mid).stale_after_days
    grade = memory.permanence if isinstance(memory, Fact) else memory.maturity
    if days is None or grade in (*upkeep.PROTECTED.permanences, *upkeep.PROTECTED.maturities):
        return {}
    used = max(memory.last_referenced_at or memory.created_at, memory.last_confirmed_at or memory.created_at)
    return {"stale_at": used + timedelta(days=days)}


def told(
    history: Sequence[Event], known: Mapping[UUID, Mapping[str, Any]], before: Mapping[str, Any] | None = None
) -> tuple[StoryLine, ...]:
    """The history in words, each event in the light of the one before it; `before` is how the first found it."""
    lines = []
    before = before or {}
    for event in history:
        more = known.get(event.id, {})
        around = story.Around(before=before, reason=more.get("reason"), other=more.get("other"))
        undone = bool(more.get("is_undone"))
        lines.append(StoryLine(event=event, words=story.tell(event, around), undone=undone))
        before = event.payload.get("state", {})
    return tuple(lines)
