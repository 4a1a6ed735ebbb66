"""Whatever goes wrong around a hook, the session goes on; and it costs next to nothing."""

import asyncio
import json
import os
import re
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from subprocess import PIPE, run
from typing import Any

import httpx
import pytest
from tests.adapters.hooks.conftest import (
    COMMAND,
    Hook,
    context_in,
    ended,
    person,
    project_memory,
    prompted,
    silence,
    started,
)

from memory_butler.adapters.hooks.handlers import EVENTS
from memory_butler.adapters.hooks.project import project_of
from memory_butler.adapters.hooks.transcript import TAIL_BYTES, Turn, last_of, turns_at_end
from memory_butler.resources import Resources

SHAPES = [b"", b"not json", b"[]", b"{}", b'{"cwd": 3, "transcript_path": {}}', b"\xff"]


@pytest.mark.parametrize("told", SHAPES)
async def test_whatever_it_is_told_it_does_no_harm(port: int, hook: Hook, told: bytes) -> None:
    """Input of any other shape is answered with silence."""
    answers = await asyncio.gather(*(hook(event, port, told) for event in EVENTS))
    assert [answer.stdout for answer in answers] == [""] * len(EVENTS)


async def test_without_a_server_it_gives_up(hook: Hook, project: Path, transcript: Path) -> None:
    """Where nobody listens, the session hears why in one line, and only at its start."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        free = taken.getsockname()[1]
    assert silence(await hook("session-start", free, started(project))) == "no server is running"
    assert (await hook("user-prompt", free, prompted(project, "Fix the invoices."))).stdout == ""
    assert (await hook("session-end", free, ended(project, transcript))).stdout == ""


async def test_a_server_that_hangs_is_not_waited_for(hook: Hook, project: Path) -> None:
    """It accepts and never answers; the hook ends by its deadline while the server still hangs."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        short = {"MEMORY_BUTLER_HOOK_SECONDS": "0.3"}
        done = await hook("session-start", silent.getsockname()[1], started(project), **short)
    assert silence(done) in ("memory did not answer in time", "the server did not answer (TimeoutError)")


async def test_an_input_that_never_ends_is_not_waited_for(tmp_path: Path) -> None:
    """The deadline holds for everything a hook does, reading what it is told, too; who wants to know is told so."""
    hurried = {"MEMORY_BUTLER_HOOK_SECONDS": "0.3", "MEMORY_BUTLER_HOOK_DEBUG": "1"}
    variables = {**os.environ, "MEMORY_BUTLER_HOME": str(tmp_path), **hurried}
    process = await asyncio.create_subprocess_exec(
        *COMMAND, "hook", "session-start", stdin=PIPE, stdout=PIPE, stderr=PIPE, env=variables
    )
    assert await asyncio.wait_for(process.wait(), 60) == 0
    assert process.stderr and await process.stderr.read() == b"memory-butler hook session-start: deadline exceeded\n"


GARBAGE = [
    b"",
    b"nonsense",
    b"HTTP/1.1 200 OK\r\n\r\nnot json",
    b"HTTP/1.1 200 OK\r\n\r\n[1]",
    b'HTTP/1.1 200 OK\r\n\r\n{"context": 7}',
    b"HTTP/1.1 500 No\r\n\r\n{}",
    b"\xff\xfe\x00" * 50,
]


@asynccontextmanager
async def answering(answer: bytes) -> AsyncIterator[int]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        writer.write(answer)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


@pytest.mark.parametrize("answer", GARBAGE, ids=range(len(GARBAGE)))
async def test_a_server_that_talks_nonsense_is_not_repeated(hook: Hook, project: Path, answer: bytes) -> None:
    """What is no block is not put into a session."""
    async with answering(answer) as port:
        done = await hook("session-start", port, started(project))
    assert done.stdout == "" or silence(done).startswith("the server did not ")


async def test_the_home_can_be_named_and_says_where_the_server_is(
    resources: Resources, port: int, hook: Hook, project: Path, tmp_path: Path
) -> None:
    """As `connect` writes it down for a home that is not the usual one: its config file has the port."""
    await project_memory(resources)
    home = tmp_path / "a home"
    home.mkdir()
    (home / "config.toml").write_text(f"port = {port}\n")
    given = await hook("session-start", 1, started(project), options=("--home", str(home)), MEMORY_BUTLER_PORT="")
    assert "make check" in context_in(given.stdout)


