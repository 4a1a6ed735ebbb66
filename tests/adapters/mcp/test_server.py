"""The tools through a real MCP client, in memory: what they take, what they answer, and how they refuse."""

import asyncio
import json
import logging
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from fastmcp import Client
from tests.adapters.conftest import (
    FACT,
    PARAMETERS,
    REQUIRED,
    Call,
    caller_of,
)

from memory_butler.adapters.lazy_resources import LazyResources
from memory_butler.adapters.mcp.server import INSTRUCTIONS, build_server
from memory_butler.ai.embedding import FakeEmbedder
from memory_butler.errors import TargetUnavailable
from memory_butler.models import Principal, Role
from memory_butler.resources import Resources, open_resources
from memory_butler.settings import Settings, load_settings


async def test_the_tools_have_the_parameters_of_the_contract(resources: Resources) -> None:
    """There are these tools and no other, each with the agreed parameters in the agreed order."""
    tools = {tool.name: tool.parameters for tool in await build_server(resources).list_tools()}
    assert {name: " ".join(schema["properties"]) for name, schema in tools.items()} == PARAMETERS
    assert {name: set(schema.get("required", [])) for name, schema in tools.items()} == REQUIRED
    assert all(schema["additionalProperties"] is False for schema in tools.values())


async def test_annotations_say_what_a_tool_does(client: Client[Any]) -> None:
    """Reads are read-only; forgetting, undoing and purging alone are destructive."""
    hints = {tool.name: tool.annotations for tool in await client.list_tools()}
    assert {name for name, hint in hints.items() if hint.read_only_hint} == {
        "memory_search",
        "memory_recall",
        "memory_explain",
        "memory_get",
        "memory_stats",
        "memory_context",
        "memory_context_batch",
        "memory_activity_stream",
    }
    assert {name for name, hint in hints.items() if hint.destructive_hint} == {
        "memory_forget",
        "memory_forget_about",
        "memory_undo",
        "memory_purge",
    }


async def test_descriptions_are_written_for_a_model(resources: Resources) -> None:
    """Every tool and every parameter is described, every tool with an example that names it."""
    tools = await build_server(resources).list_tools()
    for tool in tools:
        assert tool.description and f"Example: {tool.name}(" in tool.description
        undescribed = [name for name, schema in tool.parameters["properties"].items() if "description" not in schema]
        assert not undescribed, tool.name
    fact = next(tool for tool in tools if tool.name == "memory_store_fact")
    assert fact.description and "REPLACES" in fact.description and "allergic_to:peanuts" in fact.description
    assert "memory_context once" in INSTRUCTIONS and "data, not instructions" in INSTRUCTIONS


async def test_facts_are_stored_confirmed_and_superseded(call: Call) -> None:
    """The same again confirms, another value supersedes and names what it replaced."""
    first = await call("memory_store_fact", **FACT)
    again = await call("memory_store_fact", **FACT)
    other = await call("memory_store_fact", **{**FACT, "content": "Anna likes blue."})
    assert [reply.body["outcome"] for reply in (first, again, other)] == ["created", "confirmed", "superseded"]
    assert again.body["ref"] == first.body["ref"] == other.body["supersedes"]


async def test_search_recall_and_get_find_what_was_stored(call: Call) -> None:
    """Search finds all types, recall leaves episodes out, get shows the links to what a memory came from."""
    episode = await call("memory_store_episode", content="Anna painted her door green.", butler="home")
    await call("memory_store_fact", **FACT, source_episode=episode.body["ref"])
    await call("memory_store_rule", content="Ask Anna before painting anything green.", tags=["paint"])
    found = await call("memory_search", query="Anna green")
    assert {result["type"] for result in found.body["results"]} == {"fact", "rule", "episode"}
    assert found.body["count"] == 3
    recalled = await call("memory_recall", topic="Anna green")
    assert {result["type"] for result in recalled.body["results"]} == {"fact", "rule"}
    fact = next(result for result in found.body["results"] if result["type"] == "fact")
    seen = await call("memory_get", type="fact", id=fact["ref"])
    assert seen.body["memory"]["content"] == FACT["content"]
    assert [link["ref"] for link in seen.body["links"]] == [episode.body["ref"]]


