"""Corrects misspelt names in a question, from the names that the tenant has.

A word that no memory contains may be a known name with a typing error. Short words are left alone: "Ana" and "Ann" are
two people.
"""

import re
from collections.abc import Iterable, Mapping

from memory_butler.english.text.stop_words import GENERAL

ONE_EDIT_FROM = 5
TWO_EDITS_FROM = 9
# Words of a question that are looked up.
MAX_CHECKED = 30
_WORD = re.compile(r"[^\W\d_]+")


def edits_allowed(word: str) -> int:
    """Number of typing errors in a word of this length."""
    return (len(word) >= ONE_EDIT_FROM) + (len(word) >= TWO_EDITS_FROM)


def words_to_check(text: str) -> tuple[str, ...]:
    """The first words of a question that may be misspelt names, in lower case."""
    # Capitalized ones first: they are likelier names.
    words = dict.fromkeys(word.casefold() for word in sorted(_WORD.findall(text), key=lambda word: word[0].islower()))
    return tuple(word for word in words if edits_allowed(word) and word not in GENERAL)[:MAX_CHECKED]


def corrections(words: Iterable[str], names: Iterable[str]) -> dict[str, str]:
    """The known name for each misspelt word. A word that is as close to two names stays as it is."""
    parts = sorted({part for name in names for part in _WORD.findall(name.casefold())})
    found = {}
    for word in words:
        allowed = edits_allowed(word)
        near: dict[int, list[str]] = {}
        for part in parts:
            if len(part) >= ONE_EDIT_FROM - 1 and abs(len(part) - len(word)) <= allowed:
                near.setdefault(edits(word, part, allowed), []).append(part)
        least = min(near, default=allowed + 1)
        if 0 < least <= allowed and len(near[least]) == 1:
            found[word] = near[least][0]
    return found


def corrected(text: str, spelling: Mapping[str, str]) -> str:
    """The text with these words replaced; a capital stays a capital."""

    def replaced(found: re.Match[str]) -> str:
        word = found.group()
        right = spelling.get(word.casefold(), word)
        return right[:1].upper() + right[1:] if word[0].isupper() else right

    return _WORD.sub(replaced, text)


def edits(left: str, right: str, most: int) -> int:
    """Number of letters to insert, remove, change or swap with the next one to turn `left` into `right`; `most` + 1 if
    more are needed."""
    before, above = [0] * (len(right) + 1), list(range(len(right) + 1))
    for i, letter in enumerate(left, start=1):
        row = [i]
        for j, other in enumerate(right, start=1):
            cost = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == right[j - 2] and left[i - 2] == other:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
        before, above = above, row
    return min(above[-1], most + 1)
