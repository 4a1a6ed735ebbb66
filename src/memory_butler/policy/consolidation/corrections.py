"""Corrections: the older fact that a note speaks against, and the older rule that a rule or a note speaks against.

A note that says "actually", "correction", "not X but Y" or "changed my mind" is linked to the fact it corrects; a rule
also if it forbids what an older one asks for, or names what the older one says as the wrong choice. Both stay in use:
words that look alike are no proof, so a note never supersedes a fact, and a rule never another.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol, TypeVar
from uuid import UUID

from memory_butler.english.text.sentences import sentence_spans
from memory_butler.english.text.word_sets import caseless, word_set
from memory_butler.models import Item
from memory_butler.policy.consolidation.coverage import content_words
from memory_butler.policy.consolidation.notes import corrects
from memory_butler.policy.memories.text import NOTES_TAG, is_note

# Share of the older statement's content words that the note must have, and the number that is enough in a long one.
SAID_AGAIN = 0.5
ENOUGH_WORDS = 2
_REVISES = caseless(
    r"\bnot\b[^.;!?\n]{1,60}\bbut\b|\b(?:any ?more|after all|turns out|never ?mind|forget (?:what|that)|instead|"
    r"no need (?:for|to)|cancelled|canceled|called off|is off|(?:have|has|'ve|'s)? ?(?:stopped|quit|given up|gave up)|"
    r"again now|mistaken|misspoke|wrong about|other way round|switched)\b"
)
# Share of the words of the shorter rule that two opposite rules have in common.
OPPOSITE = 0.6
_FORBIDS = caseless(r"(?:please |now |also )*(?:never|don't|do not|dont|no more|no|avoid|stop|not)\b")
# "Use tabs, not spaces": what comes after is what an older rule may say.
_RATHER_THAN = caseless(r"(?:\bnot\b|\binstead of|\brather than|\bno longer|\bin place of)\s+(?P<v>[^,.;]{2,60})")
# Words by which rules say how often and to whom, but not what.
_OF_RULES = word_set("always never only please don't do not dont no avoid stop from now on more anymore rather")
# Words of the correction itself say nothing about its subject.
_CUES = frozenset(
    content_words(
        "actually correction correct update changed mind scratch meant wrong anymore longer instead turns forget "
        "cancelled canceled stopped switched mistaken misspoke again after all"
    )
)

_OF_RULE_STEMS = frozenset(content_words(" ".join(_OF_RULES)))


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
    return is_distilled_note and _has_cue(item.content)


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


class Rule(Protocol):
    """The fields of a live rule that the choice needs."""

    @property
    def content(self) -> str: ...


R = TypeVar("R", bound=Rule)


def corrected_rule(content: str, said: str, older: Sequence[R]) -> R | None:
    """The rule that a rule or a note corrects, the last of the best. `said` is the sentence that it comes from: there
    it may say "actually" or "changed my mind"."""
    own, has_cue, forbids = _rule_words(content), _has_cue(said), bool(_FORBIDS.match(content))
    rejected = [words for match in _RATHER_THAN.finditer(content) if (words := _rule_words(match["v"]))]
    best: tuple[int, int] | None = None
    for place, one in enumerate(older):
        words = _rule_words(one.content)
        shared = len(words & own)
        is_opposite = forbids != bool(_FORBIDS.match(one.content)) and _are_alike(words, own, shared)
        is_rejected = not _FORBIDS.match(one.content) and any(part <= words for part in rejected)
        is_revised = has_cue and bool(shared) and (shared >= ENOUGH_WORDS or shared / len(words) >= SAID_AGAIN)
        says_same = _RATHER_THAN.search(one.content) is not None and is_rejected
        if (is_opposite or (is_rejected and not says_same) or is_revised) and (best is None or (shared, place) >= best):
            best = shared, place
    return older[best[1]] if best else None


def said_in(content: str, texts: Sequence[str]) -> str:
    """The sentence of the texts with most of the words of a rule; empty if none has any."""
    wanted = _rule_words(content)
    said = [line[first:last] for text in texts for line in text.splitlines() for first, last in sentence_spans(line)]
    best = max(said, key=lambda one: len(wanted & _rule_words(one)), default="")
    return best if wanted & _rule_words(best) else ""


def _has_cue(said: str) -> bool:
    return corrects(said) or bool(_REVISES.search(said))


def _are_alike(one: frozenset[str], other: frozenset[str], shared: int) -> bool:
    fewest = min(len(one), len(other))
    return bool(fewest) and shared >= OPPOSITE * fewest and (shared >= ENOUGH_WORDS or one == other)


def _rule_words(text: str) -> frozenset[str]:
    return content_words(text) - _CUES - _OF_RULE_STEMS
