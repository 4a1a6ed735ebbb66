"""The terms of a question in any language, and how far a text has them.

A term is a word, a number, or a piece of a script without spaces. Short function words are left out. A text is compared
with each term: by equal spelling, as a form of the same word, or as part of a compound.
"""

import math
import re
from collections.abc import Callable
from functools import cache, lru_cache
from typing import NamedTuple

import stopwordsiso

from memory_butler.languages.detection import Language, function_words, language_of, likely_languages
from memory_butler.languages.folding import fold
from memory_butler.languages.scripts import Kind, pieces
from memory_butler.languages.similarity import syllable_similarity, word_similarity

MAX_TERMS = 40
COMPARED_CHARACTERS = 4_000
MIN_WORD = 2
MIN_HIRAGANA = 3
# Lists of function words hold nouns, too ("book", "car"). Short ones are certain.
MIN_COMMON_WORD = 4
# A common word must be nearly the same word: "diesen" is not "dienstags".
NEARLY_SAME = 0.9
# Words of a text whose language is not known must be this similar.
SIMILAR = 0.8
# Characters of one term in a script whose words cannot be told apart.
UNSPACED_TERM = 4
# Weights of terms compared with a word. Two characters of Chinese are a word, but often a general one.
NUMBER = 1.2
HAN_WORD = 0.75
COMMON_WORD = 0.4
HIRAGANA_RUN = 0.5
UNSPACED_PART = 0.3
MIN_NUMBER_PART = 4
PART_OF_NUMBER = 0.9
# Share of a word of two characters that a text with one of them has.
LONE_CHARACTER = 0.25
# In a text of more words, forms of other words look alike by chance.
LONG_TEXT_WORDS = 60
# "Who" and "what" in characters that are not function words in all uses.
_ASKING = frozenset("何誰私僕俺")
_KANA = re.compile(r"[\u3041-\u30ff]")


class Term(NamedTuple):
    """Something that a question asks for. `weight` is what it says, compared with a word. `is_common`: it may be a
    function word."""

    kind: Kind
    text: str
    weight: float = 1.0
    is_common: bool = False


class ComparedText(NamedTuple):
    """A text to compare with terms: its pieces by kind, and the whole text, folded."""

    words: frozenset[str]
    numbers: frozenset[str]
    katakana: frozenset[str]
    hangul: frozenset[str]
    folded: str
    languages: frozenset[str]


@lru_cache(maxsize=256)
def terms_of(question: str) -> tuple[Term, ...]:
    """The terms of a question, without function words; with them if it has no other words."""
    is_english = language_of(question) is Language.ENGLISH
    text, ignored = _without_particles(question), function_words(question)
    found = [term for term in _terms(text, ignored) if not (is_english and term.is_common)]
    found = found or _terms(question, frozenset())
    return tuple({term.text: term for term in found}.values())[:MAX_TERMS]


def compared_text(text: str, label: str = "") -> ComparedText:
    """A text, up to COMPARED_CHARACTERS, ready to be compared. A label adds words and has no language."""
    return _compared_head(text[:COMPARED_CHARACTERS], label)


@lru_cache(maxsize=1024)
def _compared_head(text: str, label: str) -> ComparedText:
    by_kind: dict[Kind, set[str]] = {kind: set() for kind in Kind}
    for kind, piece in [*pieces(text), *pieces(label)]:
        by_kind[kind].add(piece)
    words, numbers = frozenset(by_kind[Kind.WORD]), frozenset(by_kind[Kind.NUMBER])
    katakana, hangul = frozenset(by_kind[Kind.KATAKANA]), frozenset(by_kind[Kind.HANGUL])
    return ComparedText(words, numbers, katakana, hangul, f"{fold(text)} {fold(label)}", likely_languages(text))


def strength(term: Term, text: ComparedText, languages: frozenset[str]) -> float:
    """How far a text has a term of a question in one of these languages, from 0 to 1."""
    match term.kind:
        case Kind.WORD:
            return _best(word_similarity, term.text, text.words, least=_least_similarity(term, text, languages))
        case Kind.NUMBER:
            return _number_strength(term.text, text.numbers)
        case Kind.KATAKANA:
            return _best(word_similarity, term.text, text.katakana)
        case Kind.HANGUL:
            return _best(syllable_similarity, term.text, text.hangul)
        case _:
            return _part_strength(term, text.folded)


