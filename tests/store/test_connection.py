"""Statements of a pipeline are written at once; only answers are waited for."""

import asyncio
import socket
from collections.abc import Generator
from typing import Any

import pytest
from psycopg.waiting import Ready, Wait

from memory_butler.butler import Butler
from memory_butler.store.connection import _at_once

Line = tuple[socket.socket, socket.socket]


@pytest.fixture
def line() -> Generator[Line, None, None]:
    """Both ends of a connection."""
    near, far = socket.socketpair()
    with near, far:
        near.setblocking(False)
        yield near, far


def _asking(*wanted: Wait) -> Generator[Wait, Any, list[Any]]:
    """What the driver's generators do: say what they wait for, and hear what is ready."""
    heard = []
    for one in wanted:
        heard.append((yield one))
    return heard


def _end_of(gen: Generator[Any, Any, list[Any]], *answers: Ready) -> tuple[list[Any], list[Any]]:
    """What a generator asked the event loop, given its answers, and what it came to."""
    asked, left = [], list(answers)
    try:
        asked.append(next(gen))
        while True:
            asked.append(gen.send(left.pop(0)))
    except StopIteration as end:
        return asked, end.value


def test_a_socket_that_can_be_written_to_is_not_waited_for(line: Line) -> None:
    """The event loop is not asked; and what has come meanwhile is said as well."""
    near, far = line
    assert _end_of(_at_once(_asking(Wait.RW, Wait.RW), near.fileno())) == ([], [Ready.W, Ready.W])
    far.send(b"x")
    assert _end_of(_at_once(_asking(Wait.RW), near.fileno())) == ([], [Ready.RW])


def test_whoever_only_reads_waits_for_the_event_loop(line: Line) -> None:
    """Also when there is something to read: others have their turn in between."""
    near, far = line
    far.send(b"x")
    assert _end_of(_at_once(_asking(Wait.R), near.fileno()), Ready.R) == ([Wait.R], [Ready.R])


def test_a_socket_that_is_full_or_gone_is_left_to_the_event_loop(line: Line) -> None:
    """The driver finds out in its own way what became of it."""
    near, far = line
    with pytest.raises(BlockingIOError):
        while True:
            near.send(b"x" * 65_536)
    assert _end_of(_at_once(_asking(Wait.RW), near.fileno()), Ready.W) == ([Wait.RW], [Ready.W])
    far.close()
    assert _end_of(_at_once(_asking(Wait.RW), near.fileno()), Ready.R) == ([Wait.RW], [Ready.R])


async def test_a_transaction_asks_the_event_loop_only_for_answers(
    butler: Butler, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many statements it has, writing them does not wait."""
    async with butler.database.read(butler.settings.tenant) as session:
        await session.one("stats.log")
    loop = asyncio.get_running_loop()
    writers: list[Any] = []
    wait_to_write = loop.add_writer
    monkeypatch.setattr(loop, "add_writer", lambda *given: writers.append(given) or wait_to_write(*given))
    async with butler.database.read(butler.settings.tenant) as session:
        for _ in range(3):
            await session.send("stats.log")
        await session.one("stats.log")
    assert writers == []
