"""The read plane: health and lag of replicas, and which server serves the reads."""

from typing import Final

from prometheus_client import Counter, Gauge

from memory_butler.metrics.registry import REGISTRY

PRIMARY: Final = "primary"
READS: Final = Counter(
    "memory_butler_plane_reads",
    "Reads that a replica may serve, by the server that served them: primary, or the number of a replica.",
    ["server"],
    registry=REGISTRY,
)
STALE: Final = Counter(
    "memory_butler_stale_reads", "Reads that a stale replica served because the primary was down.", registry=REGISTRY
)
UP: Final = Gauge(
    "memory_butler_replica_up",
    "1 if a replica serves reads, 0 if it is left out.",
    ["replica"],
    registry=REGISTRY,
    multiprocess_mode="livemin",
)
LAG_SECONDS: Final = Gauge(
    "memory_butler_replica_lag_seconds",
    "Time that a replica is behind the primary.",
    ["replica"],
    registry=REGISTRY,
    multiprocess_mode="livemax",
)
LAG_BYTES: Final = Gauge(
    "memory_butler_replica_lag_bytes",
    "Write-ahead log that a replica has not replayed yet.",
    ["replica"],
    registry=REGISTRY,
    multiprocess_mode="livemax",
)