def _least_similarity(term: Term, text: ComparedText, languages: frozenset[str]) -> float:
    """How similar two words must be to count. Words of two languages look alike by chance, so only equal ones count."""
    if not languages or not text.languages:
        return NEARLY_SAME if term.is_common else SIMILAR
    if languages.isdisjoint(text.languages):
        return 1.0
    return NEARLY_SAME if term.is_common else 0.0


def _number_strength(number: str, others: frozenset[str]) -> float:
    """A part of a longer number, between hyphens, counts if it is long enough to be no accident."""
    if number in others:
        return 1.0
    return PART_OF_NUMBER * (len(number) >= MIN_NUMBER_PART and any(number in other.split("-") for other in others))


def _part_strength(term: Term, folded: str) -> float:
    if term.text in folded:
        return 1.0
    is_pair = term.kind is Kind.HAN and len(term.text) > 1
    return LONE_CHARACTER * sum(char in folded for char in term.text) if is_pair else 0.0


def _best(similarity: Callable[[str, str], float], word: str, others: frozenset[str], *, least: float = 0.0) -> float:
    if word in others:
        return 1.0
    if least >= 1 or not others:
        return 0.0
    best = max(similarity(word, other) for other in others)
    return best * math.sqrt(min(1.0, LONG_TEXT_WORDS / len(others))) if best >= least else 0.0


def _terms(text: str, ignored: frozenset[str]) -> list[Term]:
    found: list[Term] = []
    before, has_kana = None, bool(_KANA.search(text))
    for kind, piece in pieces(text):
        if kind is Kind.HAN:
            found += _han_terms(piece, _ASKING if has_kana else _lone_particles())
        elif kind is Kind.UNSPACED:
            found += (Term(kind, part, UNSPACED_PART) for part in _runs(piece, UNSPACED_TERM))
        elif kind is Kind.HIRAGANA:
            # After another script it is an ending or a particle.
            if len(piece) >= MIN_HIRAGANA and before not in (Kind.HAN, Kind.KATAKANA):
                found.append(Term(kind, piece, HIRAGANA_RUN))
        elif piece in ignored:
            found += [Term(kind, piece, COMMON_WORD, is_common=True)] if len(piece) >= MIN_COMMON_WORD else []
        elif kind is Kind.NUMBER:
            found.append(Term(kind, piece, NUMBER))
        elif kind is Kind.KATAKANA or len(piece) >= MIN_WORD:
            found.append(Term(kind, piece))
        before = kind
    return found


def _han_terms(run: str, particles: frozenset[str]) -> list[Term]:
    """The pairs of characters of a run, without those that have a function word of one character."""
    parts = _runs(run, 2)
    kept = [part for part in parts if not particles.intersection(part)] or parts
    weight = HAN_WORD * max(1.0, len(run) / 2) / len(parts)
    return [Term(Kind.HAN, part, weight) for part in kept if part not in particles]


def _runs(text: str, length: int) -> list[str]:
    return [text[place : place + length] for place in range(max(1, len(text) - length + 1))]


def _without_particles(text: str) -> str:
    """A text in a script without spaces without its function words."""
    folded = fold(text)
    if folded.isascii():
        return folded
    for language in ("ja" if _KANA.search(folded) else "zh", "th"):
        folded = _particles(language).sub(" ", folded)
    return folded


@cache
def _particles(language: str) -> re.Pattern[str]:
    """The function words of a language without spaces. A single character may be part of another word."""
    words = {fold(word) for word in stopwordsiso.stopwords(language) if len(word) > 1 and word[0].isalpha()}
    return re.compile("|".join(map(re.escape, sorted(words, key=lambda word: (-len(word), word)))))


@cache
def _lone_particles() -> frozenset[str]:
    return frozenset(word for word in stopwordsiso.stopwords("zh") if len(word) == 1) | _ASKING
