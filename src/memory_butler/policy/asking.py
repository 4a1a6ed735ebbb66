"""How a question is read before anything is looked up: whom it names, when it is about, what answer it wants."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from memory_butler.policy.intent import Kind, kind_of
from memory_butler.policy.moments import TimeHint, read_moments
from memory_butler.policy.names import COMMON, guess_names, possible_names, without_names

MANY = 1_000_000
HEAD_CHARACTERS = 2_000
TAIL_CHARACTERS = 2_000
_OWN = re.compile(r"\b(?:I|me|my|mine|myself)\b", re.IGNORECASE)
_WORD = re.compile(r"[\w'’]+")
_BEGINNING = re.compile(r"(?:^|[.!?…:\n])[\s\"'“‘(«]*[^\W\d_]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """A question as it is understood. `possible` are the keys in it that may be names, `guessed` those that look it; it
    `is_own` if it speaks of whoever asks. It `is_unheard` if it names somebody of whom the store, which has so many
    `memories`, has never heard."""

    text: str
    kind: Kind
    possible: tuple[str, ...]
    guessed: tuple[str, ...]
    # Those of the guessed that do not begin a sentence: "Install it" names nobody, whom one could have heard of or not.
    strangers: tuple[str, ...]
    moments: TimeHint | None
    is_own: bool = False
    # What only the store can say.
    is_unheard: bool = False
    memories: int = MANY

    def without(self, names: Collection[str]) -> str:
        """The question as it is compared in meaning: without the names that the store knows."""
        return without_names(self.text, names) if names else self.text


def read_question(prompt: str, now: datetime) -> Asking:
    text = essence(prompt)
    return Asking(
        text=text,
        kind=kind_of(text),
        possible=tuple(possible_names(text)),
        guessed=tuple(guess_names(text)),
        strangers=tuple(guess_names(_BEGINNING.sub(_small, text))),
        moments=read_moments(text, now),
        is_own=bool(_OWN.search(text)),
    )


def _small(beginning: re.Match[str]) -> str:
    return beginning.group()[:-1] + beginning.group()[-1].lower()


def essence(prompt: str) -> str:
    """The part of a long prompt that is searched with: how it begins and how it ends."""
    if len(prompt) <= HEAD_CHARACTERS + TAIL_CHARACTERS:
        return prompt
    return f"{prompt[:HEAD_CHARACTERS]} {prompt[-TAIL_CHARACTERS:]}"


def telling_words(text: str) -> str:
    """An English text less the words that no memory is about ("how many", "recently"); all if it has no others."""
    kept = _WORD.sub(lambda word: "" if word.group().casefold().replace("’", "'") in COMMON else word.group(), text)
    return kept if _WORD.search(kept) else text
