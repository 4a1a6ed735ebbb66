"""What the distillers that ask a model share: finding the proposal in an answer, and keeping account of its cost."""

import json
import math
import re
from collections.abc import Iterator
from typing import Any, TypeVar

from memory_butler.errors import MemoryButlerError, UnusableProposal
from memory_butler.models import Usage

E = TypeVar("E", bound=MemoryButlerError)

LONGEST_ANSWER = 1_000_000
# A proposal with some words around it is found; a heap of braces is not searched to its end.
MOST_STARTS = 200
CHARACTERS_PER_TOKEN = 4
_THOUGHTS = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
_LISTS = ("facts", "updates", "rules", "confirmations")
_DECODER = json.JSONDecoder(parse_constant=lambda _: None)


def proposal_in(answer: str) -> dict[str, Any]:
    """The proposal in an answer, whatever words or fences are around it.

    Of several the last one that proposes anything: a model may quote the example first, or explain itself after.
    """
    text = _THOUGHTS.sub("", answer).strip()
    if not text:
        raise UnusableProposal("The answer was blank.")
    if len(text) > LONGEST_ANSWER:
        raise UnusableProposal("The answer was far too long.")
    found = [one for one in _objects(text) if "version" in one]
    if not found:
        raise UnusableProposal("The answer held no proposal: no JSON object with a version.")
    return next((one for one in reversed(found) if any(one.get(kind) for kind in _LISTS)), found[-1])


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """The outermost JSON objects of a text, in order."""
    start = text.find("{")
    for _ in range(MOST_STARTS):
        if start < 0:
            return
        try:
            value, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            end = start + 1
        else:
            yield value
        start = text.find("{", end)


def estimated_tokens(text: str) -> int:
    """About how many tokens a text costs where nobody says."""
    return math.ceil(len(text) / CHARACTERS_PER_TOKEN)


def microdollars(dollars: float) -> int:
    """Never less than it was."""
    return math.ceil(round(dollars * 1_000_000, 3))


def charged(problem: E, usage: Usage) -> E:
    """An error that also says what was spent before it came to it: an answer that cannot be used costs all the same."""
    vars(problem)["usage"] = usage
    return problem


def spent(problem: MemoryButlerError) -> Usage:
    """What was spent on the way to an error."""
    usage = vars(problem).get("usage")
    return usage if isinstance(usage, Usage) else Usage()
