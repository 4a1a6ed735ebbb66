"""Figures for whoever watches: how many calls, how long, how they ended. Never whose, and never about what."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, PlatformCollector, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from starlette.responses import Response

# From a cached look-up to a call that runs into its deadline.
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)

REGISTRY = CollectorRegistry()
ProcessCollector(registry=REGISTRY)
PlatformCollector(registry=REGISTRY)
CALLS = Counter("memory_butler_calls", "Calls by tool and how they ended.", ["tool", "outcome"], registry=REGISTRY)
LATENCY = Histogram(
    "memory_butler_call_seconds", "How long calls took, by tool.", ["tool"], buckets=SECONDS, registry=REGISTRY
)
REFUSED = Counter(
    "memory_butler_refused", "Requests over a limit, refused before it was looked at what they ask.", registry=REGISTRY
)
UNAUTHENTICATED = Counter(
    "memory_butler_unauthenticated", "Requests of callers who did not truly say who they are.", registry=REGISTRY
)
IN_HAND = Gauge("memory_butler_calls_in_hand", "Calls that are being worked on.", registry=REGISTRY)
VERSION = Info("memory_butler", "Which version this is.", registry=REGISTRY)


def exposed() -> Response:
    """All figures in the text form that Prometheus reads."""
    return Response(generate_latest(REGISTRY), headers={"content-type": CONTENT_TYPE_LATEST})
