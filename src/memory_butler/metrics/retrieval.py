"""Quality of reads: empty answers, relevance, confidence, diversity, and whether briefed memories are used later."""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from prometheus_client import Counter, Histogram

from memory_butler.metrics.registry import REGISTRY

TENTHS: Final = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
SEARCH, CONTEXT = "search", "context"
FOUND, BELOW_GATE, EMPTY = "found", "below_gate", "empty"
# Briefed memories of which a later reference is still recognised.
REMEMBERED: Final = 20_000

ANSWERS: Final = Counter(
    "memory_butler_answers",
    "Answers of searches and briefings: found, below_gate (every candidate was too irrelevant), empty (no candidate).",
    ["read", "result"],
    registry=REGISTRY,
)
DEGRADED: Final = Counter(
    "memory_butler_degraded_answers",
    "Answers without a part of the search.",
    ["read"],
    registry=REGISTRY,
)
RELEVANCE: Final = Histogram(
    "memory_butler_top_relevance", "Relevance of the best result.", ["read"], buckets=TENTHS, registry=REGISTRY
)
CONFIDENCE: Final = Histogram(
    "memory_butler_result_confidence",
    "Effective confidence of returned memories.",
    ["read"],
    buckets=TENTHS,
    registry=REGISTRY,
)
DIVERSITY: Final = Histogram(
    "memory_butler_result_diversity",
    "Distinct subjects divided by results, for answers with two results or more.",
    ["read"],
    buckets=TENTHS,
    registry=REGISTRY,
)
BRIEFED: Final = Counter("memory_butler_briefed_memories", "Memories in briefings.", registry=REGISTRY)
BRIEFED_REFERENCED: Final = Counter(
    "memory_butler_briefed_memories_referenced",
    "Briefed memories that a search, a lookup or feedback referenced later in the same process.",
    registry=REGISTRY,
)


@dataclass(frozen=True, slots=True)
class Returned:
    """The measured properties of one returned memory."""

    id: UUID
    subject: str
    relevance: float
    confidence: float


def observe_answer(read: str, returned: Sequence[Returned], *, candidates: int, degraded: bool) -> None:
    """Measure one answer."""
    ANSWERS.labels(read, FOUND if returned else BELOW_GATE if candidates else EMPTY).inc()
    if degraded:
        DEGRADED.labels(read).inc()
    if not returned:
        return
    RELEVANCE.labels(read).observe(max(one.relevance for one in returned))
    confidence = CONFIDENCE.labels(read)
    for one in returned:
        confidence.observe(one.confidence)
    if len(returned) > 1:
        DIVERSITY.labels(read).observe(len({one.subject for one in returned}) / len(returned))


class BriefedMemories:
    """The memories of recent briefings, to see which are used later: a proxy for the hit rate of briefings."""

    def __init__(self, most: int = REMEMBERED) -> None:
        self._most = most
        self._unused: OrderedDict[UUID, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._unused)

    def add(self, ids: Iterable[UUID]) -> None:
        for one in ids:
            BRIEFED.inc()
            self._unused[one] = None
            self._unused.move_to_end(one)
        while len(self._unused) > self._most:
            self._unused.popitem(last=False)

    def referenced(self, ids: Iterable[UUID]) -> None:
        """Count those of `ids` that were briefed and not referenced since."""
        for one in ids:
            if one in self._unused:
                del self._unused[one]
                BRIEFED_REFERENCED.inc()
