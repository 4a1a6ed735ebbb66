"""Whether a text names somebody: an identifier found as a whole, never as a part of another one.

Lexical on purpose. What is near in meaning may be about somebody else, and forgetting one address must leave the next
one at the same domain alone.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import cache

from memory_butler.errors import InvalidInput
from memory_butler.policy.admission import NAME_CHARACTERS, clean_text

LEAST_CHARACTERS = 2

# They take no room on the screen, and in the middle of a name they only hide it.
_INVISIBLE = "\u00ad\u034f\u061c\u180e\ufeff" + "".join(
    chr(code)
    for first, last in ((0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x2064), (0x2066, 0x206F), (0xFE00, 0xFE0F))
    for code in range(first, last + 1)
)
_UNIFIED = {**dict.fromkeys(map(ord, _INVISIBLE)), **dict.fromkeys(map(ord, "‘’ʼ´"), "'"), ord("‐"): "-"}
# Between letters or digits these make one identifier of both sides: bob.anna, Anna-Maria, anna@x.org, anna_k.
_JOINERS = frozenset(".-_@+#'")
_AROUND = " .,;:!?\"'“”„«»‹›()[]{}<>"
_SUFFIX = re.compile(r"'(?:s|d|m|ll|re|ve)(?!\w)")
# Marks that a text may spell otherwise than its normal form does, or a database when it writes JSON.
_SPELT_OTHERWISE = " '-\"\\"
# No script beyond this code point has case.
_CASED_BELOW = 0x20000
# How far from an identifier its neighbours are looked at.
_NEAR = 16
# Scripts written without spaces: there a neighbour says nothing about where a name ends.
_UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u309f\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff]"
)
_HANGUL = re.compile(r"[\uac00-\ud7a3]")


@dataclass(frozen=True, slots=True)
class Sieve:
    """What a database can check cheaply. Every text that names the identifier passes; what passes need not name it.

    A text passes if it holds one of the `odd` characters or if, in compatibility form, A to Z in lower case and the
    `capitals` beyond them replaced one by one by the `smalls`, it contains all of the `pieces`.
    """

    pieces: tuple[str, ...]
    capitals: str
    smalls: str
    odd: str


def normal_text(text: str) -> str:
    """One form for everything that reads the same: compatibility form, folded case, single spaces."""
    if text.isascii():
        return " ".join(text.lower().split())
    visible = unicodedata.normalize("NFKC", text.translate(_UNIFIED))
    folded = unicodedata.normalize("NFKC", visible.casefold())
    return " ".join(folded.translate(_UNIFIED).split())


def admit_identifier(value: object, name: str) -> str:
    """An identifier to look for, in its normal form: a name, an address, a number. Marks around it do not matter."""
    found = normal_text(clean_text(value, name, NAME_CHARACTERS)).strip(_AROUND)
    if len(found) < LEAST_CHARACTERS or not any(map(str.isalnum, found)):
        raise InvalidInput(
            f"{name} {value!r} is too short to name anybody; it takes at least {LEAST_CHARACTERS} characters.",
            recovery="Pass a whole name, address or number.",
        )
    return found


def names(text: str, identifier: str) -> bool:
    """Does the text hold the identifier as a whole? The identifier is in normal form already."""
    found = normal_text(text)
    start = found.find(identifier)
    while start >= 0:
        end = start + len(identifier)
        before, after = found[max(0, start - _NEAR) : start][::-1], found[end : end + _NEAR]
        edge, after = _past_suffix(identifier[-1], after)
        if not _goes_on(identifier, identifier[0], before) and not _goes_on(identifier, edge, after, after_it=True):
            return True
        start = found.find(identifier, start + 1)
    return False


def _past_suffix(edge: str, after: str) -> tuple[str, str]:
    """What follows a possessive or a short verb (Anna's, Anna'll), which belong to the sentence and not to the name."""
    suffix = _SUFFIX.match(after)
    return (after[suffix.end() - 1], after[suffix.end() :]) if suffix else (edge, after)


def _goes_on(identifier: str, edge: str, beyond: str, *, after_it: bool = False) -> bool:
    """Does a longer identifier go on beyond this edge? `beyond` is what follows, read away from it."""
    if not beyond:
        return False
    near = beyond[0]
    if _is_word(near):
        if edge in _JOINERS or unicodedata.category(near)[0] == "M":
            return True
        return _is_word(edge) and not _is_apart(edge, near, after_it=after_it)
    if edge.isdigit() and _is_number(identifier) and near in " ,/" and beyond[1:2].isdigit():
        return True
    run = beyond[: len(beyond) - len(beyond.lstrip("".join(_JOINERS)))]
    if not run or not _is_word(beyond[len(run) : len(run) + 1]):
        return False
    # Two in a row are a dash or dots between words, but an address may have them inside.
    return len(run) == 1 or ("@" in identifier and ".." not in run)


def _is_word(char: str) -> bool:
    return char.isalnum() or unicodedata.category(char or " ")[0] == "M"


def _is_apart(edge: str, near: str, *, after_it: bool) -> bool:
    """Neighbours that do not make one word. Korean has spaces, but its particles follow a name without one."""
    if _UNSPACED.match(edge) or _UNSPACED.match(near):
        return True
    return after_it and bool(_HANGUL.match(edge) and _HANGUL.match(near))


def _is_number(identifier: str) -> bool:
    digits = sum(map(str.isdigit, identifier))
    return digits > sum(map(str.isalpha, identifier))


def sieve_for(identifier: str) -> Sieve:
    """The sieve for an identifier in normal form."""
    characters = set(identifier)
    singles, several = _foldings()
    kept = "".join(char if _is_spelt_alike(char) else " " for char in identifier)
    capitals = [char for char, folded in singles.items() if folded in characters and not char.isascii()]
    return Sieve(
        pieces=tuple(dict.fromkeys(kept.split())),
        capitals="".join(capitals),
        smalls="".join(singles[char] for char in capitals),
        odd=_INVISIBLE + "\u0345" + "".join(char for char, folded in several.items() if characters & set(folded)),
    )


def _is_spelt_alike(char: str) -> bool:
    """A letter that does not fold to itself, or a mark over one, was put together by the normal form."""
    apart = char.casefold() != char or unicodedata.combining(char)
    return char.isprintable() and char not in _SPELT_OTHERWISE and not apart


@cache
def _foldings() -> tuple[dict[str, str], dict[str, str]]:
    """The characters that become another one when case is folded, and those that become several."""
    singles: dict[str, str] = {}
    several: dict[str, str] = {}
    for code in range(_CASED_BELOW):
        char = chr(code)
        folded = char.casefold()
        if folded != char and unicodedata.normalize("NFKC", char) == char:
            (singles if len(folded) == 1 else several)[char] = folded
    return singles, several
