"""Shared by the distillers that call a model: extracting the proposal from an answer, and its cost."""

import json
import math
import re
from collections.abc import Iterator
from typing import Any, TypeVar

from memory_butler.errors import MemoryButlerError, UnusableProposal
from memory_butler.models import Usage

E = TypeVar("E", bound=MemoryButlerError)

MAX_ANSWER_CHARACTERS = 1_000_000
# Maximum number of opening braces to try: bounds the time for an answer full of braces.
MAX_STARTS = 200
CHARACTERS_PER_TOKEN = 4
_THOUGHTS = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
_LISTS = ("facts", "updates", "rules", "confirmations")
_DECODER = json.JSONDecoder(parse_constant=lambda _: None)


def proposal_in(answer: str) -> dict[str, Any]:
    """Return the proposal in an answer, ignoring text or fences around it.

    Of several, the last non-empty one: a model may quote the example first, or add an explanation.
    """
    text = _THOUGHTS.sub("", answer).strip()
    if not text:
        raise UnusableProposal("The answer was blank.")
    if len(text) > MAX_ANSWER_CHARACTERS:
        raise UnusableProposal(f"The answer was longer than {MAX_ANSWER_CHARACTERS:,} characters.")
    proposals = [value for value in _objects(text) if "version" in value]
    if not proposals:
        raise UnusableProposal("The answer contained no proposal: no JSON object with a version.")
    return next((value for value in reversed(proposals) if any(value.get(kind) for kind in _LISTS)), proposals[-1])


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the outermost JSON objects of a text, in order."""
    start = text.find("{")
    for _ in range(MAX_STARTS):
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
    """Estimate the tokens of a text, for servers that do not count them."""
    return math.ceil(len(text) / CHARACTERS_PER_TOKEN)


def microdollars(dollars: float) -> int:
    """Rounds up."""
    return math.ceil(round(dollars * 1_000_000, 3))


def charged(problem: E, usage: Usage) -> E:
    """Attach the usage to an error: an unusable answer costs as much as a usable one."""
    vars(problem)["usage"] = usage
    return problem


def spent(problem: MemoryButlerError) -> Usage:
    """Return the usage attached to an error."""
    usage = vars(problem).get("usage")
    return usage if isinstance(usage, Usage) else Usage()
