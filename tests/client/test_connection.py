"""One call over a real socket: attempts, deadlines, and what becomes of answers that are none."""

import asyncio
import gzip
import json
import socket
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from tests.client.scripted import (
    BRIEFED,
    CUTS,
    HANGS,
    STORED,
    Reply,
    answer,
    http,
    problem,
    scripted,
)

from memory_butler import BriefRequest, NewFact, Question
from memory_butler.client import MemoryClient
from memory_butler.errors import (
    ERROR_CLASSES,
    DeadlinePassed,
    InvalidInput,
    MemoryButlerError,
    OverloadRejected,
    TargetUnavailable,
)

FACT = NewFact(subject="Anna", predicate="drink", content="green tea")
DOWN = problem(503, TargetUnavailable())
EMPTY = answer(results=[], count=0)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port


@pytest.fixture(autouse=True)
def no_time_to_lose(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses are as short as they may be; how long they are is told by the tests that measure them."""
    monkeypatch.setattr("memory_butler.client.connection.FIRST_PAUSE_SECONDS", 0.001)


PASSING = {
    "a store that is opening": DOWN,
    "a proxy without a server": http(502, "<html>Bad Gateway</html>", "text/html"),
    "a proxy that waited": http(504, "Gateway Timeout", "text/plain"),
    "a full house": problem(429, OverloadRejected()),
    "a connection that ends": CUTS,
    "a body that ends early": b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\nConnection: close\r\n\r\n{",
}


@pytest.mark.parametrize("trouble", PASSING.values(), ids=PASSING)
async def test_trouble_that_passes_is_not_noticed(trouble: bytes) -> None:
    """Reads and writes are tried again; a write shows the same key each time, so that it is one write."""
    async with scripted([trouble, trouble, STORED]) as server, MemoryClient(server.url) as memory:
        assert (await memory.store_fact(FACT)).outcome == "created"
        keys = [request.body["idempotency_key"] for request in server.requests]
        assert len(keys) == 3 and len(set(keys)) == 1 and len(keys[0]) >= 32
    async with scripted([trouble, EMPTY]) as server, MemoryClient(server.url) as memory:
        assert (await memory.search(Question(query="tea"))).results == ()
        assert len(server.requests) == 2


async def test_each_write_has_a_key_of_its_own_and_a_given_one_is_kept() -> None:
    """Two writes are two; the caller's own key goes out as it is."""
    async with scripted([STORED]) as server, MemoryClient(server.url) as memory:
        await memory.store_fact(FACT)
        await memory.store_fact(FACT)
        await memory.confirm("fact", "k3f7", idempotency_key="mine")
        await memory.store_fact(NewFact(subject="a", predicate="b", content="c", idempotency_key="too"))
        first, second, third, fourth = (request.body["idempotency_key"] for request in server.requests)
    assert first != second
    assert (third, fourth) == ("mine", "too")


async def test_what_is_not_repeatable_is_tried_again_only_if_it_was_not_started() -> None:
    """A claim that was perhaps made is not made twice; one that was turned away at the door is tried again."""
    claimed = answer(run=None)
    for trouble in (CUTS, DOWN):
        async with scripted([trouble, claimed]) as server, MemoryClient(server.url) as memory:
            with pytest.raises(TargetUnavailable):
                await memory.consolidation_claim()
            assert len(server.requests) == 1
    async with scripted([problem(429, OverloadRejected()), claimed]) as server, MemoryClient(server.url) as memory:
        assert (await memory.consolidation_claim())["run"] is None


async def test_it_gives_up_after_some_attempts() -> None:
    """A server that stays away is told as such, in the server's own words if it has any."""
    async with scripted([problem(503, TargetUnavailable("The cellar is flooded.", recovery="Pump."))]) as server:
        async with MemoryClient(server.url) as memory:
            with pytest.raises(TargetUnavailable) as raised:
                await memory.search(Question(query="tea"))
        assert len(server.requests) == 4
    assert (raised.value.message, raised.value.recovery) == ("The cellar is flooded.", "Pump.")


async def test_nobody_there() -> None:
    """A port without a server is `target_unavailable`, which is not the same as no memories."""
    async with MemoryClient(f"http://127.0.0.1:{free_port()}") as memory:
        with pytest.raises(TargetUnavailable, match=r"cannot be reached.*does not mean"):
            await memory.search(Question(query="tea"))


@pytest.mark.parametrize("kind", ERROR_CLASSES.values(), ids=ERROR_CLASSES)
async def test_an_error_of_the_server_is_raised_as_what_it_was(kind: type[MemoryButlerError]) -> None:
    """Class, message and way out arrive as they were sent, and the request's id with them."""
    sent = kind("What happened: {braces} – and more.", recovery="Do this.")
    async with scripted([problem(422, sent, X_Request_Id="r-1")]) as server, MemoryClient(server.url) as memory:
        with pytest.raises(kind) as raised:
            await memory.context(BriefRequest(trigger_prompt="x", butler="main"))
    assert type(raised.value) is kind
    assert raised.value.as_dict() == sent.as_dict()
    assert raised.value.__notes__ == ["request r-1"]


GARBAGE: dict[str, bytes] = {
    "a page": http(200, "<html>Welcome to the hotel's network</html>", "text/html"),
    "half of an answer": http(200, '{"results": [{"ref": "fa'),
    "a list": http(200, "[]"),
    "nothing": http(200, ""),
    "a number": http(200, "7"),
    "another shape": answer(hello="world"),
    "results that are none": answer(results="many", count=1),
    "a result that is none": answer(results=[{"ref": 7}], count=1),
    "a type that does not exist": answer(results=[{"ref": "dream:k3f7", "type": "dream", "parts": {}}], count=1),
    "endless brackets": http(200, "[" * 100_000),
    "no text at all": http(200, b"\xff\xfe\x00"),
    "a broken packing": http(200, b"not gzip", Content_Encoding="gzip"),
    "a fault without words": http(500, "<h1>Internal Server Error</h1>", "text/html"),
    "a fault in other words": http(500, json.dumps({"error": "oops", "message": 3})),
    "an error of no known class": http(400, json.dumps({"error": "strange", "message": "x"})),
    "another address": http(302, "", Location="http://127.0.0.1:1/"),
    "no such page": http(404, "nginx", "text/html"),
    "another protocol": b"SSH-2.0-OpenSSH_9.6\r\n",
}


@pytest.mark.parametrize("reply", GARBAGE.values(), ids=GARBAGE)
async def test_an_answer_that_is_none_is_no_answer(reply: bytes) -> None:
    """Whatever else is at the address: `target_unavailable`, with what to check, and never an empty result."""
    async with scripted([reply]) as server, MemoryClient(server.url) as memory:
        with pytest.raises(TargetUnavailable) as raised:
            await memory.search(Question(query="tea"))
    assert raised.value.recovery


async def test_an_answer_without_end_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that is small until it is unpacked."""
    monkeypatch.setattr("memory_butler.client.connection.LONGEST_ANSWER_BYTES", 100_000)
    bomb = http(200, gzip.compress(b"[" + b" " * 1_000_000), Content_Encoding="gzip")
    async with scripted([bomb]) as server, MemoryClient(server.url) as memory:
        with pytest.raises(TargetUnavailable, match="more than"):
            await memory.search(Question(query="tea"))


SILENCE: dict[str, Reply] = {
    "no answer": HANGS,
    "the beginning of one": b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{",
}


@pytest.mark.parametrize("reply", SILENCE.values(), ids=SILENCE)
async def test_a_server_that_says_nothing_costs_no_more_than_the_deadline(reply: Reply) -> None:
    """The call's own deadline counts, else the client's."""
    async with scripted([reply]) as server, MemoryClient(server.url, deadline_seconds=0.2) as memory:
        with pytest.raises(DeadlinePassed, match=r"within 0\.2 seconds"):
            await memory.search(Question(query="tea"))
        with pytest.raises(DeadlinePassed, match=r"within 0\.1 seconds"):
            await memory.search(Question(query="tea"), deadline_seconds=0.1)


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long was waited between attempts; nobody really waits."""
    waited: list[float] = []
    rest = asyncio.sleep

    async def noted(seconds: float) -> None:
        waited.append(seconds)
        await rest(0)

    monkeypatch.setattr("memory_butler.client.connection.sleep", noted)
    return waited


async def test_pauses_grow_and_vary(pauses: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is up to twice as long as the one before, and no two clients wait for exactly as long."""
    monkeypatch.setattr("memory_butler.client.connection.FIRST_PAUSE_SECONDS", 0.1)
    async with scripted([DOWN]) as server, MemoryClient(server.url) as memory:
        for _ in range(2):
            with pytest.raises(TargetUnavailable):
                await memory.search(Question(query="tea"))
    first, second = pauses[:3], pauses[3:]
    for waited in (first, second):
        assert all(most / 2 <= seconds <= most for seconds, most in zip(waited, (0.1, 0.2, 0.4), strict=True))
    assert first != second


async def test_the_server_says_when_to_come_again(pauses: list[float]) -> None:
    """Three seconds are waited for if there are any; if there are not, the refusal is told at once."""
    full = problem(429, OverloadRejected(), Retry_After="3")
    async with scripted([full, EMPTY]) as server, MemoryClient(server.url, deadline_seconds=60) as memory:
        await memory.search(Question(query="tea"))
    assert pauses == [3]
    for later in ("60", format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True), "1e9", "inf"):
        full = problem(429, OverloadRejected(), Retry_After=later)
        async with scripted([full, EMPTY]) as server, MemoryClient(server.url, deadline_seconds=20) as memory:
            with pytest.raises(OverloadRejected):
                await memory.search(Question(query="tea"))
            assert len(server.requests) == 1
    assert pauses == [3]
    for nonsense in ("soon", "-5", "nan", "Thu, 01 Jan 1970 00:00:00 GMT"):
        full = problem(429, OverloadRejected(), Retry_After=nonsense)
        async with scripted([full, EMPTY]) as server, MemoryClient(server.url) as memory:
            assert (await memory.search(Question(query="tea"))).results == ()
    assert max(pauses[1:]) < 0.01


async def test_this_machine_is_not_asked_through_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy in the environment would get to see the token, and could not reach the server."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{free_port()}")
    async with scripted([EMPTY]) as server, MemoryClient(server.url, token="mbt_x") as memory:
        assert (await memory.search(Question(query="tea"))).results == ()


async def test_connections_are_used_again() -> None:
    """Many calls one after another go over one connection."""
    async with scripted([BRIEFED]) as server, MemoryClient(server.url) as memory:
        for _ in range(10):
            assert (await memory.context(BriefRequest(trigger_prompt="x", butler="main"))).text
        assert (len(server.requests), server.connections) == (10, 1)


async def test_who_is_calling_is_said_with_every_call() -> None:
    """The token goes along, and for an operator the tenant; without them neither header is there."""
    async with scripted([EMPTY]) as server:
        async with MemoryClient(server.url, token="mb_secret", tenant="acme") as memory:
            await memory.search(Question(query="tea"))
        async with MemoryClient(server.url) as memory:
            await memory.search(Question(query="tea"))
        with_token, without = (request.headers for request in server.requests)
    assert with_token["authorization"] == "Bearer mb_secret"
    assert with_token["memory-butler-tenant"] == "acme"
    assert not {"authorization", "memory-butler-tenant"} & set(without)


@pytest.mark.parametrize("tail", ["", "/", "/mcp", "/api/v1", "/api/v1/"])
async def test_any_address_of_the_server_will_do(tail: str) -> None:
    """Whichever door's address was copied, the calls go to /api/v1."""
    async with scripted([EMPTY]) as server, MemoryClient(server.url + tail) as memory:
        await memory.search(Question(query="tea"))
        assert [request.path for request in server.requests] == ["/api/v1/search"]


@pytest.mark.parametrize(
    "wrong",
    ["", "localhost", "localhost:8150", "ftp://x", "http://", "http://[", "http://h:999999", "http://a:secret@h"],
)
def test_an_address_that_is_none_is_refused_at_once(wrong: str) -> None:
    """With an example of one, and without repeating a password."""
    with pytest.raises(InvalidInput, match="base_url") as raised:
        MemoryClient(wrong)
    assert "secret" not in str(raised.value)


def test_a_token_that_no_header_can_carry_is_refused_at_once() -> None:
    """A line break in it would be another header."""
    with pytest.raises(InvalidInput):
        MemoryClient("http://127.0.0.1:1", token="a\r\nX: b")


async def test_what_is_no_json_does_not_leave_the_house() -> None:
    """Metadata with something that JSON does not know is the caller's mistake, told without asking the server."""
    async with scripted([STORED]) as server, MemoryClient(server.url) as memory:
        for value in (object(), float("nan"), {1, 2j}):
            with pytest.raises(InvalidInput, match="cannot be encoded as JSON"):
                await memory.store_fact(NewFact(subject="a", predicate="b", content="c", metadata={"x": value}))
        assert server.requests == []


async def test_a_cancelled_call_is_cancelled() -> None:
    """Cancellation is the caller's own: it comes out as what it is, and the client works on."""

    def reply(request: object) -> Reply:
        return HANGS if len(server.requests) == 1 else EMPTY

    async with scripted(reply) as server, MemoryClient(server.url) as memory:
        call = asyncio.create_task(memory.search(Question(query="tea")))
        await server.hung.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert (await memory.search(Question(query="tea"))).results == ()
