"""Undo: take back an event, or a whole group of them. Undoing is itself an event, and can be undone."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from memory_butler.butler import Butler
from memory_butler.errors import Conflict, InvalidInput, NotFound, PermissionDenied
from memory_butler.models import LIVE, Caller, LeftAlone, MemoryType, Past, TakenBack, UndoReport
from memory_butler.operations.once import fingerprint, first_answer, keep_answer, trail
from memory_butler.operations.withdraw import withdraw, write_evidence
from memory_butler.policy.admission import LABEL_CHARACTERS, clean_text, optional_label
from memory_butler.policy.story import name_event
from memory_butler.policy.undo import CHANGED, Settled, Walk
from memory_butler.store import events
from memory_butler.store import undo as store
from memory_butler.store.database import Session
from memory_butler.store.events import ALIAS, Change, Trail
from memory_butler.store.undo import Named, Restoring

# So many events are undone in one transaction: together or not at all.
BATCH = 1000
KINDS = (*MemoryType, ALIAS)
SHOWN = 100
REASONS = 3
WHERE_IDS_ARE = "memory_get shows the ids of a memory's events and of their groups; a sweep's report names its group."
_NEWEST = 2**63 - 1
Progress = Callable[[str, int, int], None]


@dataclass(slots=True)
class Tally:
    """What was found on the way from the newest event to the oldest."""

    undone: int = 0
    already_undone: int = 0
    skipped: int = 0
    taken_back: list[TakenBack] = field(default_factory=list)
    left_alone: list[LeftAlone] = field(default_factory=list)
    remarks: Counter[str] = field(default_factory=Counter)
    not_brought_back: list[str] = field(default_factory=list)
    walk: Walk = field(default_factory=Walk)


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One call of undo."""

    butler: Butler
    caller: Caller
    named: Named
    identifier: UUID
    skip_changed: bool
    progress: Progress
    key: str | None
    digest: bytes

    @property
    def tenant(self) -> str:
        return self.caller.principal.tenant


