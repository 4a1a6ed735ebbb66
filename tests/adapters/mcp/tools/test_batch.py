"""The tools that do many things at once, and the one that tells what happened, as a client calls them."""

import json
from typing import Any

import pytest
from fastmcp import Client
from tests.adapters.conftest import PARAMETERS, Call, caller_of

from memory_butler.adapters.mcp.server import build_server
from memory_butler.adapters.mcp.tools.batch import ContextItem, EpisodeItem
from memory_butler.models import Principal, Role
from memory_butler.resources import Resources


async def test_items_are_the_arguments_of_the_single_tools(resources: Resources) -> None:
    """An item takes what memory_store_episode takes, or memory_context except for a moment in the past; the schema
    says so, with the same words."""
    tools = {tool.name: tool.parameters for tool in await build_server(resources).list_tools()}
    assert list(EpisodeItem.model_fields) == PARAMETERS["memory_store_episode"].split()
    assert {*ContextItem.model_fields, "as_of", "detail", "request_context"} == set(
        PARAMETERS["memory_context"].split()
    )
    items = tools["memory_ingest_batch"]["properties"]["episodes"]["items"]
    single = tools["memory_store_episode"]
    assert items["required"] == ["content"] and "$ref" not in json.dumps(items)
    for name in ("content", "importance", "tags", "metadata", "idempotency_key"):
        assert items["properties"][name]["description"] == single["properties"][name]["description"]


async def test_every_episode_has_its_own_outcome(call: Call) -> None:
    """Good ones are stored and bad ones named, in the order given; a repeat of the whole batch changes nothing."""
    batch = [
        {"content": "Moved billing to Stripe.", "butler": "coder", "idempotency_key": "one", "tags": "billing, ops"},
        {"content": 5, "butler": "coder"},
        {"butler": "coder"},
        '{"content": "As JSON text.", "butler": "coder", "idempotency_key": "two", "importance": "8"}',
        7,
        "no object",
        '{"content": "x", "butler": "coder", "colour\\ud800": "red"}',
        {"content": "x", "butler": "coder", "observed_at": "2026-03-01"},
        {
            "content": "Moved billing to Stripe.",
            "butler": "coder",
            "idempotency_key": "one",
            "tags": ["billing", "ops"],
        },
        {"content": "Something else.", "butler": "coder", "idempotency_key": "one"},
    ]
    done = await call("memory_ingest_batch", episodes=batch, request_context={"request_id": "r1"})
    results = done.body["results"]
    assert [result.get("error", result["outcome"]) for result in results] == [
        "stored", "validation_error", "validation_error", "stored", "validation_error", "validation_error",
        "validation_error", "validation_error", "repeated", "conflict",
    ]  # fmt: skip
    assert (done.body["stored"], done.body["repeated"], done.body["failed"]) == (2, 1, 7)
    assert done.body["request_id"] == "r1" and not done.is_error
    assert all({"message", "retryable", "recovery"} <= set(result) for result in results if "error" in result)
    assert results[8]["ref"] == results[0]["ref"] and results[0]["type"] == "episode"
    got = await call("memory_get", type="episode", id=results[3]["ref"])
    assert got.body["memory"]["importance"] == 8 and got.body["memory"]["request_id"] == "r1"
    again = await call("memory_ingest_batch", episodes=json.dumps(batch))
    assert [result["outcome"] for result in again.body["results"]][0:4:3] == ["repeated", "repeated"]


@pytest.mark.parametrize(("tool", "name"), [("memory_ingest_batch", "episodes"), ("memory_context_batch", "requests")])
@pytest.mark.parametrize("items", [[], "x", 5, {"content": "x"}, [{}] * 101, None])
async def test_what_is_no_batch_is_refused_as_a_whole(call: Call, tool: str, name: str, items: Any) -> None:
    """Nothing at all, too many, or no list."""
    reply = await call(tool, **{name: items})
    assert reply.error == "validation_error" and name in reply.body["message"]


async def test_every_briefing_is_that_of_a_single_call(call: Call) -> None:
    """The same text and receipt; without a butler it is the caller's own."""
    await call("memory_store_fact", subject="Anna", predicate="tea", content="Anna drinks green tea.")
    asked = [
        {"trigger_prompt": "Which tea does Anna drink?", "butler": "coder", "token_budget": "200"},
        {"trigger_prompt": "Which tea does Anna drink?"},
        {"trigger_prompt": " "},
        {"trigger_prompt": "tea", "colour": "green"},
    ]
    done = (await call("memory_context_batch", requests=asked)).body
    assert (done["built"], done["failed"]) == (2, 2)
    for given, result in zip(({**asked[0]}, {**asked[1], "butler": "main"}), done["results"], strict=False):
        assert {"outcome": "built", **(await call("memory_context", **given)).body} == result
    assert "green tea" in done["results"][0]["context"]
    assert [result["error"] for result in done["results"][2:]] == ["validation_error"] * 2


async def test_a_reader_gets_briefings_and_stores_nothing(resources: Resources, tenant: str) -> None:
    """The table of roles holds for batches: reading is for everybody, writing is not."""
    async with Client(build_server(resources, Principal(tenant, "coder", Role.READER))) as client:
        call = caller_of(client)
        assert (await call("memory_context_batch", requests=[{"trigger_prompt": "tea"}])).body["built"] == 1
        refused = await call("memory_ingest_batch", episodes=[{"content": "x", "butler": "coder"}])
        assert refused.error == "permission_denied"
        assert (await call("memory_activity_stream")).body["events"] == []


async def test_what_happened_is_told_and_gone_on_with(call: Call) -> None:
    """Events with reference, words, time, actor and request; the cursor leads to what is new; a bad one says how."""
    lineage = {"request_id": "r1", "subrequest_id": "s1", "segment_id": "g1", "session_id": "day"}
    stored = await call("memory_store_fact", subject="Anna", predicate="tea", content="green", request_context=lineage)
    told = (await call("memory_activity_stream", since="start")).body
    (event,) = told["events"]
    assert {
        "event": "fact.created",
        "ref": stored.body["ref"],
        "words": "Stored by main.",
        "actor": "main",
        **lineage,
    }.items() <= event.items()
    assert "green" not in json.dumps(told) and told["more"] is False
    assert (await call("memory_activity_stream", since=told["cursor"], limit="5", scope="global")).body["events"] == []
    await call("memory_store_fact", subject="Anna", predicate="tea", content="black")
    later = (await call("memory_activity_stream", since=told["cursor"])).body
    assert [event["event"] for event in later["events"]] == ["fact.superseded", "fact.created"]
    refused = await call("memory_activity_stream", since="yesterday")
    assert refused.error == "validation_error" and "'start'" in refused.body["recovery"]
