"""What keeps an answer from saying the same thing again and again.

Memories that say the same collapse into the best of them; the others are counted with it and not lost. And of facts
about the same property of the same subject no more than a share comes before everything else that waits.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from memory_butler.models import Maturity, MemoryType, Ranked
from memory_butler.policy.intent import SAYS_A_TIME

# Two texts say the same if they share so much of their words: the same words in another order, or one word in ten.
ALIKE = 0.9
# Shorter texts must be the same word for word: one word makes all the difference there.
FEWEST_WORDS = 8
# Of an answer of ten, so many facts of one subject and predicate before others get their turn.
SHARE = 0.3
_WORD = re.compile(r"\w+")
# However long two texts are, they do not say the same if one of these is in only one of them: a time or a number, a no.
_NO = frozenset(
    [
        "no",
        "not",
        "never",
        "none",
        "nobody",
        "nothing",
        "without",
        "t",
        "cannot",
        "nicht",
        "kein",
        "keine",
        "keinen",
        "keiner",
        "keinem",
    ]
)


@dataclass(frozen=True, slots=True)
class _Said:
    """What a memory says: its place (what stands elsewhere never says the same), its words in order, and as a set."""

    place: tuple[object, ...]
    words: tuple[str, ...]
    distinct: frozenset[str]


def diversified(ranked: Sequence[Ranked], limit: int) -> list[Ranked]:
    """The same order without repetitions, and with no cluster ahead of its turn; at most `limit`."""
    return _by_turns(_collapsed(ranked, limit), limit)[:limit]


def _collapsed(ranked: Sequence[Ranked], limit: int) -> list[Ranked]:
    """Each text once, with the references of what says the same. Only as deep as the answer can reach."""
    kept: list[Ranked] = []
    also: dict[int, list[str]] = {}
    texts = [_said(entry) for entry in ranked]
    shelf = _Shelf(texts)
    for entry, said in zip(ranked, texts, strict=True):
        rare = shelf.rarest(said)
        twin = shelf.twin_of(said, rare)
        if twin is not None:
            also.setdefault(twin, []).append(f"{entry.hit.type}:{entry.hit.ref}")
        elif len(kept) < 2 * limit:
            kept.append(entry)
            shelf.put(said, rare)
    return [entry._replace(also=tuple(also[at])) if at in also else entry for at, entry in enumerate(kept)]


class _Shelf:
    """What has been kept, found again by what it says without comparing everything with everything.

    Texts that share nine words in ten share one of the rarest few of each: only those are looked up.
    """

    def __init__(self, texts: Iterable[_Said]) -> None:
        self._spread = Counter(chain.from_iterable(said.distinct for said in texts))
        self._kept: list[_Said] = []
        self._same: dict[tuple[object, ...], int] = {}
        self._by_rare_word: defaultdict[tuple[tuple[object, ...], str], list[int]] = defaultdict(list)

    def put(self, said: _Said, rare: Sequence[str]) -> None:
        at = len(self._kept)
        self._kept.append(said)
        self._same[said.place, said.words] = at
        for word in rare:
            self._by_rare_word[said.place, word].append(at)

    def twin_of(self, said: _Said, rare: Sequence[str]) -> int | None:
        """The first of the kept that says the same."""
        same = self._same.get((said.place, said.words))
        near = {at for word in rare for at in self._by_rare_word.get((said.place, word), ())}
        alike = [at for at in near if _alike(said, self._kept[at])]
        return min(alike if same is None else [*alike, same], default=None)

    def rarest(self, said: _Said) -> list[str]:
        """So many of its rarest words that a text which shares ALIKE of all has at least one of them among its own."""
        count = len(said.distinct)
        if count < FEWEST_WORDS:
            return []
        # By rarity, and equals by the alphabet: sorting is stable.
        by_rarity = sorted(sorted(said.distinct), key=self._spread.__getitem__)
        return by_rarity[: count - math.ceil(ALIKE * count - 1e-9) + 1]


def _said(entry: Ranked) -> _Said:
    hit = entry.hit
    is_fact = hit.type is MemoryType.FACT
    text = f"{hit.subject_label} {hit.predicate_label} {hit.content}" if is_fact else hit.content
    words = tuple(_WORD.findall(text.casefold())) or (text,)
    return _Said(
        # An event that happened again is another event, and a warning says the opposite of its words.
        place=(hit.type, hit.scope, hit.valid_at, hit.maturity == Maturity.ANTI_PATTERN),
        words=words,
        distinct=frozenset(words),
    )


def _alike(one: _Said, other: _Said) -> bool:
    shared = len(one.distinct & other.distinct)
    if shared < ALIKE * (len(one.distinct) + len(other.distinct) - shared) - 1e-9:
        return False
    return not any(word in _NO or SAYS_A_TIME.search(word) for word in one.distinct ^ other.distinct)


def _by_turns(ranked: Iterable[Ranked], limit: int) -> list[Ranked]:
    """A cluster that has had its share waits behind the others."""
    share = max(1, round(SHARE * limit))
    seen: Counter[tuple[str, str]] = Counter()
    first: list[Ranked] = []
    waiting: list[Ranked] = []
    for entry in ranked:
        hit = entry.hit
        cluster = ((hit.subject_label or "").casefold(), (hit.predicate_label or "").casefold())
        is_fact = hit.type is MemoryType.FACT
        seen[cluster] += is_fact
        (waiting if is_fact and seen[cluster] > share else first).append(entry)
    return [*first, *waiting]
