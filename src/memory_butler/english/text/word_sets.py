"""Sets of words and phrases written as plain text, and the words of a text to compare with them."""

import re
from collections.abc import Iterable
from functools import lru_cache

_WORD = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*")


def word_set(words: str) -> frozenset[str]:
    """The words of a text that lists them, separated by spaces."""
    return frozenset(words.split())


def phrase_set(phrases: str) -> frozenset[str]:
    """The phrases of a text that lists them, separated by commas."""
    return frozenset(part.strip() for part in phrases.replace("\n", " ").split(",") if part.strip())


@lru_cache(maxsize=256)
def words_in(text: str) -> frozenset[str]:
    """The words of a text in lower case. A cheap test before a pattern that needs one of a few words."""
    return frozenset(_WORD.findall(text.lower()))


def caseless(pattern: str) -> re.Pattern[str]:
    """A regular expression that ignores case."""
    return re.compile(pattern, re.IGNORECASE)


def any_of(words: Iterable[str]) -> str:
    """A regular expression for any of the words, in their order."""
    return f"(?:{'|'.join(words)})"


def alternatives(words: frozenset[str]) -> str:
    """The same without a group and with the longest first: "border collie" before "collie"."""
    return "|".join(sorted((word.replace(" ", r"\s") for word in words), key=lambda word: (-len(word), word)))
