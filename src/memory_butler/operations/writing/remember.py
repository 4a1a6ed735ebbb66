"""Store an episode, a fact, a rule, or a note (which becomes an episode or a fact)."""

from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar

from memory_butler.english.text.names import check_aliases, name_key
from memory_butler.english.text.normalize import normal_name
from memory_butler.errors import Conflict
from memory_butler.languages.speech.mentions import subject_of_note
from memory_butler.models import (
    Caller,
    Episode,
    Fact,
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
from memory_butler.models.vocabulary import BY_HAND, Origin
from memory_butler.operations.consolidation import early_start
from memory_butler.operations.retrieval.indexing import index_entry
from memory_butler.operations.retrieval.named_memory import require
from memory_butler.operations.trust.protection import note_name, owner_of, search_of
from memory_butler.operations.writing.admission import Admitted, admit
from memory_butler.operations.writing.idempotency import Fingerprint, audit_trail, run_idempotent
from memory_butler.operations.writing.link import record_links
from memory_butler.operations.writing.memory_writer import content_hash, open_writer
from memory_butler.operations.writing.update import set_fields, updated_change, value_of
from memory_butler.policy.access import visibility
from memory_butler.policy.lifecycle.sweep import first_importance
from memory_butler.policy.lifecycle.tiers import PERMANENCE_OF_NOTE
from memory_butler.policy.memories import supersession
from memory_butler.policy.memories.anti_patterns import warning
from memory_butler.policy.memories.text import is_note, note_predicate
from memory_butler.policy.memories.validation import (
    Handle,
    parse_handle,
    validate_episode,
    validate_fact,
    validate_note,
    validate_rule,
)
from memory_butler.policy.trust.assessment import derived_origin, origin_of
from memory_butler.resources import Resources
from memory_butler.store.gate.database import Transaction
from memory_butler.store.history import events
from memory_butler.store.history.events import AuditTrail, Change
from memory_butler.store.memories import aliases, episodes, facts, rules

Derived = TypeVar("Derived", NewFact, NewRule)


async def episode(resources: Resources, new: NewEpisode, caller: Caller | None = None) -> Stored:
    """Store an observation from an agent session. Episodes are append-only."""
    caller = caller or resources.local_caller()
    new, admitted = admit(resources, visibility.named(new, caller.principal), caller)
    new = validate_episode(new)
    caller = acting_as(caller, new.butler)
    return await _episode(resources, new, caller, Fingerprint("episode", new), admitted)


async def store(resources: Resources, new: NewNote, caller: Caller | None = None) -> Stored:
    """Store a note in a tier: an episode in Eden, a fact in mid and long. Notes never supersede each other."""
    caller = caller or resources.local_caller()
    new, admitted = admit(resources, new, caller)
    new = validate_note(new)
    caller = acting_as(caller, new.butler)
    name = caller.principal.butler
    fields: dict[str, Any] = {
        "content": new.content,
        "importance": new.importance,
        "tags": new.tags,
        "idempotency_key": new.idempotency_key,
        "source": new.source,
        "quarantine_reason": admitted.quarantine_reason,
    }
    if new.tier == Tier.EDEN:
        marks = {BY_HAND: True} if new.by_hand else {}
        observed = validate_episode(
            NewEpisode(butler=name, session_id=caller.lineage.session_id, metadata=marks, **fields)
        )
        return await _episode(resources, observed, caller, Fingerprint("note", new), admitted)
    owner, predicate = owner_of(caller.principal.tenant, name), note_predicate(content_hash(new.content))
    # Subjects stay readable: that of an encrypted note must not repeat its words.
    is_plain = search_of(resources, owner, predicate) is None
    note = NewFact(
        subject=subject_of_note(new.content, name, is_user=new.source == Origin.USER) if is_plain else name,
        predicate=await note_name(resources, owner, predicate),
        permanence=PERMANENCE_OF_NOTE[Tier(new.tier)],
        **fields,
    )
    return await _fact(resources, note, caller, admitted)


async def _episode(
    resources: Resources, new: NewEpisode, caller: Caller, digest: Fingerprint, admitted: Admitted
) -> Stored:
    entry = await index_entry(
        resources, MemoryType.EPISODE, new.content, new.tags, owner=owner_of(caller.principal.tenant, new.butler)
    )

    async def work(transaction: Transaction, now: datetime) -> Stored:
        trail = audit_trail(resources, caller, now, admitted=admitted)
        writer = open_writer(resources, transaction, trail)
        stored = await writer.episode(new, entry, ttl_days=ttl_days(resources, new))
        await writer.flush()
        await early_start.ask(resources, transaction, new, stored)
        return stored

    return await run_idempotent(resources, caller, new.idempotency_key, digest, work, refs=1, admitted=admitted)


def ttl_days(resources: Resources, new: NewEpisode) -> float:
    """Days until a new episode expires."""
    return resources.settings.lifecycle_of(new.butler).eden.ttl_days


async def fact(resources: Resources, new: NewFact, caller: Caller | None = None) -> Stored:
    """Store a fact. The same fact again is confirmed; another value of the same property supersedes the old one."""
    caller = caller or resources.local_caller()
    new, admitted = admit(resources, new, caller)
    return await _fact(resources, new, caller, admitted)


async def _fact(resources: Resources, new: NewFact, caller: Caller, admitted: Admitted) -> Stored:
    new = validate_fact(new)
    check_aliases(new.aliases)
    visibility.check_writable(caller.principal, new.scope)
    entry = await index_entry(
        resources,
        MemoryType.FACT,
        new.content,
        new.tags,
        owner=owner_of(caller.principal.tenant, caller.principal.butler, new.scope),
        subject=new.subject,
        predicate=new.predicate,
    )

    async def work(transaction: Transaction, now: datetime) -> Stored:
        decision = await decide(transaction, new)
        source = await _source_episode(transaction, caller, new.source_episode)
        changed = restated_fields(decision, new)
        grouped = isinstance(decision, supersession.Replaces) or bool(new.aliases or changed or new.links)
        trail = audit_trail(resources, caller, now, grouped=grouped, admitted=admitted)
        weighted = await _with_importance(resources, transaction, _with_lineage(new, source), source, now)
        writer = open_writer(resources, transaction, trail)
        stored = await writer.fact(weighted, entry, decision=decision, sources=[source.id] if source else [])
        await writer.flush()
        if changed:
            known = await require(transaction, caller, Handle(MemoryType.FACT, stored.id, None))
            await set_fields(resources, transaction, known, changed, entry)
            await events.record(transaction, trail, [updated_change(known, changed)])
            stored = replace(stored, outcome="updated")
        if not stored.quarantine_reason:
            await _add_aliases(transaction, trail, new)
        if new.links:
            await record_links(transaction, caller, trail, (MemoryType.FACT, stored.id), new.links)
        return stored

    digest = Fingerprint("fact", new)
    return await run_idempotent(resources, caller, new.idempotency_key, digest, work, refs=1, admitted=admitted)


async def decide(transaction: Transaction, new: NewFact) -> supersession.Decision:
    """Decide whether a fact restates, replaces or coexists with what is stored."""
    known = await facts.find_known(
        transaction,
        new,
        subject=normal_name(new.subject),
        predicate=normal_name(new.predicate),
        digest=content_hash(new.content),
    )
    return supersession.decide(new.content, is_event=new.valid_at is not None, known=known)


def restated_fields(decision: supersession.Decision, new: NewFact) -> dict[str, Any]:
    """Importance, permanence and tags that a caller gives a stored fact by stating it again with others."""
    if not isinstance(decision, supersession.Restates) or not isinstance(decision.known, Fact):
        return {}
    usual = NewFact(subject=new.subject, predicate=new.predicate, content=new.content)
    # A note that is said again keeps its tier.
    names = ("importance", "tags") if is_note(new.predicate) else ("importance", "permanence", "tags")
    given = {name: getattr(new, name) for name in names}
    return {
        name: value
        for name, value in given.items()
        if value not in (getattr(usual, name), value_of(decision.known, name))
    }


async def _add_aliases(transaction: Transaction, trail: AuditTrail, new: NewFact) -> None:
    """Add aliases of a subject, each with its own event; existing ones stay unchanged.

    An alias is visible where a fact of its event group is visible. An alias that so far belongs to another butler's
    private facts is therefore recorded again when it is given with a fact that more butlers can see.
    """
    changes, subject = [], normal_name(new.subject)
    for label in new.aliases:
        new_id, alias = trail.make_id(trail.now), name_key(label)
        alias_id = await aliases.insert(
            transaction,
            id=new_id,
            subject=subject,
            alias=alias,
            alias_label=label,
            now=trail.now,
            request_id=trail.lineage.request_id,
        )
        if alias_id:
            changes.append(Change(events.ALIAS, alias_id, "created" if alias_id == new_id else "restored"))
        elif known := await aliases.unknown_in(transaction, new.scope, subject=subject, alias=alias):
            changes.append(Change(events.ALIAS, known, "named"))
    if changes:
        await events.record(transaction, trail, changes)


async def rule(resources: Resources, new: NewRule, caller: Caller | None = None) -> Stored:
    """Store a rule as a candidate. The same rule again is confirmed."""
    caller = caller or resources.local_caller()
    new, admitted = admit(resources, new, caller)
    new = validate_rule(new)
    visibility.check_writable(caller.principal, new.scope)
    entry = await index_entry(
        resources,
        MemoryType.RULE,
        new.content,
        new.tags,
        owner=owner_of(caller.principal.tenant, caller.principal.butler, new.scope),
    )

    async def work(transaction: Transaction, now: datetime) -> Stored:
        twin = await rules.find_live_twin(transaction, new.scope, content_hash(new.content))
        source = await _source_episode(transaction, caller, new.source_episode)
        sources = [source.id] if source else []
        trail = audit_trail(resources, caller, now, admitted=admitted)
        writer = open_writer(resources, transaction, trail)
        if twin:
            _refuse_warning(twin)
            stored = await writer.confirm(MemoryType.RULE, twin, sources, origin_of(new.content, new.source))
        else:
            stored = await writer.rule(_with_lineage(new, source), entry, sources)
        await writer.flush()
        return stored

    digest = Fingerprint("rule", new)
    return await run_idempotent(resources, caller, new.idempotency_key, digest, work, refs=1, admitted=admitted)


def _refuse_warning(twin: Rule) -> None:
    if twin.maturity is Maturity.ANTI_PATTERN:
        raise Conflict(
            f"This rule caused harm before and is kept as a warning, rule:{twin.ref}."
            f" {warning(twin.content, twin.harmful_reasons)}",
            recovery="Do not follow it. If it is valid now, reword it to say what has changed.",
        )


def acting_as(caller: Caller, butler: str | None) -> Caller:
    acting = visibility.acting_butler(caller.principal, butler)
    return replace(caller, principal=replace(caller.principal, butler=acting))


async def _source_episode(transaction: Transaction, caller: Caller, handle: str | None) -> Episode | None:
    if handle is None:
        return None
    source = await require(transaction, caller, parse_handle(MemoryType.EPISODE, handle))
    assert isinstance(source, Episode)
    return source


def _with_lineage(new: Derived, source: Episode | None) -> Derived:
    """The request with the lowest origin of its lineage: its own source and its source episode."""
    if source is None:
        return new
    said = f"{new.subject} {new.content}" if isinstance(new, NewFact) else new.content
    return replace(new, source=derived_origin(new.source, said, [(source.origin, source.content)]))


async def _with_importance(
    resources: Resources, transaction: Transaction, new: NewFact, source: Episode | None, now: datetime
) -> NewFact:
    """Raise the importance of a fact whose source episode several agent sessions referred to."""
    if source is None:
        return new
    eden = resources.settings.lifecycle_of(source.butler).eden
    well_referenced = await episodes.is_well_referenced(transaction, source, eden, now)
    return replace(new, importance=first_importance(new.importance, well_referenced=well_referenced))
