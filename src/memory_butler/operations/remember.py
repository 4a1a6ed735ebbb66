"""Remember: store an episode, a fact, a rule, or a note that becomes one of the first two."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from memory_butler.butler import Butler
from memory_butler.errors import Conflict
from memory_butler.models import (
    Caller,
    Episode,
    Maturity,
    MemoryType,
    NewEpisode,
    NewFact,
    NewNote,
    NewRule,
    Rule,
    Stored,
    Tier,
)
from memory_butler.operations.index import index_entry
from memory_butler.operations.keeping import Keeping, content_hash
from memory_butler.operations.look import require
from memory_butler.operations.once import fingerprint, trail, write_once
from memory_butler.policy import reach, supersession
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
from memory_butler.policy.tiers import PERMANENCE_OF_NOTE
from memory_butler.policy.upkeep import first_importance
from memory_butler.policy.wording import note_predicate
from memory_butler.store import aliases, episodes, events, facts, rules
from memory_butler.store.database import Session
from memory_butler.store.events import Change, Trail
from memory_butler.store.search_index import Indexed


async def episode(butler: Butler, new: NewEpisode, caller: Caller | None = None) -> Stored:
    """Store what was observed in a session. Append-only: an episode is never changed by another."""
    new = admit_episode(new)
    caller = acting_as(caller or butler.local_caller(), new.butler)
    return await _episode(butler, new, caller, fingerprint("episode", new))


async def store(butler: Butler, new: NewNote, caller: Caller | None = None) -> Stored:
    """Store a note in a tier: Eden makes it an episode, mid and long a fact that stands beside all other notes."""
    new = admit_note(new)
    caller = acting_as(caller or butler.local_caller(), new.butler)
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
        keeping = Keeping(session, trail(butler, caller, now))
        stored = keeping.episode(new, entry, ttl_days=ttl_days(butler, new))
        await keeping.flush()
        return stored

    return await write_once(butler, caller, new.idempotency_key, digest, work, refs=1)


def ttl_days(butler: Butler, new: NewEpisode) -> float:
    """How long an episode is kept if nothing happens."""
    return butler.settings.lifecycle_of(new.butler).eden.ttl_days


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
        decision = await decide(session, new)
        seen = await _source(session, caller, new.source_episode)
        grouped = isinstance(decision, supersession.Replaces) or bool(new.aliases)
        marks = trail(butler, caller, now, grouped=grouped)
        weighed = await _weighed(butler, session, new, seen, now)
        stored = await keep_fact(session, marks, weighed, entry, decision=decision, sources=[seen.id] if seen else [])
        await _name(session, marks, new)
        return stored

    return await write_once(butler, caller, new.idempotency_key, _fingerprint(new), work, refs=1)


async def decide(session: Session, new: NewFact) -> supersession.Decision:
    """What a fact means for what is known: whether it restates it, replaces it, or stands beside it."""
    known = await facts.find_known(session, new, digest=content_hash(new.content), **_place(new))
    return supersession.decide(new.content, is_event=new.valid_at is not None, known=known)


async def keep_fact(
    session: Session,
    marks: Trail,
    new: NewFact,
    entry: Indexed,
    *,
    decision: supersession.Decision,
    sources: Sequence[UUID],
) -> Stored:
    """Store an admitted fact as was decided, inside a transaction that holds the tenant's lock."""
    keeping = Keeping(session, marks)
    stored = await keeping.fact(new, entry, decision=decision, sources=sources)
    await keeping.flush()
    return stored


def _place(new: NewFact) -> dict[str, str]:
    return {"subject": normal_name(new.subject), "predicate": normal_name(new.predicate)}


def _fingerprint(new: NewFact) -> bytes:
    """A fact without other names is the request it was before there were any."""
    asked = asdict(new)
    if not new.aliases:
        del asked["aliases"]
    return fingerprint("fact", asked)


async def _name(session: Session, marks: Trail, new: NewFact) -> None:
    """Give a subject its other names, each with an event of its own; those it has already stay as they are.

    Who may know a name is told by the facts that it was given with, in one group of events: one that another butler
    keeps to itself is given again where it becomes known to more.
    """
    changes, subject = [], normal_name(new.subject)
    for label in new.aliases:
        new_id, alias = marks.make_id(marks.now), name_key(label)
        named = await aliases.insert(
            session,
            id=new_id,
            subject=subject,
            alias=alias,
            alias_label=label,
            now=marks.now,
            request_id=marks.lineage.request_id,
        )
        if named:
            changes.append(Change(events.ALIAS, named, "created" if named == new_id else "restored"))
        elif known := await aliases.unknown_in(session, new.scope, subject=subject, alias=alias):
            changes.append(Change(events.ALIAS, known, "named"))
    if changes:
        await events.record(session, marks, changes)


async def rule(butler: Butler, new: NewRule, caller: Caller | None = None) -> Stored:
    """Store how to act, as a candidate. The same rule again confirms the one that is there."""
    caller = caller or butler.local_caller()
    new = admit_rule(new)
    reach.check_writable(caller.principal, new.scope)
    entry = await index_entry(butler, MemoryType.RULE, new.content, new.tags)

    async def work(session: Session, now: datetime) -> Stored:
        twin = await rules.find_live_twin(session, new.scope, content_hash(new.content))
        seen = await _source(session, caller, new.source_episode)
        marks = trail(butler, caller, now)
        return await keep_rule(session, marks, new, entry, twin=twin, sources=[seen.id] if seen else [])

    return await write_once(butler, caller, new.idempotency_key, fingerprint("rule", new), work, refs=1)


async def keep_rule(
    session: Session, marks: Trail, new: NewRule, entry: Indexed, *, twin: Rule | None, sources: Sequence[UUID]
) -> Stored:
    """Store an admitted rule, or confirm its twin, inside a transaction that holds the tenant's lock."""
    if twin and twin.maturity is Maturity.ANTI_PATTERN:
        raise Conflict(
            f"This rule did harm before and is kept as a warning, rule:{twin.ref}."
            f" {warning(twin.content, twin.harmful_reasons)}",
            recovery="Do not follow it. If it has become right, store it in words that say what is different now.",
        )
    keeping = Keeping(session, marks)
    if twin:
        stored = await keeping.restated(MemoryType.RULE, twin, sources)
    else:
        stored = await keeping.rule(new, entry, sources)
    await keeping.flush()
    return stored


def acting_as(caller: Caller, butler: str | None) -> Caller:
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
