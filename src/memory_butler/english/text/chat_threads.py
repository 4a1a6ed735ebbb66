"""Speakers of threads copied from a chat program: names on a line of their own with a time, and names in lower case."""

import re
from collections import Counter
from itertools import pairwise
from typing import NamedTuple

from memory_butler.english.text.stop_words import GENERAL, HEADINGS, NO_NAMES, STOP_WORDS
from memory_butler.english.text.word_sets import caseless, word_set

MIN_TURNS = 2
MAX_HEADING_CHARACTERS = 80
_CLOCK = r"\d{1,2}[:.]\d\d(?:[:.]\d\d)?(?:[ \u202f]?[ap]\.?m\.?)?"
_WHEN = rf"(?:(?:today|yesterday|heute|gestern|hoy|ayer|hier|oggi|ieri)(?: at| um)?,? )?{_CLOCK}"
# "tomasz  10:21 AM", "Ann Lee [10:21]", "Ann — Today at 10:21 AM". With one space and no mark it may be an appointment.
_HEADING = caseless(
    r"@?(?P<name>[^\W\d_][\w.'’-]{0,30}(?:[ ][^\W\d_][\w.'’-]{0,30}){0,2})"
    rf"(?:[ ]{{2,8}}{_WHEN}|[ ][\[(]{_WHEN}[\])]|[ ][—–-][ ]{_WHEN}|[ ]\d{{1,2}}:\d\d[ \u202f]?[ap]m)[ ]*"
)
_HANDLE = re.compile(r"@?(?P<name>[a-zà-öø-ÿ][a-zà-öø-ÿ0-9._-]{1,20}):[ ]+(?=\S)")
_SELF = word_set("me you i ich yo je moi eu io я 我 私")
_ANSWERS = caseless(
    r"(?:i|i'm|i'll|i've|im|me|my|we|you|yes|yep|yeah|no|nope|ok|okay|lol|haha|thx|thanks|ty|sure|same|done|nice|great|"
    r"hi|hey|and|but|so|wait|can|who|what|when|where|why|how|did|does|is|are|pls|please)\b"
)


class Thread(NamedTuple):
    """The speakers of heading lines, by line, and the names in lower case that are speakers before a colon."""

    headings: dict[str, str]
    handles: frozenset[str]

    def label(self, line: str) -> tuple[str, int] | None:
        """The speaker in lower case that a line names, and where the words begin."""
        match = _HANDLE.match(line) if self.handles else None
        return (match["name"], match.end()) if match and match["name"] in self.handles else None


NO_THREAD = Thread({}, frozenset())


def thread(text: str) -> Thread:
    """The speakers of a thread. Two headings with words below them make one, or two lines of names in lower case of
    which one comes again or answers."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    headings = {
        line: match["name"]
        for line, after in pairwise(lines)
        if (match := _heading(line)) is not None and _heading(after) is None
    }
    found = [(match["name"], line[match.end() :]) for line in lines if (match := _HANDLE.match(line)) is not None]
    named = [(name, words) for name, words in found if _can_be_name(name)]
    again = Counter(name for name, _ in named).most_common(1)
    speaks = len(named) >= MIN_TURNS and (again[0][1] >= MIN_TURNS or any(_ANSWERS.match(words) for _, words in named))
    return Thread(
        headings if sum(line in headings for line in lines) >= MIN_TURNS else {},
        frozenset(name for name, _ in named) if speaks else frozenset(),
    )


def _heading(line: str) -> re.Match[str] | None:
    match = _HEADING.fullmatch(line) if len(line) <= MAX_HEADING_CHARACTERS else None
    if match is None:
        return None
    return match if match["name"].casefold() in _SELF or _can_be_name(match["name"].split()[0]) else None


def _can_be_name(word: str) -> bool:
    key = word.casefold()
    return key not in STOP_WORDS and key not in GENERAL and key not in NO_NAMES and key not in HEADINGS
