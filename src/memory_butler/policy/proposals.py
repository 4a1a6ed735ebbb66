"""What a distiller may propose, and what is made of it: each item is admitted, or refused with a reason.

| refused as | what |
|---|---|
| malformed | a value is missing, empty, too long, out of range or of another type; or there are too many items |
| unknown_evidence | it cites no episode, or one that is not in the batch |
| unknown_target | what it updates is no fact, or what it confirms no fact or rule, that was shown as known |
| compound | its content should be several items (see compound) |
| ungrounded | the episodes it cites do not say it (see grounding) |
| repeated | items before it in the same proposal say the same of the same episodes |

The first of these that holds is the reason. A proposal that is no object, has another version, holds something else
than lists, or more than five thousand items is unusable as a whole. Keys that are not known are ignored.

The predicate of a value that stands beside others of its class names that value (`likes:tea`): where a distiller left
it out, it is put in, so that one value does not take the place of another.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from memory_butler.errors import InvalidInput, UnusableProposal
from memory_butler.models import (
    Batch,
    Checked,
    Item,
    ItemKind,
    Known,
    MemoryType,
    NewFact,
    NewRule,
    Permanence,
    Refusal,
    Refused,
)
from memory_butler.models.proposals import PROPOSAL_VERSION
from memory_butler.policy.admission import (
    FACT_CHARACTERS,
    NAME_CHARACTERS,
    RULE_CHARACTERS,
    admit_fact,
    admit_rule,
    choose,
    clean_text,
    normal_name,
    parse_handle,
)
from memory_butler.policy.compound import is_compound
from memory_butler.policy.distilling.found import KEYED, slug
from memory_butler.policy.grounding import Claim, Told, doubt, is_touched
from memory_butler.policy.kept_items import as_given, item_from, shown
from memory_butler.policy.proposal_schema import MOST_ITEMS, PROPOSAL_SCHEMA
from memory_butler.policy.reading import words
from memory_butler.policy.sameness import item_key, item_words, same_fact_content, same_rule

__all__ = [
    "MOST_ITEMS",
    "PROPOSAL_SCHEMA",
    "check",
    "item_from",
    "item_key",
    "same_fact_content",
    "same_rule",
    "shown",
    "why_unusable",
]

MOST_OF_AN_EPISODE = 20
MOST_GIVEN = 5_000
MOST_EVIDENCE = 200
SAID_CHARACTERS = 500
# Reasons for which an item says nothing about the batch.
_UNFIT = frozenset({Refusal.MALFORMED, Refusal.UNKNOWN_EVIDENCE, Refusal.UNKNOWN_TARGET})

_LISTS = {
    "facts": ItemKind.FACT,
    "updates": ItemKind.UPDATE,
    "rules": ItemKind.RULE,
    "confirmations": ItemKind.CONFIRMATION,
}


class _Refuse(Exception):
    def __init__(self, reason: Refusal, said: str) -> None:
        super().__init__(said)
        self.reason = reason
        self.said = said


class _Desk:
    """A batch, with its episodes by what they may be called, and read as far as they were cited."""

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        self.places = {name: place for place, one in enumerate(batch.episodes) for name in (one.id, one.ref)}
        self._read: dict[UUID, Told] = {}

    def told(self, evidence: tuple[UUID, ...]) -> list[Told]:
        for one in evidence:
            if one not in self._read:
                episode = self.batch.episodes[self.places[one]]
                self._read[one] = Told(self.batch.texts.get(one, ""), episode.observed_at)
        return [self._read[one] for one in evidence]


def check(proposal: object, batch: Batch) -> Checked:
    """Look at every item of a proposal; raises UnusableProposal if there are none that could be looked at."""
    desk, room = _Desk(batch), max(MOST_ITEMS, MOST_OF_AN_EPISODE * len(batch.episodes))
    items: list[tuple[int, Item]] = []
    refused: list[Refused] = []
    seen = defaultdict[str, set[UUID]](set)
    for place, (kind, given) in enumerate(_given(proposal)):
        try:
            if place >= room:
                raise _Refuse(Refusal.MALFORMED, f"A proposal for this batch has room for {room} items.")
            item = _checked(kind, given, desk)
            said = str(item_words(item))
            if seen[said].issuperset(item.evidence):
                raise _Refuse(Refusal.REPEATED, "An item before it says the same.")
            seen[said].update(item.evidence)
            items.append((place, item))
        except _Refuse as no:
            refused.append(Refused(place=place, kind=kind, reason=no.reason, said=no.said, shown=as_given(given)))
    return Checked(items=tuple(items), refused=tuple(refused))


def why_unusable(checked: Checked) -> str | None:
    """Why a proposal is a failure as a whole: it has items, and none of them fits the batch. One that only says what
    does not hold, or nothing, has read the episodes; nothing is to be gained by asking again."""
    if checked.items or not checked.refused or any(one.reason not in _UNFIT for one in checked.refused):
        return None
    reasons = " ".join(dict.fromkeys(one.said for one in checked.refused[:10]))
    return f"No item of the proposal fits the batch. {reasons}"[:SAID_CHARACTERS]


def _given(proposal: object) -> list[tuple[ItemKind, object]]:
    """All that was proposed, in the order of its places."""
    if not isinstance(proposal, dict):
        raise UnusableProposal("The proposal is not a JSON object.")
    version = proposal.get("version")
    if isinstance(version, bool) or not isinstance(version, int) or version != PROPOSAL_VERSION:
        raise UnusableProposal(f"The proposal does not have version {PROPOSAL_VERSION}.")
    found: list[tuple[ItemKind, object]] = []
    for name, kind in _LISTS.items():
        entries = proposal.get(name)
        if entries is None:
            continue
        if not isinstance(entries, list):
            raise UnusableProposal(f"{name} of the proposal is not a list.")
        found += [(kind, entry) for entry in entries]
    if len(found) > MOST_GIVEN:
        raise UnusableProposal(f"The proposal has {len(found)} items; no batch tells so much.")
    return found


def _checked(kind: ItemKind, given: object, desk: _Desk) -> Item:
    """One item, admitted; the checks in the order of the table above."""
    if not isinstance(given, dict):
        raise _Refuse(Refusal.MALFORMED, "It is not an object.")
    try:
        make = _MAKERS[kind](given)
        handles = _handles(given.get("evidence"))
    except InvalidInput as no:
        raise _Refuse(Refusal.MALFORMED, no.message) from None
    evidence = _evidence(handles, desk)
    item, known = make(desk.batch, evidence)
    predicate = item.predicate or (known.predicate if known else None) or ""
    if item.content and is_compound(kind, predicate, item.content):
        raise _Refuse(Refusal.COMPOUND, "It says several things at once; each should be an item of its own.")
    if said := _doubt(item, known, desk.told(evidence)):
        raise _Refuse(Refusal.UNGROUNDED, said)
    return item


Made = tuple[Item, Known | None]
Make = Callable[[Batch, tuple[UUID, ...]], Made]


def _fact(given: Mapping[str, Any]) -> Make:
    name, content = _text(given, "predicate", NAME_CHARACTERS), _text(given, "content", FACT_CHARACTERS)
    if normal_name(name) in KEYED and (key := slug(content)):
        name = f"{name}:{key}"
    new = admit_fact(
        NewFact(
            subject=_text(given, "subject", NAME_CHARACTERS),
            predicate=name,
            content=content,
            importance=_importance(given.get("importance")),
            permanence=_permanence(given.get("permanence")),
            tags=_tags(given.get("tags")),
            valid_at=_moment(given.get("valid_at")),
        )
    )

    def make(_: Batch, evidence: tuple[UUID, ...]) -> Made:
        return Item(
            kind=ItemKind.FACT,
            evidence=evidence,
            content=new.content,
            subject=new.subject,
            predicate=new.predicate,
            permanence=Permanence(new.permanence),
            importance=new.importance,
            tags=new.tags,
            valid_at=new.valid_at,
        ), None

    return make


def _rule(given: Mapping[str, Any]) -> Make:
    new = admit_rule(NewRule(content=_text(given, "content", RULE_CHARACTERS), tags=_tags(given.get("tags"))))

    def make(_: Batch, evidence: tuple[UUID, ...]) -> Made:
        return Item(kind=ItemKind.RULE, evidence=evidence, content=new.content, tags=new.tags), None

    return make


def _update(given: Mapping[str, Any]) -> Make:
    target, content = _text(given, "target", NAME_CHARACTERS), _text(given, "content", FACT_CHARACTERS)

    def make(batch: Batch, evidence: tuple[UUID, ...]) -> Made:
        known = _target(target, batch, (MemoryType.FACT,))
        return Item(
            kind=ItemKind.UPDATE, evidence=evidence, content=content, target_type=known.type, target=known.id
        ), known

    return make


def _confirmation(given: Mapping[str, Any]) -> Make:
    target = _text(given, "target", NAME_CHARACTERS)

    def make(batch: Batch, evidence: tuple[UUID, ...]) -> Made:
        known = _target(target, batch, (MemoryType.FACT, MemoryType.RULE))
        return Item(kind=ItemKind.CONFIRMATION, evidence=evidence, target_type=known.type, target=known.id), known

    return make


_MAKERS: dict[ItemKind, Callable[[Mapping[str, Any]], Make]] = {
    ItemKind.FACT: _fact,
    ItemKind.UPDATE: _update,
    ItemKind.RULE: _rule,
    ItemKind.CONFIRMATION: _confirmation,
}


def _text(given: Mapping[str, Any], name: str, limit: int) -> str:
    if name not in given:
        raise InvalidInput(f"{name} is missing.")
    return clean_text(given[name], name, limit)


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
        return choose(Permanence, clean_text(value, "permanence", NAME_CHARACTERS), "permanence")
    except InvalidInput:
        raise InvalidInput(f"permanence is none of: {', '.join(Permanence)}.") from None


def _tags(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(tag, str) for tag in value):
        raise InvalidInput("tags must be a list of words.")
    return tuple(value)


def _moment(value: object) -> datetime | None:
    """A date, or a date and time; without a zone it is UTC."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise InvalidInput("valid_at must be a date as text.")
    try:
        found = datetime.fromisoformat(value.strip())
    except ValueError:
        raise InvalidInput("valid_at is not a date in ISO form, such as 2026-03-17.") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _handles(value: object) -> list[str]:
    entries = [value] if isinstance(value, str) else [] if value is None else value
    if not isinstance(entries, list) or len(entries) > MOST_EVIDENCE:
        raise InvalidInput(f"evidence must be a list of at most {MOST_EVIDENCE} references.")
    if not all(isinstance(entry, str) for entry in entries):
        raise InvalidInput("evidence must be references as text.")
    return entries


