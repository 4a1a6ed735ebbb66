"""Match identifiers in texts: as a whole, never as a part of another identifier.

Lexical on purpose. Similar meaning may concern another person, and forgetting one address must not touch another
address at the same domain.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from memory_butler.errors import InvalidInput
from memory_butler.policy.memories.validation import NAME_CHARACTERS, clean_text
from memory_butler.policy.trust.plain_view import INVISIBLE

MIN_CHARACTERS = 2

_UNIFIED = {**dict.fromkeys(map(ord, INVISIBLE)), **dict.fromkeys(map(ord, "‘’ʼ´"), "'"), ord("‐"): "-"}
# Between letters or digits these join both sides to one identifier: bob.anna, Anna-Maria, anna@x.org, anna_k.
_JOINERS = frozenset(".-_@+#'")
_AROUND = " .,;:!?\"'“”„«»‹›()[]{}<>"
_SUFFIX = re.compile(r"'(?:s|d|m|ll|re|ve)(?!\w)")
# Characters that differ between a text and its normal form, or between a text and its JSON encoding.
_SPELT_OTHERWISE = " '-\"\\"
# No script beyond this code point has case.
_CASED_BELOW = 0x20000
# Number of characters examined on each side of a match.
_NEAR = 16
# Scripts without spaces: a neighbouring letter does not show where a name ends.
_UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u309f\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff]"
)
_HANGUL = re.compile(r"[\uac00-\ud7a3]")


@dataclass(frozen=True, slots=True)
class Prefilter:
    """A cheap check for the database, with false positives but no false negatives.

    A text passes if it contains one of the `odd` characters or if, in compatibility form, A to Z in lower case and the
    `capitals` beyond them replaced one by one by the `smalls`, the `dropped` characters removed, it contains all of
    the `pieces`.
    """

    pieces: tuple[str, ...]
    capitals: str
    smalls: str
    odd: str
    dropped: str = ""


def normal_text(text: str) -> str:
    """Normal form for comparison: NFKC, case folded, single spaces, without invisible characters."""
    if text.isascii():
        return " ".join(text.lower().split())
    visible = unicodedata.normalize("NFKC", text.translate(_UNIFIED))
    folded = unicodedata.normalize("NFKC", visible.casefold())
    return " ".join(folded.translate(_UNIFIED).split())


def validate_identifier(value: object, name: str) -> str:
    """Returns the normal form of a name, an address or a number, without surrounding punctuation."""
    found = normal_text(clean_text(value, name, NAME_CHARACTERS)).strip(_AROUND)
    if len(found) < MIN_CHARACTERS or not any(map(str.isalnum, found)):
        raise InvalidInput(
            f"{name} {value!r} is too short for an identifier; the minimum is {MIN_CHARACTERS} characters.",
            recovery="Pass a full name, address or number.",
        )
    return found


def mentions(text: str, identifier: str) -> bool:
    """True if the text contains the whole identifier, which is already in normal form."""
    return any(spans(normal_text(text), identifier))


def spans(found: str, identifier: str) -> Iterator[tuple[int, int]]:
    """Yields start and end of the whole identifier in a text; both are in normal form."""
    start = found.find(identifier)
    while start >= 0:
        end = start + len(identifier)
        before, after = found[max(0, start - _NEAR) : start][::-1], found[end : end + _NEAR]
        edge, after = _past_suffix(identifier[-1], after)
        if not _goes_on(identifier, identifier[0], before) and not _goes_on(identifier, edge, after, after_it=True):
            yield start, end
        start = found.find(identifier, start + 1)


def _past_suffix(edge: str, after: str) -> tuple[str, str]:
    """Skip a possessive or short verb (Anna's, Anna'll), which is not part of the name."""
    suffix = _SUFFIX.match(after)
    return (after[suffix.end() - 1], after[suffix.end() :]) if suffix else (edge, after)


def _goes_on(identifier: str, edge: str, beyond: str, *, after_it: bool = False) -> bool:
    """True if a longer identifier continues beyond this edge. `beyond` is the text outwards from the edge."""
    if not beyond:
        return False
    near = beyond[0]
    if _is_word(near):
        if edge in _JOINERS or unicodedata.category(near)[0] == "M":
            return True
        return _is_word(edge) and not _is_apart(edge, near, after_it=after_it)
    if edge.isdigit() and is_number(identifier) and near in " ,/" and beyond[1:2].isdigit():
        return True
    run = beyond[: len(beyond) - len(beyond.lstrip("".join(_JOINERS)))]
    if not run or not _is_word(beyond[len(run) : len(run) + 1]):
        return False
    # Two joiners in a row are a dash or dots between words, unless inside an address.
    return len(run) == 1 or ("@" in identifier and ".." not in run)


def _is_word(char: str) -> bool:
    return char.isalnum() or unicodedata.category(char or " ")[0] == "M"


def _is_apart(edge: str, near: str, *, after_it: bool) -> bool:
    """True if two letters do not belong to one word. Korean particles follow a name without a space."""
    if _UNSPACED.match(edge) or _UNSPACED.match(near):
        return True
    return after_it and bool(_HANGUL.match(edge) and _HANGUL.match(near))


def is_number(identifier: str) -> bool:
    """True if an identifier has more digits than letters."""
    digits = sum(map(str.isdigit, identifier))
    return digits > sum(map(str.isalpha, identifier))


def prefilter_for(identifier: str) -> Prefilter:
    """Returns the prefilter for an identifier in normal form."""
    characters = set(identifier)
    singles, several = _foldings()
    kept = "".join(char if _is_spelt_alike(char) else " " for char in identifier)
    capitals = [char for char, folded in singles.items() if folded in characters and not char.isascii()]
    return Prefilter(
        pieces=tuple(dict.fromkeys(kept.split())),
        capitals="".join(capitals),
        smalls="".join(singles[char] for char in capitals),
        odd=INVISIBLE + "\u0345" + "".join(char for char, folded in several.items() if characters & set(folded)),
    )


def _is_spelt_alike(char: str) -> bool:
    """False for characters that the normal form may have composed: combining marks, letters that fold to others."""
    apart = char.casefold() != char or unicodedata.combining(char)
    return char.isprintable() and char not in _SPELT_OTHERWISE and not apart


@cache
def _foldings() -> tuple[dict[str, str], dict[str, str]]:
    """Returns the characters that case folding maps to one other character, and those it maps to several."""
    singles: dict[str, str] = {}
    several: dict[str, str] = {}
    for code in range(_CASED_BELOW):
        char = chr(code)
        folded = char.casefold()
        if folded != char and unicodedata.normalize("NFKC", char) == char:
            (singles if len(folded) == 1 else several)[char] = folded
    return singles, several
