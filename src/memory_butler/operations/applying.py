"""Applying a proposal: its items become memories through the same writes as anybody's, inside one transaction."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from memory_butler.butler import Butler
from memory_butler.models import (
    GLOBAL_SCOPE,
    LIVE,
    Batch,
    Fact,
    Item,
    ItemKind,
    Line,
    Maturity,
    MemoryType,
    NewFact,
    NewRule,
    Refusal,
    Refused,
    Rule,
    Stored,
)
from memory_butler.operations.correct import corrected, find_twin
from memory_butler.operations.index import Entry, index_entries
from memory_butler.operations.keeping import Keeping, content_hash
from memory_butler.policy import lateness, supersession
from memory_butler.policy.admission import normal_name
from memory_butler.policy.proposals import item_key, same_fact_content, same_rule, shown
from memory_butler.policy.upkeep import first_importance
from memory_butler.store import consolidation, facts, rules
from memory_butler.store.consolidation import KnownFact, KnownRule
from memory_butler.store.database import Session
from memory_butler.store.episodes import InLine
from memory_butler.store.events import Trail
from memory_butler.store.search_index import Indexed

Placed = tuple[int, Item]
Key = tuple[UUID, bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Items with all that is slow already done: what each will be found by."""

    items: Sequence[tuple[int, Item, Indexed | None]]
    scope: str


class _Refuse(Exception):
    """An item that cannot be applied as things stand."""

    def __init__(self, reason: Refusal, said: str) -> None:
        self.reason, self.said = reason, said
        super().__init__(said)


@dataclass(slots=True)
class Outcomes:
    """What became of the items of a proposal, each with the memory it became, and by what they are known again."""

    done: list[tuple[Line, Stored | None]] = field(default_factory=list)
    keys: set[tuple[UUID, bytes]] = field(default_factory=set)

    @classmethod
    def proposed(cls, items: Iterable[Placed]) -> "Outcomes":
        return cls([(_line(place, item, "proposed"), None) for place, item in items])

    def refuse(self, refused: Iterable[Refused]) -> None:
        """Add what was refused before."""
        for one in refused:
            line = Line(
                place=one.place, kind=one.kind, outcome="refused", shown=one.shown, reason=one.reason, said=one.said
            )
            self.done.append((line, None))

    def lines(self) -> list[Line]:
        return [line for line, _ in self.done]

    def rows(self) -> list[dict[str, Any]]:
        """The items as they are kept."""
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
            for line, stored in self.done
        ]


def _line(place: int, item: Item, outcome: str, **more: Any) -> Line:
    return Line(place=place, kind=item.kind, outcome=outcome, shown=shown(item), **more)


async def prepared(butler: Butler, batch: Batch, items: Sequence[Placed]) -> Work:
    """Embed everything that may be stored, at once, before the transaction."""
    known = {one.id: one for one in batch.known}
    wanted: list[tuple[int, Entry]] = []
    for at, (_, item) in enumerate(items):
        if item.kind is ItemKind.FACT:
            wanted.append((at, Entry(MemoryType.FACT, item.content, item.tags, item.subject, item.predicate)))
        elif item.kind is ItemKind.RULE:
            wanted.append((at, Entry(MemoryType.RULE, item.content, item.tags)))
        elif item.kind is ItemKind.UPDATE and item.target in known:
            target = known[item.target]
            wanted.append((at, Entry(MemoryType.FACT, item.content, item.tags, target.subject, target.predicate)))
    entries: Mapping[int, Indexed] = dict(
        zip([at for at, _ in wanted], await index_entries(butler, [entry for _, entry in wanted]), strict=True)
    )
    own = butler.settings.consolidation.scope == "own"
    return Work(
        items=[(place, item, entries.get(at)) for at, (place, item) in enumerate(items)],
        scope=batch.butler if own else GLOBAL_SCOPE,
    )


async def apply_items(session: Session, marks: Trail, work: Work, lines: Sequence[InLine]) -> Outcomes:
    """Apply the items in their order. What cannot be applied is refused with a reason, and the rest goes on."""
    applying = await _Applying.over(session, marks, work, lines)
    outcomes = Outcomes()
    for place, item, entry in work.items:
        try:
            stored = await applying.one(place, item, entry)
        except _Refuse as no:
            outcomes.done.append((_line(place, item, "refused", reason=no.reason, said=no.said), None))
            continue
        outcomes.keys |= applying.keys_of(place)
        replaced = f"fact:{stored.superseded_ref}" if stored.superseded_ref else None
        line = _line(place, item, stored.outcome, memory=f"{stored.type}:{stored.ref}", replaced=replaced)
        outcomes.done.append((line, stored))
    await applying.keeping.flush()
    return outcomes


