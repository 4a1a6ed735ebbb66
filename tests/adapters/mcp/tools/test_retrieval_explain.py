"""Explanations through the doors: MCP for agents, the command line for people."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from fastmcp import Client
from tests.adapters.conftest import FACT, Call, caller_of, lines
from typer.testing import Result

from memory_butler.adapters.mcp.server import build_server
from memory_butler.errors import InvalidInput, NotFound
from memory_butler.models import NewEpisode, NewFact, NewRule, Principal, Role
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources

Command = Callable[..., Result]
STEPS = {"second_look", "gate", "scoring", "variety"}
# Clients may read these names: they do not change with the code.
SIGNALS = ["similarity", "said", "covered", "about", "exact_match", "answers", "turn_match", "company", "told"]
SIGNALS += ["fits_kind", "opens", "timely", "preferred"]


@pytest.fixture
def resources(resources: Resources) -> Resources:
    """One that takes everything for relevant: what the judge thinks may change."""
    retrieval = resources.settings.retrieval.model_copy(update={"min_relevance": 0.0})
    return replace(resources, settings=resources.settings.model_copy(update={"retrieval": retrieval}))


async def test_a_returned_memory_is_explained_step_by_step(call: Call) -> None:
    """The verdict, every step with its numbers, and the request; the same that memory_search shows."""
    ref = (await call("memory_store_fact", **FACT)).body["ref"]
    found = (await call("memory_search", query="Anna green")).body["results"][0]
    told = (
        await call("memory_explain", query="Anna green", id=ref, limit="3", request_context={"request_id": "r1"})
    ).body
    assert (told["ref"], told["type"], told["returned"], told["place"]) == (ref, "fact", True, 1)
    assert (told["verdict"], told["limit"], told["request_id"]) == ("Returned, 1st of 1.", 3, "r1")
    assert told.keys() >= STEPS and "briefing" not in told
    assert told["reading"]["names"] == ["anna"] and told["matched_words"]
    assert told["by_meaning"]["rank"] == told["by_words"]["rank"] == 1
    assert told["gate"]["relevance"] == found["relevance"]
    signals = told["second_look"]["signals"]
    assert [one["name"] for one in signals] == SIGNALS
    signal = signals[0]
    assert signal["contribution"] == pytest.approx(signal["value"] * signal["weight"], abs=1e-6)
    assert {term["name"] for term in told["scoring"]["terms"]} == {"fit", "importance", "recency", "confidence"}


async def test_what_is_left_out_has_its_reason(call: Call) -> None:
    """By a filter, by its place, by the budget of a briefing; steps it did not get to are left out."""
    ref = (await call("memory_store_fact", **FACT)).body["ref"]
    seen = await call("memory_store_episode", content="Anna painted her green door green.", butler="main")
    rule = await call("memory_store_rule", content="Ask Anna first.")
    told = (await call("memory_explain", query="green", id=ref, types="rule, episode")).body
    assert (told["fate"], told["returned"]) == ("filtered", False)
    assert not STEPS & told.keys()
    told = (await call("memory_explain", query="green", id=rule.body["ref"], limit=1, min_relevance=0)).body
    assert (told["fate"], told["place"]) == ("limit", 3)
    told = (await call("memory_explain", query="green", id=seen.body["id"], token_budget="12")).body
    assert (told["briefing"]["fate"], told["briefing"]["included"]) == ("budget", False)
    assert told["briefing"]["verdict"].startswith("Not in a briefing of 12 tokens: ")
    times = {"time_from": "2020-01-01T00:00:00Z", "time_to": "2021-01-01T00:00:00Z"}
    told = (await call("memory_explain", query="green", id=ref, **times)).body
    assert [check["name"] for check in told["filters"] if not check["passed"]] == ["time"]


async def test_nothing_counts_as_used(call: Call) -> None:
    """Explaining is no reference, unlike the search it explains."""
    ref = (await call("memory_store_fact", **FACT)).body["ref"]
    await call("memory_explain", query="Anna green", id=ref, token_budget=100)
    await call("memory_search", query="Anna green")
    memory = (await call("memory_get", type="fact", id=ref)).body["memory"]
    assert memory["reference_count"] == 1


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"id": "fact:zzzz"}, "not_found", "There is no fact:zzzz"),
        ({"id": "no such thing"}, "validation_error", "neither an id nor a short reference"),
        ({"id": "fact:zzzz", "mode": "psychic"}, "validation_error", "one of"),
        ({"id": "fact:zzzz", "token_budget": "much"}, "validation_error", "whole number"),
        ({"id": "fact:zzzz", "as_of": "2026-01-01T00:00:00Z"}, "validation_error", "no argument 'as_of'"),
        ({}, "validation_error", "id is missing"),
    ],
)
async def test_bad_calls_are_refused_with_the_way_out(
    call: Call, given: dict[str, Any], error: str, words: str
) -> None:
    reply = await call("memory_explain", query="green", **given)
    assert (reply.error, words in reply.body["message"]) == (error, True), reply.body


async def test_an_agent_does_not_hear_of_what_it_may_not_see(resources: Resources, call: Call) -> None:
    """For an agent of another butler it is not there; for an administrator a filter hides it."""
    ref = (await call("memory_store_fact", **FACT, scope="finance")).body["ref"]
    assert (await call("memory_explain", query="green", id=ref)).body["fate"] == "filtered"
    principal = Principal(resources.settings.tenant, "health", Role.AGENT)
    async with Client(build_server(resources, principal)) as client:
        asked = caller_of(client)
        hidden = await asked("memory_explain", query="green", id=ref)
        missing = await asked("memory_explain", query="green", id="fact:zzzz")
        assert (hidden.error, missing.error) == ("not_found", "not_found")
        assert hidden.body["message"].replace(ref, "X") == missing.body["message"].replace("fact:zzzz", "X")


# --- the command line -----------------------------------------------------------------------------


async def test_the_terminal_tells_the_way(resources: Resources, command: Command) -> None:
    """The verdict first, then each step under its heading; nothing that was stored gives orders to the terminal."""
    new = NewFact(subject="Anna", predicate="favorite_color", content="Anna likes \x1b[31mgreen doors.")
    fact = await remember.fact(resources, new)
    rule = await remember.rule(resources, NewRule(content="Ask Anna before painting doors."))
    episodes = [
        await remember.episode(resources, NewEpisode(content="Anna spoke of green doors.", butler="main"))
        for _ in range(2)
    ]
    asked = ("explain", "Which green doors does Anna like?")
    found = lines(await asyncio.to_thread(command, *asked, f"fact:{fact.ref}", "--budget", "500"))
    assert found[0].startswith(f"fact:{fact.ref}  Returned, ")
    assert found[1].startswith("In a briefing of 500 tokens: it is relevant to the words or names")
    headings = ["Question", "Ranks", "Filters", "Reranking", "Relevance", "Score"]
    assert [line for line in found[2:] if line in headings] == headings
    text = "\n".join(found)
    for words in ("names\tanna", "✓\tit is active", "The judge's vote orders the candidates", "fit\t", "vote\t"):
        assert words in text
    assert "\x1b" not in text
    found = lines(await asyncio.to_thread(command, *asked, rule.ref, "--type", "fact"))
    assert "Not returned: it is of the type rule" in found[0]
    assert any("✗\tit is of the type rule" in line for line in found)
    assert "Reranking" not in found
    told = [
        "\n".join(lines(await asyncio.to_thread(command, *asked, one.ref, "--min-relevance", "0"))) for one in episodes
    ]
    assert sum("Duplicate of episode:" in one for one in told) == 1
    assert sum("Represents its duplicates episode:" in one for one in told) == 1


def test_json_is_the_tools_shape_and_errors_reach_the_outermost_place(command: Command) -> None:
    """One line of JSON with the options passed on; a memory that is not there and a bad option are refused."""
    stored = json.loads(command("remember", "fact", "Anna", "color", "green", "--json").stdout)
    options = ("--limit", "2", "--mode", "keyword", "--since", "2020-01-01T00:00:00Z", "--min-confidence", "0.5")
    more = ("--until", "2030-01-01T00:00:00Z", "--tier", "mid", "--scope", "global", "--butler", "main")
    done = command("explain", "green", stored["ref"], *options, *more, "--json")
    told = json.loads(done.stdout)
    assert (told["ref"], told["returned"], told["limit"]) == (stored["ref"], True, 2)
    assert {check["name"] for check in told["filters"]} == {"type", "tier", "validity", "scope", "confidence", "time"}
    assert told["by_meaning"]["why"] == "the mode keyword compares no meanings"
    assert isinstance(command("explain", "green", "fact:zzzz").exception, NotFound)
    assert isinstance(command("explain", "green", stored["ref"], "--limit", "0").exception, InvalidInput)


async def test_a_deep_search_is_explained_as_one(call: Call) -> None:
    """Without a model the explanation says what the search had to do without."""
    ref = (await call("memory_store_fact", **FACT)).body["ref"]
    assert (await call("memory_explain", query="Anna green", id=ref)).body["degraded"] == []
    (note,) = (await call("memory_explain", query="Anna green", id=ref, deep=True)).body["degraded"]
    assert note.startswith("no deep look: ")
