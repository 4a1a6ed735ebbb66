"""Memory around a session: it helps where it can, and whatever happens to it, the session goes on."""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.client.scripted import (
    BRIEFED,
    CUTS,
    HANGS,
    RECEIPT,
    Reply,
    answer,
    http,
    problem,
    scripted,
)

from memory_butler import BriefRequest, Lineage, NewEpisode, NewFact, Question
from memory_butler.client import InProcess, MemoryClient, session
from memory_butler.errors import TargetUnavailable
from memory_butler.models import Caller
from memory_butler.operations.retrieval import search
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources

EPISODE = answer(type="episode", id="0198f3c2-7a10-7c3e-8f4b-2d9f5a6b7c8d", ref="episode:k3f7", outcome="created")
PROMPT: dict[str, Any] = {"prompt": "Make tea for Anna", "butler": "main"}
# Far more than any of these tests takes, and far less than the server would keep it waiting.
PATIENCE_SECONDS = 20


async def episodes(resources: Resources) -> list[str]:
    found = await search.search(resources, Question(query="tea", types=("episode",), min_relevance=0), bump=False)
    return [entry.hit.content for entry in found.results]


async def test_a_session_begins_with_what_is_known_and_leaves_what_came_of_it(resources: Resources) -> None:
    """In process: the block is in the context, the summary is an episode with session, tags and lineage."""
    await remember.fact(resources, NewFact(subject="Anna", predicate="drink", content="Anna drinks green tea."))
    asked = Lineage(request_id="r-1", segment_id="s-9")
    async with session(resources, **PROMPT, session_id="tuesday", lineage=asked) as s:
        assert "Anna drinks green tea." in s.context
        assert (s.degraded, s.session_id) == (None, "tuesday")
        assert s.receipt and s.receipt.request_id == "r-1"
        s.finish("Anna got her green tea.", tags=["kitchen"], importance=7, metadata={"cups": 2})
        assert await episodes(resources) == []
    assert s.stored and s.stored.outcome == "created"
    found = (await search.search(resources, Question(query="tea", types=("episode",), min_relevance=0))).results[0].hit
    assert (found.content, found.session_id) == ("Anna got her green tea.", "tuesday")
    assert (found.tags, found.importance) == (["kitchen"], 7)


async def test_a_session_without_an_id_gets_one(resources: Resources) -> None:
    """Two sessions are two."""
    async with session(resources, **PROMPT) as one, session(resources, **PROMPT) as two:
        assert one.session_id and two.session_id and one.session_id != two.session_id


async def test_nothing_is_kept_of_a_session_that_failed(resources: Resources) -> None:
    """An exception of the caller comes out as it is, and leaves no episode even if a summary was given."""
    with pytest.raises(ZeroDivisionError):
        async with session(resources, **PROMPT) as s:
            s.finish("We almost made tea.")
            _ = 1 / 0
    assert s.stored is None
    assert await episodes(resources) == []


@pytest.mark.parametrize("summary", [None, "", "  \n"])
async def test_nothing_to_tell_leaves_nothing(resources: Resources, summary: str | None) -> None:
    """Without a summary, or with an empty one, there is no episode; it is no failure either."""
    async with session(resources, **PROMPT):
        pass
    async with session(resources, **PROMPT) as s:
        s.finish("We talked about tea.")
        s.finish(summary)
    assert (s.stored, s.degraded) == (None, None)
    assert await episodes(resources) == []


async def test_an_in_process_session_can_be_somebody_elses(resources: Resources, agent: Callable[..., Caller]) -> None:
    """A host passes the caller; what that caller may not do is degraded, not raised."""
    health = agent("health")
    async with session(InProcess(resources, health), prompt="tea", butler="health") as s:
        s.finish("Tea is healthy.")
    assert s.stored and s.degraded is None
    async with session(InProcess(resources, health), prompt="tea", butler="finance") as s:
        s.finish("Tea is cheap.")
    assert s.degraded and "permission_denied" in s.degraded
    assert (s.context, s.stored) == ("", None)


