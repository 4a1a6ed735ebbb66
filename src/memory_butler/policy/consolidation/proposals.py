"""Check of a distiller's proposal: each item is accepted, or refused with a reason.

| refused as | if |
|---|---|
| malformed | a value is missing, empty, too long, out of range or of another type; or there are too many items |
| unknown_evidence | it cites no episode, or one that is not in the batch |
| unknown_target | its target is not among the known memories, or is of the wrong type |
| compound | its content should be several items (see compound.py) |
| ungrounded | the episodes it cites do not support it (see grounding.py) |
| repeated | an earlier item of the proposal says the same and cites the same episodes |

The first condition that holds is the reason. A proposal is unusable as a whole if it is no object, has another version,
has other values than lists, or has more than 5,000 items. Unknown keys are ignored.

Predicates of which several values hold together include the value (`likes:tea`). If a distiller left it out, it is
added, so that one value does not supersede another.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, NamedTuple
from uuid import UUID

from memory_butler.english.extraction.findings import KEYED, slug
from memory_butler.english.text.clauses import words
from memory_butler.english.text.normalize import normal_name
from memory_butler.errors import InvalidInput, UnusableProposal
from memory_butler.models import (
    Batch,
    CheckedProposal,
    Item,
    ItemKind,
    KnownMemory,
    MemoryType,
    NewFact,
    NewRule,
    Permanence,
    RefusalReason,
    RefusedItem,
)
from memory_butler.models.proposals import PROPOSAL_VERSION
from memory_butler.policy.consolidation.compound import is_compound
from memory_butler.policy.consolidation.duplicates import item_words
from memory_butler.policy.consolidation.grounding import Claim, EpisodeText, confirmation_objection, objection
from memory_butler.policy.consolidation.proposal_schema import MAX_ITEMS
from memory_butler.policy.consolidation.stored_items import excerpt
from memory_butler.policy.memories.validation import (
    FACT_CHARACTERS,
    NAME_CHARACTERS,
    RULE_CHARACTERS,
    clean_text,
    parse_choice,
    parse_handle,
    validate_fact,
    validate_rule,
)

MAX_ITEMS_PER_EPISODE = 20
MAX_PROPOSED = 5_000
MAX_EVIDENCE = 200
SAID_CHARACTERS = 500
# Reasons that show that an item does not belong to the batch.
_UNFIT = frozenset({RefusalReason.MALFORMED, RefusalReason.UNKNOWN_EVIDENCE, RefusalReason.UNKNOWN_TARGET})

_LISTS = {
    "facts": ItemKind.FACT,
    "updates": ItemKind.UPDATE,
    "rules": ItemKind.RULE,
    "confirmations": ItemKind.CONFIRMATION,
}


class _ItemRefused(Exception):
    def __init__(self, reason: RefusalReason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


class _BatchIndex:
    """A batch with its episodes by id and reference. The texts of cited episodes are analysed once."""

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        self.places = {name: place for place, one in enumerate(batch.episodes) for name in (one.id, one.ref)}
        self._analysed: dict[UUID, EpisodeText] = {}

    def analysed(self, evidence: tuple[UUID, ...]) -> list[EpisodeText]:
        for one in evidence:
            if one not in self._analysed:
                episode = self.batch.episodes[self.places[one]]
                self._analysed[one] = EpisodeText(self.batch.texts.get(one, ""), episode.observed_at)
        return [self._analysed[one] for one in evidence]


def check(proposal: object, batch: Batch) -> CheckedProposal:
    """Check every item of a proposal. Raises UnusableProposal if the proposal has no readable items."""
    index, max_items = _BatchIndex(batch), max(MAX_ITEMS, MAX_ITEMS_PER_EPISODE * len(batch.episodes))
    items: list[tuple[int, Item]] = []
    refused: list[RefusedItem] = []
    seen = defaultdict[str, set[UUID]](set)
    for place, (kind, entry) in enumerate(_entries(proposal)):
        try:
            if place >= max_items:
                raise _ItemRefused(RefusalReason.MALFORMED, f"The limit for this batch is {max_items} items.")
            item = _checked(kind, entry, index)
            statement = str(item_words(item))
            if seen[statement].issuperset(item.evidence):
                raise _ItemRefused(RefusalReason.REPEATED, "An earlier item says the same.")
            seen[statement].update(item.evidence)
            items.append((place, item))
        except _ItemRefused as refusal:
            refused.append(
                RefusedItem(place=place, kind=kind, reason=refusal.reason, said=refusal.message, shown=excerpt(entry))
            )
    return CheckedProposal(items=tuple(items), refused=tuple(refused))


def unusable_reason(checked: CheckedProposal) -> str | None:
    """Returns the reason if a proposal failed as a whole: it has items, and none of them belongs to the batch. An empty
    proposal, or one with only unsupported items, did read the episodes; a retry would not help."""
    if checked.items or not checked.refused or any(one.reason not in _UNFIT for one in checked.refused):
        return None
    reasons = " ".join(dict.fromkeys(one.said for one in checked.refused[:10]))
    return f"No item of the proposal belongs to the batch. {reasons}"[:SAID_CHARACTERS]


def _entries(proposal: object) -> list[tuple[ItemKind, object]]:
    """Returns all entries of a proposal with their kind, in order."""
    if not isinstance(proposal, dict):
        raise UnusableProposal("The proposal is not a JSON object.")
    version = proposal.get("version")
    if isinstance(version, bool) or not isinstance(version, int) or version != PROPOSAL_VERSION:
        raise UnusableProposal(f"The proposal does not have version {PROPOSAL_VERSION}.")
    all_entries: list[tuple[ItemKind, object]] = []
    for name, kind in _LISTS.items():
        entries = proposal.get(name)
        if entries is None:
            continue
        if not isinstance(entries, list):
            raise UnusableProposal(f"{name} of the proposal is not a list.")
        all_entries += [(kind, entry) for entry in entries]
    if len(all_entries) > MAX_PROPOSED:
        raise UnusableProposal(f"The proposal has {len(all_entries)} items; the limit is {MAX_PROPOSED}.")
    return all_entries


def _checked(kind: ItemKind, entry: object, index: _BatchIndex) -> Item:
    """Returns the item of an entry, or raises _ItemRefused; the checks are in the order of the table above."""
    if not isinstance(entry, dict):
        raise _ItemRefused(RefusalReason.MALFORMED, "It is not an object.")
    try:
        parsed = _PARSERS[kind](entry)
        handles = _handles(entry.get("evidence"))
    except InvalidInput as problem:
        raise _ItemRefused(RefusalReason.MALFORMED, problem.message) from None
    evidence = _evidence(handles, index)
    known = _target(parsed.target, index.batch, parsed.target_types) if parsed.target else None
    item = replace(parsed.item, evidence=evidence)
    if known:
        item = replace(item, target_type=known.type, target=known.id)
    predicate = item.predicate or (known.predicate if known else None) or ""
    if item.content and is_compound(kind, predicate, item.content):
        raise _ItemRefused(RefusalReason.COMPOUND, "It says several things at once; each should be an item of its own.")
    if doubted := _doubt(item, known, index.analysed(evidence)):
        raise _ItemRefused(RefusalReason.UNGROUNDED, doubted)
    return item


class _Parsed(NamedTuple):
    """An item without its evidence, and the reference of its target with the types that it may have."""

    item: Item
    target: str = ""
    target_types: tuple[MemoryType, ...] = ()


def _fact(entry: Mapping[str, Any]) -> _Parsed:
    name, content = _text(entry, "predicate", NAME_CHARACTERS), _text(entry, "content", FACT_CHARACTERS)
    if normal_name(name) in KEYED and (key := slug(content)):
        name = f"{name}:{key}"
    new = validate_fact(
        NewFact(
            subject=_text(entry, "subject", NAME_CHARACTERS),
            predicate=name,
            content=content,
            importance=_importance(entry.get("importance")),
            permanence=_permanence(entry.get("permanence")),
            tags=_tags(entry.get("tags")),
            valid_at=_moment(entry.get("valid_at")),
        )
    )
    return _Parsed(
        Item(
            kind=ItemKind.FACT,
            evidence=(),
            content=new.content,
            subject=new.subject,
            predicate=new.predicate,
            permanence=Permanence(new.permanence),
            importance=new.importance,
            tags=new.tags,
            valid_at=new.valid_at,
        )
    )


def _rule(entry: Mapping[str, Any]) -> _Parsed:
    new = validate_rule(NewRule(content=_text(entry, "content", RULE_CHARACTERS), tags=_tags(entry.get("tags"))))
    return _Parsed(Item(kind=ItemKind.RULE, evidence=(), content=new.content, tags=new.tags))


def _update(entry: Mapping[str, Any]) -> _Parsed:
    target, content = _text(entry, "target", NAME_CHARACTERS), _text(entry, "content", FACT_CHARACTERS)
    return _Parsed(Item(kind=ItemKind.UPDATE, evidence=(), content=content), target, (MemoryType.FACT,))


def _confirmation(entry: Mapping[str, Any]) -> _Parsed:
    target = _text(entry, "target", NAME_CHARACTERS)
    return _Parsed(Item(kind=ItemKind.CONFIRMATION, evidence=()), target, (MemoryType.FACT, MemoryType.RULE))


_PARSERS: dict[ItemKind, Callable[[Mapping[str, Any]], _Parsed]] = {
    ItemKind.FACT: _fact,
    ItemKind.UPDATE: _update,
    ItemKind.RULE: _rule,
    ItemKind.CONFIRMATION: _confirmation,
}


def _text(entry: Mapping[str, Any], name: str, limit: int) -> str:
    if name not in entry:
        raise InvalidInput(f"{name} is missing.")
    return clean_text(entry[name], name, limit)


def _importance(value: object) -> int:
    if value is None:
        return 5
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 10:
        raise InvalidInput("importance must be a whole number from 1 to 10.")
    return value


def _permanence(value: object) -> Permanence:
    if value is None:
        return Permanence.STANDARD
    try:
        return parse_choice(Permanence, clean_text(value, "permanence", NAME_CHARACTERS), "permanence")
    except InvalidInput:
        raise InvalidInput(f"permanence is none of: {', '.join(Permanence)}.") from None


def _tags(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(tag, str) for tag in value):
        raise InvalidInput("tags must be a list of words.")
    return tuple(value)


def _moment(value: object) -> datetime | None:
    """Parse a date, or a date and time; without a time zone it is UTC."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise InvalidInput("valid_at must be a date as text.")
    try:
        parsed = datetime.fromisoformat(value.strip())
    except ValueError:
        raise InvalidInput("valid_at is not a date in ISO form, such as 2026-03-17.") from None
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)


