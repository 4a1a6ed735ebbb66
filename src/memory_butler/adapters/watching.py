"""What is said of every call, whichever door it comes through: figures, a span and a line in the log.

The line names who called, for which request, and how it ended. What was remembered or asked for is in none of them.
"""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from memory_butler.adapters import metrics
from memory_butler.adapters.traces import end_with, span
from memory_butler.models import Principal

OK = "ok"
log = logging.getLogger("memory_butler.calls")


@dataclass(slots=True)
class Call:
    """A call that is being answered."""

    tool: str
    request_id: str | None = None
    principal: Principal | None = None
    outcome: str = "internal_error"


current: ContextVar[Call | None] = ContextVar("current", default=None)


@contextmanager
def watched(tool: str, request_id: str | None) -> Iterator[Call]:
    """Around one call; whoever answers it says how it ended."""
    call = Call(tool, request_id)
    token, began = current.set(call), time.perf_counter()
    metrics.IN_HAND.inc()
    try:
        with span(tool, request_id) as traced:
            try:
                yield call
            finally:
                end_with(traced, call.outcome)
    finally:
        current.reset(token)
        seconds = time.perf_counter() - began
        metrics.IN_HAND.dec()
        metrics.CALLS.labels(tool, call.outcome).inc()
        metrics.LATENCY.labels(tool).observe(seconds)
        _note(call, seconds)


def _note(call: Call, seconds: float) -> None:
    who = call.principal
    log.info(
        "call",
        extra={
            "fields": {
                "tool": call.tool,
                "outcome": call.outcome,
                "milliseconds": round(1000 * seconds, 1),
                "request_id": call.request_id,
                "tenant": who.tenant if who else None,
                "butler": who.butler if who else None,
                "role": str(who.role) if who else None,
            }
        },
    )
