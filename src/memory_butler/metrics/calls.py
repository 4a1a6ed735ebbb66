"""Calls of tools: number, duration, outcome."""

from typing import Final

from prometheus_client import Counter, Gauge, Histogram

from memory_butler.metrics.registry import REGISTRY

# From a cached lookup to a call that exceeds its deadline. 0.25 and 0.35 are the latency objectives of briefings and
# searches.
SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.35, 0.5, 1, 2.5, 5)

CALLS: Final = Counter("memory_butler_calls", "Calls by tool and outcome.", ["tool", "outcome"], registry=REGISTRY)
LATENCY: Final = Histogram(
    "memory_butler_call_seconds", "Duration of calls by tool.", ["tool"], buckets=SECONDS, registry=REGISTRY
)
REFUSED: Final = Counter(
    "memory_butler_refused", "Requests refused because the server was at its limit.", registry=REGISTRY
)
UNAUTHENTICATED: Final = Counter("memory_butler_unauthenticated", "Requests without a valid token.", registry=REGISTRY)
IN_HAND: Final = Gauge(
    "memory_butler_calls_in_hand", "Calls in progress.", registry=REGISTRY, multiprocess_mode="livesum"
)
