"""Relations between subjects: facts whose value or property names another known subject."""

from collections.abc import Mapping
from typing import NamedTuple

from memory_butler.english.text.normalize import as_words, normal_name
from memory_butler.policy.memories.text import is_note

# A longer value is a sentence, not a name with a word or two.
_VALUE_WORDS = 6
_LABEL_CHARACTERS = 40
# "sister of Ana", "Tochter von Ana": the words in front of the name are the relation.
_OF = frozenset({"of", "to", "with", "for", "at", "in", "von", "bei", "mit", "de", "del", "da", "do", "di"})
_ARTICLES = frozenset({"the", "a", "an", "der", "die", "das", "el", "la", "le", "il", "o"})


class Relation(NamedTuple):
    """The other subject, and the relation in words from the fact's subject to it."""

    other: str
    label: str


def relation_of(subject: str, predicate: str, content: str, known: Mapping[str, str]) -> Relation | None:
    """The relation that a fact states, if its value or its property names a known subject.

    `known` maps the normal forms of names and aliases to subjects.

    - Ana · employer: "Initech" — the value is a subject: Ana —employer→ Initech.
    - Ana · relationship:sofia: "sister" — the property names one: Ana —sister→ Sofia.
    - Sofia · relationship: "sister of Ana" — the value ends with one: Sofia —sister of→ Ana.
    """
    if is_note(predicate):
        return None
    head, _, key = predicate.partition(":")
    if (other := _known(content, known, subject)) is not None:
        return Relation(other, _label(_without_name(head, content)))
    if key and (other := _known(key, known, subject)) is not None:
        value = content if len(content.split()) <= _VALUE_WORDS else head
        return Relation(other, _label(_without_name(value, key)))
    words = content.strip(" .!").split()
    if 2 <= len(words) <= _VALUE_WORDS:
        for first in range(1, len(words)):
            other = _known(" ".join(words[first:]), known, subject)
            if other is not None and words[first - 1].casefold() in _OF:
                return Relation(other, _label(" ".join(words[:first])))
    return None


def _known(name: str, known: Mapping[str, str], subject: str) -> str | None:
    words = name.strip(" .!").split()
    if not words or len(words) > _VALUE_WORDS:
        return None
    found = known.get(normal_name(" ".join(words)))
    if found is None and words[0].casefold() in _ARTICLES:
        found = known.get(normal_name(" ".join(words[1:])))
    return None if found == subject else found


def _without_name(head: str, name: str) -> str:
    """A property without the name of its value: sister_sofia → sister."""
    short = normal_name(head).removesuffix(normal_name(name.strip(" .!"))).strip("_")
    return short or head


def _label(words: str) -> str:
    return as_words(words)[:_LABEL_CHARACTERS]