def _handles(value: object) -> list[str]:
    entries = [value] if isinstance(value, str) else [] if value is None else value
    if not isinstance(entries, list) or len(entries) > MAX_EVIDENCE:
        raise InvalidInput(f"evidence must be a list of at most {MAX_EVIDENCE} references.")
    if not all(isinstance(entry, str) for entry in entries):
        raise InvalidInput("evidence must be references as text.")
    return entries


def _evidence(handles: list[str], index: _BatchIndex) -> tuple[UUID, ...]:
    """Returns the cited episodes without duplicates, in the order of the batch."""
    if not handles:
        raise _ItemRefused(RefusalReason.UNKNOWN_EVIDENCE, "It cites no episode.")
    cited = set()
    for text in handles:
        try:
            handle = parse_handle(MemoryType.EPISODE, text)
        except InvalidInput:
            raise _ItemRefused(
                RefusalReason.UNKNOWN_EVIDENCE, "It cites something that is no reference of an episode."
            ) from None
        place = index.places.get(handle.id or handle.ref or "")
        if place is None:
            raise _ItemRefused(RefusalReason.UNKNOWN_EVIDENCE, "It cites an episode that is not in the batch.")
        cited.add(place)
    return tuple(index.batch.episodes[place].id for place in sorted(cited))


