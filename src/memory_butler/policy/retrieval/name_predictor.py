"""Predicts which words of a question are names, before the store has answered. A wrong prediction costs a second query.

A word that was asked about before is a name if it was one then. A new word is a name if it looks like one, as long as
looks have been right: people speak of Anna, whom the store knows, and of Seattle and Spotify, which it does not. Looks
are believed again or no longer after one or two surprises, like a two-bit branch predictor.
"""

from collections import OrderedDict
from collections.abc import Collection
from typing import TypeVar

from memory_butler.models import Reach
from memory_butler.policy.memories.validation import NAME_CHARACTERS
from memory_butler.policy.retrieval.question import ParsedQuestion

MAX_TRUST = 3
# The first trust is just enough: the first word that looks like a name and is none ends it.
FIRST_TRUST = BELIEVED_FROM = 2
MAX_WORDS = 50_000
MAX_READERS = 10_000
# The tenant and what the caller may see: a name is known to callers who may see a memory about it.
Reader = tuple[str, Reach]
K = TypeVar("K")
V = TypeVar("V")


def is_believed(trust: int) -> bool:
    return trust >= BELIEVED_FROM


def trust_after(trust: int, new: Collection[str], names: Collection[str]) -> int:
    """The trust after a question with these new words that look like names, of which `names` are names."""
    if not new:
        return trust
    step = 1 if any(word in names for word in new) else -1
    return min(max(trust + step, 0), MAX_TRUST)


class NamePredictor:
    """LRU caches of earlier answers, by reader. The store always has the last word."""

    def __init__(self) -> None:
        self._is_name: OrderedDict[tuple[Reader, str], bool] = OrderedDict()
        self._trust: OrderedDict[Reader, int] = OrderedDict()

    def predict(self, reader: Reader, question: ParsedQuestion) -> frozenset[str]:
        looks = set(question.likely_names) if is_believed(self._trust.get(reader, FIRST_TRUST)) else set()
        return frozenset(key for key in question.possible_names if self._is_name.get((reader, key), key in looks))

    def learn(self, reader: Reader, question: ParsedQuestion, names: Collection[str]) -> None:
        """Cache the words of a question that look like names, or are names."""
        looks = set(question.likely_names)
        new = [key for key in question.likely_names if (reader, key) not in self._is_name]
        _put(self._trust, reader, trust_after(self._trust.get(reader, FIRST_TRUST), new, names), MAX_READERS)
        for key in question.possible_names:
            if (key in looks or key in names) and len(key) <= NAME_CHARACTERS:
                _put(self._is_name, (reader, key), key in names, MAX_WORDS)
            else:
                self._is_name.pop((reader, key), None)


def _put(cache: OrderedDict[K, V], key: K, value: V, max_entries: int) -> None:
    cache[key] = value
    cache.move_to_end(key)
    if len(cache) > max_entries:
        cache.popitem(last=False)
