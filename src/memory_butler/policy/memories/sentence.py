"""A memory as one sentence for people: Ana lives in Porto, Foz. Sofia's birthday: 12 June."""

import re

from memory_butler.english.text.normalize import as_words
from memory_butler.english.text.word_sets import word_set
from memory_butler.models import Fact, Memory
from memory_butler.policy.memories.text import is_note

# Properties that begin with one of these go on as they are: lives in, works as.
_VERBS = word_set(
    "asked asks attends avoids believes bought builds buys calls can carries cleans collects comes cooks covers"
    " dislikes does drinks drives eats enjoys expects feeds fears flies goes got had has hates holds hopes is keeps"
    " knows learns leaves left likes lived lives lost loves made makes meets moved must needs never opens owns owes"
    " paints pays plans plays prefers reads rents reports runs said says sells should sings sleeps speaks stays"
    " studied studies studying supports swims takes teaches thinks trains travels trusts tries uses visits walks"
    " wants was watches wears went will wishes wore worked works writes"
)
_ADJECTIVES = word_set(
    "able afraid allergic available based born buried close due engaged familiar fluent fond good interested"
    " intolerant married named open opposed planned proud related responsible scared sensitive used vaccinated"
)
# A property that ends with one of these asks for a name or a place: wohnt in, gehört zu.
_LINKS = word_set("as at by for from in into of on to until with an aus bei für im mit nach seit von zu da em no")
_BEGINNING = 4
_WORD = re.compile(r"[^\W_]+")


def fact_sentence(subject: str | None, predicate: str | None, content: str) -> str:
    """A fact in the words that people would use for it; a note is its content."""
    about, value = as_words(subject or ""), content.strip()
    if not about or not predicate or is_note(predicate) or _begins_with(value, about):
        return value or about
    words = property_words(predicate, value)
    key = predicate.partition(":")[2]
    is_repeated = words != as_words(predicate)
    parts = words.casefold().split() or [""]
    first, last = parts[0], parts[-1]
    colon = ":" if key and not is_repeated else ""
    if first in _VERBS:
        return f"{about} {words}{colon} {value}"
    if first in _ADJECTIVES:
        return f"{about} is {words}{colon} {value}"
    if last in _LINKS:
        return f"{about} {words}{colon} {value}"
    return f"{about}'s {words}: {value}"


def property_words(predicate: str, content: str) -> str:
    """A property in front of its value, without a key that only repeats it: likes:night trains → likes."""
    head, _, key = predicate.partition(":")
    return as_words(head if key and not is_note(predicate) and _words(key) <= _words(content) else predicate)


def memory_sentence(memory: Memory) -> str:
    if isinstance(memory, Fact):
        return fact_sentence(memory.subject_label, memory.predicate_label, memory.content)
    return memory.content


def _begins_with(value: str, about: str) -> bool:
    """True if the value is a sentence about the subject already: Ana never ships on Fridays."""
    rest = value[len(about) :]
    return value.casefold().startswith(about.casefold()) and bool(rest) and rest[0] in " :,'’"


def _words(text: str) -> set[str]:
    """The beginnings of the words of a text: take and takes are the same."""
    return {word[:_BEGINNING] for word in _WORD.findall(text.casefold())}
