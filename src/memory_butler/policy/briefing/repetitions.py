"""Facts and rules that say the same in other words, told by structure: the same subject, words, numbers and polarity.

Similar vectors alone do not tell: "runs on Mondays" and "swims on Mondays" are as close as two wordings of one fact.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple
from uuid import UUID

import numpy as np

from memory_butler.english.text.names import looks_like_name, name_key
from memory_butler.english.text.stems import NEGATIONS, OPTIONAL_WORDS, stem
from memory_butler.english.text.stop_words import STOP_WORDS
from memory_butler.models import USER_SUBJECTS, Hit, Maturity, MemoryType, Ranked
from memory_butler.policy.briefing.domains import StoredProfile
from memory_butler.policy.briefing.selection import Chosen
from memory_butler.policy.memories.text import is_note
from memory_butler.policy.retrieval.diversity import identity_of

# Share of the shorter text's words that the longer one must have. Rules differ in few words: "in mails", "in commits".
MIN_OVERLAP = {MemoryType.FACT: 0.4, MemoryType.RULE: 0.6}
# A note has no predicate: its verb tells "is allergic to" from "likes", and one word tells two allergies apart.
MIN_OVERLAP_OF_NOTES = 1.0
# Share of an episode's words that another line has: then the episode adds nothing. Facts that came of one sentence have
# its words between them.
MIN_OVERLAP_OF_EPISODE = 0.75
MIN_OVERLAP_TOGETHER = 0.9
MOST_TOGETHER = 3
# Cosine of the two domain profiles.
MIN_KIND_CORRELATION = 0.65
FEWEST_WORDS = 2
# "The little one" is a particular person, "Python code" is nobody.
PARTICULAR = ("the ", "my ", "our ")
CACHED_TEXTS = 4096
_WORD = re.compile(r"[^\W\d_]{2,}|\d+(?:[.,:]\d+)*")
_STOP = frozenset(map(stem, STOP_WORDS))
_LIGHT = _STOP | frozenset(map(stem, OPTIONAL_WORDS))


class _Statement(NamedTuple):
    words: frozenset[str]
    numbers: frozenset[str]
    negations: int


class _Line(NamedTuple):
    """A line with what is compared of it."""

    chosen: Chosen
    identity: tuple[object, ...]
    subject: str | None
    statement: _Statement
    profile: StoredProfile | None


def without_repetitions(
    chosen: Sequence[Chosen], profiles: Mapping[UUID, StoredProfile], user_names: frozenset[str]
) -> tuple[list[Chosen], list[tuple[Ranked, str]]]:
    """The lines without those that repeat a better one; the repetitions with the reference of what they repeat."""
    kept = _Kept()
    repeated: list[tuple[Ranked, str]] = []
    for one in sorted(chosen, key=lambda one: (one.claim, -one.usefulness)):
        hit = one.entry.hit
        subject = _subject(hit, user_names)
        statement = _statement_of(hit, subject, user_names)
        line = _Line(one, identity_of(one.entry), subject, statement, profiles.get(hit.id))
        twin = kept.twin_of(line)
        if twin is None:
            kept.add(line)
        else:
            repeated.append((one.entry, _reference(twin)))
    for episode, twin in kept.without_told_episodes():
        repeated.append((episode.chosen.entry, _reference(twin)))
    ids = {line.chosen.entry.hit.id for line in kept.lines}
    return [one for one in chosen if one.entry.hit.id in ids], repeated


class _Kept:
    """The lines that repeat no other, found by what two lines must have in common to say the same."""

    def __init__(self) -> None:
        self.lines: list[_Line] = []
        self._by_identity: dict[tuple[object, ...], int] = {}
        self._by_terms: dict[tuple[object, ...], list[int]] = {}
        self._episodes: list[int] = []
        self._others: list[int] = []

    def add(self, line: _Line) -> None:
        place = len(self.lines)
        self.lines.append(line)
        self._by_identity.setdefault(line.identity, place)
        if line.chosen.entry.hit.type is MemoryType.EPISODE:
            self._episodes.append(place)
        else:
            self._others.append(place)
            self._by_terms.setdefault(_terms(line), []).append(place)

    def twin_of(self, line: _Line) -> _Line | None:
        """The first line that this one repeats."""
        none = len(self.lines)
        first = self._by_identity.get(line.identity, none)
        if line.chosen.entry.hit.type is MemoryType.EPISODE:
            first = min(first, next((place for place in self._others if _adds_nothing(line, self.lines[place])), none))
        else:
            near = self._by_terms.get(_terms(line), ())
            first = min(first, next((place for place in near if _repeats(line, self.lines[place])), none))
            if is_note(line.chosen.entry.hit.predicate_label):
                first = min(first, next((at for at in self._episodes if _is_quoted_from(line, self.lines[at])), none))
        return self.lines[first] if first < none else None

    def without_told_episodes(self) -> list[tuple[_Line, _Line]]:
        """Remove the episodes that the other lines tell together; returns each with the line that tells most of it."""
        others = [self.lines[place] for place in self._others]
        told = [(self.lines[place], _told_by(self.lines[place], others)) for place in self._episodes]
        removed = [(episode, twin) for episode, twin in told if twin]
        gone = {episode.chosen.entry.hit.id for episode, _ in removed}
        self.lines = [line for line in self.lines if line.chosen.entry.hit.id not in gone]
        return removed


def _reference(line: _Line) -> str:
    return f"{line.chosen.entry.hit.type}:{line.chosen.entry.hit.ref}"


def _terms(line: _Line) -> tuple[object, ...]:
    hit = line.chosen.entry.hit
    return hit.type, hit.valid_at, hit.maturity == Maturity.ANTI_PATTERN, line.subject


def _repeats(one: _Line, other: _Line) -> bool:
    """True for lines of equal terms that say the same."""
    mine, theirs = one.chosen.entry.hit, other.chosen.entry.hit
    if _is_one_property(mine, theirs) and _is_part_of(one.statement, other.statement):
        return True
    same = _say_the_same(one.statement, other.statement, _min_overlap(mine, theirs))
    return same and _are_of_one_kind(one.profile, other.profile)


def _is_one_property(one: Hit, other: Hit) -> bool:
    """True for facts such as "diet" and "diet:vegetarian", whose values may be single words."""
    family, other_family = ((hit.predicate_label or "").partition(":")[0] for hit in (one, other))
    return bool(family) and family == other_family and not is_note(one.predicate_label)


def _adds_nothing(episode: _Line, other: _Line) -> bool:
    """True for an episode whose words another line has."""
    words = episode.statement.words
    return bool(words) and len(words & other.statement.words) >= MIN_OVERLAP_OF_EPISODE * len(words)


def _told_by(episode: _Line, others: Sequence[_Line]) -> _Line | None:
    """The first of the few lines that together say all of an episode, with its names and numbers."""
    says = {id(line): _all_words(line) for line in others}
    missing = all_words = _all_words(episode)
    tellers: list[_Line] = []
    while others and len(tellers) < MOST_TOGETHER and len(missing) > (1 - MIN_OVERLAP_TOGETHER) * len(all_words):
        best = max(others, key=lambda line: len(missing & says[id(line)]))
        if missing.isdisjoint(says[id(best)]):
            break
        tellers.append(best)
        missing -= says[id(best)]
    is_told = tellers and len(missing) <= (1 - MIN_OVERLAP_TOGETHER) * len(all_words)
    is_denied = bool(episode.statement.negations) and not any(line.statement.negations for line in tellers)
    return tellers[0] if is_told and not is_denied and missing.isdisjoint(episode.statement.numbers) else None


def _all_words(line: _Line) -> frozenset[str]:
    """The words and numbers of a line, those of its subject and predicate included."""
    hit = line.chosen.entry.hit
    subject = " ".join(part for part in (hit.subject_label, hit.predicate_label) if part)
    named = _statement(subject, frozenset(), _STOP)
    own = _statement(hit.content, frozenset(), _STOP)
    return named.words | own.words | own.numbers


def _is_quoted_from(note: _Line, episode: _Line) -> bool:
    """True for a note from an episode that is a line itself."""
    return note.chosen.entry.hit.content in episode.chosen.entry.hit.content


def says_the_same(one: Hit, other: Hit, user_names: frozenset[str]) -> bool:
    """True if the shorter adds nothing to the longer: no other subject or number, no denial, and few new words."""
    subjects = [_subject(hit, user_names) for hit in (one, other)]
    if not _have_equal_terms(one, other) or subjects[0] != subjects[1]:
        return False
    mine, theirs = (
        _statement_of(hit, subject, user_names) for hit, subject in zip((one, other), subjects, strict=True)
    )
    return _say_the_same(mine, theirs, _min_overlap(one, other))


def _min_overlap(one: Hit, other: Hit) -> float:
    is_pair_of_notes = is_note(one.predicate_label) and is_note(other.predicate_label)
    return MIN_OVERLAP_OF_NOTES if is_pair_of_notes else MIN_OVERLAP[one.type]


def _have_equal_terms(one: Hit, other: Hit) -> bool:
    if one.type is not other.type or one.type is MemoryType.EPISODE or one.valid_at != other.valid_at:
        return False
    return (one.maturity == Maturity.ANTI_PATTERN) == (other.maturity == Maturity.ANTI_PATTERN)


def _statement_of(hit: Hit, subject: str | None, user_names: frozenset[str]) -> _Statement:
    light = _STOP if is_note(hit.predicate_label) else _LIGHT
    return _statement(hit.content, _name_words(subject, user_names), light)


def _name_words(subject: str | None, user_names: frozenset[str]) -> frozenset[str]:
    return user_names.union(subject.split("_")) if subject else user_names


def _say_the_same(one: _Statement, other: _Statement, min_overlap: float) -> bool:
    short, long = (one, other) if len(one.words) <= len(other.words) else (other, one)
    # Most pairs have no word in common.
    if len(short.words) < FEWEST_WORDS or short.words.isdisjoint(long.words):
        return False
    if len(short.words & long.words) < min_overlap * len(short.words):
        return False
    return short.numbers <= long.numbers and not _denies(short, long)


def _is_part_of(one: _Statement, other: _Statement) -> bool:
    """True if all words and numbers of the shorter are in the longer, and neither denies anything."""
    short, long = (one, other) if len(one.words) <= len(other.words) else (other, one)
    has_words = bool(short.words) and short.words <= long.words and short.numbers <= long.numbers
    return has_words and not (short.negations or long.negations)


def _denies(short: _Statement, long: _Statement) -> bool:
    """A negation in one of them denies the other, unless the longer text says much more that it can belong to."""
    if bool(short.negations) == bool(long.negations):
        return False
    return bool(short.negations) or len(long.words) < 2 * len(short.words)


def _are_of_one_kind(one: StoredProfile | None, other: StoredProfile | None) -> bool:
    if one is None or other is None:
        return False
    lengths = float(np.linalg.norm(one) * np.linalg.norm(other))
    return lengths > 0 and float(np.dot(one, other)) / lengths >= MIN_KIND_CORRELATION


def _subject(hit: Hit, user_names: frozenset[str]) -> str | None:
    """The person or thing by name; None for the user and for general things, such as "Python code"."""
    label = hit.subject_label or ""
    key = name_key(label) if label else ""
    if not label or label.casefold() in USER_SUBJECTS or key in user_names:
        return None
    return key if looks_like_name(label) or label.casefold().startswith(PARTICULAR) else None


@lru_cache(CACHED_TEXTS)
def _statement(content: str, names: frozenset[str], light: frozenset[str]) -> _Statement:
    tokens = [token.casefold() for token in _WORD.findall(content)]
    words = {stem(token) for token in tokens if not token[0].isdigit() and token not in names}
    return _Statement(
        words=frozenset(words - light),
        numbers=frozenset(token for token in tokens if token[0].isdigit()),
        negations=sum(token in NEGATIONS for token in tokens),
    )