def test_a_hook_loads_nothing_of_the_memory(tmp_path: Path) -> None:
    """Neither the engine nor the libraries of the command line: that is what makes it quick."""
    nothing = {"MEMORY_BUTLER_PORT": "1", "MEMORY_BUTLER_HOOKS__START_SERVER": "false"}
    variables = {**os.environ, "MEMORY_BUTLER_HOME": str(tmp_path), **nothing}
    arguments = [sys.executable, "-X", "importtime", "-m", "memory_butler.adapters.entry", "hook", "session-start"]
    done = run(arguments, input=b"{}", capture_output=True, env=variables, check=True, timeout=60)
    loaded = set(re.findall(r"\|\s+([\w.]+)$", done.stderr.decode(), re.MULTILINE))
    assert "memory_butler.adapters.hooks.handlers" in loaded
    heavy = {"typer", "pydantic", "asyncio", "rich", "http.client", "psycopg", "memory_butler.models", "numpy"}
    assert loaded & heavy == set()


def test_only_the_end_of_a_transcript_is_read(tmp_path: Path) -> None:
    """However long it is; the line that the part begins in the middle of is left out."""
    path = tmp_path / "long.jsonl"
    line = json.dumps(person("x" * 1000)) + "\n"
    path.write_text(line * (3 * TAIL_BYTES // len(line)) + json.dumps(person("the last")) + "\n")
    turns = turns_at_end(str(path))
    assert turns[-1].text == "the last"
    assert sum(len(turn.text) for turn in turns) < TAIL_BYTES
    assert {len(turn.text) for turn in turns} == {1000, len("the last")}


def test_no_more_is_sent_than_is_read() -> None:
    """So many turns and so many characters, the last ones; a long one is cut in its middle."""
    turns = [Turn("user", str(number) * 100, ()) for number in range(10)]
    assert last_of(turns, 3, 1000) == turns[-3:]
    assert last_of(turns, 10, 450) == turns[-4:]
    (cut,) = last_of([Turn("user", "a" * 30_000 + "b" * 30_000, ("Bash",))], 1, 100_000)
    assert cut == Turn("user", "a" * 10_000 + "\n" + "b" * 10_000, ("Bash",))


def test_a_linked_working_tree_belongs_to_its_repository(project: Path, tmp_path: Path) -> None:
    """Its `.git` is a file that names the place; and a folder outside any repository stands for itself."""
    linked, place = tmp_path / "linked", project / ".git" / "worktrees" / "linked"
    linked.mkdir()
    place.mkdir(parents=True)
    (place / "commondir").write_text("../..\n")
    (linked / ".git").write_text(f"gitdir: {place}\n")
    assert project_of(str(linked)) == (str(linked), "https://me:hunter2@github.com/Acme/Shop.git")
    assert project_of(str(tmp_path)) == (str(tmp_path), None)


BODIES = [{}, {"exchanges": "x"}, {"exchanges": [3]}, {"exchanges": [{"text": "x", "tools": 1}]}]


@pytest.mark.parametrize("body", [*BODIES, {"exchanges": [{}] * 201}])
async def test_the_door_of_the_hook_refuses_what_it_does_not_know(port: int, body: dict[str, Any]) -> None:
    """With the same errors as every other door."""
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as web:
        answer = await web.post("/hooks/session-end", json=body)
        assert answer.status_code == 422
        assert answer.json()["error"] == "validation_error"
        foreign = await web.post("/hooks/session-end", json=body, headers={"origin": "https://example.org"})
        assert foreign.status_code == 403


async def test_the_door_of_the_hook_says_what_it_does_not_have(port: int) -> None:
    """Another method or address is an error of the caller, not a fault of the server."""
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as web:
        answers = [await web.get("/hooks/session-end"), await web.post("/hooks/session-begin", json={})]
    assert [(one.status_code, one.json()["error"]) for one in answers] == [
        (405, "validation_error"),
        (404, "not_found"),
    ]
    assert all(one.json()["request_id"] == one.headers["x-request-id"] for one in answers)
