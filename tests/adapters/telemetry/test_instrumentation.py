"""What is said of calls: figures of few labels, spans with the request's name, log lines without what is remembered."""

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from fastmcp import Client
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from memory_butler.adapters.mcp.server import build_server
from memory_butler.adapters.telemetry import traces
from memory_butler.adapters.telemetry.logs import configure_logging
from memory_butler.metrics import registry
from memory_butler.resources import Resources
from memory_butler.settings import load_settings

SECRET = "xylophone-canary"


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    kept, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    monkeypatch.setattr(traces, "_tracer", provider.get_tracer("memory_butler"))
    return kept


@pytest.fixture
def log_file(tmp_path: Path) -> Iterator[Path]:
    root, ours = logging.getLogger(), logging.getLogger("memory_butler")
    before, levels = list(root.handlers), (root.level, ours.level)
    yield configure_logging(load_settings(home=tmp_path, log_format="json"))
    for handler in set(root.handlers) - set(before):
        root.removeHandler(handler)
        handler.close()
    root.setLevel(levels[0])
    ours.setLevel(levels[1])


def _counted(tool: str, outcome: str) -> float:
    return registry.REGISTRY.get_sample_value("memory_butler_calls_total", {"tool": tool, "outcome": outcome}) or 0


async def _work(resources: Resources) -> None:
    context = {"request_id": "req-7"}
    async with Client(build_server(resources)) as client:
        fact = {"subject": "user", "predicate": "likes", "content": SECRET, "request_context": context}
        await client.call_tool("memory_store_fact", fact)
        await client.call_tool("memory_search", {"query": SECRET, "request_context": context})
        wrong = {"type": "fact", "id": "fact:zzzz", "request_context": context}
        await client.call_tool("memory_get", wrong, raise_on_error=False)
        await client.call_tool("memory_stats", {})


async def test_calls_are_counted_by_tool_and_outcome(resources: Resources) -> None:
    """A success and a refusal each add one, with how long they took, and no label says whose or about what."""
    before = _counted("memory_search", "ok"), _counted("memory_get", "not_found")
    await _work(resources)
    assert (_counted("memory_search", "ok"), _counted("memory_get", "not_found")) == (before[0] + 1, before[1] + 1)
    text = registry.exposition().decode()
    assert 'memory_butler_call_seconds_bucket{le="0.005",tool="memory_search"}' in text
    assert "memory_butler_calls_in_hand 0.0" in text
    assert SECRET not in text and "req-7" not in text and resources.settings.tenant not in text


async def test_a_span_has_the_request_and_the_outcome_and_nothing_else(
    resources: Resources, spans: InMemorySpanExporter
) -> None:
    """One span a call, named for its tool; an error is one by its class."""
    await _work(resources)
    found = {span.name: span for span in spans.get_finished_spans()}
    assert set(found) == {"upsert_memory", "search_memory", "execute_tool memory_stats"}
    searched, missed = (span for span in spans.get_finished_spans() if span.name == "search_memory")
    assert dict(searched.attributes or {}) == {
        "gen_ai.operation.name": "search_memory",
        "gen_ai.memory.store.id": resources.settings.tenant,
        "gen_ai.memory.record.count": 1,
        "memory_butler.tool": "memory_search",
        "memory_butler.request_id": "req-7",
        "memory_butler.outcome": "ok",
    }
    assert missed.status.status_code is trace.StatusCode.ERROR
    assert missed.status.description == "not_found"
    assert SECRET not in repr([span.to_json() for span in found.values()])


async def test_a_log_line_names_the_caller_and_the_request(resources: Resources, log_file: Path) -> None:
    """As JSON: tool, outcome, time, tenant, butler, role and request id; never what is remembered."""
    await _work(resources)
    text = log_file.read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    stored, searched, missed, _ = (line for line in lines if line["logger"] == "memory_butler.calls")
    assert stored["tool"] == "memory_store_fact" and stored["outcome"] == "ok" and stored["milliseconds"] > 0
    who = {name: searched[name] for name in ("tenant", "butler", "role", "request_id")}
    assert who == {"tenant": resources.settings.tenant, "butler": "main", "role": "admin", "request_id": "req-7"}
    assert missed["outcome"] == "not_found"
    assert SECRET not in text


def test_what_an_address_asks_for_is_in_no_span() -> None:
    """The web framework's own span tells the route; the words of a list's filters are taken out before it is sent."""
    kept = InMemorySpanExporter()
    app = FastAPI(telemetry={"tracer_provider": traces.provider_for("1", SimpleSpanProcessor(kept))})
    app.get("/memories")(lambda: {})
    assert TestClient(app).get("/memories", params={"contains": SECRET}).status_code == 200
    found = [span.to_json() for span in kept.get_finished_spans()]
    assert any("/memories" in span and "REDACTED" in span for span in found)
    assert SECRET not in repr(found)


def test_without_a_collector_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Traces begin only where the environment says where to."""
    for name in traces.ENDPOINTS:
        monkeypatch.delenv(name, raising=False)
    assert traces.configure_traces("1") is False
