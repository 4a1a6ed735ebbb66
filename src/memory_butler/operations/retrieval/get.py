"""Get: one memory with its links, history and outlook."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from memory_butler.errors import IntegrityViolation, NotFound
from memory_butler.models import (
    GLOBAL_SCOPE,
    LIVE,
    Caller,
    ConsolidationStatus,
    Episode,
    Event,
    Fact,
    HistoryLine,
    Memory,
    MemoryDetails,
    Rule,
    Tier,
)
from memory_butler.models.unreadable import Because, Unreadable
from memory_butler.operations.retrieval.named_memory import parse_handles, require_one_of
from memory_butler.operations.retrieval.search import BUMP_LOCK_SECONDS
from memory_butler.operations.writing.idempotency import audit_trail
from memory_butler.policy.access import visibility
from memory_butler.policy.history import narrative
from memory_butler.policy.lifecycle import confidence, sweep
from memory_butler.policy.lifecycle.tiers import tier_of
from memory_butler.policy.lifecycle.transitions import is_exempt
from memory_butler.policy.memories.validation import Handle
from memory_butler.resources import Resources, on_replica
from memory_butler.settings import Settings
from memory_butler.store.gate.database import Transaction
from memory_butler.store.gate.driver_errors import LockBusy
from memory_butler.store.history import events, undo
from memory_butler.store.memories import aliases, facts, links


async def get(
    resources: Resources, memory_type: str | None, handle: str, caller: Caller | None = None, *, bump: bool = True
) -> MemoryDetails:
    """The memory, its links both ways, its line of supersession, its history in words and what becomes of it.

    Counts as a reference, unless `bump` is off: then it is a pure read.
    """
    caller = caller or resources.local_caller()
    wanted = parse_handles(memory_type, handle)
    try:
        return await _details(resources, caller, wanted, bump=bump)
    except LockBusy:
        # Another change of the tenant takes long. A read does not wait for it; it is not counted.
        return await _details(resources, caller, wanted, bump=False)


@on_replica
async def _details(resources: Resources, caller: Caller, wanted: Sequence[Handle], *, bump: bool) -> MemoryDetails:
    now, tenant = resources.clock(), caller.principal.tenant
    opened = (
        resources.database.write(tenant, now, relaxed=True, lock_seconds=BUMP_LOCK_SECONDS)
        if bump
        else resources.database.read(tenant)
    )
    async with opened as transaction:
        memory = await require_one_of(transaction, caller, wanted)
        named = replace(wanted[0], type=memory.type)
        if memory.quarantine_reason and bump:
            raise NotFound(
                f"{named} is quarantined ({memory.quarantine_reason}) and not returned until a person approves it.",
                recovery="A person decides with `memory-butler review` or in the dashboard.",
            )
        _refuse_damaged(named, memory)
        eyes = visibility.viewer(caller.principal)
        scopes = None if eyes is None else (GLOBAL_SCOPE, eyes)
        around, hidden = (
            await links.around(transaction, memory.id, eyes),
            await links.hidden(transaction, memory.id, eyes),
        )
        [shown] = await hide_foreign_sources(transaction, caller, [memory])
        chain = await facts.chain(transaction, memory.id) if isinstance(memory, Fact) else []
        also_called = await aliases.of_subject(transaction, memory.subject, scopes) if isinstance(memory, Fact) else []
        history = await events.of_memory(transaction, memory.id)
        known = await undo.around(transaction, memory.id)
        if bump:
            await events.bump(transaction, audit_trail(resources, caller, now), [memory.id], "get")
            resources.briefed.referenced([memory.id])
    tier = tier_of(
        memory.type, permanence=getattr(memory, "permanence", None), maturity=getattr(memory, "maturity", None)
    )
    fades_at, expires_at = _ends(resources.settings, memory)
    prospects = {"fades_at": fades_at, "expires_at": expires_at, **_upkeep(resources.settings, memory, tier)}
    if isinstance(memory, Episode) and memory.consolidation_status is ConsolidationStatus.CONSOLIDATED:
        prospects["gave_nothing"] = not hidden and not any(link.target_id == memory.id for link in around)
    return MemoryDetails(
        memory=shown,
        tier=tier,
        effective_confidence=confidence_now(memory, now),
        fades_at=fades_at,
        expires_at=expires_at,
        links=tuple(around),
        chain=tuple(chain) if len(chain) > 1 else (),
        events=tuple(history),
        story=narrate(history, known),
        outlook=narrative.outlook(memory, now, **prospects),
        aliases=tuple(also_called),
        hidden_links=hidden,
    )


def _refuse_damaged(wanted: Handle, memory: Memory) -> None:
    """Refuse a ciphertext that was changed, or that belongs to another row."""
    if isinstance(memory.content, Unreadable) and memory.content.because is Because.DAMAGED:
        raise IntegrityViolation(
            f"The encrypted text of {wanted} was changed in the database, or moved there from another row.",
            recovery="Restore a backup: `memory-butler restore-backup`. Other memories are not affected.",
        )


async def hide_foreign_sources(transaction: Transaction, caller: Caller, memories: Sequence[Memory]) -> list[Memory]:
    """Removes the source episodes that belong to other butlers and that the caller may not see."""
    eyes = visibility.viewer(caller.principal)
    sources = [one.source_episode_id for one in memories if not isinstance(one, Episode) and one.source_episode_id]
    if eyes is None or not sources:
        return list(memories)
    own = await links.owned(transaction, sources, eyes)
    return [
        one if isinstance(one, Episode) or one.source_episode_id in own else replace(one, source_episode_id=None)
        for one in memories
    ]


def confidence_now(memory: Memory, now: datetime) -> float:
    """Confidence after decay. Episodes do not decay."""
    if isinstance(memory, Episode):
        return 1.0
    decay_rate = 0.0 if is_exempt(memory) else memory.decay_rate
    return round(confidence.effective_confidence(memory.confidence, decay_rate, _anchor(memory), now), 6)


def _anchor(memory: Fact | Rule) -> datetime:
    return confidence.anchor(memory.created_at, memory.last_confirmed_at)


def _ends(settings: Settings, memory: Memory) -> tuple[datetime | None, datetime | None]:
    """When a memory fades and expires, or an episode is deleted, if nothing happens; None if it never does."""
    if isinstance(memory, Episode):
        return None, None if memory.pinned else memory.expires_at
    if memory.validity not in LIVE or is_exempt(memory):
        return None, None
    decay = settings.lifecycle_of(memory.source_butler).decay
    rated = memory.confidence, memory.decay_rate, _anchor(memory)
    return (
        confidence.falls_below(decay.fading_below, *rated),
        confidence.falls_below(decay.expired_below, *rated),
    )


def _upkeep(settings: Settings, memory: Memory, tier: Tier) -> dict[str, Any]:
    """Effects of the sweep besides decay: unused memories expire, episodes that are used often are kept."""
    if isinstance(memory, Episode):
        is_kept = sweep.is_kept_beyond_ttl(
            pinned=memory.pinned,
            active=memory.validity in LIVE,
            pending=memory.consolidation_status is ConsolidationStatus.PENDING,
            reference_count=memory.reference_count,
            protected_from=settings.lifecycle_of(memory.butler).eden.protected_from,
        )
        return {"is_kept": is_kept}
    lifecycle = settings.lifecycle_of(memory.source_butler)
    days = (lifecycle.long if tier is Tier.LONG else lifecycle.mid).stale_after_days
    grade = memory.permanence if isinstance(memory, Fact) else memory.maturity
    if days is None or grade in (*sweep.PROTECTED.permanences, *sweep.PROTECTED.maturities):
        return {}
    used = max(memory.last_referenced_at or memory.created_at, memory.last_confirmed_at or memory.created_at)
    return {"stale_at": used + timedelta(days=days)}


def narrate(
    history: Sequence[Event], known: Mapping[UUID, Mapping[str, Any]], before: Mapping[str, Any] | None = None
) -> tuple[HistoryLine, ...]:
    """The history in words, each event in the light of the one before it; `before` is how the first found it."""
    lines = []
    before = before or {}
    for event in history:
        more = known.get(event.id, {})
        around = narrative.EventContext(before=before, reason=more.get("reason"), other=more.get("other"))
        undone = bool(more.get("is_undone"))
        lines.append(HistoryLine(event=event, words=narrative.describe(event, around), undone=undone))
        before = event.payload.get("state", {})
    return tuple(lines)
