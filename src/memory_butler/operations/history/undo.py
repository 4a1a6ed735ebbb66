"""Undo: revert an event, or a group of events. An undo is an event itself, and can be undone."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import TypeAdapter

from memory_butler.errors import Conflict, InvalidInput, NotFound
from memory_butler.models import LIVE, Caller, MemoryType, SkippedEvent, UndoCandidate, UndoneEvent, UndoReport
from memory_butler.operations.retrieval.indexing import index_again
from memory_butler.operations.writing.feedback_withdrawal import withdraw, write_evidence
from memory_butler.operations.writing.idempotency import (
    Fingerprint,
    audit_trail,
    store_response,
    stored_response,
)
from memory_butler.operations.writing.link import undo_links
from memory_butler.policy.history.narrative import name_event
from memory_butler.policy.history.undo import CHANGED, Resolution, UndoWalk, rate_in_force
from memory_butler.policy.memories.validation import LABEL_CHARACTERS, clean_key, clean_text
from memory_butler.resources import Resources
from memory_butler.settings import Lifecycle
from memory_butler.store.gate.database import Transaction
from memory_butler.store.history import events
from memory_butler.store.history import undo as store
from memory_butler.store.history.events import ALIAS, AuditTrail, Change
from memory_butler.store.history.undo import Named, Restoring

# Maximum number of events undone in one transaction.
PAGE = 1000
KINDS = (*MemoryType, ALIAS)
RATED = (MemoryType.FACT, MemoryType.RULE)
SHOWN = 100
REASONS = 3
FIND_IDS = "memory_get shows the ids of a memory's events and of their groups; a sweep's report names its group."
_NEWEST = 2**63 - 1
_RESPONSE = TypeAdapter(UndoReport)
NO_REQUEST = Fingerprint("undo", {})
Progress = Callable[[str, int, int], None]


@dataclass(slots=True)
class Tally:
    """Counts and lines of the report, collected from the newest event to the oldest."""

    walk: UndoWalk
    undone: int = 0
    already_undone: int = 0
    skipped: int = 0
    taken_back: list[UndoneEvent] = field(default_factory=list)
    left_alone: list[SkippedEvent] = field(default_factory=list)
    remarks: Counter[str] = field(default_factory=Counter)
    not_brought_back: list[str] = field(default_factory=list)
    reworded: list[tuple[MemoryType, UUID]] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One call of undo."""

    resources: Resources
    caller: Caller
    named: Named
    identifier: UUID
    skip_changed: bool = False
    progress: Progress = lambda doing, done, total: None
    key: str | None = None
    digest: Fingerprint = NO_REQUEST

    @property
    def tenant(self) -> str:
        return self.caller.principal.tenant

    def lifecycle_of(self, butler: str) -> Lifecycle:
        return self.resources.settings.lifecycle_of(butler)

    def tally(self) -> Tally:
        return Tally(UndoWalk(lambda butler: self.lifecycle_of(butler).decay))


async def undo(
    resources: Resources,
    identifier: str | UUID,
    caller: Caller | None = None,
    *,
    skip_changed: bool = False,
    dry_run: bool = False,
    idempotency_key: str | None = None,
    progress: Progress = lambda doing, done, total: None,
) -> UndoReport:
    """Revert memories to their state before an event, or before all events of a group.

    All or nothing, unless `skip_changed` is set: then events that cannot be undone are skipped and listed. A group
    larger than a page is undone newest first, a page per transaction; repeat an interrupted call to continue it.
    """
    caller = resources.admin(caller, "undo changes", "An administrator runs `memory-butler undo`.")
    wanted = _identifier(identifier)
    key = None if dry_run else clean_key(idempotency_key)
    digest = Fingerprint("undo", {"id": str(wanted), "skip_changed": skip_changed})
    async with resources.database.read(caller.principal.tenant) as transaction:
        response = await _stored_report(transaction, caller, key, digest, resources.clock())
        named = None if response else await store.find(transaction, wanted)
    if response:
        return response
    task = Task(
        resources=resources,
        caller=caller,
        named=_undoable(named, wanted),
        identifier=wanted,
        skip_changed=skip_changed,
        progress=progress,
        key=key,
        digest=digest,
    )
    plan = await _plan(task)
    if not dry_run or task.named.event_id:
        _refuse(task, plan, group_id=await _group_to_offer(task, plan))
    return _report(task, plan, None, dry_run=True) if dry_run else await _carry_out(task)


