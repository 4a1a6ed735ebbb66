"""Apply a proposal: its items become memories through the memory writer, in one transaction."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from memory_butler.english.text.normalize import normal_name
from memory_butler.models import (
    GLOBAL_SCOPE,
    LIVE,
    Batch,
    Fact,
    Item,
    ItemKind,
    ItemResult,
    Maturity,
    MemoryType,
    NewFact,
    NewRule,
    Origin,
    RefusalReason,
    RefusedItem,
    Rule,
    Stored,
)
from memory_butler.models.unreadable import Unreadable
from memory_butler.operations.consolidation.known_facts import KnownFacts, OlderFacts, class_of, names_of
from memory_butler.operations.retrieval.indexing import Entry, index_entries
from memory_butler.operations.trust.protection import owner_of
from memory_butler.operations.writing.correct import corrected_fact, find_duplicate
from memory_butler.operations.writing.memory_writer import MemoryWriter, content_hash
from memory_butler.policy.consolidation.corrections import corrected_rule, may_correct, said_in
from memory_butler.policy.consolidation.duplicates import item_key, same_fact_content, same_rule
from memory_butler.policy.consolidation.scopes import is_about_people
from memory_butler.policy.consolidation.stored_items import item_to_json
from memory_butler.policy.lifecycle.confidence import DecayRules
from memory_butler.policy.lifecycle.sweep import first_importance
from memory_butler.policy.memories import observation_order, supersession
from memory_butler.policy.memories.text import is_note
from memory_butler.policy.trust.assessment import derived_origin
from memory_butler.policy.trust.origin import outranks
from memory_butler.resources import Resources
from memory_butler.store.consolidation import runs
from memory_butler.store.consolidation.runs import KnownFact, KnownRule
from memory_butler.store.gate.database import Transaction
from memory_butler.store.history.events import AuditTrail
from memory_butler.store.memories import memories
from memory_butler.store.memories.episodes import QueuedEpisode
from memory_butler.store.retrieval.search_index import Indexed

NumberedItem = tuple[int, Item]
Key = tuple[UUID, bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedItems:
    """Items with their index entries, embedded before the transaction."""

    items: Sequence[tuple[int, Item, Indexed | None]]
    scope: str
    # Scope of facts about the user and about people.
    people_scope: str
    decay: DecayRules


class _ItemRefused(Exception):
    """The item cannot be applied to the current state of the store."""

    def __init__(self, reason: RefusalReason, message: str) -> None:
        self.reason, self.message = reason, message
        super().__init__(message)


@dataclass(slots=True)
class Outcomes:
    """The result of each item with the memory that was written, and the keys that identify repeated items."""

    results: list[tuple[ItemResult, Stored | None]] = field(default_factory=list)
    keys: set[tuple[UUID, bytes]] = field(default_factory=set)

    @classmethod
    def proposed(cls, items: Iterable[NumberedItem]) -> "Outcomes":
        return cls([(_line(place, item, "proposed"), None) for place, item in items])

    def refuse(self, refused: Iterable[RefusedItem]) -> None:
        """Add the items that the proposal check refused."""
        for one in refused:
            line = ItemResult(
                place=one.place, kind=one.kind, outcome="refused", shown=one.shown, reason=one.reason, said=one.said
            )
            self.results.append((line, None))

    def lines(self) -> list[ItemResult]:
        return [line for line, _ in self.results]

    def rows(self) -> list[dict[str, Any]]:
        """Returns the rows to store."""
        return [
            {
                "place": line.place,
                "kind": line.kind,
                "proposed": dict(line.shown),
                "state": "applied" if stored else line.outcome,
                "reason": line.reason,
                "said": line.said,
                "outcome": line.outcome if stored else None,
                "memory_type": stored.type if stored else None,
                "memory_id": stored.id if stored else None,
            }
            for line, stored in self.results
        ]


def _line(place: int, item: Item, outcome: str, **more: Any) -> ItemResult:
    return ItemResult(place=place, kind=item.kind, outcome=outcome, shown=item_to_json(item), **more)


async def prepare_items(
    resources: Resources, batch: Batch, items: Sequence[NumberedItem], embedded: Mapping[int, Indexed] | None = None
) -> PreparedItems:
    """Embed all items that may be stored, together, before the transaction; `embedded` has those that are, by index."""
    known = {one.id: one for one in batch.known}
    wanted: list[tuple[int, Entry]] = []
    done, owner = embedded or {}, owner_of(batch.tenant, batch.butler)
    for at, (_, item) in enumerate(items):
        if at in done:
            continue
        if item.kind is ItemKind.FACT:
            wanted.append((at, Entry(MemoryType.FACT, item.content, item.tags, item.subject, item.predicate, owner)))
        elif item.kind is ItemKind.RULE:
            wanted.append((at, Entry(MemoryType.RULE, item.content, item.tags, owner=owner)))
        elif item.kind is ItemKind.UPDATE and item.target in known:
            target = known[item.target]
            about = target.subject, target.predicate
            wanted.append((at, Entry(MemoryType.FACT, item.content, item.tags, *about, owner)))
    indexed = await index_entries(resources, [entry for _, entry in wanted])
    entries = {**done, **dict(zip([at for at, _ in wanted], indexed, strict=True))}
    chosen = resources.settings.learned_scope
    return PreparedItems(
        items=[(place, item, entries.get(at)) for at, (place, item) in enumerate(items)],
        scope=GLOBAL_SCOPE if chosen == "global" else batch.butler,
        people_scope=batch.butler if chosen == "own" else GLOBAL_SCOPE,
        decay=resources.settings.lifecycle_of(batch.butler).decay,
    )


async def apply_items(
    transaction: Transaction, trail: AuditTrail, work: PreparedItems, lines: Sequence[QueuedEpisode]
) -> Outcomes:
    """Apply the items in order. An item that cannot be applied is refused with a reason; the others are applied."""
    applier = await _Applier.load(transaction, trail, work, lines)
    outcomes = Outcomes()
    for place, item, entry in work.items:
        try:
            stored = await applier.apply(place, item, entry)
        except _ItemRefused as refusal:
            outcomes.results.append((_line(place, item, "refused", reason=refusal.reason, said=refusal.message), None))
            continue
        outcomes.keys |= applier.keys_of(place)
        replaced = f"fact:{stored.superseded_ref}" if stored.superseded_ref else None
        line = _line(place, item, stored.outcome, memory=f"{stored.type}:{stored.ref}", replaced=replaced)
        outcomes.results.append((line, stored))
    await applier.writer.flush()
    return outcomes


@dataclass(slots=True)
class _Applier:
    """The state of one transaction while items are applied."""

    transaction: Transaction
    trail: AuditTrail
    writer: MemoryWriter
    scope: str
    people_scope: str
    present: dict[UUID, QueuedEpisode]
    keys: dict[int, set[Key]]
    done_before: set[Key]
    facts: KnownFacts
    older: OlderFacts
    rules: list[KnownRule]
    # Time of the latest evidence for each fact that an item may replace.
    evidence_times: dict[UUID, datetime]

    @classmethod
    async def load(
        cls, transaction: Transaction, trail: AuditTrail, work: PreparedItems, lines: Sequence[QueuedEpisode]
    ) -> "_Applier":
        items = [item for _, item, _ in work.items]
        keys = {place: {(one, item_key(item, one)) for one in item.evidence} for place, item, _ in work.items}
        wanted = {key for own in keys.values() for key in own}
        places = [(normal_name(one.subject), normal_name(one.predicate)) for one in items if one.kind is ItemKind.FACT]
        rule_hashes = {content_hash(item.content) for item in items if item.kind is ItemKind.RULE}
        scopes = (trail.butler, GLOBAL_SCOPE)
        # A note restates only an equal one, so that the many notes about the user need not be loaded.
        near = {(subject, predicate if is_note(predicate) else class_of(predicate)) for subject, predicate in places}
        exact = {predicate for _, predicate in places}
        alike = await runs.alike(transaction, near, exact, scopes) if places else []
        corrections = [name for item in items if may_correct(item) for name in names_of(item)]
        about = await runs.about(transaction, set(corrections), scopes) if corrections else []
        replaceable = {one.id for one in alike if one.predicate in exact and one.valid_at is None}
        replaceable |= {item.target for item in items if item.kind is ItemKind.UPDATE and item.target}
        replaceable |= {one.id for one in about}
        return cls(
            transaction=transaction,
            trail=trail,
            writer=MemoryWriter(
                transaction, trail, work.decay, {line.episode.id: line.episode.request_id for line in lines}
            ),
            scope=work.scope,
            people_scope=work.people_scope,
            present={line.episode.id: line for line in lines},
            keys=keys,
            done_before=await runs.known_keys(transaction, wanted) if wanted else set(),
            facts=KnownFacts(alike),
            older=OlderFacts(about),
            rules=await runs.rules_in(transaction, scopes, rule_hashes) if rule_hashes or corrections else [],
            evidence_times=_times(await runs.stated_times(transaction, replaceable)),
        )

    def keys_of(self, place: int) -> set[Key]:
        return {(episode, key) for episode, key in self.keys[place] if episode in self.present}

    async def apply(self, place: int, item: Item, entry: Indexed | None) -> Stored:
        evidence = [episode for episode in item.evidence if episode in self.present]
        if not evidence:
            raise _ItemRefused(RefusalReason.UNKNOWN_EVIDENCE, "The episodes it cites no longer exist.")
        if self.keys_of(place) <= self.done_before:
            raise _ItemRefused(RefusalReason.REPEATED, "The same item was distilled from the same episode before.")
        match item.kind:
            case ItemKind.FACT:
                assert entry
                return await self._fact(item, entry, evidence)
            case ItemKind.UPDATE:
                return await self._update(item, entry, evidence)
            case ItemKind.RULE:
                assert entry
                return await self._rule(item, entry, evidence)
            case ItemKind.CONFIRMATION:
                target = await self._target(item)
                return await self._confirm(target.type, target, evidence)

    async def _fact(self, item: Item, entry: Indexed, evidence: list[UUID]) -> Stored:
        if same := self.facts.same(item):
            return await self._confirm(MemoryType.FACT, same, evidence, self._origin(item, evidence))
        new = NewFact(
            subject=item.subject,
            predicate=item.predicate,
            content=item.content,
            importance=self._importance(item, evidence),
            permanence=item.permanence,
            # A property that is already stored in a scope is superseded in that scope.
            scope=self.facts.scope_of(item) or (self.people_scope if is_about_people(item) else self.scope),
            tags=item.tags,
            valid_at=item.valid_at,
            source=self._origin(item, evidence),
            metadata={"mentions": list(item.mentions)} if item.mentions else {},
        )
        known = self.facts.current(item, new.scope)
        decision = supersession.decide(new.content, is_event=new.valid_at is not None, known=known)
        self._check_order(decision, evidence)
        stored = await self.writer.fact(new, entry, decision=decision, sources=evidence)
        if stored.quarantine_reason:
            return stored
        self._note_evidence(stored.id, evidence)
        if known:
            self.facts.remove(known)
            self.older.remove(known.id)
        names = normal_name(new.subject), normal_name(new.predicate)
        origin = new.source or Origin.AGENT
        if may_correct(item):
            older = self.older.corrected_by(item, origin, self._observed_at(evidence), self.evidence_times)
            if older:
                self.writer.contradict(stored, MemoryType.FACT, older.id)
            else:
                await self._correct_rule(stored, item, evidence)
        fact = KnownFact(stored.id, stored.ref, new.scope, *names, new.valid_at, new.content, origin)
        self.facts.add(fact)
        self.older.add(fact)
        return stored

    async def _update(self, item: Item, entry: Indexed | None, evidence: list[UUID]) -> Stored:
        old = await self._target(item)
        assert isinstance(old, Fact)
        if same_fact_content(old.content, item.content):
            return await self._confirm(MemoryType.FACT, old, evidence, self._origin(item, evidence))
        new = replace(corrected_fact(old, item.content), source=self._origin(item, evidence))
        twin = await find_duplicate(self.transaction, old, new)
        if twin:
            raise _ItemRefused(RefusalReason.CONFLICT, f"fact:{twin.ref} says so already.")
        if entry is None:
            raise _ItemRefused(RefusalReason.UNKNOWN_TARGET, "The fact that it updates is unknown.")
        decision = supersession.Replaces(old)
        self._check_order(decision, evidence)
        stored = await self.writer.fact(new, entry, decision=decision, sources=evidence)
        self._note_evidence(stored.id, evidence)
        self.older.remove(old.id)
        return stored

    async def _rule(self, item: Item, entry: Indexed, evidence: list[UUID]) -> Stored:
        twin = next((rule for rule in self.rules if same_rule(rule.content, item.content)), None)
        if twin and twin.maturity == Maturity.ANTI_PATTERN:
            raise _ItemRefused(
                RefusalReason.HARMFUL_RULE, f"This rule caused harm before and is kept as a warning, rule:{twin.ref}."
            )
        origin = self._origin(item, evidence)
        if twin:
            return await self.writer.confirm(MemoryType.RULE, twin, evidence, origin)
        new = NewRule(content=item.content, scope=self.scope, tags=item.tags, source=origin)
        stored = await self.writer.rule(new, entry, evidence)
        if not stored.quarantine_reason:
            await self._correct_rule(stored, item, evidence)
            self._note_evidence(stored.id, evidence)
            self.rules.append(KnownRule(stored.id, stored.ref, new.content, Maturity.CANDIDATE, origin))
        return stored

    async def _correct_rule(self, stored: Stored, item: Item, evidence: Sequence[UUID]) -> None:
        """Link what was stored last to the rule that it corrects, if that was said before and by no more trusted
        source."""
        origin, observed = self._origin(item, evidence), self._observed_at(evidence)
        older = [
            rule
            for rule in self.rules
            if rule.maturity != Maturity.ANTI_PATTERN
            and not outranks(rule.origin, origin)
            and not isinstance(rule.content, Unreadable)
        ]
        said = said_in(item.content, [self.present[one].episode.content for one in evidence])
        rule = corrected_rule(item.content, said, older)
        if rule is None:
            return
        if rule.id not in self.evidence_times:
            self.evidence_times |= await _times_of_rules(self.transaction, [rule.id])
        if self.evidence_times.get(rule.id, observed) < observed:
            self.writer.contradict(stored, MemoryType.RULE, rule.id)

    async def _confirm(
        self,
        kind: MemoryType,
        known: supersession.LiveMemory,
        evidence: Sequence[UUID],
        origin: str | None = None,
    ) -> Stored:
        self._note_evidence(known.id, evidence)
        return await self.writer.confirm(kind, known, evidence, origin)

    def _origin(self, item: Item, evidence: Sequence[UUID]) -> Origin:
        """The lowest origin of the episodes, or of the quoted parts of them, that an item comes from."""
        cited = [self.present[one].episode for one in evidence]
        return derived_origin(
            None, f"{item.subject} {item.content}", [(episode.origin, episode.content) for episode in cited]
        )

    def _check_order(self, decision: supersession.Decision, evidence: Sequence[UUID]) -> None:
        """Refuse to replace a fact whose evidence is newer than the item's."""
        if isinstance(decision, supersession.Replaces):
            observed, known = self._observed_at(evidence), self.evidence_times[decision.old.id]
            if observation_order.is_older(observed, known):
                raise _ItemRefused(
                    RefusalReason.NEWER_KNOWN,
                    f"It was said on {observed:%Y-%m-%d at %H:%M} UTC; fact:{decision.old.ref} was said later.",
                )

    def _note_evidence(self, memory: UUID, evidence: Sequence[UUID]) -> None:
        """Record that these episodes state the memory, too. The latest one counts."""
        observed = self._observed_at(evidence)
        self.evidence_times[memory] = max(observed, self.evidence_times.get(memory, observed))

    def _observed_at(self, evidence: Sequence[UUID]) -> datetime:
        cited = [self.present[one].episode for one in evidence]
        return max(observation_order.observation_time(episode.observed_at, episode.created_at) for episode in cited)

    async def _target(self, item: Item) -> Fact | Rule:
        assert item.target and item.target_type
        # An earlier item may have changed it.
        await self.writer.flush()
        target = await memories.get(self.transaction, item.target_type, item.target, None)
        if not isinstance(target, Fact | Rule):
            raise _ItemRefused(RefusalReason.UNKNOWN_TARGET, "Its target does not exist.")
        if target.validity not in LIVE:
            raise _ItemRefused(RefusalReason.TARGET_CHANGED, f"{target.type}:{target.ref} is now {target.validity}.")
        if target.scope not in (self.trail.butler, GLOBAL_SCOPE):
            raise _ItemRefused(RefusalReason.UNKNOWN_TARGET, "Its target belongs to another butler.")
        return target

    def _importance(self, item: Item, evidence: Sequence[UUID]) -> int:
        return first_importance(item.importance, well_referenced=any(self.present[one].first for one in evidence))


def _times(rows: Iterable[Mapping[str, Any]]) -> dict[UUID, datetime]:
    return {
        row["id"]: observation_order.latest_evidence(row["created_at"], row["told"], is_distilled=row["is_distilled"])
        for row in rows
    }


async def _times_of_rules(transaction: Transaction, rules: Sequence[UUID]) -> dict[UUID, datetime]:
    return _times(await runs.stated_times_of_rules(transaction, rules))