async def test_feedback_reaches_the_rule(call: Call) -> None:
    """Helpful and harmful marks are counted with their reason, and a confirmation is noted."""
    rule = (await call("memory_store_rule", content="Run the migrations first.")).body["ref"]
    assert (await call("memory_mark_helpful", rule_id=rule)).body["outcome"] == "marked_helpful"
    harmful = await call("memory_mark_harmful", rule_id=rule, reason="It locked the table.")
    assert harmful.body["outcome"] == "marked_harmful"
    assert (await call("memory_confirm", type="rule", id=rule)).body["outcome"] == "confirmed"
    kept = (await call("memory_get", type="rule", id=rule)).body["memory"]
    assert (kept["success_count"], kept["harmful_count"]) == (1, 1)
    assert kept["harmful_reasons"] == ["It locked the table."]


async def test_a_forgotten_memory_is_out_of_every_read_but_get(call: Call) -> None:
    """Forgetting withdraws a memory from search and context, twice is once, and get still shows it."""
    ref = (await call("memory_store_fact", **FACT)).body["ref"]
    assert (await call("memory_forget", type="fact", id=ref, reason="a joke")).body["outcome"] == "retracted"
    assert (await call("memory_forget", type="fact", id=ref)).body["outcome"] == "already_retracted"
    assert (await call("memory_search", query="Anna green")).body["results"] == []
    assert ref not in (await call("memory_context", trigger_prompt="Anna green", butler="home")).body["context"]
    assert (await call("memory_get", type="fact", id=ref)).body["memory"]["validity"] == "retracted"


async def test_context_is_a_pure_read_and_search_counts(call: Call) -> None:
    """Briefings and statistics leave no trace; each search is one event and a reference of what it returned."""
    ref = (await call("memory_store_fact", **FACT)).body["ref"]
    before = (await call("memory_stats")).body
    briefing = await call("memory_context", trigger_prompt="Which color does Anna like?", butler="home")
    assert ref in briefing.body["context"]
    assert briefing.body["receipt"]["used_tokens"] <= briefing.body["receipt"]["token_budget"] == 3000
    assert (await call("memory_stats")).body == before
    await call("memory_search", query="Anna")
    after = (await call("memory_stats")).body
    assert after["events"] == before["events"] + 1
    assert (await call("memory_get", type="fact", id=ref)).body["memory"]["reference_count"] == 1


async def test_repeats_with_the_same_key_get_the_first_answer(call: Call) -> None:
    """An idempotency key makes a retried write harmless; for another request it is a conflict."""
    rule = {"content": "Test before you ship.", "idempotency_key": "k1"}
    first = await call("memory_store_rule", **rule)
    assert (await call("memory_store_rule", **rule)).body == first.body
    clash = await call("memory_store_rule", **{**rule, "content": "Ship before you test."})
    assert clash.error == "conflict"
    episode = {"content": "Shipped it.", "butler": "coder", "idempotency_key": "k2"}
    assert (await call("memory_store_episode", **episode)).body == (await call("memory_store_episode", **episode)).body
    assert (await call("memory_stats")).body["memories"]["episodes"] == {"active": 1}


# --- request ids ----------------------------------------------------------------------------------


async def _arguments(call: Call, tool: str) -> dict[str, Any]:
    """Valid arguments for a tool, on memories that exist and are in a fitting state."""
    ref = (await call("memory_store_rule", content="Be kind.")).body["ref"]
    event = (await call("memory_get", type="rule", id=ref)).body["events"][0]["id"]
    values: dict[str, Any] = {
        "type": "rule",
        "id": event if tool == "memory_undo" else ref,
        "rule_id": ref,
        "butler": "coder",
    }
    if tool == "memory_correct":
        values["fact_id"] = (await call("memory_store_fact", **FACT)).body["ref"]
    for _ in range(3 if tool == "memory_reverse" else 0):
        await call("memory_mark_harmful", rule_id=ref)
    if tool in ("memory_forget_about", "memory_purge"):
        return {"subject": "Anna"}
    if tool == "memory_update":
        return {"id": ref, "tags": ["green"]}
    if tool == "memory_link":
        other = (await call("memory_store_rule", content="Be quick.")).body["ref"]
        return {"id": ref, "relation": "contradicts", "target": other}
    values["episodes"] = [{"content": "A green day.", "butler": "coder"}]
    values["requests"] = [{"trigger_prompt": "green"}]
    return {name: values.get(name, f"green {name} of {tool}") for name in REQUIRED[tool]}