async def would_undo(resources: Resources, identifier: str | UUID, caller: Caller | None = None, *, most: int) -> int:
    """Number of changes that an undo would revert: 0 if it would be refused, would skip some, or is larger than `most`.

    A group above that size is counted but not examined, so the call is quick for a group of any size.
    """
    caller = resources.admin(caller, "undo changes", "An administrator runs `memory-butler undo`.")
    wanted = _identifier(identifier)
    async with resources.database.read(caller.principal.tenant) as transaction:
        named = await store.find(transaction, wanted)
    if named is None or not 0 < named.events <= most or (named.event_id and named.entity_type not in KINDS):
        return 0
    plan = await _plan(Task(resources=resources, caller=caller, named=named, identifier=wanted))
    return 0 if plan.skipped else plan.undone


def _identifier(given: str | UUID) -> UUID:
    if isinstance(given, UUID):
        return given
    text = clean_text(given, "id", LABEL_CHARACTERS).strip("[]() ")
    try:
        return UUID(text)
    except ValueError:
        raise InvalidInput(
            f"{given!r} is not the id of an event or a group.",
            recovery=FIND_IDS,
        ) from None


def _undoable(named: Named | None, wanted: UUID) -> Named:
    if named is None:
        raise NotFound(
            f"There is no event or group {wanted}.",
            recovery=FIND_IDS,
        )
    if named.event_id and named.entity_type not in KINDS:
        raise InvalidInput(
            "A reference cannot be undone: it does not change the memory.",
            recovery="Undo an event that changed a memory; memory_get shows them.",
        )
    if not named.events:
        raise InvalidInput(
            "A change of decay rate cannot be undone: the rate follows the settings.",
            recovery="Change the rates under `lifecycle.decay` in the settings; the next sweep applies them.",
        )
    return named


async def _plan(task: Task) -> Tally:
    """Examine all events without changing anything."""
    tally = task.tally()
    below, examined = _NEWEST, 0
    while below > task.named.oldest:
        async with task.resources.database.read(task.tenant) as transaction:
            candidates = await store.examine(transaction, task.named, below, PAGE)
            for candidate, resolution in await _decide(transaction, tally, candidates, task.resources.clock()):
                _note(tally, candidate, resolution)
        below, examined = candidates[-1].seq, examined + len(candidates)
        task.progress("Examining", examined, task.named.events)
    return tally


async def _carry_out(task: Task) -> UndoReport:
    """Undo the events, newest first, a page per transaction. Each transaction examines them again under the lock."""
    tally = task.tally()
    group_id: UUID | None = None
    below, done = _NEWEST, 0
    while True:
        now = task.resources.clock()
        trail = audit_trail(task.resources, task.caller, now, grouped=True)
        trail = replace(trail, group_id=group_id) if group_id else trail
        group_id = trail.group_id
        async with task.resources.database.write(task.tenant, now) as transaction:
            response = await _stored_report(transaction, task.caller, task.key, task.digest, now)
            if response:
                return response
            await transaction.send("undo.look_up_by_key")
            below, handled = await _undo_page(transaction, task, trail, tally, below)
            report = _report(task, tally, group_id, dry_run=False)
            if below <= task.named.oldest:
                stored = _RESPONSE.dump_python(report, mode="json")
                await store_response(
                    transaction, task.resources, task.caller, key=task.key, digest=task.digest, response=stored, now=now
                )
        done += handled
        task.progress("Undoing", done, task.named.events)
        if below <= task.named.oldest:
            await index_again(task.resources, task.tenant, tally.reworded)
            return report


