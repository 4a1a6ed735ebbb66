"""Find near spellings of an identifier: other separators, a country code, a leading @, a plus tag, longer ones.

Such a spelling may belong to the same person or to another one, so it is listed and never matched.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from memory_butler.policy.trust.identifiers import Prefilter, is_number, normal_text, prefilter_for, spans

MIN_CHARACTERS: Final = 4
SEPARATORS: Final = "other separators"
COUNTRY_CODE: Final = "with or without a country code"
LEADING_SIGN: Final = "with or without a leading @"
PLUS_TAG: Final = "with or without a plus tag"
LONGER: Final = "longer, begins with it"

# A country code has up to three digits; the number without it has at least six.
_CODE_DIGITS, _NATIONAL_DIGITS = 3, 6
_DROPPED: Final = " \t\n\u00a0.-_'‘’ʼ´‐()/"
_SEPARATOR = re.compile(f"[{re.escape(_DROPPED)}]")
_TOKEN = re.compile(r"[^\s,;:!?\"“”„«»‹›()\[\]{}<>|/\\=\x00]+")
_SUFFIX = re.compile(r"'(?:s|d|m|ll|re|ve)$")
_TAG = re.compile(r"\+[^@+]*(?=@)")
_EDGE = ".'-_*~"
_RUN = re.compile(r"[+(]?\d(?:[\d ()\-/]|\.(?=\d))*")
_GROUP = re.compile(r"[+(]{0,8}\d+")


def near_spellings(text: str, identifier: str) -> dict[str, str]:
    """Near spellings of an identifier (in normal form) in a text, each with its kind, without the identifier itself."""
    if len(_base(identifier)) < MIN_CHARACTERS:
        return {}
    found = normal_text(text)
    for start, end in reversed(list(spans(found, identifier))):
        found = f"{found[:start]}\0{found[end:]}"
    return dict(_near_numbers(found, identifier) if is_number(identifier) else _near_names(found, identifier))


def near_prefilter(identifier: str) -> Prefilter:
    """Returns the prefilter for the near spellings of an identifier. It also passes the identifier itself."""
    if is_number(identifier):
        number = _national(identifier)
        pieces = number[-max(_NATIONAL_DIGITS - 1, len(number) - _CODE_DIGITS) :]
    else:
        pieces = _base(identifier).replace("@", " ")
    return replace(prefilter_for(pieces), dropped=_DROPPED)


def _near_names(found: str, identifier: str) -> Iterator[tuple[str, str]]:
    base = _base(identifier)
    tokens = list(_TOKEN.finditer(found))
    for first, token in enumerate(tokens):
        for last in range(first, len(tokens)):
            if last > first and not _is_one_phrase(found, tokens[last - 1], tokens[last]):
                break
            spelling = _SUFFIX.sub("", found[token.start() : tokens[last].end()].strip(_EDGE))
            kind = _kind_of_name(spelling, identifier, base)
            if kind:
                yield spelling, kind
            if len(_base(spelling)) >= len(base):
                break


def _is_one_phrase(found: str, left: re.Match[str], right: re.Match[str]) -> bool:
    return found[left.end() : right.start()].isspace() and not left.group().endswith(".")


def _kind_of_name(spelling: str, identifier: str, base: str) -> str | None:
    if _base(spelling) == base:
        if ("+" in spelling) != ("+" in identifier) or _TAG.findall(spelling) != _TAG.findall(identifier):
            return PLUS_TAG
        return LEADING_SIGN if spelling.lstrip("@#") == identifier.lstrip("@#") else SEPARATORS
    return LONGER if spelling.startswith(identifier) and len(spelling) > len(identifier) else None


def _base(spelling: str) -> str:
    """A name or an address without separators, leading sign and plus tag."""
    return _SEPARATOR.sub("", _TAG.sub("", spelling.lstrip("@#")))


def _near_numbers(found: str, identifier: str) -> Iterator[tuple[str, str]]:
    wanted = _digits(identifier)
    for run in _RUN.finditer(found):
        groups = list(_GROUP.finditer(run.group()))
        first = 0
        while first < len(groups):
            after = first + 1
            for last in range(first, len(groups) if first == 0 or groups[first].group()[0] in "+0" else first):
                spelling = run.group()[groups[first].start() : groups[last].end()].lstrip("(")
                kind = _kind_of_number(spelling, wanted, identifier)
                if kind:
                    yield spelling, kind
                    after = last + 1
                    break
                if len(_national(spelling)) > len(wanted) + _CODE_DIGITS:
                    break
            first = after


def _kind_of_number(spelling: str, wanted: str, identifier: str) -> str | None:
    digits = _digits(spelling)
    if digits == wanted:
        return SEPARATORS
    short, long = sorted((_national(spelling), _national(identifier)), key=len)
    if len(short) >= _NATIONAL_DIGITS and long.endswith(short) and len(long) - len(short) <= _CODE_DIGITS:
        return COUNTRY_CODE
    return LONGER if digits.startswith(wanted) else None


def _digits(spelling: str) -> str:
    return "".join(filter(str.isdigit, spelling))


def _national(spelling: str) -> str:
    """The digits of a number without leading zeros and without the zero in "+49 (0)170"."""
    return _digits(spelling.replace("(0)", "")).lstrip("0")
