"""OpenTelemetry traces, sent only if the OTEL_… variables name a collector."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind, Status, StatusCode

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import SpanProcessor, TracerProvider

ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
QUERY = "url.query"

log = logging.getLogger(__name__)
_tracer = trace.get_tracer("memory_butler")


def configure_traces(version: str) -> bool:
    """Send spans to the collector of the environment; returns False if there is none or the packages are missing."""
    if not any(os.environ.get(name) for name in ENDPOINTS):
        return False
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 - optional
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415 - optional
    except ImportError:
        log.warning("traces are configured, but their packages are missing: pip install 'memory-butler[traces]'")
        return False
    trace.set_tracer_provider(provider_for(version, BatchSpanProcessor(OTLPSpanExporter())))
    return True


def provider_for(version: str, sender: "SpanProcessor") -> "TracerProvider":
    """Build the tracer provider. It redacts query strings, which FastMCP records and which may contain search words."""
    from opentelemetry.context import Context  # noqa: PLC0415 - optional
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415 - optional
    from opentelemetry.sdk.trace import Span as MadeSpan  # noqa: PLC0415 - optional
    from opentelemetry.sdk.trace import SpanProcessor, TracerProvider  # noqa: PLC0415 - optional

    class RedactQuery(SpanProcessor):
        def on_start(self, span: MadeSpan, parent_context: Context | None = None) -> None:
            if QUERY in (span.attributes or {}):
                span.set_attribute(QUERY, "REDACTED")

    provider = TracerProvider(resource=Resource.create({"service.name": "memory-butler", "service.version": version}))
    provider.add_span_processor(RedactQuery())
    provider.add_span_processor(sender)
    return provider


@contextmanager
def span(tool: str, request_id: str | None) -> Iterator[Span]:
    """Open the span of one call, without its arguments and its result."""
    attributes = {"memory_butler.tool": tool, **({"memory_butler.request_id": request_id} if request_id else {})}
    with _tracer.start_as_current_span(
        tool, kind=SpanKind.SERVER, attributes=attributes, record_exception=False, set_status_on_exception=False
    ) as current:
        yield current


def end_with(current: Span, outcome: str) -> None:
    current.set_attribute("memory_butler.outcome", outcome)
    if outcome != "ok":
        current.set_status(Status(StatusCode.ERROR, outcome))
