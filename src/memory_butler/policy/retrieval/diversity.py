"""Removes repetition from search results.

Memories that say the same collapse into the best of them; the others are named with it and not lost. And of facts
about the same property of the same subject no more than a share comes before everything else that waits.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from memory_butler.english.text.stop_words import FILLERS
from memory_butler.models import Maturity, MemoryType, Ranked

# In a shorter text every word counts.
FEWEST_WORDS = 8
CACHED_TEXTS = 4096
# Of an answer of ten, so many facts of one subject and predicate before others get their turn.
SHARE = 0.3
_WORD = re.compile(r"\w+")


def diversified(ranked: Sequence[Ranked], limit: int) -> list[Ranked]:
    """The same order without repetitions, and with no cluster ahead of its turn; at most `limit`."""
    return _by_turns(_collapsed(ranked, limit), limit)[:limit]


def _collapsed(ranked: Sequence[Ranked], limit: int) -> list[Ranked]:
    """Each text once, with the references of what says the same. Only as deep as the answer can reach."""
    kept: dict[tuple[object, ...], Ranked] = {}
    also: dict[tuple[object, ...], list[str]] = {}
    for entry in ranked:
        identity = identity_of(entry)
        if identity in kept:
            also.setdefault(identity, []).append(f"{entry.hit.type}:{entry.hit.ref}")
        elif len(kept) < 2 * limit:
            kept[identity] = entry
    return [
        entry._replace(also=tuple(also[identity])) if identity in also else entry for identity, entry in kept.items()
    ]


def identity_of(entry: Ranked) -> tuple[object, ...]:
    """Equal for two memories that say the same: type, scope, day and significant words in order."""
    hit = entry.hit
    is_fact = hit.type is MemoryType.FACT
    text = f"{hit.subject_label} {hit.predicate_label} {hit.content}" if is_fact else hit.content
    # An event that happened again is another event, and a warning says the opposite of its words.
    return hit.type, hit.scope, hit.valid_at, hit.maturity == Maturity.ANTI_PATTERN, _significant_text(text)


@lru_cache(CACHED_TEXTS)
def _significant_text(text: str) -> str:
    """The text without case, punctuation and fillers. Cached, because the same memories come up again and again."""
    words = _WORD.findall(text.casefold()) or [text]
    if len(words) >= FEWEST_WORDS:
        words = [word for word in words if word not in FILLERS] or words
    return " ".join(words)


def _by_turns(ranked: Iterable[Ranked], limit: int) -> list[Ranked]:
    """A cluster that has had its share waits behind the others."""
    share = max(1, round(SHARE * limit))
    seen: dict[tuple[str, str], int] = {}
    first: list[Ranked] = []
    waiting: list[Ranked] = []
    for entry in ranked:
        hit = entry.hit
        if hit.type is not MemoryType.FACT:
            first.append(entry)
            continue
        cluster = ((hit.subject_label or "").casefold(), (hit.predicate_label or "").casefold())
        seen[cluster] = place = seen.get(cluster, 0) + 1
        (waiting if place > share else first).append(entry)
    return [*first, *waiting]
