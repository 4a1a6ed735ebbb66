"""Guessing which words of a question are names, before the store has said so. A wrong guess costs a second question."""

from collections import OrderedDict
from collections.abc import Collection
from typing import TypeVar

from memory_butler.models import Reach
from memory_butler.policy.admission import NAME_CHARACTERS
from memory_butler.policy.asking import Asking
from memory_butler.policy.guessing import FIRST_TRUST, is_believed, trust_after

VERDICTS_KEPT = 50_000
READERS_KEPT = 10_000
# Who asks: a name is known to those who may see a memory that stands under it.
Reader = tuple[str, Reach]
K = TypeVar("K")
V = TypeVar("V")


class NameGuesses:
    """What became of earlier guesses, reader by reader. Only ever a guess: the store has the last word.

    A word that was asked about before is what it was then. A new one is a name if it looks like one, as long as that
    has been right.
    """

    def __init__(self) -> None:
        self._verdicts: OrderedDict[tuple[Reader, str], bool] = OrderedDict()
        self._trust: OrderedDict[Reader, int] = OrderedDict()

    def names(self, reader: Reader, asking: Asking) -> frozenset[str]:
        looks = set(asking.guessed) if is_believed(self._trust.get(reader, FIRST_TRUST)) else set()
        return frozenset(key for key in asking.possible if self._verdicts.get((reader, key), key in looks))

    def learn(self, reader: Reader, asking: Asking, names: Collection[str]) -> None:
        """Keep what was asked about and looks like a name, or is one."""
        looks = set(asking.guessed)
        new = [key for key in asking.guessed if (reader, key) not in self._verdicts]
        _keep(self._trust, reader, trust_after(self._trust.get(reader, FIRST_TRUST), new, names), READERS_KEPT)
        for key in asking.possible:
            if (key in looks or key in names) and len(key) <= NAME_CHARACTERS:
                _keep(self._verdicts, (reader, key), key in names, VERDICTS_KEPT)
            else:
                self._verdicts.pop((reader, key), None)


def _keep(kept: OrderedDict[K, V], key: K, value: V, most: int) -> None:
    kept[key] = value
    kept.move_to_end(key)
    if len(kept) > most:
        kept.popitem(last=False)
