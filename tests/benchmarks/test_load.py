"""The load measurement runs in a short form, and its client understands what a server may answer."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from benchmarks.support import load_report
from benchmarks.support.lean_http import BrokenConnection, LeanHttp, post, with_body
from rich.console import Console

from benchmarks import load

Answer = Callable[[bytes, asyncio.StreamWriter], Awaitable[None]]
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"


class Server:
    """A server of this test: answers as it is told, and counts connections."""

    def __init__(self, answer: Answer) -> None:
        self.port, self.connections = 0, 0
        self.requests: list[bytes] = []
        self._answer = answer

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                body = await reader.readexactly(int(head.rpartition(b"content-length: ")[2]))
                self.requests.append(body)
                await self._answer(body, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()


@asynccontextmanager
async def serving(answer: Answer) -> AsyncIterator[Server]:
    ours = Server(answer)
    listening = await asyncio.start_server(ours.serve, "127.0.0.1", 0)
    ours.port = listening.sockets[0].getsockname()[1]
    try:
        yield ours
    finally:
        listening.close()


def request(body: bytes) -> bytes:
    return with_body(post("/api/v1/context", "localhost", "mbt_x"), body)


async def _say(body: bytes, writer: asyncio.StreamWriter) -> None:
    writer.write(OK)


async def test_connections_are_kept_and_bounded() -> None:
    """Calls one after another share a connection; of many at once no more are open than there may be."""
    async with serving(_say) as server, LeanHttp(server.port, connections=3, seconds=20) as http:
        for _ in range(5):
            assert await http.call(request(b"{}")) == (200, b"hi")
        assert server.connections == 1
        answers = await asyncio.gather(*(http.call(request(b"{}")) for _ in range(20)))
        assert answers == [(200, b"hi")] * 20
        assert server.connections == 3


async def test_an_answer_may_come_in_pieces_and_say_that_it_is_the_last() -> None:
    """Head and body are put together however they arrive; a connection that the server closes is not used again."""

    async def in_pieces(body: bytes, writer: asyncio.StreamWriter) -> None:
        said = (
            b"HTTP/1.1 429 Too Many Requests\r\ncontent-type: x\r\ncontent-length: 5\r\nconnection: close\r\n\r\nlater"
        )
        for byte in said:
            writer.write(bytes([byte]))
            await writer.drain()

    async with serving(in_pieces) as server, LeanHttp(server.port, connections=1, seconds=20) as http:
        assert [await http.call(request(b"{}")) for _ in range(2)] == [(429, b"later")] * 2
        assert server.connections == 2


@pytest.mark.parametrize("said", [b"HTTP/1.1 200 OK\r\n\r\n", b"nonsense\r\n\r\n", b""])
async def test_what_is_no_answer_is_an_error_and_not_a_wait(said: bytes) -> None:
    """An answer without a length, no answer at all, and a closed connection end the call; the next one is served."""
    broken = True

    async def once(body: bytes, writer: asyncio.StreamWriter) -> None:
        nonlocal broken
        writer.write(said if broken else OK)
        if broken and not said:
            writer.close()
        broken = False

    async with serving(once) as server, LeanHttp(server.port, connections=1, seconds=20) as http:
        with pytest.raises(BrokenConnection):
            await http.call(request(b"{}"))
        assert await http.call(request(b"{}")) == (200, b"hi")


async def test_a_late_answer_is_never_taken_for_the_next() -> None:
    """A call that was given up takes its connection with it."""
    came = asyncio.Event()

    async def only_the_second(body: bytes, writer: asyncio.StreamWriter) -> None:
        if body == b"2":
            writer.write(OK)
        came.set()

    async with serving(only_the_second) as server, LeanHttp(server.port, connections=1, seconds=20) as http:
        first = asyncio.create_task(http.call(request(b"1")))
        await came.wait()
        first.cancel()
        await asyncio.wait({first})
        assert await http.call(request(b"2")) == (200, b"hi")
        assert (server.requests, server.connections) == ([b"1", b"2"], 2)


async def test_nothing_is_waited_for_without_end() -> None:
    """A server that says nothing costs the call its time and no more."""

    async def nothing(body: bytes, writer: asyncio.StreamWriter) -> None:
        return None

    async with serving(nothing) as server, LeanHttp(server.port, connections=1, seconds=0.01) as http:
        for _ in range(2):
            with pytest.raises(TimeoutError):
                await http.call(request(b"{}"))


def test_goals_hold_for_what_was_measured_and_fail_for_what_was_not() -> None:
    """Refusals are no failures of an overload, anything else is; a service that does not come back has failed."""

    def part(p95: float, refused: float | None = None, **outcomes: int) -> dict[str, Any]:
        row = {"ms": {"p95": p95}, "refused_ms": {"p95": refused}, "outcomes": outcomes}
        return {"context": row, "store_episode": row, "resident_mb": {"first": 300, "most": 310}}

    busy = {"ok": 5, "429 overload_rejected": 90}
    good = {"steady": part(20, ok=9), "overload": part(900, 3, **busy), "back_after_seconds": 1.0}
    assert all(goal["holds"] for goal in load_report.goals(good))
    bad = {"steady": part(51, ok=9, TimeoutError=1), "overload": part(900, 60, **busy, TimeoutError=2)}
    assert [goal["holds"] for goal in load_report.goals(bad | {"back_after_seconds": None})] == [
        False, False, False, False, False, False, True, False,
    ]  # fmt: skip


@pytest.mark.usefixtures("quick_store")
def test_the_load_is_measured_end_to_end(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A real server, few tenants and seconds: every part has figures, every goal a verdict, and the file has them."""
    tiny = load.Plan(
        tenants=3,
        facts=5,
        contexts=16,
        episodes=16,
        seconds=1,
        warm_seconds=0.5,
        step_seconds=0.5,
        overload_seconds=0.5,
        pool=20,
        steps=1,
    )
    monkeypatch.setattr(load, "QUICK", tiny)
    path = tmp_path / "load.json"

    assert load.main(["--quick", "--json", str(path)]) == 0

    written = json.loads(path.read_text(encoding="utf-8"))
    for name, calls in (("steady", 16), ("overload", 20)):
        part = written[name]
        for kind in load.KINDS:
            assert sum(part[kind]["outcomes"].values()) >= calls
            assert "ok" in part[kind]["outcomes"] and part[kind]["ms"]["p95"] > 0
        assert part["cores"]["server"] > 0 and part["resident_mb"]["most"] >= part["resident_mb"]["first"] > 50
    assert len(written["steps"]) == 1 and written["back_after_seconds"] is not None
    assert len(written["goals"]) >= 6 and written["plan"]["tenants"] == 3
    load_report.show(written, Console(quiet=True))