async def _undo_page(
    transaction: Transaction, task: Task, trail: AuditTrail, tally: Tally, below: int
) -> tuple[int, int]:
    """Undo the next events; returns the last sequence number and the number of examined events."""
    handled = 0
    while handled < PAGE and below > task.named.oldest:
        candidates = _up_to_repetition(await store.examine(transaction, task.named, below, PAGE - handled))
        undoing = await _decide(transaction, tally, candidates, trail.now)
        if tally.skipped and not task.skip_changed:
            _refuse(task, tally)
        await _apply(transaction, task, trail, tally, undoing)
        below, handled = candidates[-1].seq, handled + len(candidates)
    if not tally.undone and below <= task.named.oldest:
        _refuse(task, tally)
    return below, handled


def _up_to_repetition(candidates: Sequence[UndoCandidate]) -> list[UndoCandidate]:
    """The events up to the second one of the same memory: one statement can undo those."""
    seen: set[UUID] = set()
    chosen = []
    for candidate in candidates:
        if candidate.entity_id in seen:
            break
        seen.add(candidate.entity_id)
        chosen.append(candidate)
    return chosen


async def _decide(
    transaction: Transaction, tally: Tally, candidates: Sequence[UndoCandidate], now: datetime
) -> list[tuple[UndoCandidate, Resolution]]:
    """The events that can be undone, with the resulting states; the others go into the tally."""
    tally.not_brought_back += [candidate.name for candidate in candidates if candidate.is_gone]
    tally.already_undone += sum(candidate.is_undone and not candidate.is_gone for candidate in candidates)
    undoing, skipped = tally.walk.decide(
        [candidate for candidate in candidates if not (candidate.is_gone or candidate.is_undone)], now
    )
    tally.skipped += len(skipped)
    for candidate, cause in skipped[: SHOWN - len(tally.left_alone)]:
        reason = await _describe(transaction, candidate, cause)
        what = name_event(candidate.event_type, candidate.occurred_at)
        tally.left_alone.append(SkippedEvent(ref=candidate.name, event_id=candidate.id, what=what, reason=reason))
    return undoing


def _note(tally: Tally, candidate: UndoCandidate, resolution: Resolution) -> None:
    tally.undone += 1
    tally.remarks.update(resolution.remarks)
    if len(tally.taken_back) < SHOWN:
        tally.taken_back.append(
            UndoneEvent(
                ref=candidate.name,
                event_id=candidate.id,
                what=name_event(candidate.event_type, candidate.occurred_at),
                validity=resolution.validity,
                maturity=resolution.maturity,
                remark=" ".join(resolution.remarks) or None,
            )
        )


async def _describe(transaction: Transaction, candidate: UndoCandidate, cause: str) -> str:
    if cause != CHANGED:
        return cause
    later = [
        f"{name_event(row['event_type'], row['occurred_at'])} by {row['actor']} (event {row['id']})"
        for row in await store.later(transaction, candidate.id)
    ]
    return f"it was changed later by {', '.join(later)}" if later else "it was changed later"


async def _group_to_offer(task: Task, plan: Tally) -> UUID | None:
    """The group of an event that cannot be undone alone, if the whole group can."""
    group_id = task.named.group_id if task.named.event_id and plan.skipped else None
    return group_id if group_id and await would_undo(task.resources, group_id, task.caller, most=PAGE) else None


