"""How a question is read before anything is looked up: whom it names, when it is about, what answer it wants."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from memory_butler.policy.intent import Kind, kind_of
from memory_butler.policy.moments import TimeHint, read_moments, without_time_words
from memory_butler.policy.names import guess_names, guess_strangers, possible_names, without_names
from memory_butler.policy.nobody import COMMON

MANY = 1_000_000
HEAD_CHARACTERS = 2_000
TAIL_CHARACTERS = 2_000
# Not "I/O" and not "i.e.".
_OWN = re.compile(r"\b(?:I(?![/.]\w)|me|my|mine|myself)\b", re.IGNORECASE)
_WORD = re.compile(r"[\w'’]+")
# What one asks for who asks for anything.
HAPPENINGS = frozenset(
    ["happen", "happened", "happens", "happening", "new", "news", "going", "occurred", "anything", "everything"]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """A question as it is understood. `possible` are the keys in it that may be names, `guessed` those that look it; it
    `is_own` if it speaks of whoever asks. It `is_unheard` if it names somebody of whom the store, which has so many
    `memories`, has never heard."""

    text: str
    kind: Kind
    possible: tuple[str, ...]
    guessed: tuple[str, ...]
    # Those of the guessed that do not begin a sentence.
    strangers: tuple[str, ...]
    moments: TimeHint | None
    is_own: bool = False
    # It asks for nothing in particular: "What happened?", "What did we do last week?"
    is_open: bool = False
    # What only the store can say.
    is_unheard: bool = False
    memories: int = MANY

    def without(self, names: Collection[str]) -> str:
        """The question as it is compared in meaning: without the names that the store knows."""
        return without_names(self.text, names) if names else self.text


def read_question(prompt: str, now: datetime) -> Asking:
    text = essence(prompt)
    moments = read_moments(text, now)
    return Asking(
        text=text,
        kind=kind_of(text),
        possible=tuple(possible_names(text)),
        guessed=tuple(guess_names(text)),
        strangers=tuple(guess_strangers(text)),
        moments=moments,
        is_own=bool(_OWN.search(text)),
        is_open=_is_open(text, moments),
    )


def _is_open(text: str, moments: TimeHint | None) -> bool:
    """Is nothing left of it beside a time and words that no memory is about?"""
    rest = without_time_words(text, moments) if moments and not moments.anchor else text
    return all(word in COMMON or word in HAPPENINGS for word in _words(rest))


def _words(text: str) -> list[str]:
    return [word.casefold().replace("’", "'") for word in _WORD.findall(text)]


def essence(prompt: str) -> str:
    """The part of a long prompt that is searched with: how it begins and how it ends."""
    if len(prompt) <= HEAD_CHARACTERS + TAIL_CHARACTERS:
        return prompt
    return f"{prompt[:HEAD_CHARACTERS]} {prompt[-TAIL_CHARACTERS:]}"


def telling_words(text: str) -> str:
    """An English text less the words that no memory is about ("how many", "recently"); all if it has no others."""
    kept = _WORD.sub(lambda word: "" if word.group().casefold().replace("’", "'") in COMMON else word.group(), text)
    return kept if _WORD.search(kept) else text
