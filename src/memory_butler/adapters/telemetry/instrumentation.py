"""Instrumentation of every call over MCP, REST and hooks: metrics, a span and a log line.

The line has caller, request and outcome. None of the three contains memories or queries.
"""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from memory_butler.adapters.telemetry.traces import Record, end_span, measure_operation, span
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
    record: Record = field(default_factory=Record)


current: ContextVar[Call | None] = ContextVar("current", default=None)


@contextmanager
def instrument_call(tool: str, request_id: str | None, operation: str | None = None) -> Iterator[Call]:
    """Instrument one call. Its handler sets the `principal`, and the `record` of a memory operation; the `outcome`
    follows from the exception, if any. `operation`: its name among the memory operations of OpenTelemetry."""
    call = Call(tool, request_id)
    token, began = current.set(call), time.perf_counter()
    calls.IN_HAND.inc()
    try:
        with span(tool, request_id, operation) as traced:
            try:
                yield call
            except BaseException as problem:
                call.outcome = getattr(problem, "error_class", InternalError.error_class)
                raise
            finally:
                store = call.principal.tenant if call.principal else None
                end_span(traced, operation, call.outcome, store, call.record)
    finally:
        current.reset(token)
        seconds = time.perf_counter() - began
        calls.IN_HAND.dec()
        calls.CALLS.labels(tool, call.outcome).inc()
        calls.LATENCY.labels(tool).observe(seconds)
        measure_operation(operation, call.outcome, seconds)
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