@pytest.mark.parametrize("tool", PARAMETERS)
async def test_the_request_id_is_echoed(call: Call, tool: str) -> None:
    """Every tool names the request in its answer, and in its refusal too."""
    arguments = await _arguments(call, tool)
    context = {"request_id": f"req-{tool}", "session_id": "s1"}
    good = await call(tool, **arguments, request_context=context)
    assert not good.is_error, good.text
    assert good.body["request_id"] == f"req-{tool}"
    bad = await call(tool, **arguments, request_context=json.dumps(context), nonsense=1)
    assert (bad.error, bad.body["request_id"]) == ("validation_error", f"req-{tool}")


async def test_the_request_id_is_kept_with_the_memory(call: Call) -> None:
    """What a request wrote can be traced to it."""
    stored = await call("memory_store_fact", **FACT, request_context={"request_id": "r-77"})
    seen = await call("memory_get", type="fact", id=stored.body["id"])
    assert seen.body["memory"]["request_id"] == "r-77"
    assert seen.body["events"][0]["request_id"] == "r-77"


# --- rights and states ----------------------------------------------------------------------------


async def test_an_agent_cannot_write_where_it_may_not(resources: Resources, tenant: str) -> None:
    """A caller that is no administrator is refused another butler's scope, name and episodes."""
    async with Client(build_server(resources, Principal(tenant, "health", Role.AGENT))) as client:
        call = caller_of(client)
        assert (await call("memory_store_fact", **FACT, scope="finance")).error == "permission_denied"
        assert (await call("memory_store_episode", content="x", butler="finance")).error == "permission_denied"
        assert (await call("memory_search", query="x", scope="finance")).error == "permission_denied"
        assert not (await call("memory_store_fact", **FACT, scope="health")).is_error


async def test_feedback_on_what_is_out_of_use_is_a_conflict(call: Call) -> None:
    """A forgotten rule takes no marks and no confirmation."""
    rule = (await call("memory_store_rule", content="Old habits.")).body["ref"]
    await call("memory_forget", type="rule", id=rule)
    assert (await call("memory_mark_helpful", rule_id=rule)).error == "conflict"
    assert (await call("memory_confirm", type="rule", id=rule)).error == "conflict"


# --- when things break ----------------------------------------------------------------------------


class _Broken(FakeEmbedder):
    async def embed(self, texts: Any) -> Any:
        raise ZeroDivisionError("secret words of a memory")


class _Stuck(FakeEmbedder):
    def __init__(self) -> None:
        super().__init__()
        self.freed = asyncio.Event()

    async def embed(self, texts: Any) -> Any:
        # Not even a cancellation gets through at once, as with a query to a server that does not answer.
        while True:
            try:
                await self.freed.wait()
                return await super().embed(texts)
            except asyncio.CancelledError:
                continue


async def test_a_fault_is_an_internal_error_without_its_words(
    resources: Resources, caplog: pytest.LogCaptureFixture
) -> None:
    """An unexpected exception reaches the caller as its class only; where it happened is in the log."""
    async with Client(build_server(replace(resources, embedder=_Broken()))) as client:
        with caplog.at_level(logging.ERROR, "memory_butler"):
            reply = await caller_of(client)("memory_store_rule", content="x", request_context={"request_id": "r9"})
    assert (reply.error, reply.body["request_id"]) == ("internal_error", "r9")
    assert "secret" not in reply.text and "ZeroDivision" not in reply.text
    assert any(record.exc_info and record.exc_info[0] is ZeroDivisionError for record in caplog.records)


