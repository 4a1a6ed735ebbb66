"""The past through the doors: answers as of a moment, and the store held against its log."""

import asyncio
import json
import os
import pty
import subprocess
import sys
import threading
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest
from fastmcp import Client
from tests.adapters.conftest import Call, Run, caller_of

from memory_butler.adapters.mcp.server import build_server
from memory_butler.models import NewEpisode, NewFact, Principal
from memory_butler.operations.history import activity
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources, system_clock

SOURCE = Path(__file__).parents[4] / "src"


@pytest.fixture
def cli(home: Path, tenant: str) -> Run:
    """Run `memory-butler` on the test's own tenant."""

    def run(*arguments: str, code: int = 0, stderr: int = subprocess.PIPE) -> "subprocess.CompletedProcess[str]":
        kept = {name: value for name, value in os.environ.items() if not name.startswith("MEMORY_BUTLER_")}
        own = {"MEMORY_BUTLER_HOME": str(home), "MEMORY_BUTLER_TENANT": tenant, "PYTHONPATH": str(SOURCE)}
        done = subprocess.run(
            [sys.executable, "-m", "memory_butler.adapters.cli.app", *arguments],
            env={**kept, **own, "PYTHONUTF8": "1", "COLUMNS": "80", "TERM": "xterm"},
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == code, (done.stdout, done.stderr)
        return done

    return run


@pytest.fixture
def quick(inside: Run, home: Path, tenant: str) -> Run:
    """The same inside this process."""
    return partial(inside, {"MEMORY_BUTLER_HOME": str(home), "MEMORY_BUTLER_TENANT": tenant})


async def _two_colors(resources: Resources) -> None:
    for content in ("blue", "green"):
        await remember.fact(resources, NewFact(subject="Anna", predicate="color", content=content))


async def test_tools_answer_as_of_a_moment(resources: Resources, clock: Any, call: Call) -> None:
    """memory_search and memory_context give the answer of the time again, and asking counts as no reference."""
    await remember.fact(resources, NewFact(subject="Anna", predicate="color", content="blue"))
    then = clock.now.isoformat()
    first = await call("memory_context", trigger_prompt="Anna's color", butler="main")
    found = await call("memory_search", query="color")
    assert "blue" in first.body["context"]
    clock.move(hours=1)
    await remember.fact(resources, NewFact(subject="Anna", predicate="color", content="green"))
    clock.move(hours=1)
    assert "green" in (await call("memory_context", trigger_prompt="Anna's color", butler="main")).body["context"]

    again = await call("memory_context", trigger_prompt="Anna's color", butler="main", as_of=then)
    assert again.text == first.text
    for _ in range(2):
        past = await call("memory_search", query="color", as_of=then)
        assert [entry["content"] for entry in past.body["results"]] == ["blue"]
        assert past.body["results"][0]["last_referenced_at"] == then
    assert found.body["results"][0]["ref"] == past.body["results"][0]["ref"]
    kept = await call("memory_get", type="fact", id=past.body["results"][0]["ref"])
    assert kept.body["memory"]["reference_count"] == 1


@pytest.mark.parametrize(
    ("as_of", "error", "words"),
    [
        ("2026-03-01", "validation_error", "date without a time"),
        ("2026-03-01T09:00:00", "validation_error", "no time zone"),
        ("yesterday", "validation_error", "not a date and time"),
        ("2026-03-01T09:00:01Z", "validation_error", "in the future"),
    ],
)
@pytest.mark.parametrize("tool", ["memory_search", "memory_context"])
async def test_a_moment_that_is_none_is_refused(call: Call, tool: str, as_of: str, error: str, words: str) -> None:
    """Each with what is wrong about it and what to do."""
    asked = {"query": "x"} if tool == "memory_search" else {"trigger_prompt": "x", "butler": "main"}
    reply = await call(tool, **asked, as_of=as_of)
    assert (reply.error, words in reply.body["message"]) == (error, True), reply.body


@pytest.mark.parametrize("tool", ["memory_search", "memory_context"])
async def test_an_agent_does_not_see_the_past(resources: Resources, clock: Any, tenant: str, tool: str) -> None:
    """A token without administrator's rights is refused, and told to leave as_of out."""
    await _two_colors(resources)
    asked = {"query": "color"} if tool == "memory_search" else {"trigger_prompt": "color", "butler": "health"}
    async with Client(build_server(resources, Principal(tenant, "health"))) as client:
        call = caller_of(client)
        reply = await call(tool, **asked, as_of=clock.now.isoformat())
        assert (reply.error, "as_of" in reply.body["recovery"]) == ("permission_denied", True)
        assert not (await call(tool, **asked)).is_error


async def test_the_command_line_asks_as_of_a_moment(real_resources: Resources, cli: Run, quick: Run) -> None:
    """`search --as-of` and `context --as-of` see what was there; what is gone since is named on stderr."""
    resources = replace(real_resources, clock=system_clock)
    episode = await remember.episode(resources, NewEpisode(content="We talked about Anna's color", butler="main"))
    await remember.fact(resources, NewFact(subject="Anna", predicate="color", content="blue"))
    then = resources.clock().isoformat()
    await remember.fact(resources, NewFact(subject="Anna", predicate="color", content="green"))
    async with resources.database.write(resources.settings.tenant, resources.clock()) as transaction:
        await transaction._connection.execute(
            "DELETE FROM memory.texts WHERE tenant_id = %s AND memory_id = %s", (transaction.tenant, episode.id)
        )

    async def found(*arguments: str) -> dict[str, Any]:
        search = ("search", "color", "--mode", "keyword", "--json", *arguments)
        return json.loads((await asyncio.to_thread(quick, *search)).stdout)

    now, past = await found("--type", "fact"), await found("--as-of", then)
    assert [entry["content"] for entry in now["results"]] == ["green"]
    assert [entry["content"] for entry in past["results"]] == ["blue"]
    assert past["degraded"] == ["1 episode of that time has been deleted since; keyword scores may differ"]
    said = cli("context", "Anna's color", "--as-of", then)
    assert "color: blue" in said.stdout
    assert "deleted" not in said.stdout
    assert said.stderr == "! 1 episode of that time has been deleted since; keyword scores may differ\n"


@pytest.mark.parametrize(
    ("command", "as_of", "words"),
    [("search", "then", "is not a time"), ("context", "2999-01-01T00:00:00Z", "in the future")],
)
def test_the_command_line_refuses_a_moment_that_is_none(quick: Run, command: str, as_of: str, words: str) -> None:
    """As an error of the closed set, with exit code 1."""
    refused = json.loads(quick(command, "color", "--as-of", as_of, "--json", code=1).stdout)
    assert (refused["error"], words in refused["message"]) == ("validation_error", True), refused


async def test_a_store_that_is_what_its_log_says(resources: Resources, quick: Run) -> None:
    """Exit code 0 and a table for a person; nothing on stderr, which is no terminal."""
    await _two_colors(resources)
    said = await asyncio.to_thread(quick, "replay", "--verify")
    assert said.stderr == ""
    assert [line.split() for line in said.stdout.splitlines() if line.startswith("facts")] == [["facts", "2", "2", "0"]]
    assert "3 events replayed: the store matches its log." in said.stdout


async def test_the_store_of_another_tenant(resources: Resources, quick: Run, tenant: str) -> None:
    """Whose log it was is asked for by name, and that somebody looked is on record there."""
    there = f"{tenant}-there"
    visited = replace(resources, settings=resources.settings.model_copy(update={"tenant": there}))
    await remember.fact(visited, NewFact(subject="Ben", predicate="color", content="red"))
    own = " ".join((await asyncio.to_thread(quick, "replay", "--verify")).stdout.split())
    assert own.endswith(f"0 events replayed: the tenant {tenant} has none. Name another one with --tenant NAME.")
    said = (await asyncio.to_thread(quick, "replay", "--verify", "--tenant", there)).stdout.splitlines()
    assert "2 events replayed: the store matches its log." in said
    assert "operator.visited" in [one.event.event_type for one in (await activity.activity(visited)).items]


async def test_a_store_that_is_not(
    resources: Resources, quick: Run, owner: psycopg.Connection[Any], tenant: str
) -> None:
    """Exit code 1; differences are counted, and rows are named with what is different, without a word of theirs."""
    await _two_colors(resources)
    await remember.fact(resources, NewFact(subject="Ben", predicate="secret", content="the safe"))
    owner.execute("UPDATE memory.facts SET importance = 9 WHERE tenant_id = %s AND content = 'green'", (tenant,))
    owner.execute("DELETE FROM memory.texts WHERE tenant_id = %s AND body LIKE '%%safe%%'", (tenant,))
    lines = (await asyncio.to_thread(quick, "replay", "--verify", code=1)).stdout.splitlines()
    assert [line.split() for line in lines if line.startswith("facts")] == [["facts", "3", "2", "2"]]
    text = " ".join(line.strip() for line in lines)
    assert "different in importance" in text
    assert "only live" in text
    assert "has been deleted" in text
    assert "safe" not in text
    assert "4 events replayed: the store does not match its log." in lines


def test_a_replay_says_what_it_does_unless_told_to(quick: Run) -> None:
    """Without --verify nothing is done, and the command explains itself."""
    refused = json.loads(quick("replay", "--json", code=1).stdout)
    assert refused["error"] == "validation_error"
    assert "replay --verify" in refused["recovery"]


async def test_a_replay_shows_how_far_it_is(resources: Resources, cli: Run) -> None:
    """On a terminal there is a bar on stderr that names the stage; stdout has the report alone, here as JSON."""
    await _two_colors(resources)
    screen, terminal = pty.openpty()
    shown: list[bytes] = []
    # Read while it is written: a screen that nobody looks at fills up, and whoever writes to it waits.
    reader = threading.Thread(target=_watch, args=(screen, shown))
    reader.start()
    try:
        shape = json.loads(cli("replay", "--verify", "--json", stderr=terminal).stdout)
    finally:
        os.close(terminal)
        reader.join()
    assert b"Comparing" in b"".join(shown)
    assert b"100%" in b"".join(shown)
    assert (shape["equal"], shape["events"], shape["removed_texts"]) == (True, 3, [])
    assert shape["tables"]["facts"] == {"live": 2, "rebuilt": 2, "differences": 0, "examples": []}


def _watch(screen: int, shown: list[bytes]) -> None:
    with os.fdopen(screen, "rb", buffering=0) as stream:
        while True:
            try:
                shown.append(stream.read(4096))
            except OSError:  # the other end is closed: all has been read
                return
