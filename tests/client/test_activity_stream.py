"""Following a store: every event once and in order, however often the stream is cut off."""

import asyncio
import json
from contextlib import aclosing
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.client.scripted import (
    CUTS,
    HANGS,
    Reply,
    Request,
    http,
    problem,
    scripted,
)

from memory_butler import Lineage, NewFact
from memory_butler.client import MemoryClient, activity_stream
from memory_butler.errors import InvalidInput, MemoryButlerError, PermissionDenied, TargetUnavailable

BEGINS = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.fixture(autouse=True)
def no_time_to_lose(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(activity_stream, "FIRST_PAUSE_SECONDS", 0.001)


def chunk(text: str) -> bytes:
    return f"{len(text.encode()):x}\r\n".encode() + text.encode() + b"\r\n"


def event(number: int, words: str = "Stored by main.", name: str = "fact.created") -> str:
    shape = {"event": name, "id": f"0198f3c2-7a10-7c3e-8f4b-{number:012d}", "words": words, "ref": "fact:k3f7"}
    shape |= {"at": "2026-03-01T09:00:00+00:00", "actor": "main", "request_id": "r"}
    return f"id: a1-{number}\nevent: {name}\ndata: {json.dumps(shape, ensure_ascii=False)}\n\n"


def stream(*blocks: str) -> bytes:
    """So far, and then the connection is cut."""
    return BEGINS + b"".join(chunk(block) for block in ("retry: 1\nid: a1-0\n\n", *blocks))


async def heard(memory: MemoryClient, most: int, since: str | None = None, **options: Any) -> list[str | None]:
    found: list[str | None] = []
    async with aclosing(memory.activity(since, **options)) as happenings:
        async for happened in happenings:
            found.append(happened.cursor)
            if len(found) == most:
                break
    return found


async def test_what_happens_is_heard_as_it_happens(memory: MemoryClient) -> None:
    """From the real server: what was before, what comes while listening, and from a cursor what came since."""
    first = await memory.store_fact(NewFact(subject="Anna", predicate="drink", content="Tea."))
    cursor = None
    async with asyncio.timeout(30), aclosing(memory.activity("start")) as happenings:
        happened = await anext(happenings)
        assert (happened.event, happened.ref, happened.actor) == ("fact.created", f"fact:{first.ref}", "main")
        await memory.confirm("fact", first.ref, lineage=Lineage(request_id="r-1", session_id="s-1"))
        happened = await anext(happenings)
        assert (happened.event, happened.lineage) == ("fact.confirmed", Lineage(request_id="r-1", session_id="s-1"))
        cursor = happened.cursor
    await memory.pin("fact", first.ref)
    page = await memory.activity_page(cursor)
    assert [item.event for item in page.items] == ["fact.pinned"] and not page.more
    async with asyncio.timeout(30), aclosing(memory.activity(cursor)) as happenings:
        happened = await anext(happenings)
        assert (happened.event, happened.cursor) == ("fact.pinned", page.cursor)
    newest = await memory.activity_page(limit=1)
    assert [item.id for item in newest.items] == [happened.id]


async def test_a_stream_that_is_cut_off_is_taken_up_where_it_was() -> None:
    """Cut in the middle of an event, refused, away, silent: the next one asks for what comes after the last heard."""
    half = event(3)[:40]
    replies: list[Reply] = [
        stream(event(1), event(2), half),
        CUTS,
        problem(503, TargetUnavailable()),
        stream(event(3)),
        stream(),
        stream(event(4), event(5)),
    ]

    async with scripted(lambda request: replies.pop(0)) as server, MemoryClient(server.url) as memory:
        assert await heard(memory, 5, "start") == ["a1-1", "a1-2", "a1-3", "a1-4", "a1-5"]
        asked = [request.path.partition("since=")[2] for request in server.requests]
    assert asked[:4] == ["start", "a1-2", "a1-2", "a1-2"]


async def test_without_a_cursor_nothing_is_lost_between_the_first_word_and_the_first_event() -> None:
    """The stream says where it begins; cut off before the first event, it is taken up from there."""
    replies = [stream(), stream(event(1))]
    async with scripted(lambda request: replies.pop(0)) as server, MemoryClient(server.url) as memory:
        assert await heard(memory, 1, scope="health") == ["a1-1"]
        assert [request.path for request in server.requests] == [
            "/api/v1/activity/stream?scope=health",
            "/api/v1/activity/stream?since=a1-0&scope=health",
        ]


async def test_an_event_that_comes_again_is_heard_once() -> None:
    """One that carries the cursor that was asked for is the one before."""
    async with scripted([stream(event(1), event(1), event(2))]) as server, MemoryClient(server.url) as memory:
        assert await heard(memory, 2) == ["a1-1", "a1-2"]


async def test_words_may_hold_any_break_but_a_line_feed() -> None:
    """Separators of lines and paragraphs inside an event do not tear it apart, wherever the pieces are cut."""
    words = "one\u2028two\u0085three\x0bfour\x1cfive ünd 🫖"
    whole = stream(event(1, words)).removeprefix(BEGINS)
    raw = "retry: 1\r\nid: a1-0\r\n\r\n: still here\r\n\r\n" + event(1, words)
    torn = BEGINS + b"".join(
        f"{1:x}\r\n".encode() + raw.encode()[place : place + 1] + b"\r\n" for place in range(len(raw.encode()))
    )
    for reply in (BEGINS + whole, torn):
        async with (
            scripted([reply]) as server,
            MemoryClient(server.url) as memory,
            aclosing(memory.activity()) as happenings,
        ):
            assert (await anext(happenings)).words == words


async def test_a_stream_that_says_nothing_is_opened_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Longer silence than a living server would keep is the end of that connection."""
    monkeypatch.setattr(activity_stream, "SILENCE_SECONDS", 0.1)
    silent = stream(event(1)) + b"5\r\nContent-Length"

    def reply(request: Request) -> Reply:
        return stream(event(2)) if "since=a1-1" in request.path else silent

    async with scripted(reply) as server, MemoryClient(server.url) as memory:
        assert await heard(memory, 2) == ["a1-1", "a1-2"]


END = {"error": "permission_denied", "message": "The token was revoked.", "recovery": "Ask for another."}
FINAL: dict[str, tuple[Reply, type[MemoryButlerError]]] = {
    "told at the end": (stream(event(2), f"id: a1-2\nevent: end\ndata: {json.dumps(END)}\n\n"), PermissionDenied),
    "refused": (problem(422, InvalidInput("since lies behind the end of the log")), InvalidInput),
    "an event of another shape": (stream("id: a1-9\nevent: x\ndata: {}\n\n"), TargetUnavailable),
    "an event that is no JSON": (stream("id: a1-9\nevent: x\ndata: <html>\n\n"), TargetUnavailable),
}


@pytest.mark.parametrize(("reply", "kind"), FINAL.values(), ids=FINAL)
async def test_what_does_not_get_better_is_raised(reply: Reply, kind: type[MemoryButlerError]) -> None:
    """Also after the stream had begun well."""
    replies = [stream(event(1)), reply]
    async with scripted(lambda request: replies.pop(0)) as server, MemoryClient(server.url) as memory:
        with pytest.raises(kind):
            await heard(memory, 10)
        assert len(server.requests) == 2


NEVER: dict[str, Reply] = {
    "a page": http(200, "<html></html>", "text/html"),
    "no server": CUTS,
    "no answer": HANGS,
    "a store that is away": problem(503, TargetUnavailable()),
}


@pytest.mark.parametrize("reply", NEVER.values(), ids=NEVER)
async def test_a_stream_that_never_began_is_an_error(reply: Reply) -> None:
    """Whoever starts to follow is told at once that there is nothing to follow."""
    async with scripted([reply]) as server, MemoryClient(server.url, deadline_seconds=0.3) as memory:
        with pytest.raises(MemoryButlerError) as raised:
            await heard(memory, 1)
    assert raised.value.retryable


async def test_leaving_ends_the_connection() -> None:
    """A reader that goes away does not keep the server busy, and the client can be used on."""
    async with scripted([stream(event(1)) + b"5\r\nContent-Length"]) as server:
        async with MemoryClient(server.url) as memory:
            assert await heard(memory, 1) == ["a1-1"]
            assert await heard(memory, 1) == ["a1-1"]
        assert server.connections == 2


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from([b"id: 1", b"id:", b"data: {}", b"data", b"event: x", b": y", b"\xff\0", b""])).map(
        b"\n".join
    )
)
def test_any_block_of_a_stream_is_parsed(raw: bytes) -> None:
    """Bytes that are not an event give no block."""
    block = activity_stream.parsed(raw)
    assert block is None or block.id or block.data is not None