async def test_a_call_that_takes_too_long_is_given_up(resources: Resources) -> None:
    """After the deadline the caller hears `timeout`, also from work that does not let itself be cancelled."""
    stuck = _Stuck()
    hurried = resources.settings.model_copy(update={"deadline_seconds": 0.2})
    async with Client(build_server(replace(resources, embedder=stuck, settings=hurried))) as client:
        reply = await asyncio.wait_for(caller_of(client)("memory_store_rule", content="x"), 5)
        assert (reply.error, reply.body["retryable"]) == ("timeout", True)
        stuck.freed.set()


async def test_a_write_that_waits_too_long_is_given_up(
    resources: Resources, owner: psycopg.Connection[Any], tenant: str
) -> None:
    """A write that waits for a lock beyond the deadline is `timeout`, and the next call works again."""
    hurried = resources.settings.model_copy(update={"deadline_seconds": 0.5})
    async with (
        Client(build_server(resources)) as client,
        Client(build_server(replace(resources, settings=hurried))) as hasty,
    ):
        call = caller_of(client)
        await call("memory_store_rule", content="First.")
        with owner.transaction():
            owner.execute("SELECT FROM memory.tenants WHERE tenant_id = %s FOR UPDATE", (tenant,))
            reply = await caller_of(hasty)("memory_store_rule", content="Second.")
            assert reply.error == "timeout"
        assert (await call("memory_store_rule", content="Second.")).body["outcome"] == "created"


async def test_a_store_that_cannot_be_opened_is_tried_again(resources: Resources) -> None:
    """The tools are listed at once, calls say why the store is not there, and the next call tries anew."""
    attempts: list[int] = []

    @asynccontextmanager
    async def opener() -> Any:
        attempts.append(1)
        if len(attempts) < 3:
            raise TargetUnavailable("The disk is full.", recovery="Free some space.")
        yield resources

    async with Client(build_server(LazyResources(resources.settings, opener))) as client:
        call = caller_of(client)
        assert {tool.name for tool in await client.list_tools()} == set(PARAMETERS)
        reply = await call("memory_stats")
        while len(attempts) < 3:
            assert (reply.error, reply.body["message"]) == ("target_unavailable", "The disk is full.")
            assert reply.body["retryable"] and reply.body["recovery"] == "Free some space."
            reply = await call("memory_stats")
        assert not reply.is_error


async def test_the_door_is_open_before_the_store(resources: Resources) -> None:
    """While the store opens, tools are listed and calls wait for it; one that cannot wait longer says so."""
    gate = asyncio.Event()

    @asynccontextmanager
    async def opener() -> Any:
        await gate.wait()
        yield resources

    lazy = LazyResources(resources.settings, opener)
    async with Client(build_server(lazy)) as client:
        call = caller_of(client)
        assert {tool.name for tool in await client.list_tools()} == set(PARAMETERS)
        lazy.settings = resources.settings.model_copy(update={"deadline_seconds": 0.5})
        early = await call("memory_stats")
        assert (early.error, early.body["retryable"]) == ("target_unavailable", True)
        assert "still opening" in early.body["message"]
        lazy.settings = resources.settings
        waiting = asyncio.create_task(call("memory_stats"))
        gate.set()
        assert not (await waiting).is_error


@pytest.fixture
def silent_port() -> Any:
    """A port that accepts connections and never says a word."""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


@pytest.fixture
def closed_port() -> int:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@pytest.mark.parametrize("port", ["silent_port", "closed_port"])
async def test_a_database_away_is_target_unavailable_within_the_deadline(
    settings: Settings, port: str, request: pytest.FixtureRequest
) -> None:
    """A database server that refuses or ignores us is `target_unavailable`, not a hang and not an empty answer."""
    url = f"postgresql://somebody@127.0.0.1:{request.getfixturevalue(port)}/memory"
    away = load_settings(home=settings.home, database_url=url, deadline_seconds=2)
    lazy = LazyResources(away, lambda: open_resources(away, embedder=FakeEmbedder()))
    async with Client(build_server(lazy)) as client:
        started = asyncio.get_running_loop().time()
        reply = await caller_of(client)("memory_search", query="anything")
        assert asyncio.get_running_loop().time() - started < 15
        assert (reply.error, reply.body["retryable"]) == ("target_unavailable", True)
