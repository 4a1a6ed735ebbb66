"""What kind of answer a question wants, told by how it is asked, and what that changes.

The table below is all of it: which questions are of a kind, what a memory must say to count as fitting, and which type
of memory is wanted first. What a line earns is measured in docs/retrieval.md; kinds that earned nothing change nothing.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from memory_butler.models import MemoryType

KEPT_TEXTS = 4096
SHORT_TEXT = 500


class Intent(StrEnum):
    """What a question asks for."""

    EVENT = "event"
    QUANTITY = "quantity"
    PROCEDURE = "procedure"
    IDENTITY = "identity"
    PREFERENCE = "preference"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Kind:
    """How a kind of question is told, what its answers say, and the type that is preferred for it."""

    intent: Intent
    asked: re.Pattern[str]
    says: Callable[[str], bool] | None = None
    prefers: MemoryType | None = None


def _pattern(words: str) -> re.Pattern[str]:
    return re.compile(" ".join(words.split()).replace(" ", ""), re.IGNORECASE)


# The letters in front say how any of the words begins: most words of a text are passed over at once.
_TIME = _pattern(
    r"""\d|\b(?=[adefjlmnorstwy])(?: yesterday|today|tonight|tomorrow|last|next|ago|recently|soon
    |(?:day|week|weekend|month|year|morning|evening|summer|winter|spring|autumn|fall)s?
    |(?:mon|tues|wednes|thurs|fri|satur|sun)day
    |january|february|march|april|may|june|july|august|september|october|november|december )\b"""
)
_NUMBER = _pattern(
    r"""\d|\b(?=[cdefhnost])(?: one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|hundred|thousand
    |once|twice|couple|several|half )\b"""
)


def _saying(wanted: re.Pattern[str]) -> Callable[[str], bool]:
    """Whether a text says it. The same memories come up again and again, so of short ones it is kept a while."""
    kept = lru_cache(KEPT_TEXTS)(lambda text: wanted.search(text) is not None)
    return lambda text: kept(text) if len(text) <= SHORT_TEXT else wanted.search(text) is not None


KINDS: tuple[Kind, ...] = (
    Kind(
        Intent.EVENT,
        re.compile(r"^\W*(?:when\b|(?:on |in )?(?:what|which) (?:date|day|time|year|month|season)\b)", re.IGNORECASE),
        says=_saying(_TIME),
    ),
    Kind(
        Intent.PROCEDURE,
        re.compile(
            r"^\W*(?:how (?:do|should|can|must|shall) (?:i|we|you|one)\b|how to\b"
            r"|what(?:'s| is| are) the (?:steps?|process|procedure|way|rules?)\b|what should (?:i|we) do\b)",
            re.IGNORECASE,
        ),
        prefers=MemoryType.RULE,
    ),
    Kind(
        Intent.QUANTITY,
        re.compile(r"^\W*how (?:many|much|long|often|old|far|big|tall)\b", re.IGNORECASE),
        says=_saying(_NUMBER),
    ),
    Kind(
        Intent.PREFERENCE,
        re.compile(r"\b(?:favou?rite|prefer\w*|(?:dis)?likes?|loves?|hates?|recommend\w*|suggest\w*)\b", re.IGNORECASE),
    ),
    Kind(Intent.IDENTITY, re.compile(r"^\W*(?:who\b|what(?:'s| is) (?:my|his|her|their|our|\w+'s) )", re.IGNORECASE)),
)
_OTHER = Kind(Intent.OTHER, re.compile(r"(?!)"))


def kind_of(question: str) -> Kind:
    """The first line of the table that fits."""
    return next((kind for kind in KINDS if kind.asked.search(question[:500])), _OTHER)