def _refuse(task: Task, tally: Tally, *, group_id: UUID | None = None) -> None:
    """Raise an error if nothing can be undone, or not everything without `skip_changed`. The error offers the group."""
    if tally.skipped and (not task.skip_changed or not tally.undone):
        reasons = "; ".join(f"{left.what} on {left.ref}, because {left.reason}" for left in tally.left_alone[:REASONS])
        more = f"; and {tally.skipped - REASONS} more" if tally.skipped > REASONS else ""
        recovery = "Undo the later changes first, from the newest to the oldest."
        if group_id:
            recovery += f" Or undo the whole group that it belongs to: {group_id}."
        elif tally.undone and not task.named.event_id:
            recovery += " Or pass skip_changed (--skip-changed) to skip these and undo the rest."
        raise Conflict(f"Not undone: {reasons}{more}.", recovery=recovery)
    if tally.undone:
        return
    if tally.already_undone:
        raise Conflict(
            f"{'The event' if task.named.event_id else 'The group'} is already undone.",
            recovery="To redo it, undo the undo: memory_get shows the id of the event that undid it.",
        )
    raise Conflict(
        f"Deleted memories cannot be restored: {', '.join(tally.not_brought_back[:REASONS])}.",
        recovery="Search for the facts and rules that were consolidated from the deleted episode instead.",
    )


async def _apply(
    transaction: Transaction,
    task: Task,
    trail: AuditTrail,
    tally: Tally,
    undoing: Sequence[tuple[UndoCandidate, Resolution]],
) -> None:
    """Restore the memories and record one event for each. Memories that go out of use come first, to make room."""
    if not undoing:
        return
    changes, restorings, evidence = [], [], []
    for candidate, planned in undoing:
        resolution = planned
        extra: dict[str, Any] = {"undone": _undone_change(candidate)}
        extra |= await undo_links(transaction, trail, candidate.links, candidate.unlinked)
        if candidate.application:
            withdrawal = await withdraw(transaction, trail, candidate, task.resources.settings)
            resolution, extra = withdrawal.resolution, extra | withdrawal.extra
            evidence.append((candidate.entity_id, withdrawal.evidence))
        _note(tally, candidate, resolution)
        kind = candidate.entity_type
        changes.append(Change(kind, candidate.entity_id, "undone", extra, undoes=candidate.id))
        restorings.append((kind, _restoring(task, candidate, resolution)))
        if candidate.is_rewording and kind in tuple(MemoryType):
            tally.reworded.append((MemoryType(kind), candidate.entity_id))
    for in_use in (False, True):
        for kind in KINDS:
            chosen = [one for of, one in restorings if of == kind and (one.given["validity"] in LIVE) is in_use]
            if chosen:
                await store.restore(transaction, kind, chosen, trail.now)
    for rule_id, left in evidence:
        await write_evidence(transaction, rule_id, left)
    await events.record(transaction, trail, changes)


def _restoring(task: Task, candidate: UndoCandidate, resolution: Resolution) -> Restoring:
    state, rules = candidate.before or candidate.current, task.lifecycle_of(candidate.butler).decay
    given: dict[str, Any] = {"validity": resolution.validity, "maturity": resolution.maturity}
    if state and candidate.entity_type in RATED:
        given["decay_rate"] = rate_in_force(state, rules)
    return Restoring(
        id=candidate.entity_id,
        source=candidate.source_id,
        given=given,
        renews=resolution.renews,
        rewords=candidate.is_rewording,
    )


def _undone_change(candidate: UndoCandidate) -> dict[str, Any]:
    """The change that the event names: always the first one, however often it was undone and redone."""
    if candidate.undid:
        return {**candidate.undid, "again": not candidate.undid.get("again")}
    return {"event": candidate.event_type, "at": candidate.occurred_at.isoformat(), "again": False}


def _report(task: Task, tally: Tally, undo_id: UUID | None, *, dry_run: bool) -> UndoReport:
    return UndoReport(
        id=task.identifier,
        kind=task.named.kind,
        undo_id=undo_id,
        dry_run=dry_run,
        undone=tally.undone,
        already_undone=tally.already_undone,
        skipped=tally.skipped,
        taken_back=tuple(tally.taken_back),
        left_alone=tuple(tally.left_alone),
        remarks=dict(tally.remarks),
        not_brought_back=tuple(tally.not_brought_back),
    )


async def _stored_report(
    transaction: Transaction, caller: Caller, key: str | None, digest: Fingerprint, now: datetime
) -> UndoReport | None:
    response = await stored_response(transaction, caller, key, digest, now)
    return None if response is None else _RESPONSE.validate_python(response)
