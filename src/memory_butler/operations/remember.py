"""Remember: store an episode, a fact, a rule, or a note that becomes one of the first two."""

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from memory_butler.butler import Butler
from memory_butler.errors import Conflict
from memory_butler.models import (
    Caller,
    Episode,
    Fact,
    Link,
    Maturity,
    MemoryType,
    NewEpisode,
    NewFact,
    NewNote,
    NewRule,
    Permanence,
    Relation,
    Stored,
    Tier,
    Validity,
)
from memory_butler.operations.index import index_entry
from memory_butler.operations.look import require
from memory_butler.operations.once import fingerprint, trail, write_once
from memory_butler.policy import confidence, reach, supersession
from memory_butler.policy.admission import (
    admit_episode,
    admit_fact,
    admit_note,
    admit_rule,
    normal_name,
    parse_handle,
)
from memory_butler.policy.maturity import warning
from memory_butler.policy.names import check_aliases, name_key
from memory_butler.policy.references import short_reference
from memory_butler.policy.tiers import PERMANENCE_OF_NOTE
from memory_butler.policy.upkeep import first_importance
from memory_butler.policy.wording import note_predicate
from memory_butler.store import aliases, episodes, events, facts, links, rules, search_index
from memory_butler.store.database import Session
from memory_butler.store.events import Change, Trail


async def episode(butler: Butler, new: NewEpisode, caller: Caller | None = None) -> Stored:
    """Store what was observed in a session. Append-only: an episode is never changed by another."""
    new = admit_episode(new)
    caller = _acting_as(caller or butler.local_caller(), new.butler)
    return await _episode(butler, new, caller, fingerprint("episode", new))


async def store(butler: Butler, new: NewNote, caller: Caller | None = None) -> Stored:
    """Store a note in a tier: Eden makes it an episode, mid and long a fact that stands beside all other notes."""
    new = admit_note(new)
    caller = _acting_as(caller or butler.local_caller(), new.butler)
    name = caller.principal.butler
    own: dict[str, Any] = {
        "content": new.content,
        "importance": new.importance,
        "tags": new.tags,
        "idempotency_key": new.idempotency_key,
    }
    if new.tier == Tier.EDEN:
        seen = admit_episode(NewEpisode(butler=name, session_id=caller.lineage.session_id, **own))
        return await _episode(butler, seen, caller, fingerprint("note", new))
    known = NewFact(
        subject=name,
        predicate=note_predicate(content_hash(new.content)),
        permanence=PERMANENCE_OF_NOTE[Tier(new.tier)],
        **own,
    )
    return await fact(butler, known, caller)


async def _episode(butler: Butler, new: NewEpisode, caller: Caller, digest: bytes) -> Stored:
    entry = await index_entry(butler, MemoryType.EPISODE, new.content, new.tags)

    async def work(session: Session, now: datetime) -> Stored:
        memory_id, ref = butler.make_id(now), short_reference(session.last_ref)
        marks = trail(butler, caller, now)
        await session.send("database.register_butler", butler=new.butler, now=now)
        await episodes.insert(
            session,
            new,
            id=memory_id,
            ref=ref,
            content_hash=content_hash(new.content),
            observed_at=new.observed_at or now,
            now=now,
            expires_at=now + timedelta(days=butler.settings.lifecycle_of(new.butler).eden.ttl_days),
            request_id=marks.lineage.request_id,
        )
        await search_index.add(session, MemoryType.EPISODE, memory_id, entry)
        await events.record(session, marks, [Change(MemoryType.EPISODE, memory_id, "created")])
        return Stored(type=MemoryType.EPISODE, id=memory_id, ref=ref, outcome="created")

    return await write_once(butler, caller, new.idempotency_key, digest, work, refs=1)


