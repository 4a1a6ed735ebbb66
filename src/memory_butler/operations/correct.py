"""Correct: a fact was wrong. A right one takes its place, with everything else as it was; both are kept."""

from dataclasses import replace
from datetime import datetime

from memory_butler.butler import Butler
from memory_butler.errors import Conflict
from memory_butler.models import LIVE, Caller, Fact, Link, MemoryType, NewFact, Relation, Stored, Validity
from memory_butler.operations.change import admit_reason, require_changeable, said
from memory_butler.operations.index import index_entry
from memory_butler.operations.keeping import content_hash
from memory_butler.operations.look import require
from memory_butler.operations.once import fingerprint, trail, write_once
from memory_butler.policy import confidence
from memory_butler.policy.admission import Handle, admit_fact, normal_name, optional_label, parse_handle
from memory_butler.policy.references import short_reference
from memory_butler.policy.wording import note_predicate
from memory_butler.store import events, facts, links, search_index
from memory_butler.store.database import Session
from memory_butler.store.events import Change, Trail


async def correct(
    butler: Butler,
    handle: str,
    content: str,
    caller: Caller | None = None,
    *,
    reason: str | None = None,
    idempotency_key: str | None = None,
) -> Stored:
    """Supersede a live fact by one that says it right: same subject, predicate, scope, time, weight and pin."""
    caller = caller or butler.local_caller()
    wanted = parse_handle(MemoryType.FACT, handle)
    why = admit_reason(reason)
    async with butler.database.read(caller.principal.tenant) as session:
        wrong = await require_changeable(session, caller, wanted)
    assert isinstance(wrong, Fact)
    # What a fact is about never changes, so it can be embedded before the transaction.
    right = corrected(wrong, content)
    entry = await index_entry(
        butler, MemoryType.FACT, right.content, right.tags, subject=right.subject, predicate=right.predicate
    )

    async def work(session: Session, now: datetime) -> Stored:
        old = await require(session, caller, wanted)
        assert isinstance(old, Fact)
        if old.validity not in LIVE:
            raise await _out_of_use(session, wanted, old)
        if old.content == right.content:
            return said(old, "unchanged")
        await _refuse_twin(session, old, right)
        marks = trail(butler, caller, now, grouped=True)
        new = await _replace(butler, session, marks, old, right)
        await search_index.add(session, [(MemoryType.FACT, new.id, entry)])
        await _record(session, marks, old, new, why)
        return new

    digest = fingerprint("correct", {"id": str(wanted), "content": right.content, "reason": why})
    key = optional_label(idempotency_key, "idempotency_key")
    return await write_once(butler, caller, key, digest, work, refs=1)


def corrected(wrong: Fact, content: str) -> NewFact:
    """The right fact as a new one. A note's predicate names its content, so it changes with it."""
    right = admit_fact(
        NewFact(
            subject=wrong.subject_label,
            predicate=wrong.predicate_label,
            content=content,
            importance=wrong.importance,
            permanence=wrong.permanence,
            scope=wrong.scope,
            tags=tuple(wrong.tags),
            valid_at=wrong.valid_at,
            metadata=wrong.metadata,
        )
    )
    if wrong.predicate_label == note_predicate(content_hash(wrong.content)):
        return replace(right, predicate=note_predicate(content_hash(right.content)))
    return right


def _place(right: NewFact) -> dict[str, str]:
    return {"subject": normal_name(right.subject), "predicate": normal_name(right.predicate)}


async def _out_of_use(session: Session, handle: Handle, old: Fact) -> Conflict:
    now_there = await facts.find_occupant(session, old.id)
    instead = f" fact:{now_there.ref} stands in its place." if now_there else ""
    return Conflict(
        f"{handle} is {old.validity} and cannot be corrected.{instead}",
        recovery=f"Correct fact:{now_there.ref} instead." if now_there else "Restore it first, then correct it.",
    )


async def find_twin(session: Session, old: Fact, right: NewFact) -> Fact | None:
    """Another live fact that says what a correction would say."""
    twin = await facts.find_known(session, right, digest=content_hash(right.content), **_place(right))
    return twin if twin and twin.id != old.id else None


async def _refuse_twin(session: Session, old: Fact, right: NewFact) -> None:
    twin = await find_twin(session, old, right)
    if twin:
        raise Conflict(
            f"fact:{twin.ref} says so already; the correction would be a second one.",
            recovery=f"Forget fact:{old.ref} instead, as fact:{twin.ref} is right.",
        )


async def _replace(butler: Butler, session: Session, marks: Trail, old: Fact, right: NewFact) -> Stored:
    """The old fact out of use, the right one in its place."""
    memory_id, ref = butler.make_id(marks.now), short_reference(session.take_ref())
    await session.send("database.register_butler", butler=marks.butler, now=marks.now)
    await facts.set_validity(session, old.id, Validity.SUPERSEDED)
    row = facts.as_row(
        right,
        id=memory_id,
        ref=ref,
        content_hash=content_hash(right.content),
        confidence=confidence.NEW_FACT_CONFIDENCE,
        decay_rate=confidence.DECAY_RATE_PER_DAY[old.permanence],
        source_butler=marks.butler,
        source_episode_id=None,
        supersedes_id=old.id,
        now=marks.now,
        request_id=marks.lineage.request_id,
        **_place(right),
    )
    await facts.insert(session, [row])
    if old.pinned:
        await facts.set_pinned(session, memory_id, True)
    return Stored(type=MemoryType.FACT, id=memory_id, ref=ref, outcome="corrected", superseded_ref=old.ref)


async def _record(session: Session, marks: Trail, old: Fact, new: Stored, why: str | None) -> None:
    """Both facts say in their history who corrected what, and why."""
    link = Link(
        source_type=MemoryType.FACT,
        source_id=new.id,
        target_type=MemoryType.FACT,
        target_id=old.id,
        relation=Relation.SUPERSEDES,
        created_at=marks.now,
    )
    await links.insert(session, [link], marks.lineage.request_id)
    kept = links.kept(link, marks.lineage.request_id)
    by = {"by": str(new.id), "actor": marks.actor, **await events.reason_of(session, old.id, why)}
    of = {"of": str(old.id), "actor": marks.actor, **await events.reason_of(session, new.id, why)}
    changes = [
        Change(MemoryType.FACT, old.id, "superseded", {"correction": by}),
        Change(MemoryType.FACT, new.id, "created", {"correction": of, "links": [kept]}),
    ]
    await events.record(session, marks, changes)
