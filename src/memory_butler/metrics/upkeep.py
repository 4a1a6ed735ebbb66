"""Scheduled jobs of this process: runs, duration, delay, and what consolidation did with proposals."""

from typing import Final

from prometheus_client import Counter, Gauge, Histogram

from memory_butler.metrics.registry import REGISTRY

RUNS: Final = Counter("memory_butler_job_runs", "Runs of scheduled jobs.", ["job", "outcome"], registry=REGISTRY)
SECONDS: Final = Histogram(
    "memory_butler_job_seconds",
    "Duration of runs of scheduled jobs.",
    ["job"],
    buckets=(0.05, 0.25, 1, 5, 30, 120, 600, 1800),
    registry=REGISTRY,
)
LAG: Final = Histogram(
    "memory_butler_worker_lag_seconds",
    "Time from the moment a job was due to its start.",
    ["job"],
    buckets=(1, 15, 60, 120, 300, 900, 1800, 3600, 21600),
    registry=REGISTRY,
)
TICK: Final = Gauge(
    "memory_butler_schedule_checked_timestamp_seconds",
    "When this process last checked the schedule.",
    registry=REGISTRY,
    multiprocess_mode="livemostrecent",
)
ITEMS: Final = Counter(
    "memory_butler_consolidation_items",
    "Proposals of consolidation by outcome; refused ones with the reason.",
    ["outcome", "reason"],
    registry=REGISTRY,
)