async def fact(butler: Butler, new: NewFact, caller: Caller | None = None) -> Stored:
    """Store what is true. The same again confirms; another value of the same property supersedes the old one."""
    caller = caller or butler.local_caller()
    new = admit_fact(new)
    check_aliases(new.aliases)
    reach.check_writable(caller.principal, new.scope)
    entry = await index_entry(
        butler, MemoryType.FACT, new.content, new.tags, subject=new.subject, predicate=new.predicate
    )

    async def work(session: Session, now: datetime) -> Stored:
        names = {"subject": normal_name(new.subject), "predicate": normal_name(new.predicate)}
        digest = content_hash(new.content)
        known = await facts.find_known(session, new, digest=digest, **names)
        decision = supersession.decide(new.content, is_event=new.valid_at is not None, known=known)
        grouped = isinstance(decision, supersession.Replaces) or bool(new.aliases)
        marks = trail(butler, caller, now, grouped=grouped)
        seen = await _source(session, caller, new.source_episode)
        source = seen.id if seen else None
        await session.send("database.register_butler", butler=caller.principal.butler, now=now)
        if isinstance(decision, supersession.Restates):
            stored = await _restate(session, marks, decision.known, source)
            await _name(session, marks, names["subject"], new.aliases)
            return stored
        old = decision.old if isinstance(decision, supersession.Replaces) else None
        memory_id, ref = butler.make_id(now), short_reference(session.last_ref)
        if old:
            await facts.set_validity(session, old.id, Validity.SUPERSEDED)
        await facts.insert(
            session,
            await _weighed(butler, session, new, seen, now),
            id=memory_id,
            ref=ref,
            content_hash=digest,
            confidence=confidence.NEW_FACT_CONFIDENCE,
            decay_rate=confidence.DECAY_RATE_PER_DAY[Permanence(new.permanence)],
            source_butler=caller.principal.butler,
            source_episode_id=source,
            supersedes_id=old.id if old else None,
            now=now,
            request_id=marks.lineage.request_id,
            **names,
        )
        await search_index.add(session, MemoryType.FACT, memory_id, entry)
        extra = await _links(session, marks, (MemoryType.FACT, memory_id), source, old)
        changes = [Change(MemoryType.FACT, memory_id, "created", extra)]
        if old:
            changes.insert(0, Change(MemoryType.FACT, old.id, "superseded"))
        await events.record(session, marks, changes)
        await _name(session, marks, names["subject"], new.aliases)
        return Stored(
            type=MemoryType.FACT,
            id=memory_id,
            ref=ref,
            outcome="superseded" if old else "created",
            superseded_ref=old.ref if old else None,
        )

    return await write_once(butler, caller, new.idempotency_key, _fingerprint(new), work, refs=1)


def _fingerprint(new: NewFact) -> bytes:
    """A fact without other names is the request it was before there were any."""
    asked = asdict(new)
    if not new.aliases:
        del asked["aliases"]
    return fingerprint("fact", asked)


async def _name(session: Session, marks: Trail, subject: str, labels: Sequence[str]) -> None:
    """Give a subject its other names, each with an event of its own; those it has already stay as they are."""
    changes = []
    for label in labels:
        new_id = marks.make_id(marks.now)
        named = await aliases.insert(
            session,
            id=new_id,
            subject=subject,
            alias=name_key(label),
            alias_label=label,
            now=marks.now,
            request_id=marks.lineage.request_id,
        )
        if named:
            changes.append(Change(events.ALIAS, named, "created" if named == new_id else "restored"))
    if changes:
        await events.record(session, marks, changes)


