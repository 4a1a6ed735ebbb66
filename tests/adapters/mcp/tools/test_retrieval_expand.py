"""Neighbours of results through the doors: MCP for agents, the command line for people."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from tests.adapters.conftest import Call, lines
from typer.testing import Result

from memory_butler.adapters.cli.tables.memories import NEIGHBOUR_CHARACTERS
from memory_butler.errors import InvalidInput
from memory_butler.models import NewEpisode, NewFact
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources

Command = Callable[..., Result]


async def session_of(call: Call, clock: Any, *contents: str) -> list[str]:
    """Turns of one session, a minute apart; their references."""
    refs = []
    for content in contents:
        clock.move(minutes=1)
        reply = await call("memory_store_episode", content=content, butler="main", session_id="s1")
        refs.append(reply.body["ref"])
    return refs


# --- MCP ------------------------------------------------------------------------------------------


async def test_a_search_shows_the_turns_around_an_episode(call: Call, clock: Any) -> None:
    """Each with reference, relation, words and time, by a number as models write it; only when asked for."""
    refs = await session_of(call, clock, "We set sail.", "The harbour was closed.", "We turned back.")
    asked = {"query": "harbour", "mode": "keyword"}
    (result,) = (await call("memory_search", **asked, expand="1")).body["results"]
    before, after = result["neighbours"]
    assert (before["ref"], before["type"], before["relation"]) == (refs[0], "episode", "before")
    assert (before["content"], before["observed_at"]) == ("We set sail.", "2026-03-01T09:01:00+00:00")
    assert (after["ref"], after["relation"], after["content"]) == (refs[2], "after", "We turned back.")
    assert "subject" not in before
    for without in ({}, {"expand": None}, {"expand": 0}):
        (result,) = (await call("memory_search", **asked, **without)).body["results"]
        assert "neighbours" not in result


async def test_a_topic_is_answered_with_what_it_rests_on(call: Call, clock: Any) -> None:
    """memory_recall shows a fact's subject's other facts and the episode it came from; a fact alone has none."""
    (source,) = await session_of(call, clock, "Anna told me about her boat.")
    fact = {"subject": "Anna", "predicate": "boat", "content": "It lies in the harbour."}
    await call("memory_store_fact", **fact, source_episode=source)
    other = await call("memory_store_fact", subject="anna", predicate="favorite color", content="blue")
    await call("memory_store_fact", subject="Ben", predicate="pet", content="a parrot")
    (result,) = (await call("memory_recall", topic="harbour", limit=1, expand=2)).body["results"]
    assert result["content"] == "It lies in the harbour."
    same, learned = result["neighbours"]
    assert (same["ref"], same["relation"]) == (other.body["ref"], "same_subject")
    assert (same["subject"], same["predicate"], same["content"]) == ("anna", "favorite color", "blue")
    assert (learned["ref"], learned["relation"]) == (source, "source")
    (alone,) = (await call("memory_search", query="parrot", mode="keyword", expand=5)).body["results"]
    assert alone["neighbours"] == []


async def test_a_neighbour_that_is_a_result_is_only_named(call: Call, clock: Any) -> None:
    """Reference, type and relation; its words stand where the result stands."""
    first, second = await session_of(call, clock, "To the harbour.", "Harbour closed.")
    results = (await call("memory_search", query="harbour", mode="keyword", expand=1)).body["results"]
    named = {result["ref"]: result["neighbours"] for result in results}
    assert named == {
        first: [{"ref": second, "type": "episode", "relation": "after"}],
        second: [{"ref": first, "type": "episode", "relation": "before"}],
    }


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"expand": 6}, "expand is 6; it must be from 0 to 5"),
        ({"expand": -1}, "from 0 to 5"),
        ({"expand": "many"}, "whole number"),
        ({"expand": 1, "as_of": "2026-03-01T09:00:00Z"}, "cannot be combined with as_of"),
    ],
)
async def test_bad_numbers_and_the_past_are_refused(call: Call, given: dict[str, Any], words: str) -> None:
    """With what is wrong about it."""
    reply = await call("memory_search", query="harbour", **given)
    assert (reply.error, words in reply.body["message"]) == ("validation_error", True), reply.body


# --- the command line -----------------------------------------------------------------------------


async def test_the_terminal_shows_neighbours_indented_under_their_result(
    resources: Resources, command: Command
) -> None:
    """Reference and relation one step in, the words cut if they are long; without --expand nothing of them."""
    talk = await remember.episode(
        resources, NewEpisode(content=f"\x1b[31mAnna spoke of {'boats ' * 99}", butler="main")
    )
    boat = NewFact(subject="Anna", predicate="boat", content="It lies in the harbour.", source_episode=talk.ref)
    color = NewFact(subject="Anna", predicate="favorite_color", content="blue")
    facts = [await remember.fact(resources, new) for new in (boat, color)]
    refs = [f"{one.type}:{one.ref}" for one in (*facts, talk)]
    for verb in ("search", "recall"):
        asked = (verb, "harbour boat", "--limit", "1")
        types = ("--type", "fact") if verb == "search" else ()
        found = lines(await asyncio.to_thread(command, *asked, *types, "--expand", "1"))
        places = [next(n for n, line in enumerate(found) if ref in line) for ref in refs]
        assert places == sorted(places)
        assert [found[n].split("\t")[1] for n in places] == refs
        assert [not found[n].split("\t")[0] for n in places] == [False, True, True]
        assert found[places[1]].endswith("same subject: favorite color: blue")
        assert "source: Anna spoke of" in found[places[2]]
        said = " ".join(" ".join(found[places[2] :]).split())
        assert said.endswith("…") and said.count("boats") < NEIGHBOUR_CHARACTERS / 6
        assert refs[1] not in (await asyncio.to_thread(command, *asked, *types)).stdout


def test_what_is_a_result_itself_is_not_repeated(command: Command, ask: Callable[..., Any]) -> None:
    """The terminal says that it is there already, and JSON names it."""
    for predicate in ("boat", "dock"):
        ask("remember", "fact", "Anna", predicate, f"her {predicate} in the harbour")
    found = "\n".join(lines(command("search", "harbour", "--mode", "keyword", "--expand", "1")))
    assert found.count("her boat in the harbour") == found.count("her dock in the harbour") == 1
    assert found.count("same subject: also in these results") == 2
    results = ask("search", "harbour", "--mode", "keyword", "--expand", "1")["results"]
    assert [[sorted(one) for one in result["neighbours"]] for result in results] == [[["ref", "relation", "type"]]] * 2


def test_the_terminal_refuses_what_is_not_offered(command: Command) -> None:
    """The error reaches the outermost place, where it becomes one block and an exit code."""
    for arguments in (("--expand", "6"), ("--expand", "1", "--as-of", "2026-03-01T09:00:00Z")):
        done = command("search", "harbour", *arguments)
        assert isinstance(done.exception, InvalidInput) and "expand" in str(done.exception)
