"""OpenTelemetry spans and metrics, sent only if the OTEL_… variables name a collector.

They follow the conventions for generative AI: memory operations are spans `search_memory`, `create_memory` … with
`gen_ai.memory.*` attributes, and other tools are `execute_tool`. The content of memories and queries is never recorded.
"""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from opentelemetry import metrics, trace
from opentelemetry.trace import Span, SpanKind, Status, StatusCode

from memory_butler.metrics.trace_context import STORE_ID
from memory_butler.models.wire.codec import JsonObject

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import MetricReader
    from opentelemetry.sdk.trace import SpanProcessor, TracerProvider

COLLECTOR = "OTEL_EXPORTER_OTLP_ENDPOINT"
ENDPOINTS = (COLLECTOR, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
METRICS_ENDPOINTS = (COLLECTOR, "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT")
QUERY = "url.query"
OPERATION: Final = "gen_ai.operation.name"
EXECUTE_TOOL: Final = "execute_tool"
# Upper edges that the conventions advise.
_OPERATION_SECONDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
_MCP_SECONDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)

log = logging.getLogger(__name__)
_tracer = trace.get_tracer("memory_butler")
_meter = metrics.get_meter("memory_butler")
_operations = _meter.create_histogram(
    "gen_ai.client.operation.duration",
    unit="s",
    description="GenAI operation duration.",
    explicit_bucket_boundaries_advisory=_OPERATION_SECONDS,
)
_messages = _meter.create_histogram(
    "mcp.server.operation.duration",
    unit="s",
    description="MCP request or notification duration as observed on the receiver.",
    explicit_bucket_boundaries_advisory=_MCP_SECONDS,
)


@dataclass(frozen=True, slots=True)
class Record:
    """The memory that an operation is about, if it is one, and the number of memories."""

    id: str | None = None
    count: int | None = None


def configure_traces(version: str) -> bool:
    """Send spans and metrics to the collector of the environment; returns False if there is none or the packages are
    missing."""
    wanted = [names for names in (ENDPOINTS, METRICS_ENDPOINTS) if any(os.environ.get(name) for name in names)]
    if not wanted:
        return False
    try:
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import (  # noqa: PLC0415 - optional
            OTLPMetricExporter,
        )
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 - optional
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader  # noqa: PLC0415 - optional
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415 - optional
    except ImportError:
        log.warning("traces are configured, but their packages are missing: pip install 'memory-butler[traces]'")
        return False
    if ENDPOINTS in wanted:
        trace.set_tracer_provider(provider_for(version, BatchSpanProcessor(OTLPSpanExporter())))
    if METRICS_ENDPOINTS in wanted:
        metrics.set_meter_provider(meters_for(version, PeriodicExportingMetricReader(OTLPMetricExporter())))
    return True


def provider_for(version: str, sender: "SpanProcessor") -> "TracerProvider":
    """Build the tracer provider. It redacts query strings, which FastMCP records and which may contain search words."""
    from opentelemetry.context import Context  # noqa: PLC0415 - optional
    from opentelemetry.sdk.trace import Span as MadeSpan  # noqa: PLC0415 - optional
    from opentelemetry.sdk.trace import SpanProcessor, TracerProvider  # noqa: PLC0415 - optional

    class RedactQuery(SpanProcessor):
        def on_start(self, span: MadeSpan, parent_context: Context | None = None) -> None:
            if QUERY in (span.attributes or {}):
                span.set_attribute(QUERY, "REDACTED")

    provider = TracerProvider(resource=_resource(version))
    provider.add_span_processor(RedactQuery())
    provider.add_span_processor(sender)
    return provider


def meters_for(version: str, reader: "MetricReader") -> "MeterProvider":
    from opentelemetry.sdk.metrics import MeterProvider  # noqa: PLC0415 - optional

    return MeterProvider(metric_readers=[reader], resource=_resource(version))


def _resource(version: str) -> Any:
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415 - optional

    return Resource.create({"service.name": "memory-butler", "service.version": version})


@contextmanager
def span(tool: str, request_id: str | None, operation: str | None) -> Iterator[Span]:
    """Open the span of one call, without its arguments and its result. `operation`: its memory operation, if it is
    one."""
    attributes = {OPERATION: operation or EXECUTE_TOOL, "memory_butler.tool" if operation else "gen_ai.tool.name": tool}
    if request_id:
        attributes["memory_butler.request_id"] = request_id
    with _tracer.start_as_current_span(
        operation or f"{EXECUTE_TOOL} {tool}",
        kind=SpanKind.INTERNAL,
        attributes=attributes,
        record_exception=False,
        set_status_on_exception=False,
    ) as current:
        yield current


def end_span(current: Span, operation: str | None, outcome: str, store: str | None, record: Record) -> None:
    """Add what is known at the end of a call."""
    current.set_attribute("memory_butler.outcome", outcome)
    if outcome != "ok":
        current.set_attribute("error.type", outcome)
        current.set_status(Status(StatusCode.ERROR, outcome))
    if operation is None:
        return
    known = {STORE_ID: store, "gen_ai.memory.record.id": record.id, "gen_ai.memory.record.count": record.count}
    current.set_attributes({name: value for name, value in known.items() if value is not None})


def measure_operation(operation: str | None, outcome: str, seconds: float) -> None:
    if operation:
        _operations.record(seconds, {OPERATION: operation, **({} if outcome == "ok" else {"error.type": outcome})})


def measure_message(attributes: dict[str, str], seconds: float) -> None:
    _messages.record(seconds, attributes)


def record_of(answer: JsonObject) -> Record:
    """What an answer says about the memories of its operation."""
    ref = answer.get("ref") or answer.get("memory", {}).get("ref")
    if ref:
        return Record(str(ref), 1)
    if isinstance(answer.get("count"), int):
        return Record(None, answer["count"])
    if "receipt" in answer:
        return Record(None, sum(section["lines"] for section in answer["receipt"]["sections"]))
    results = answer.get("results")
    if isinstance(results, list):
        counted = [record_of(one).count or 0 if "receipt" in one else 1 for one in results if isinstance(one, dict)]
        return Record(None, sum(counted))
    return Record()
