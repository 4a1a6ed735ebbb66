"""Prometheus metrics: number, duration and outcome of calls. No label identifies a caller or a memory."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, PlatformCollector, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from starlette.responses import Response

# From a cached lookup to a call that exceeds its deadline.
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)

REGISTRY = CollectorRegistry()
ProcessCollector(registry=REGISTRY)
PlatformCollector(registry=REGISTRY)
CALLS = Counter("memory_butler_calls", "Calls by tool and outcome.", ["tool", "outcome"], registry=REGISTRY)
LATENCY = Histogram(
    "memory_butler_call_seconds", "Duration of calls by tool.", ["tool"], buckets=SECONDS, registry=REGISTRY
)
REFUSED = Counter("memory_butler_refused", "Requests refused because the server was at its limit.", registry=REGISTRY)
UNAUTHENTICATED = Counter("memory_butler_unauthenticated", "Requests without a valid token.", registry=REGISTRY)
IN_HAND = Gauge("memory_butler_calls_in_hand", "Calls in progress.", registry=REGISTRY)
VERSION = Info("memory_butler", "Version of Memory Butler.", registry=REGISTRY)


def exposed() -> Response:
    """Return all metrics in the Prometheus text format."""
    return Response(generate_latest(REGISTRY), headers={"content-type": CONTENT_TYPE_LATEST})