class _KnownFacts:
    """The live facts that items may say again or take the place of, kept up to date while items are applied."""

    def __init__(self, found: Iterable[KnownFact]) -> None:
        self._by_class = defaultdict[tuple[str, str, datetime | None], list[KnownFact]](list)
        for one in found:
            self.add(one)

    def add(self, one: KnownFact) -> None:
        self._by_class[one.subject, class_of(one.predicate), one.valid_at].append(one)

    def remove(self, one: KnownFact) -> None:
        self._by_class[one.subject, class_of(one.predicate), one.valid_at].remove(one)

    def same(self, item: Item) -> KnownFact | None:
        """What says the same, if only in other words."""
        return next((one for one in self._near(item) if same_fact_content(one.content, item.content)), None)

    def home(self, item: Item) -> str | None:
        """Where the property lives already."""
        predicate = normal_name(item.predicate)
        return next((one.scope for one in self._near(item) if one.predicate == predicate and not item.valid_at), None)

    def standing(self, item: Item, scope: str) -> KnownFact | None:
        """The live fact of the same property or, for an event, the live record of the same occurrence."""
        predicate = normal_name(item.predicate)
        for one in self._near(item):
            found = (one.predicate, one.scope) == (predicate, scope)
            if found and (item.valid_at is None or one.content == item.content):
                return one
        return None

    def _near(self, item: Item) -> list[KnownFact]:
        return self._by_class[normal_name(item.subject), class_of(normal_name(item.predicate)), item.valid_at]


