"""Instrumentation of every call over MCP, REST and hooks: metrics, a span and a log line.

The line has caller, request and outcome. None of the three contains memories or queries.
"""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from memory_butler.adapters.telemetry.traces import end_with, span
from memory_butler.errors import InternalError
from memory_butler.metrics import calls, service_levels
from memory_butler.models import Principal

OK = "ok"
log = logging.getLogger("memory_butler.calls")


@dataclass(slots=True)
class Call:
    tool: str
    request_id: str | None = None
    principal: Principal | None = None
    outcome: str = OK


current: ContextVar[Call | None] = ContextVar("current", default=None)


@contextmanager
def instrument_call(tool: str, request_id: str | None) -> Iterator[Call]:
    """Instrument one call. Its handler sets the `principal`; the `outcome` follows from the exception, if any."""
    call = Call(tool, request_id)
    token, began = current.set(call), time.perf_counter()
    calls.IN_HAND.inc()
    try:
        with span(tool, request_id) as traced:
            try:
                yield call
            except BaseException as problem:
                call.outcome = getattr(problem, "error_class", InternalError.error_class)
                raise
            finally:
                end_with(traced, call.outcome)
    finally:
        current.reset(token)
        seconds = time.perf_counter() - began
        calls.IN_HAND.dec()
        calls.CALLS.labels(tool, call.outcome).inc()
        calls.LATENCY.labels(tool).observe(seconds)
        service_levels.MEASURED.call(tool, call.outcome, seconds)
        _log(call, seconds)


def _log(call: Call, seconds: float) -> None:
    principal = call.principal
    log.info(
        "call",
        extra={
            "fields": {
                "tool": call.tool,
                "outcome": call.outcome,
                "milliseconds": round(1000 * seconds, 1),
                "request_id": call.request_id,
                "tenant": principal.tenant if principal else None,
                "butler": principal.butler if principal else None,
                "role": str(principal.role) if principal else None,
            }
        },
    )
