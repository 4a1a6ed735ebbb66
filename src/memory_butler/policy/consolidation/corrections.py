"""Corrections: the older fact that a note speaks against.

A note that says "actually", "correction", "not X but Y" or "changed my mind" is linked to the fact it corrects. Both
stay in use: words that look alike are no proof, so a note never supersedes a fact.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol, TypeVar
from uuid import UUID

from memory_butler.english.text.word_sets import caseless
from memory_butler.models import Item
from memory_butler.policy.consolidation.notes import content_words, corrects
from memory_butler.policy.memories.text import NOTES_TAG, is_note

# Share of the older statement's content words that the note must have, and the number that is enough in a long one.
SAID_AGAIN = 0.5
ENOUGH_WORDS = 2
_REVISES = caseless(
    r"\bnot\b[^.;!?\n]{1,60}\bbut\b|\b(?:any ?more|after all|turns out|never ?mind|forget (?:what|that)|instead|"
    r"no need (?:for|to)|cancelled|canceled|called off|is off|(?:have|has|'ve|'s)? ?(?:stopped|quit|given up|gave up)|"
    r"again now|mistaken|misspoke|wrong about|other way round|switched)\b"
)
# Words of the correction itself say nothing about its subject.
_CUES = frozenset(
    content_words(
        "actually correction correct update changed mind scratch meant wrong anymore longer instead turns forget "
        "cancelled canceled stopped switched mistaken misspoke again after all"
    )
)


class Statement(Protocol):
    """The fields of a live fact that the choice needs."""

    @property
    def id(self) -> UUID: ...

    @property
    def subject(self) -> str: ...

    @property
    def predicate(self) -> str: ...

    @property
    def content(self) -> str: ...


S = TypeVar("S", bound=Statement)


class _Match(NamedTuple):
    words: int
    share: float
    place: int


def may_correct(item: Item) -> bool:
    """True for a note whose words say that something changed or was wrong."""
    is_distilled_note = is_note(item.predicate) and NOTES_TAG in item.tags
    return is_distilled_note and (corrects(item.content) or bool(_REVISES.search(item.content)))


def corrected(item: Item, older: Sequence[S]) -> S | None:
    """The fact that a note corrects: the one that shares most of its content words with the note. `older` has the
    facts about the same people and things, the newest last; of equal ones the newest is taken."""
    names = content_words(" ".join((item.subject, *item.mentions)))
    said = content_words(item.content) - names - _CUES
    best: _Match | None = None
    for place, one in enumerate(older):
        words = content_words(one.content) - names - _CUES
        property_words = set() if is_note(one.predicate) else content_words(one.predicate.replace(":", " "))
        shared = (words | property_words) & said
        if not words or not shared:
            continue
        match = _Match(len(shared), len(shared & words) / len(words), place)
        is_enough = match.words >= ENOUGH_WORDS or match.share >= SAID_AGAIN
        if is_enough and (best is None or match >= best):
            best = match
    return older[best.place] if best else None
