"""The database as a process sees it: duration of statements, waits for a connection."""

import time
from typing import Final

from prometheus_client import Counter, Gauge, Histogram

from memory_butler.metrics.registry import REGISTRY

SECONDS: Final = Histogram(
    "memory_butler_statement_seconds",
    "Time from sending a named query to its rows, with the statements pipelined before it.",
    ["query"],
    buckets=(0.001, 0.005, 0.025, 0.1, 0.5, 2.5),
    registry=REGISTRY,
)
POOL_WAIT: Final = Histogram(
    "memory_butler_pool_wait_seconds",
    "Wait for a database connection.",
    buckets=(0.001, 0.01, 0.1, 0.5, 1, 2.5, 5),
    registry=REGISTRY,
)
POOL_FAILURES: Final = Counter(
    "memory_butler_pool_failures", "Calls that got no database connection.", registry=REGISTRY
)
POOL_SIZE: Final = Gauge(
    "memory_butler_pool_connections", "Connections of this process.", registry=REGISTRY, multiprocess_mode="livesum"
)
POOL_IN_USE: Final = Gauge(
    "memory_butler_pool_connections_in_use",
    "Connections of this process that are in use.",
    registry=REGISTRY,
    multiprocess_mode="livesum",
)
POOL_WAITING: Final = Gauge(
    "memory_butler_pool_waiting",
    "Transactions of this process that wait for a connection.",
    registry=REGISTRY,
    multiprocess_mode="livesum",
)
_by_query: dict[str, Histogram] = {}


class StatementTimes:
    """Measures the statements of one transaction. Rows that are fetched after it count up to its end."""

    __slots__ = ("_sent",)

    def __init__(self) -> None:
        self._sent: list[tuple[str, float]] = []

    def sent(self, query: str) -> None:
        self._sent.append((query, time.perf_counter()))

    def fetched(self) -> None:
        """The rows of the last statement have arrived."""
        if self._sent:
            query, began = self._sent.pop()
            _histogram(query).observe(time.perf_counter() - began)

    def ended(self) -> None:
        now = time.perf_counter()
        for query, began in self._sent:
            _histogram(query).observe(now - began)
        self._sent.clear()


def _histogram(query: str) -> Histogram:
    """The series of a query. `labels` takes a lock and costs more than the rest of the measurement."""
    found = _by_query.get(query)
    if found is None:
        found = _by_query[query] = SECONDS.labels(query)
    return found