async def test_a_session_over_http() -> None:
    """The same with a client: block, episode, lineage; nothing else is asked."""
    async with scripted([BRIEFED, EPISODE]) as server, MemoryClient(server.url) as memory:
        async with session(memory, **PROMPT, session_id="s1", token_budget=99, lineage=Lineage(request_id="r")) as s:
            assert "tea" in s.context
            s.finish("Tea was made.", tags=("kitchen",))
        first, second = server.requests
    assert s.stored and s.degraded is None
    context = {"request_id": "r", "session_id": "s1"}
    asked = {"trigger_prompt": "Make tea for Anna", "butler": "main", "token_budget": 99, "request_context": context}
    assert (first.path, first.body) == ("/api/v1/context", asked)
    key = second.body.pop("idempotency_key")
    told = {"content": "Tea was made.", "butler": "main", "session_id": "s1", "tags": ["kitchen"]}
    assert key and (second.path, second.body) == ("/api/v1/store_episode", {**told, "request_context": context})


async def test_a_server_that_did_without_something_says_so() -> None:
    """The block is there, and so is the word that it was made with less than usual."""
    partly = answer(context="# What I remember", receipt={**RECEIPT, "degraded": ["semantic search"]})
    async with scripted([partly]) as server, MemoryClient(server.url) as memory, session(memory, **PROMPT) as s:
        assert (s.context, s.degraded) == ("# What I remember", "semantic search")


@asynccontextmanager
async def stopped() -> AsyncIterator[str]:
    """An address where nobody listens any more."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    yield f"http://127.0.0.1:{port}"


@asynccontextmanager
async def deaf() -> AsyncIterator[str]:
    """A listener that never accepts: connections wait in its queue."""
    with socket.create_server(("127.0.0.1", 0), backlog=16) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def replying(*replies: Reply) -> Callable[[], Any]:
    @asynccontextmanager
    async def serve() -> AsyncIterator[str]:
        async with scripted(replies) as server:
            yield server.url

    return serve


DROPS = b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\nConnection: close\r\n\r\n" + b'{"context": "'
STALLS = b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"con\r\n'
TROUBLES: dict[str, tuple[Callable[[], Any], str]] = {
    "stopped": (stopped, "target_unavailable"),
    "never accepts": (deaf, "timeout"),
    "accepts and never answers": (replying(HANGS), "timeout"),
    "begins and goes silent": (replying(STALLS + b"Content-Length"), "timeout"),
    "hangs up": (replying(CUTS), "target_unavailable"),
    "dies in the middle of an answer": (replying(DROPS), "target_unavailable"),
    "another page": (replying(http(200, "<html>Log in to the network</html>", "text/html")), "target_unavailable"),
    "half of an answer": (replying(http(200, '{"context": "# What I re')), "target_unavailable"),
    "another shape": (replying(answer(context=7, receipt=[])), "target_unavailable"),
    "no receipt": (replying(answer(context="x")), "target_unavailable"),
    "an error page": (replying(http(500, "<h1>500</h1>", "text/html")), "target_unavailable"),
    "down": (replying(problem(503, TargetUnavailable())), "target_unavailable"),
    "full": (replying(http(429, '{"error": "overload_rejected", "message": "Full."}')), "overload_rejected"),
    "full for an hour": (
        replying(http(429, '{"error": "overload_rejected", "message": "Full."}', Retry_After="3600")),
        "overload_rejected",
    ),
    "no token": (replying(http(401, '{"error": "permission_denied", "message": "Who?"}')), "permission_denied"),
}


@pytest.mark.parametrize(("trouble", "reason"), TROUBLES.values(), ids=TROUBLES)
async def test_whatever_is_wrong_with_memory_the_session_goes_on(
    trouble: Callable[[], Any], reason: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The work is done and its result kept, twice over; the session says why it is degraded; the log says it once."""
    caplog.set_level(logging.WARNING)
    monkeypatch.setattr("memory_butler.client.connection.FIRST_PAUSE_SECONDS", 0.001)
    # Another test may have had the same port and the same trouble.
    monkeypatch.setattr("memory_butler.client.agent_session._warned", set())
    deadline_seconds = 0.2 if reason == "timeout" else PATIENCE_SECONDS
    done = []
    async with trouble() as url, MemoryClient(url) as memory:
        for turn in range(2):
            async with session(memory, **PROMPT, deadline_seconds=deadline_seconds) as s:
                assert s.context == "" and s.degraded and s.degraded.startswith(f"context: {reason}:")
                done.append(turn)
                s.finish("Tea was made.")
            assert s.stored is None
            assert f"; episode: {reason}:" in s.degraded
    assert done == [0, 1]
    own = [record for record in caplog.records if record.name.startswith("memory_butler.client")]
    warnings = [record.getMessage() for record in own if record.levelno >= logging.WARNING]
    assert len(warnings) == 2, warnings
    assert "(context)" in warnings[0] and "(episode)" in warnings[1]
    assert all(reason in warning for warning in warnings)


