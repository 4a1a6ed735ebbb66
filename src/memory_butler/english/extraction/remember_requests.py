"""Requests to remember: "remember that I'm vegan", "remind me to call Anna"."""

import re
from typing import NamedTuple

from memory_butler.english.text.word_sets import caseless

_REMEMBER = caseless(
    r"(?:(?:please|also|and|oh|can you|could you|would you|will you|just|you should|i want you to|i'd like you to|"
    r"i need you to|important|hey|ok|btw|kindly)[,: ]+)*(?:(?:the )?user (?:has )?(?:asked|told|wants|wanted|reminded|"
    r"requested)(?: that)? (?:me|us|the assistant|you|we|i)(?: to)? )?(?:to )?(?:remember|don't forget|"
    r"do not forget|never forget|keep in mind|bear in mind|make a note|take note|make note|please note|jot down|"
    r"save this|memorise|memorize|store|note down|write down|remind me|add to (?:your )?memory|"
    r"for (?:your )?memory)(?:[ ]?[:,–—-][ ]?| )(?:this[ ]?[:,–—-][ ]?|(?:for (?:later|next time|the future|"
    r"me))[ ]?[:,]?[ ]?)?(?P<that>that |of the fact that )?(?P<what>.+)"
)
# "Can you remember my birthday?" is a question; "can you remember that my birthday is in May?" states it.
_TELLS = caseless(r"\b(?:is|are|was|has|have|can't|can|don't|doesn't|will|won't|needs?|likes?|hates?|=)\b|'s |: ")
_NOT_REMEMBERED = caseless(
    r"(?:when|how|me|him|her|what|why|where|if|whether|the (?:time|day|good old|name|title|word|movie|first)|"
    r"it|this|those|about|seeing|being|having|\?)\b"
)
_UNTOLD = caseless(r"(?:.{0,30}\b)?remind me(?! (?:to|that)\b)")


class RememberRequest(NamedTuple):
    text: str
    is_task: bool


def remember_request(sentence: str, *, asked: bool) -> RememberRequest | None:
    """The statement or task that a sentence asks to remember, as an order or as a question."""
    match = _REMEMBER.match(sentence)
    if not match:
        return None
    what = match["what"].strip()
    if not match["that"] and _NOT_REMEMBERED.match(what):
        return None
    task = re.match(r"to (?P<v>.+)", what) if not match["that"] else None
    if task is None and (
        (asked and not (match["that"] or _TELLS.search(what))) or _UNTOLD.match(match[0], match.start())
    ):
        return None
    return RememberRequest(task["v"], True) if task else RememberRequest(what, False)
