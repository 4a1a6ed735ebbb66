"""Speaker and wording: the last check of a proposal against the sentences that it cites.

| it is rejected when | for example |
|---|---|
| all that supports it is in the first person of somebody else | the user is celiac, from "Anna: I'm celiac" |
| it is a rule from the words of somebody else, or from a quoted mail | "> Always call before you come." |
| it drops what denies, limits or conditions it (see english/extraction/safety.py) | Rome, from "I might move to Rome" |
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from memory_butler.english.text.stems import occurs, stem
from memory_butler.english.text.word_sets import words_in

_QUOTED = re.compile(r"\s{0,8}>[> ]{0,8}(?P<words>[^\n]{1,600})")
_FIRST_PERSON = frozenset(["i", "i'm", "i've", "i'd", "i'll", "my", "me", "mine", "we", "we're", "our", "im", "ive"])
_BACK = frozenset(["them", "it", "that", "those", "too"])
_NUMBER = re.compile(r"\d+")


class Spoken(NamedTuple):
    """A sentence with its speaker: the user, the assistant, a name, or somebody else."""

    speaker: str
    text: str

    @property
    def is_first_person(self) -> bool:
        return not _FIRST_PERSON.isdisjoint(words_in(self.text))

    @property
    def refers_back(self) -> bool:
        """ "Not a fan of horror films, my husband loves them": the value is said of another than the words."""
        return not _BACK.isdisjoint(words_in(self.text))


@lru_cache(maxsize=64)
def spoken(text: str) -> tuple[Spoken, ...]:
    """The sentences of an episode; quoted lines are those of somebody else."""
    # The grammar takes a third of a second to compile.
    from memory_butler.english.extraction.grammar.turns import SOMEBODY, turns  # noqa: PLC0415

    found = [Spoken(turn.speaker, sentence.text) for turn in turns(text) for sentence in turn.sentences]
    quoted = (_QUOTED.match(line) for line in text.splitlines() if line.lstrip().startswith(">"))
    return (*found, *(Spoken(SOMEBODY, match["words"]) for match in quoted if match))


def said_otherwise(
    predicate: str, content: str, required: Sequence[str], texts: Sequence[str], *, of_user: bool
) -> str | None:
    """The objection if the sentences with most of the required stems are not the user's own or say it otherwise."""
    from memory_butler.english.extraction.grammar.turns import ASSISTANT, USER  # noqa: PLC0415
    from memory_butler.english.extraction.safety import objection  # noqa: PLC0415

    best = _best([one for text in texts for one in spoken(text)], required)
    if not best:
        return None
    others = all(one.speaker not in (USER, ASSISTANT) for one in best)
    if others and not predicate:
        return "The episodes quote it from someone else; only the user gives rules."
    if others and of_user and all(one.is_first_person for one in best):
        return "The episodes say it about someone else, not about the user."
    if predicate.partition(":")[0] == "note" or (not of_user and any(one.refers_back for one in best)):
        return None
    found = [objection(one.text, predicate, content) for one in best]
    return f"The episodes say it otherwise. {found[0]}" if all(found) else None


def _best(sentences: Sequence[Spoken], required: Sequence[str]) -> list[Spoken]:
    """The sentences with most of the required words, if they have at least half of them."""
    counts = []
    for one in sentences:
        stems = {stem(word.removesuffix("'s")) for word in words_in(one.text)} | set(_NUMBER.findall(one.text))
        counts.append(sum(occurs(word, stems, exactly=False) for word in required))
    most = max(counts, default=0)
    if not most or 2 * most < len(required):
        return []
    return [one for one, count in zip(sentences, counts, strict=True) if count == most]