def _target(text: str, batch: Batch, types: tuple[MemoryType, ...]) -> KnownMemory:
    """Returns the known memory of a reference; a reference without a type matches any of the allowed types."""
    for kind in types:
        try:
            handle = parse_handle(kind, text)
        except InvalidInput:
            continue
        for known in batch.known:
            if known.type is kind and (handle.id or handle.ref) in (known.id, known.ref):
                return known
    named = " or ".join(types)
    raise _ItemRefused(RefusalReason.UNKNOWN_TARGET, f"Its target is no known {named}.")


def _doubt(item: Item, known: KnownMemory | None, texts: list[EpisodeText]) -> str | None:
    if known is None:
        return objection(
            Claim(
                content=item.content,
                subject=item.subject,
                predicate=item.predicate,
                valid_at=item.valid_at,
                is_rule=item.kind is ItemKind.RULE,
            ),
            texts,
        )
    known_claim = Claim(
        content=known.content,
        subject=known.subject or "",
        predicate=known.predicate or "",
        is_rule=known.type is MemoryType.RULE,
    )
    if item.kind is ItemKind.CONFIRMATION:
        return confirmation_objection(known_claim, texts)
    given = frozenset(
        word.stem for text in (known.content, known_claim.predicate) for word in words(text.replace("_", " "))
    )
    return objection(replace(known_claim, content=item.content, given=given), texts)
