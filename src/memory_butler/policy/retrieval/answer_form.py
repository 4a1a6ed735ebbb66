"""The form that an answer must have: a time for "when", a number for "how old", digits for a telephone number.

A memory without it may be about the right person, but does not answer the question. In a small store, where a name
alone makes a memory likely, this tells what was never mentioned.
"""

import re
from collections.abc import Callable

from memory_butler.policy.retrieval.intent import NUMBER
from memory_butler.policy.retrieval.question import ParsedQuestion

_DIGITS = re.compile(r"\d{3}|\b(?:tele)?phones?\b", re.IGNORECASE)
_AT = re.compile(r"\S@\S")
_FORMS: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...] = (
    (
        re.compile(
            r"\b(?:(?:tele)?phone|mobile|cell)(?: phone)? (?:no|nr|num|number)\b"
            r"|^\W*(?:what(?:['’]?s| is) )?[\w. -]{1,40}['’]?s (?:phone|mobile|cell)\W*$",
            re.IGNORECASE,
        ),
        _DIGITS,
    ),
    (re.compile(r"^\W*what\b.{0,80}\be-?mail\b(?! (?:to|from|about)\b)", re.IGNORECASE), _AT),
    (
        re.compile(
            r"^\W*what\b.{0,80}\b(?:price|cost|fee|charged?|pa(?:y|id)|rent|owed?|salary|wages?)\b",
            re.IGNORECASE,
        ),
        NUMBER,
    ),
)


def form_of(parsed: ParsedQuestion) -> Callable[[str], object] | None:
    """A test for the form of the answer; None if any form will do."""
    if parsed.kind.matches_answer:
        return parsed.kind.matches_answer
    return next((form.search for asked, form in _FORMS if asked.search(parsed.text)), None)
