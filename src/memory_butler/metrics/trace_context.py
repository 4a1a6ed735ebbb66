"""The caller's trace, carried through the job queue: work that a call causes belongs to the call's trace."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from opentelemetry import propagate, trace
from opentelemetry.trace import Span, SpanKind, Status, StatusCode

STORE_ID: Final = "gen_ai.memory.store.id"
_tracer = trace.get_tracer("memory_butler.jobs")


def carrier() -> dict[str, str]:
    """The current trace context in its text form; empty outside of a trace."""
    found: dict[str, str] = {}
    propagate.inject(found)
    return found


@contextmanager
def job_span(job: str, tenant: str, carried: Mapping[str, str] | None) -> Iterator[Span]:
    """Open the span of a job, in the trace of the call that queued it, if one did."""
    parent = propagate.extract(dict(carried)) if carried else None
    with _tracer.start_as_current_span(
        f"job {job}",
        context=parent,
        kind=SpanKind.CONSUMER,
        attributes={"memory_butler.job": job, STORE_ID: tenant},
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        yield span


def end_job(span: Span, outcome: str, error_class: str | None) -> None:
    span.set_attribute("memory_butler.outcome", outcome)
    if error_class:
        span.set_attribute("error.type", error_class)
        span.set_status(Status(StatusCode.ERROR, error_class))