@dataclass(slots=True)
class _Applying:
    """One transaction's view of what is known while items are applied."""

    session: Session
    marks: Trail
    keeping: Keeping
    scope: str
    present: dict[UUID, InLine]
    keys: dict[int, set[Key]]
    done_before: set[Key]
    facts: _KnownFacts
    rules: list[KnownRule]
    # The moment that each fact speaks for, of those that an item may replace.
    stands: dict[UUID, datetime]

    @classmethod
    async def over(cls, session: Session, marks: Trail, work: Work, lines: Sequence[InLine]) -> "_Applying":
        items = [item for _, item, _ in work.items]
        keys = {place: {(one, item_key(item, one)) for one in item.evidence} for place, item, _ in work.items}
        wanted = {key for own in keys.values() for key in own}
        places = [(normal_name(one.subject), normal_name(one.predicate)) for one in items if one.kind is ItemKind.FACT]
        said = {content_hash(item.content) for item in items if item.kind is ItemKind.RULE}
        scopes = (marks.butler, GLOBAL_SCOPE)
        near = {(subject, class_of(predicate)) for subject, predicate in places}
        exact = {predicate for _, predicate in places}
        alike = await consolidation.alike(session, near, exact, scopes) if places else []
        replaceable = {one.id for one in alike if one.predicate in exact and one.valid_at is None}
        replaceable |= {item.target for item in items if item.kind is ItemKind.UPDATE and item.target}
        return cls(
            session=session,
            marks=marks,
            keeping=Keeping(session, marks, {line.episode.id: line.episode.request_id for line in lines}),
            scope=work.scope,
            present={line.episode.id: line for line in lines},
            keys=keys,
            done_before=await consolidation.known_keys(session, wanted) if wanted else set(),
            facts=_KnownFacts(alike),
            rules=await consolidation.rules_in(session, scopes, said) if said else [],
            stands={
                row["id"]: lateness.stands_since(row["created_at"], row["told"], is_distilled=row["is_distilled"])
                for row in await consolidation.told(session, replaceable)
            },
        )

    def keys_of(self, place: int) -> set[Key]:
        return {(episode, key) for episode, key in self.keys[place] if episode in self.present}

    async def one(self, place: int, item: Item, entry: Indexed | None) -> Stored:
        evidence = [episode for episode in item.evidence if episode in self.present]
        if not evidence:
            raise _Refuse(Refusal.UNKNOWN_EVIDENCE, "Its evidence is gone.")
        if self.keys_of(place) <= self.done_before:
            raise _Refuse(Refusal.REPEATED, "It was distilled from the same episode before.")
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
                return await self._restated(target.type, target, evidence)

    async def _fact(self, item: Item, entry: Indexed, evidence: list[UUID]) -> Stored:
        if same := self.facts.same(item):
            return await self._restated(MemoryType.FACT, same, evidence)
        new = NewFact(
            subject=item.subject,
            predicate=item.predicate,
            content=item.content,
            importance=self._weight(item, evidence),
            permanence=item.permanence,
            # A property that lives somewhere already is superseded there.
            scope=self.facts.home(item) or self.scope,
            tags=item.tags,
            valid_at=item.valid_at,
        )
        known = self.facts.standing(item, new.scope)
        decision = supersession.decide(new.content, is_event=new.valid_at is not None, known=known)
        self._check_order(decision, evidence)
        stored = await self.keeping.fact(new, entry, decision=decision, sources=evidence)
        self._told(stored.id, evidence)
        if known:
            self.facts.remove(known)
        names = normal_name(new.subject), normal_name(new.predicate)
        self.facts.add(KnownFact(stored.id, stored.ref, new.scope, *names, new.valid_at, new.content))
        return stored

    async def _update(self, item: Item, entry: Indexed | None, evidence: list[UUID]) -> Stored:
        old = await self._target(item)
        assert isinstance(old, Fact)
        if same_fact_content(old.content, item.content):
            return await self._restated(MemoryType.FACT, old, evidence)
        new = corrected(old, item.content)
        twin = await find_twin(self.session, old, new)
        if twin:
            raise _Refuse(Refusal.CONFLICT, f"fact:{twin.ref} says so already.")
        if entry is None:
            raise _Refuse(Refusal.UNKNOWN_TARGET, "What it updates is not known.")
        decision = supersession.Replaces(old)
        self._check_order(decision, evidence)
        stored = await self.keeping.fact(new, entry, decision=decision, sources=evidence)
        self._told(stored.id, evidence)
        return stored

    async def _rule(self, item: Item, entry: Indexed, evidence: list[UUID]) -> Stored:
        twin = next((rule for rule in self.rules if same_rule(rule.content, item.content)), None)
        if twin and twin.maturity == Maturity.ANTI_PATTERN:
            raise _Refuse(Refusal.HARMFUL_RULE, f"It did harm before and is kept as a warning, rule:{twin.ref}.")
        if twin:
            return await self.keeping.restated(MemoryType.RULE, twin, evidence)
        new = NewRule(content=item.content, scope=self.scope, tags=item.tags)
        stored = await self.keeping.rule(new, entry, evidence)
        self.rules.append(KnownRule(stored.id, stored.ref, new.content, Maturity.CANDIDATE))
        return stored

    async def _restated(self, kind: MemoryType, known: supersession.Standing, evidence: Sequence[UUID]) -> Stored:
        self._told(known.id, evidence)
        return await self.keeping.restated(kind, known, evidence)

    def _check_order(self, decision: supersession.Decision, evidence: Sequence[UUID]) -> None:
        """Refuse to replace what was told later."""
        if isinstance(decision, supersession.Replaces):
            told, stands = self._moment(evidence), self.stands[decision.old.id]
            if lateness.is_late(told, stands):
                said = f"It was said on {told:%Y-%m-%d at %H:%M} UTC; fact:{decision.old.ref} was said later."
                raise _Refuse(Refusal.NEWER_KNOWN, said)

    def _told(self, memory: UUID, evidence: Sequence[UUID]) -> None:
        """These episodes say it too: the last of all counts."""
        told = self._moment(evidence)
        self.stands[memory] = max(told, self.stands.get(memory, told))

    def _moment(self, evidence: Sequence[UUID]) -> datetime:
        found = [self.present[one].episode for one in evidence]
        return max(lateness.told_at(episode.observed_at, episode.created_at) for episode in found)

    async def _target(self, item: Item) -> Fact | Rule:
        assert item.target and item.target_type
        # It may have been changed by an item before.
        await self.keeping.flush()
        found: Fact | Rule | None = await facts.get(self.session, item.target, None)
        if item.target_type is MemoryType.RULE:
            found = await rules.get(self.session, item.target, None)
        if found is None:
            raise _Refuse(Refusal.UNKNOWN_TARGET, "What it speaks of does not exist.")
        if found.validity not in LIVE:
            raise _Refuse(Refusal.TARGET_CHANGED, f"{found.type}:{found.ref} is {found.validity} by now.")
        if found.scope not in (self.marks.butler, GLOBAL_SCOPE):
            raise _Refuse(Refusal.UNKNOWN_TARGET, "What it speaks of belongs to another butler.")
        return found

    def _weight(self, item: Item, evidence: Sequence[UUID]) -> int:
        return first_importance(item.importance, well_referenced=any(self.present[one].first for one in evidence))


def class_of(predicate: str) -> str:
    """What kind of predicate it is, without the value that it may be keyed by."""
    return predicate.partition(":")[0]
