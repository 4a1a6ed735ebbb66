"""Which words of a text a search asked for: forms of one word are one, and accents do not matter."""

import re
from collections.abc import Mapping
from functools import lru_cache

from memory_butler.english.text.stems import stem
from memory_butler.languages.folding import fold, without_accents
from memory_butler.languages.terms import terms_of

# A word that is still being typed matches as a beginning from this length on.
MIN_PREFIX = 3
MAX_CHARACTERS = 8_000
_WORD = re.compile(r"[^\W_]+")


def highlighted(text: str, query: str) -> list[tuple[bool, str]]:
    """The text in pieces, each with whether the search asked for it."""
    asked = _asked(query)
    pieces: list[tuple[bool, str]] = []
    end = 0
    for found in _WORD.finditer(text[:MAX_CHARACTERS]) if asked else ():
        if _is_asked(found[0], asked):
            if found.start() > end:
                pieces.append((False, text[end : found.start()]))
            pieces.append((True, found[0]))
            end = found.end()
    return [*pieces, (False, text[end:])] if end < len(text) else pieces


def has_words(text: str, query: str) -> bool:
    """True if the text has a word of the query."""
    asked = _asked(query)
    return any(_is_asked(found[0], asked) for found in _WORD.finditer(text[:MAX_CHARACTERS]))


def word_stems(query: str) -> str:
    """The stems of the words of a query, as parts that a text in which they occur contains."""
    stems = dict.fromkeys(own for _, own in sorted(_asked(query)) if len(own) > 1)
    return " ".join(stems) or query


@lru_cache(maxsize=64)
def _asked(query: str) -> frozenset[tuple[str, str]]:
    """The words of a query without function words, each with its stem."""
    words = {_folded(found) for term in terms_of(query) for found in _WORD.findall(term.text)}
    return frozenset((word, stem(word)) for word in words)


def _is_asked(word: str, asked: frozenset[tuple[str, str]]) -> bool:
    folded = _folded(word)
    own = stem(folded)
    return any(
        folded == other or own == other_stem or (len(other) >= MIN_PREFIX and folded.startswith(other))
        for other, other_stem in asked
    )


def _folded(word: str) -> str:
    return without_accents(fold(word))


def names_in(text: str, names: Mapping[str, str]) -> list[str]:
    """The keys of the names that the text has as whole words."""
    words = f" {' '.join(_folded(found) for found in _WORD.findall(text[:MAX_CHARACTERS]))} "
    found = []
    for key, name in names.items():
        wanted = " ".join(_folded(one) for one in _WORD.findall(name))
        if len(wanted) >= MIN_PREFIX and f" {wanted} " in words:
            found.append(key)
    return found
