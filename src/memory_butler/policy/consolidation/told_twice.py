"""Facts that a note tells as well: an event, a plan or a habit with a whole sentence around it is kept once.

"Dad's hip operation is on 2 December, Mum stays with us for that week" is kept as a note, because the event says only
a part of it. A second line "dad's hip operation" would tell the reader nothing. The note takes the day of the event.
Other facts stay beside the note: they are properties that a newer value replaces.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from memory_butler.english.text.word_sets import word_set
from memory_butler.languages.speech.cues import OPENS_FIRST_PERSON
from memory_butler.languages.speech.mentions import is_person
from memory_butler.languages.speech.utterances import USER
from memory_butler.models import Item, ItemKind
from memory_butler.policy.consolidation.coverage import content_words

# "Creds only via the vault, we got burned in 2023": a note that is about more than an event does not take its day.
SHARE_OF_DAY = 0.25
# Kinds of facts that nothing replaces by subject and predicate if they have a day.
_DATED = word_set("event plan deadline")
_PASSING = word_set("event habit")


class Told(NamedTuple):
    """The items that stay, and the notes, with what they took over from the others."""

    items: list[Item]
    notes: list[Item]


def tell_once(items: Sequence[Item], notes: Sequence[Item]) -> Told:
    """Leave out each passing fact whose words a note of the same episode has."""
    left = list(items)
    kept = []
    for note in notes:
        words = content_words(note.content)
        parts = [one for one in left if _is_part(one, note, words)]
        days = {one.valid_at for one in (note, *parts) if one.valid_at is not None}
        twice = [one for one in parts if _is_passing(one)] if len(days) <= 1 else []
        left = [one for one in left if not any(one is other for other in twice)]
        dated = [one for one in twice if len(content_words(one.content)) >= SHARE_OF_DAY * len(words)]
        kept.append(_of_person(_joined(note, twice, dated), parts))
    return Told(left, kept)


def _is_part(item: Item, note: Item, words: frozenset[str]) -> bool:
    own = content_words(item.content)
    is_new = item.kind is ItemKind.FACT and item.target is None
    return is_new and item.evidence == note.evidence and bool(own) and own <= words


def _is_passing(item: Item) -> bool:
    kind = item.predicate.partition(":")[0]
    return kind in _PASSING or (kind in _DATED and item.valid_at is not None)


def _joined(note: Item, twice: Sequence[Item], dated: Sequence[Item]) -> Item:
    if not twice:
        return note
    day = next((one.valid_at for one in (note, *dated) if one.valid_at is not None), None)
    return replace(note, valid_at=day, importance=max(one.importance for one in (note, *twice)))


def _of_person(note: Item, parts: Sequence[Item]) -> Item:
    """A note whose subject was not found is about the one person whom the facts of its sentence are about."""
    subjects = {one.subject for one in parts}
    if note.subject != USER or len(subjects) != 1 or OPENS_FIRST_PERSON.match(note.content):
        return note
    (subject,) = subjects
    if subject == USER or not is_person(subject):
        return note
    return replace(note, subject=subject, mentions=tuple(name for name in note.mentions if name != subject))
