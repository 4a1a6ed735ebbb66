"""Spans and metrics by OpenTelemetry's conventions for generative AI and MCP.

The lists are those of open-telemetry/semantic-conventions-genai (docs/gen-ai/gen-ai-spans.md, docs/gen-ai/mcp.md,
status: development). What is ours is named `memory_butler.…`.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from fastmcp import Client
from opentelemetry import context, propagate, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode
from tests.jobs.conftest import do_all_that_is_due
from tests.support.service import on_loopback

from memory_butler.adapters.lazy_resources import LazyResources
from memory_butler.adapters.mcp.catalog import build_tools
from memory_butler.adapters.mcp.server import build_server
from memory_butler.adapters.telemetry import traces
from memory_butler.metrics import trace_context
from memory_butler.resources import Resources

SECRET = "xylophone-canary"
OPERATIONS = {"create_memory", "update_memory", "upsert_memory", "search_memory", "delete_memory"}
MEMORY = {
    *("gen_ai.operation.name", "error.type", "gen_ai.memory.record.id", "gen_ai.memory.store.id"),
    *("gen_ai.provider.name", "server.port", "gen_ai.memory.record.count", "server.address"),
}
EXECUTE_TOOL = {
    *("gen_ai.operation.name", "error.type", "gen_ai.tool.name", "gen_ai.tool.call.id", "gen_ai.tool.description"),
    "gen_ai.tool.type",
}
MCP_SERVER = {
    *("mcp.method.name", "error.type", "gen_ai.prompt.name", "gen_ai.tool.name", "jsonrpc.request.id"),
    *("mcp.resource.uri", "rpc.response.status_code", "client.address", "client.port", "gen_ai.operation.name"),
    *("jsonrpc.protocol.version", "mcp.protocol.version", "mcp.session.id", "network.protocol.name"),
    *("network.protocol.version", "network.transport"),
}
MCP_DURATION = MCP_SERVER - {"jsonrpc.request.id", "client.address", "client.port", "mcp.session.id"}
PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
TRACE_ID = 0x4BF92F3577B34DA6A3CE929D0E0E4736

Spans = Callable[[], list[ReadableSpan]]


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Spans:
    """What this process would send to a collector."""
    kept = InMemorySpanExporter()
    provider = traces.provider_for("1", SimpleSpanProcessor(kept))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    monkeypatch.setattr(traces, "_tracer", provider.get_tracer("memory_butler"))
    monkeypatch.setattr(trace_context, "_tracer", provider.get_tracer("memory_butler.jobs"))
    return lambda: list(kept.get_finished_spans())


@pytest.fixture
def points(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], dict[str, list[Any]]]]:
    """The data points of the metrics, by name."""
    reader = InMemoryMetricReader()
    provider = MeterProvider(metric_readers=[reader])
    meter = provider.get_meter("memory_butler")
    for name in ("_operations", "_messages"):
        instrument = getattr(traces, name)
        real = meter.create_histogram(
            instrument._name, explicit_bucket_boundaries_advisory=instrument._explicit_bucket_boundaries_advisory
        )
        monkeypatch.setattr(traces, name, real)

    def read() -> dict[str, list[Any]]:
        found = reader.get_metrics_data()
        metrics = found.resource_metrics[0].scope_metrics[0].metrics if found else []
        return {metric.name: list(metric.data.data_points) for metric in metrics}

    yield read
    provider.shutdown()


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def foreign(span: ReadableSpan, known: set[str]) -> set[str]:
    """Attributes that neither the convention nor we define."""
    return {name for name in attributes(span) if name not in known and not name.startswith("memory_butler.")}


@contextmanager
def in_trace() -> Iterator[None]:
    """An agent that works in a trace: its MCP client sends the trace along."""
    token = context.attach(propagate.extract({"traceparent": PARENT}))
    try:
        yield
    finally:
        context.detach(token)


async def work(resources: Resources) -> str:
    """Store, search, get, forget, read the statistics, and fail."""
    async with Client(build_server(resources, transport="pipe")) as client:

        async def call(tool: str, **given: Any) -> Any:
            done = await client.call_tool(tool, given, raise_on_error=False)
            return done.structured_content

        await call("memory_store_episode", content=f"We saw a {SECRET}.", butler="main")
        ref = (await call("memory_store_fact", subject="user", predicate="likes", content=SECRET))["ref"]
        await call("memory_search", query=SECRET, min_relevance=0)
        await call("memory_context", trigger_prompt=SECRET, butler="main")
        await call("memory_get", type="fact", id=ref)
        await call("memory_get", type="fact", id="fact:zzzz")
        await call("memory_forget", type="fact", id=ref)
        await call("memory_stats")
        return str(ref)


async def test_memory_operations_follow_the_convention(resources: Resources, spans: Spans) -> None:
    """Name, kind, required attributes, the record and its number; nothing that the convention does not list."""
    ref = await work(resources)
    found = [span for span in spans() if span.name in OPERATIONS]
    assert [span.name for span in found] == [
        *("create_memory", "upsert_memory", "search_memory", "search_memory", "search_memory", "search_memory"),
        "delete_memory",
    ]
    assert all(span.kind is SpanKind.INTERNAL and foreign(span, MEMORY) == set() for span in found)
    assert {attributes(span)["gen_ai.operation.name"] == span.name for span in found} == {True}
    assert {attributes(span)["gen_ai.memory.store.id"] for span in found} == {resources.settings.tenant}
    created, stored, searched, briefed, got, missed, forgotten = (attributes(span) for span in found)
    assert created["gen_ai.memory.record.id"].startswith("episode:") and created["gen_ai.memory.record.count"] == 1
    assert stored["gen_ai.memory.record.id"] == got["gen_ai.memory.record.id"] == ref
    assert forgotten["gen_ai.memory.record.id"] == ref
    assert searched["gen_ai.memory.record.count"] == 2 and "gen_ai.memory.record.id" not in searched
    assert briefed["gen_ai.memory.record.count"] >= 1
    assert missed["error.type"] == "not_found" and found[5].status.status_code is StatusCode.ERROR
    assert "error.type" not in searched and found[2].status.status_code is not StatusCode.ERROR
    assert SECRET not in json.dumps([json.loads(span.to_json()) for span in spans()])


async def test_other_tools_are_executions_of_tools(resources: Resources, spans: Spans) -> None:
    await work(resources)
    (stats,) = [span for span in spans() if span.name == "execute_tool memory_stats"]
    assert stats.kind is SpanKind.INTERNAL and foreign(stats, EXECUTE_TOOL | MEMORY) == set()
    assert attributes(stats)["gen_ai.operation.name"] == "execute_tool"
    assert attributes(stats)["gen_ai.tool.name"] == "memory_stats"


def test_every_tool_says_what_it_is(resources: Resources) -> None:
    """An operation of the convention, or none of them; reads never change and writes never search."""
    declared = {tool.name: tool.declaration for tool in build_tools(LazyResources.already_open(resources), None)}
    assert {name for name, one in declared.items() if one.operation is None} == {
        *("memory_stats", "memory_explain", "memory_activity_stream")
    }
    for one in declared.values():
        if one.operation:
            assert (one.operation == "search_memory") == one.hints.read_only_hint


async def test_mcp_spans_follow_the_convention(resources: Resources, spans: Spans) -> None:
    """One server span for each message, around that of the operation; FastMCP adds attributes of its own."""
    await work(resources)
    served = [span for span in spans() if span.kind is SpanKind.SERVER]
    calls = [span for span in served if attributes(span).get("mcp.method.name") == "tools/call"]
    assert len(calls) == 8
    own = {name for span in calls for name in foreign(span, MCP_SERVER) if not name.startswith("fastmcp.")}
    assert own == set()
    for span in calls:
        found = attributes(span)
        assert span.name == f"tools/call {found['gen_ai.tool.name']}"
        assert found["gen_ai.operation.name"] == "execute_tool" and found["network.transport"] == "pipe"
        assert found["jsonrpc.request.id"] and found["mcp.protocol.version"]
    failed = [span for span in calls if "error.type" in attributes(span)]
    assert [(attributes(span)["gen_ai.tool.name"], attributes(span)["error.type"]) for span in failed] == [
        ("memory_get", "tool_error")
    ]
    assert failed[0].status.status_code is StatusCode.ERROR


async def test_the_callers_trace_is_continued(resources: Resources, spans: Spans) -> None:
    """Over MCP from `_meta`: client, message and operation are one trace."""
    with in_trace():
        await work(resources)
    found = [span for span in spans() if span.name in OPERATIONS or span.name.startswith("tools/call")]
    assert {span.context.trace_id for span in found} == {TRACE_ID}
    messages = {span.context.span_id for span in found if span.kind is SpanKind.SERVER}
    operations = [span for span in found if span.name in OPERATIONS]
    assert all(span.parent and span.parent.span_id in messages for span in operations)


async def test_over_rest_it_is_continued_from_the_header(resources: Resources, spans: Spans) -> None:
    lazy = LazyResources.already_open(resources)
    async with on_loopback(lazy) as door, httpx.AsyncClient(base_url=door.url) as web:
        body = {"query": SECRET}
        reply = await web.post("/api/v1/search", json=body, headers={"traceparent": PARENT})
    assert reply.status_code == 200
    (searched,) = [span for span in spans() if span.name == "search_memory"]
    assert searched.context.trace_id == TRACE_ID
    assert SECRET not in json.dumps([json.loads(span.to_json()) for span in spans()])


async def test_a_job_belongs_to_the_trace_of_the_call_that_asked_for_it(alone: Resources, spans: Spans) -> None:
    """An important episode queues its consolidation with the trace; another process continues it."""
    with in_trace():
        async with Client(build_server(alone)) as client:
            given = {"content": "Ana is allergic to peanuts.", "butler": "main", "importance": 9}
            await client.call_tool("memory_store_episode", given)
    (stored,) = [span for span in spans() if span.name == "create_memory"]
    ran = await do_all_that_is_due(alone)
    assert [run.job for run in ran] == ["consolidation", "sweep", "cleanup"]
    jobs = {span.name: span for span in spans() if span.name.startswith("job ")}
    consolidated = jobs["job consolidation"]
    assert consolidated.context.trace_id == stored.context.trace_id == TRACE_ID
    assert consolidated.parent and consolidated.parent.span_id == stored.context.span_id
    assert consolidated.kind is SpanKind.CONSUMER and attributes(consolidated) == {
        "memory_butler.job": "consolidation",
        "memory_butler.outcome": "succeeded",
        "gen_ai.memory.store.id": alone.settings.tenant,
    }
    assert jobs["job sweep"].context.trace_id != TRACE_ID, "the timetable asked for it, and no call"


async def test_durations_are_metrics(resources: Resources, points: Callable[[], dict[str, list[Any]]]) -> None:
    """By operation and by message, with the class of errors, and no more labels than the conventions know."""
    await work(resources)
    async with Client(build_server(resources)) as client:
        await client.call_tool("memory_invented", {}, raise_on_error=False)
    found = points()
    operations = {
        (point.attributes["gen_ai.operation.name"], point.attributes.get("error.type")): point.count
        for point in found["gen_ai.client.operation.duration"]
    }
    assert operations == {
        ("create_memory", None): 1,
        ("upsert_memory", None): 1,
        ("search_memory", None): 3,
        ("search_memory", "not_found"): 1,
        ("delete_memory", None): 1,
    }
    messages = found["mcp.server.operation.duration"]
    assert {name for point in messages for name in point.attributes} <= MCP_DURATION
    tools = {point.attributes.get("gen_ai.tool.name") for point in messages}
    assert "memory_search" in tools and "unknown" in tools and "memory_invented" not in tools
    assert {"tools/list", "tools/call"} <= {point.attributes["mcp.method.name"] for point in messages}
    assert messages[0].explicit_bounds[:3] == (0.01, 0.02, 0.05)


def test_a_carrier_is_empty_outside_of_a_trace() -> None:
    assert trace_context.carrier() == {}
    assert propagate.extract({}) is not None


def test_what_an_answer_says_of_records() -> None:
    """One memory, a list, a briefing, several briefings, or nothing."""
    section = {"sections": [{"lines": 2}, {"lines": 1}]}
    assert traces.record_of({"ref": "fact:k3f7", "outcome": "created"}) == traces.Record("fact:k3f7", 1)
    assert traces.record_of({"memory": {"ref": "rule:ab12"}}) == traces.Record("rule:ab12", 1)
    assert traces.record_of({"count": 4, "results": []}) == traces.Record(None, 4)
    assert traces.record_of({"receipt": section}) == traces.Record(None, 3)
    assert traces.record_of({"results": [{"receipt": section}, {"receipt": section}]}) == traces.Record(None, 6)
    assert traces.record_of({"results": [{"outcome": "created"}]}) == traces.Record(None, 1)
    assert traces.record_of({"jobs": {}}) == traces.Record()