async def rule(butler: Butler, new: NewRule, caller: Caller | None = None) -> Stored:
    """Store how to act, as a candidate. The same rule again confirms the one that is there."""
    caller = caller or butler.local_caller()
    new = admit_rule(new)
    reach.check_writable(caller.principal, new.scope)
    entry = await index_entry(butler, MemoryType.RULE, new.content, new.tags)

    async def work(session: Session, now: datetime) -> Stored:
        digest = content_hash(new.content)
        twin = await rules.find_live_twin(session, new.scope, digest)
        seen = await _source(session, caller, new.source_episode)
        source = seen.id if seen else None
        marks = trail(butler, caller, now)
        if twin and twin.maturity is Maturity.ANTI_PATTERN:
            raise Conflict(
                f"This rule did harm before and is kept as a warning, rule:{twin.ref}."
                f" {warning(twin.content, twin.harmful_reasons)}",
                recovery="Do not follow it. If it has become right, store it in words that say what is different now.",
            )
        if twin:
            await rules.confirm(session, twin.id, now)
            extra = await _links(session, marks, (MemoryType.RULE, twin.id), source, None)
            await events.record(session, marks, [Change(MemoryType.RULE, twin.id, "confirmed", extra)])
            return Stored(type=MemoryType.RULE, id=twin.id, ref=twin.ref, outcome="confirmed")
        memory_id, ref = butler.make_id(now), short_reference(session.last_ref)
        await session.send("database.register_butler", butler=caller.principal.butler, now=now)
        await rules.insert(
            session,
            new,
            id=memory_id,
            ref=ref,
            content_hash=digest,
            confidence=confidence.NEW_RULE_CONFIDENCE,
            decay_rate=confidence.RULE_DECAY_RATE_PER_DAY,
            source_butler=caller.principal.butler,
            source_episode_id=source,
            now=now,
            request_id=marks.lineage.request_id,
        )
        await search_index.add(session, MemoryType.RULE, memory_id, entry)
        extra = await _links(session, marks, (MemoryType.RULE, memory_id), source, None)
        await events.record(session, marks, [Change(MemoryType.RULE, memory_id, "created", extra)])
        return Stored(type=MemoryType.RULE, id=memory_id, ref=ref, outcome="created")

    return await write_once(butler, caller, new.idempotency_key, fingerprint("rule", new), work, refs=1)


def content_hash(content: str) -> bytes:
    return hashlib.sha256(content.encode()).digest()


def _acting_as(caller: Caller, butler: str | None) -> Caller:
    acting = reach.acting_butler(caller.principal, butler)
    return replace(caller, principal=replace(caller.principal, butler=acting))


async def _source(session: Session, caller: Caller, given: str | None) -> Episode | None:
    if given is None:
        return None
    found = await require(session, caller, parse_handle(MemoryType.EPISODE, given))
    assert isinstance(found, Episode)
    return found


async def _weighed(butler: Butler, session: Session, new: NewFact, seen: Episode | None, now: datetime) -> NewFact:
    """What comes from an episode that several sessions referred to starts more important."""
    if seen is None:
        return new
    eden = butler.settings.lifecycle_of(seen.butler).eden
    matters = await episodes.is_well_referenced(session, seen, eden, now)
    return replace(new, importance=first_importance(new.importance, well_referenced=matters))


async def _restate(session: Session, marks: Trail, known: Fact, source: UUID | None) -> Stored:
    await facts.confirm(session, known.id, marks.now)
    extra = await _links(session, marks, (MemoryType.FACT, known.id), source, None)
    await events.record(session, marks, [Change(MemoryType.FACT, known.id, "confirmed", extra)])
    return Stored(type=MemoryType.FACT, id=known.id, ref=known.ref, outcome="confirmed")


async def _links(
    session: Session, marks: Trail, new: tuple[MemoryType, UUID], source: UUID | None, old: Fact | None
) -> dict[str, object]:
    """Link a memory to the episode it came from and the fact it replaced; returns what its event keeps of them."""
    wanted = []
    if source:
        wanted.append((MemoryType.EPISODE, source, Relation.DERIVED_FROM))
    if old:
        wanted.append((MemoryType.FACT, old.id, Relation.SUPERSEDES))
    kept = [
        await links.insert(
            session,
            Link(
                source_type=new[0],
                source_id=new[1],
                target_type=target_type,
                target_id=target,
                relation=relation,
                created_at=marks.now,
            ),
            marks.lineage.request_id,
            marks.now,
        )
        for target_type, target, relation in wanted
    ]
    return {"links": kept} if kept else {}
