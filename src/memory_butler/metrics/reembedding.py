"""Re-embedding after a change of the embedding model."""

from typing import Final

from prometheus_client import Counter, Gauge

from memory_butler.metrics.registry import REGISTRY

REEMBEDDED: Final = Counter(
    "memory_butler_reembedded_memories",
    "Memories whose vectors of an earlier model were replaced.",
    registry=REGISTRY,
)
BEHIND: Final = Gauge(
    "memory_butler_memories_to_reembed",
    "Memories with vectors of an earlier model, as the worker found them last.",
    registry=REGISTRY,
    multiprocess_mode="livemostrecent",
)
