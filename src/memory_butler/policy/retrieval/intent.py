"""The kind of answer a question wants, recognised by its wording, and its effect on ranking.

`QUESTION_KINDS` lists, for each kind, the wording of its questions, the words that answers contain, and the preferred
type of memory. docs/concepts/retrieval.md shows how much each line improves the ranking.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from memory_butler.english.text.word_sets import any_of
from memory_butler.english.time.calendar import CARDINALS, MONTHS, SEASONS, WEEKDAY
from memory_butler.models import MemoryType

CACHED_TEXTS = 4096
SHORT_TEXT = 500


class Intent(StrEnum):
    """Kind of answer."""

    EVENT = "event"
    QUANTITY = "quantity"
    PROCEDURE = "procedure"
    IDENTITY = "identity"
    PREFERENCE = "preference"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class QuestionKind:
    """Recognises the questions of one intent. `matches_answer` tests a memory for the words that an answer contains."""

    intent: Intent
    pattern: re.Pattern[str]
    matches_answer: Callable[[str], bool] | None = None
    preferred_type: MemoryType | None = None


# The lookahead lists the first letters of the words, so that most words of a text are skipped at once.
_TIME = re.compile(
    rf"\d|\b(?=[adefjlmnorstwy])(?:yesterday|today|tonight|tomorrow|last|next|ago|recently|soon"
    rf"|{any_of((*SEASONS, 'day', 'week', 'weekend', 'month', 'year', 'morning', 'evening'))}s?|{WEEKDAY}"
    rf"|{any_of(MONTHS)})\b",
    re.IGNORECASE,
)
NUMBER = re.compile(
    rf"\d|\b(?=[cdefhnost])(?:{any_of(CARDINALS[1:13])}|dozen|hundred|thousand|once|twice|couple|several|half)\b",
    re.IGNORECASE,
)


def _contains(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    """A test for the pattern. Cached for short texts, because searches often return the same memories."""
    cached = lru_cache(CACHED_TEXTS)(lambda text: pattern.search(text) is not None)
    return lambda text: cached(text) if len(text) <= SHORT_TEXT else pattern.search(text) is not None


QUESTION_KINDS: tuple[QuestionKind, ...] = (
    QuestionKind(
        Intent.EVENT,
        re.compile(r"^\W*(?:when\b|(?:on |in )?(?:what|which) (?:date|day|time|year|month|season)\b)", re.IGNORECASE),
        matches_answer=_contains(_TIME),
    ),
    QuestionKind(
        Intent.PROCEDURE,
        re.compile(
            r"^\W*(?:how (?:do|should|can|must|shall) (?:i|we|you|one)\b|how to\b"
            r"|what(?:'s| is| are) the (?:steps?|process|procedure|way|rules?)\b|what should (?:i|we) do\b)",
            re.IGNORECASE,
        ),
        preferred_type=MemoryType.RULE,
    ),
    QuestionKind(
        Intent.QUANTITY,
        re.compile(r"^\W*how (?:many|much|long|often|old|far|big|tall)\b", re.IGNORECASE),
        matches_answer=_contains(NUMBER),
    ),
    QuestionKind(
        Intent.PREFERENCE,
        re.compile(r"\b(?:favou?rite|prefer\w*|(?:dis)?likes?|loves?|hates?|recommend\w*|suggest\w*)\b", re.IGNORECASE),
    ),
    QuestionKind(
        Intent.IDENTITY, re.compile(r"^\W*(?:who\b|what(?:'s| is) (?:my|his|her|their|our|\w+'s) )", re.IGNORECASE)
    ),
)
_OTHER = QuestionKind(Intent.OTHER, re.compile(r"(?!)"))


def kind_of(question: str) -> QuestionKind:
    """The first kind whose pattern matches, else that of intent OTHER."""
    return next((kind for kind in QUESTION_KINDS if kind.pattern.search(question[:500])), _OTHER)