async def undo(
    butler: Butler,
    identifier: str | UUID,
    caller: Caller | None = None,
    *,
    skip_changed: bool = False,
    dry_run: bool = False,
    idempotency_key: str | None = None,
    progress: Progress = lambda doing, done, total: None,
) -> UndoReport:
    """Bring memories back to what they were before an event, or before all events of a group.

    All or nothing, unless `skip_changed` is given: then what cannot be undone is left alone and named. A group that is
    larger than a batch is undone newest first, a batch at a time; interrupted, the same call goes on where it stopped.
    """
    caller = _admin(butler, caller)
    wanted = _identifier(identifier)
    key = None if dry_run else optional_label(idempotency_key, "idempotency_key")
    digest = fingerprint("undo", {"id": str(wanted), "skip_changed": skip_changed})
    async with butler.database.read(caller.principal.tenant) as session:
        first = await _answered(session, caller, key, digest, butler.clock())
        named = None if first else await store.find(session, wanted)
    if first:
        return first
    task = Task(
        butler=butler,
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
        _refuse(task, plan)
    return _report(task, plan, None, dry_run=True) if dry_run else await _carry_out(task)


async def would_undo(butler: Butler, identifier: str | UUID, caller: Caller | None = None, *, most: int) -> int:
    """How many changes an undo would take back as things stand: none if it would be refused or leave some alone, or if
    more than `most` events belong together. Those are counted and not looked through, so a group of any size is quick
    to ask about."""
    caller = _admin(butler, caller)
    wanted = _identifier(identifier)
    async with butler.database.read(caller.principal.tenant) as session:
        named = await store.find(session, wanted)
    if named is None or named.events > most or (named.event_id and named.entity_type not in KINDS):
        return 0
    task = Task(
        butler=butler,
        caller=caller,
        named=named,
        identifier=wanted,
        skip_changed=False,
        progress=lambda doing, done, total: None,
        key=None,
        digest=b"",
    )
    plan = await _plan(task)
    return 0 if plan.skipped else plan.undone


def _admin(butler: Butler, caller: Caller | None) -> Caller:
    caller = caller or butler.local_caller()
    if not caller.principal.role.governs:
        raise PermissionDenied(
            "Only an administrator may undo changes.",
            recovery="Ask the person whose store this is: `memory-butler undo` on their command line does it.",
        )
    return caller


def _identifier(given: str | UUID) -> UUID:
    if isinstance(given, UUID):
        return given
    text = clean_text(given, "id", LABEL_CHARACTERS).strip("[]() ")
    try:
        return UUID(text)
    except ValueError:
        raise InvalidInput(
            f"{given!r} is not the id of an event or a group.",
            recovery=WHERE_IDS_ARE,
        ) from None


def _undoable(named: Named | None, wanted: UUID) -> Named:
    if named is None:
        raise NotFound(
            f"There is no event or group {wanted}.",
            recovery=WHERE_IDS_ARE,
        )
    if named.event_id and named.entity_type not in KINDS:
        raise InvalidInput(
            "That a memory was referred to cannot be undone: it says nothing about the memory.",
            recovery="Undo an event that changed a memory; memory_get shows them.",
        )
    return named


async def _plan(task: Task) -> Tally:
    """Look through all of it without changing anything."""
    tally = Tally()
    below, looked = _NEWEST, 0
    while below > task.named.oldest:
        async with task.butler.database.read(task.tenant) as session:
            pasts = await store.examine(session, task.named, below, BATCH)
            for past, settled in await _judge(session, tally, pasts, task.butler.clock()):
                _note(tally, past, settled)
        below, looked = pasts[-1].seq, looked + len(pasts)
        task.progress("Looking", looked, task.named.events)
    return tally


async def _carry_out(task: Task) -> UndoReport:
    """Undo it, newest first, a batch at a time, each in a transaction that looks again."""
    tally = Tally()
    group_id: UUID | None = None
    below, done = _NEWEST, 0
    while True:
        now = task.butler.clock()
        marks = trail(task.butler, task.caller, now, grouped=True)
        marks = replace(marks, group_id=group_id) if group_id else marks
        group_id = marks.group_id
        async with task.butler.database.write(task.tenant, now) as session:
            first = await _answered(session, task.caller, task.key, task.digest, now)
            if first:
                return first
            await store.look_up_by_key(session)
            below, handled = await _batch(session, task, marks, tally, below)
            report = _report(task, tally, group_id, dry_run=False)
            if below <= task.named.oldest:
                kept = _plain(asdict(report))
                await keep_answer(
                    session, task.butler, task.caller, key=task.key, digest=task.digest, response=kept, now=now
                )
        done += handled
        task.progress("Undoing", done, task.named.events)
        if below <= task.named.oldest:
            return report


async def _batch(session: Session, task: Task, marks: Trail, tally: Tally, below: int) -> tuple[int, int]:
    """Undo the next events; returns down to where, and how many were looked at."""
    handled = 0
    while handled < BATCH and below > task.named.oldest:
        pasts = _each_memory_once(await store.examine(session, task.named, below, BATCH - handled))
        undoing = await _judge(session, tally, pasts, marks.now)
        if tally.skipped and not task.skip_changed:
            _refuse(task, tally)
        await _apply(session, marks, tally, undoing)
        below, handled = pasts[-1].seq, handled + len(pasts)
    if not tally.undone and below <= task.named.oldest:
        _refuse(task, tally)
    return below, handled


def _each_memory_once(pasts: Sequence[Past]) -> list[Past]:
    """As many as can be undone by one statement: up to where a memory comes again."""
    seen: set[UUID] = set()
    chosen = []
    for past in pasts:
        if past.entity_id in seen:
            break
        seen.add(past.entity_id)
        chosen.append(past)
    return chosen


# --- what can be undone ---------------------------------------------------------------------------


async def _judge(session: Session, tally: Tally, pasts: Sequence[Past], now: datetime) -> list[tuple[Past, Settled]]:
    """Which of these events can be undone, and what their memories become; the rest goes into the tally."""
    tally.not_brought_back += [past.name for past in pasts if past.is_gone]
    tally.already_undone += sum(past.is_undone and not past.is_gone for past in pasts)
    undoing, staying = tally.walk.judge([past for past in pasts if not (past.is_gone or past.is_undone)], now)
    tally.skipped += len(staying)
    for past, why in staying[: SHOWN - len(tally.left_alone)]:
        reason = await _in_words(session, past, why)
        what = name_event(past.event_type, past.occurred_at)
        tally.left_alone.append(LeftAlone(ref=past.name, event_id=past.id, what=what, reason=reason))
    return undoing


def _note(tally: Tally, past: Past, settled: Settled) -> None:
    tally.undone += 1
    tally.remarks.update(settled.remarks)
    if len(tally.taken_back) < SHOWN:
        tally.taken_back.append(
            TakenBack(
                ref=past.name,
                event_id=past.id,
                what=name_event(past.event_type, past.occurred_at),
                validity=settled.validity,
                maturity=settled.maturity,
                remark=" ".join(settled.remarks) or None,
            )
        )


async def _in_words(session: Session, past: Past, why: str) -> str:
    if why != CHANGED:
        return why
    later = [
        f"{name_event(row['event_type'], row['occurred_at'])} by {row['actor']} (event {row['id']})"
        for row in await store.later(session, past.id)
    ]
    return f"it changed since by {', '.join(later)}" if later else "it changed since"


def _refuse(task: Task, tally: Tally) -> None:
    """Say why nothing is undone, if nothing can be or not all that was asked for."""
    if tally.skipped and (not task.skip_changed or not tally.undone):
        said = "; ".join(
            f"{left.what} stays on {left.ref}, because {left.reason}" for left in tally.left_alone[:REASONS]
        )
        more = f"; and {tally.skipped - REASONS} more" if tally.skipped > REASONS else ""
        recovery = "Undo what came later first, the newest first."
        if task.named.event_id and task.named.group_id:
            recovery += f" Or undo the whole group that it belongs to: {task.named.group_id}."
        elif tally.undone and not task.named.event_id:
            recovery += " Or pass skip_changed (--skip-changed) to undo the rest and leave these alone."
        raise Conflict(f"Not undone: {said}{more}.", recovery=recovery)
    if tally.undone:
        return
    if tally.already_undone:
        raise Conflict(
            f"{'The event' if task.named.event_id else 'The group'} is undone already.",
            recovery="To do it again, undo the undoing: memory_get shows the event that undid it, with its id.",
        )
    raise Conflict(
        f"What was deleted cannot be brought back: {', '.join(tally.not_brought_back[:REASONS])}.",
        recovery="What was learned from a deleted episode is linked to it: search for that instead.",
    )


# --- doing it -------------------------------------------------------------------------------------


async def _apply(session: Session, marks: Trail, tally: Tally, undoing: Sequence[tuple[Past, Settled]]) -> None:
    """Write the memories as they were and one event for each; what goes out of use makes room first."""
    if not undoing:
        return
    changes, restorings, evidence = [], [], []
    for past, foreseen in undoing:
        settled, extra = foreseen, {"undone": _what_was_undone(past)}
        if past.application:
            judged = await withdraw(session, marks, past)
            settled, extra = judged.settled, extra | judged.extra
            evidence.append((past.entity_id, judged.evidence))
        _note(tally, past, settled)
        kind = past.entity_type
        changes.append(Change(kind, past.entity_id, "undone", extra, undoes=past.id))
        restorings.append((kind, _restoring(past, settled)))
    for in_use in (False, True):
        for kind in KINDS:
            chosen = [one for of, one in restorings if of == kind and (one.validity in LIVE) is in_use]
            if chosen:
                await store.restore(session, kind, chosen, marks.now)
    for rule_id, left in evidence:
        await write_evidence(session, rule_id, left)
    await events.record(session, marks, changes)


def _restoring(past: Past, settled: Settled) -> Restoring:
    return Restoring(
        id=past.entity_id,
        source=past.source_id,
        validity=settled.validity,
        maturity=settled.maturity,
        renews=settled.renews,
        rewords=past.is_rewording,
    )


def _what_was_undone(past: Past) -> dict[str, Any]:
    """What the event says of it in its story: always the first change, however often it was undone and done again."""
    if past.undid:
        return {**past.undid, "again": not past.undid.get("again")}
    return {"event": past.event_type, "at": past.occurred_at.isoformat(), "again": False}


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


# --- once -----------------------------------------------------------------------------------------


async def _answered(
    session: Session, caller: Caller, key: str | None, digest: bytes, now: datetime
) -> UndoReport | None:
    kept = await first_answer(session, caller, key, digest, now)
    if kept is None:
        return None
    return UndoReport(
        **{
            **kept,
            "id": UUID(kept["id"]),
            "undo_id": UUID(kept["undo_id"]),
            "taken_back": tuple(
                TakenBack(**{**line, "event_id": UUID(line["event_id"])}) for line in kept["taken_back"]
            ),
            "left_alone": tuple(
                LeftAlone(**{**line, "event_id": UUID(line["event_id"])}) for line in kept["left_alone"]
            ),
            "not_brought_back": tuple(kept["not_brought_back"]),
        }
    )


def _plain(value: Any) -> Any:
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, tuple | list) else value
