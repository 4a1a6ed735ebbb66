"""Gauges of the whole store, over all tenants. Every process exports the newest sample that a worker took, so add up
or average them over processes with `max`."""

from typing import Final

from prometheus_client import Gauge

from memory_butler.metrics.registry import REGISTRY


def _gauge(name: str, words: str, *labels: str) -> Gauge:
    return Gauge(f"memory_butler_{name}", words, labels, registry=REGISTRY, multiprocess_mode="livemax")


SAMPLED: Final = _gauge("sample_timestamp_seconds", "When a worker took the figures of all tenants.")
SAMPLE_SECONDS: Final = _gauge("sample_duration_seconds", "How long it took.")
TENANTS: Final = _gauge("tenants", "Tenants.")
SHARDS: Final = _gauge("shards", "Butlers of all tenants.")
MEMORIES: Final = _gauge("memories", "Memories by type and state, as of the last jobs.", "type", "state")
BACKLOG_EPISODES: Final = _gauge("backlog_episodes", "Episodes that wait for consolidation.")
BACKLOG_SHARDS: Final = _gauge("backlog_shards", "Butlers with a backlog.")
BACKLOG_AGE: Final = _gauge(
    "backlog_age_seconds",
    "Age of the oldest waiting episode, over the butlers with a backlog: 0.5, 0.95, 1 (the oldest of all).",
    "quantile",
)
DEAD_LETTERS: Final = _gauge("dead_letters", "Episodes that consolidation gave up.")
PROPOSALS: Final = _gauge("proposals", "Consolidation runs that wait for a decision.")
QUARANTINED: Final = _gauge("quarantined_memories", "Memories that wait for a decision.")
SHARD_JOBS: Final = _gauge("shard_jobs", "Butlers by the state of a scheduled job.", "job", "state")
OLDEST_SUCCESS: Final = _gauge(
    "job_oldest_success_timestamp_seconds",
    "Last success of a scheduled job for the butler where it is longest ago; before the first one, when it began.",
    "job",
)
LAST_SUCCESS: Final = _gauge(
    "job_last_success_timestamp_seconds", "Last success of a scheduled job for any butler.", "job"
)
OVERDUE: Final = _gauge("job_overdue_seconds", "Longest delay of a scheduled job that is overdue, else 0.", "job")
QUEUE: Final = _gauge("queue_jobs", "Jobs in the queue by status: todo or doing.", "job", "status")
QUEUE_OLDEST: Final = _gauge("queue_oldest_seconds", "How long the oldest job has waited in the queue.")
WORKERS: Final = _gauge("workers", "Workers that sent a heartbeat lately.")
CONNECTIONS: Final = _gauge("database_connections", "Client connections of the database server.")
MAX_CONNECTIONS: Final = _gauge("database_max_connections", "Connections that the database server allows.")
DATABASE_BYTES: Final = _gauge("database_bytes", "Size of the database.")
TABLE_BYTES: Final = _gauge("table_bytes", "Size of a table with its indexes.", "table")
INDEX_BYTES: Final = _gauge("table_index_bytes", "Size of the indexes of a table.", "table")
DEAD_ROWS: Final = _gauge("table_dead_rows_ratio", "Share of rows that VACUUM has not cleaned yet.", "table")
INDEX_BLOAT: Final = _gauge(
    "vector_index_bloat_ratio", "Share of the worst vector index that a new one would not need."
)