async def test_a_slow_server_is_waited_for_as_long_as_the_deadline_and_no_longer() -> None:
    """An answer that takes a while is used if it is in time; the same answer is not waited for past the deadline."""
    released, served = asyncio.Event(), asyncio.Event()

    async def slowly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        served.set()
        await released.wait()
        writer.write(BRIEFED)
        writer.close()

    server = await asyncio.start_server(slowly, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server, MemoryClient(url) as memory:
        async with session(memory, **PROMPT, deadline_seconds=0.2) as s:
            assert s.context == "" and s.degraded
        served.clear()
        patient = session(memory, **PROMPT, deadline_seconds=PATIENCE_SECONDS)
        entering = asyncio.create_task(patient.__aenter__())
        await served.wait()
        assert not entering.done()
        released.set()
        assert (await entering).context and patient.degraded is None


class Stubborn:
    """A memory whose every call does not even end when it is cancelled."""

    url = "stubborn"

    def __init__(self) -> None:
        self.release = asyncio.Event()
        self.begun = asyncio.Event()
        self.ended = 0

    async def context(self, request: BriefRequest, **options: Any) -> Any:
        await self._hang()

    async def store_episode(self, new: NewEpisode, **options: Any) -> Any:
        await self._hang()

    async def _hang(self) -> None:
        self.begun.set()
        while not self.release.is_set():
            try:
                await self.release.wait()
            except asyncio.CancelledError:
                continue
        self.ended += 1


async def test_what_does_not_give_up_is_left_behind() -> None:
    """Past its deadline a call is not waited for, even if it does not let itself be cancelled."""
    memory = Stubborn()
    async with session(memory, **PROMPT, deadline_seconds=0.05) as s:
        s.finish("Tea was made.")
    assert s.degraded and s.degraded.count("timeout") == 2
    assert memory.ended == 0
    memory.release.set()


@pytest.mark.parametrize("step", ["before", "within", "after"])
async def test_the_callers_own_cancellation_passes_through(step: str) -> None:
    """Before, within and after the block a cancelled task is cancelled at once, not kept and not degraded."""
    memory = Stubborn()
    inside = asyncio.Event()

    async def work() -> None:
        patient = session(memory, **PROMPT, deadline_seconds=PATIENCE_SECONDS)
        if step != "before":
            patient.__class__ = type("Entered", (type(patient),), {"__aenter__": _entered})
        async with patient as s:
            s.finish("Tea was made.")
            if step == "within":
                inside.set()
                await asyncio.Event().wait()

    task = asyncio.create_task(work())
    await (inside if step == "within" else memory.begun).wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert memory.begun.is_set() is (step != "within")
    assert memory.ended == 0
    memory.release.set()


async def _entered(self: Any) -> Any:
    return self


class Broken:
    """A memory with a fault that nobody thought of."""

    url = "broken"

    async def context(self, request: BriefRequest, **options: Any) -> Any:
        raise RuntimeError("the shelf fell down")

    async def store_episode(self, new: object, **options: Any) -> Any:
        raise asyncio.CancelledError


async def test_a_fault_that_nobody_thought_of_is_degraded_too(caplog: pytest.LogCaptureFixture) -> None:
    """Any exception, and even a cancellation that is not the caller's; the log has the traceback."""
    async with session(Broken(), **PROMPT) as s:
        s.finish("Tea was made.")
    assert s.degraded and "RuntimeError: the shelf fell down" in s.degraded and "episode: internal_error" in s.degraded
    assert caplog.records[0].exc_info


async def test_a_butler_whose_store_is_gone_is_degraded(resources: Resources) -> None:
    """In process, too: a closed database is the butler's trouble, not the session's."""
    from dataclasses import replace

    from memory_butler.store.gate.database import Database

    gone = replace(resources, database=Database.from_settings(resources.settings))
    async with session(gone, **PROMPT, deadline_seconds=PATIENCE_SECONDS) as s:
        s.finish("Tea was made.")
    assert s.context == "" and s.stored is None and s.degraded


async def test_the_loop_is_not_held_while_memory_is_waited_for() -> None:
    """Other work of the same loop goes on while a session waits for a server that says nothing."""
    async with scripted([HANGS]) as server, MemoryClient(server.url) as memory:
        waiting = asyncio.create_task(session(memory, **PROMPT, deadline_seconds=PATIENCE_SECONDS).__aenter__())
        await server.hung.wait()
        for _ in range(1000):
            await asyncio.sleep(0)
        assert not waiting.done()
        waiting.cancel()