def _evidence(handles: list[str], desk: _Desk) -> tuple[UUID, ...]:
    """The cited episodes, each once, in the order of the batch."""
    if not handles:
        raise _Refuse(Refusal.UNKNOWN_EVIDENCE, "It cites no episode.")
    cited = set()
    for text in handles:
        try:
            handle = parse_handle(MemoryType.EPISODE, text)
        except InvalidInput:
            raise _Refuse(Refusal.UNKNOWN_EVIDENCE, "It cites something that names no episode.") from None
        place = desk.places.get(handle.id or handle.ref or "")
        if place is None:
            raise _Refuse(Refusal.UNKNOWN_EVIDENCE, "It cites an episode that is not in the batch.")
        cited.add(place)
    return tuple(desk.batch.episodes[place].id for place in sorted(cited))


def _target(text: str, batch: Batch, types: tuple[MemoryType, ...]) -> Known:
    """The known memory that is meant; a reference without its type is looked for among all that may be meant."""
    for kind in types:
        try:
            handle = parse_handle(kind, text)
        except InvalidInput:
            continue
        for known in batch.known:
            if known.type is kind and (handle.id or handle.ref) in (known.id, known.ref):
                return known
    named = " or ".join(types)
    raise _Refuse(Refusal.UNKNOWN_TARGET, f"Its target is no {named} that was shown as known.")


def _doubt(item: Item, known: Known | None, told: list[Told]) -> str | None:
    if known is None:
        return doubt(
            Claim(
                content=item.content,
                subject=item.subject,
                predicate=item.predicate,
                valid_at=item.valid_at,
                is_rule=item.kind is ItemKind.RULE,
            ),
            told,
        )
    before = Claim(
        content=known.content,
        subject=known.subject or "",
        predicate=known.predicate or "",
        is_rule=known.type is MemoryType.RULE,
    )
    if item.kind is ItemKind.CONFIRMATION:
        return is_touched(before, told)
    given = frozenset(word.stem for text in (known.content, before.predicate) for word in words(text.replace("_", " ")))
    return doubt(replace(before, content=item.content, given=given), told)
