"""The statements of a transaction are sent together; only answers are waited for."""

import asyncio
import inspect
import re
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import AsyncConnection, AsyncPipeline, generators

from memory_butler.resources import Resources
from memory_butler.store.gate.connection import Connection


@pytest.fixture
def flushed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How often a connection waited for answers, each time after it had sent what it had to send."""
    waits: list[int] = []
    wait = Connection.wait

    async def counted(self: Connection, *given: Any, **more: Any) -> Any:
        before = self._pipeline is not None and len(self._pipeline.command_queue)
        answer = await wait(self, *given, **more)
        if before and self._pipeline is not None and not self._pipeline.command_queue:
            waits.append(before)
        return answer

    monkeypatch.setattr(Connection, "wait", counted)
    return waits


async def test_nothing_is_sent_before_an_answer_is_wanted(resources: Resources, flushed: list[int]) -> None:
    """Then all of it: the beginning, who is asking and every statement; the rest goes with the end."""
    async with resources.database.read(resources.settings.tenant) as transaction:
        for _ in range(3):
            await transaction.send("stats.log")
        assert flushed == []
        await transaction.one("stats.log")
        await transaction.send("stats.log")
        assert len(flushed) == 1
    assert len(flushed) == 2


async def test_the_event_loop_is_not_asked_whether_one_may_write(
    resources: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with resources.database.read(resources.settings.tenant) as transaction:
        await transaction.one("stats.log")
    loop = asyncio.get_running_loop()
    writers: list[Any] = []
    wait_to_write = loop.add_writer
    monkeypatch.setattr(loop, "add_writer", lambda *given: writers.append(given) or wait_to_write(*given))
    async with resources.database.read(resources.settings.tenant) as transaction:
        for _ in range(3):
            await transaction.send("stats.log")
        await transaction.one("stats.log")
    assert writers == []


async def test_more_than_a_socket_holds_goes_both_ways_at_once(resources: Resources) -> None:
    """Neither side waits for ever for the other to read: megabytes of questions whose answers are as large."""
    text = "x" * 200_000
    async with await Connection.connect(resources.database.dsn(), autocommit=True) as connection:
        async with connection.pipeline():
            asked = [await connection.execute("SELECT %s::text", (text,)) for _ in range(60)]
        answers = [await one.fetchone() for one in asked]
    assert all(answer is not None and tuple(answer) == (text,) for answer in answers)


async def test_the_first_error_is_the_one_that_is_told(resources: Resources) -> None:
    """Not that what came after it was not carried out; and the connection can be used again."""
    async with await Connection.connect(resources.database.dsn(), autocommit=True) as connection:
        with pytest.raises(psycopg.errors.DivisionByZero):
            async with connection.pipeline():
                await connection.execute("SELECT 1 / 0")
                await connection.execute("SELECT 1 / 1")
        with pytest.raises(psycopg.errors.DivisionByZero):
            async with connection.pipeline():
                await connection.execute("SELECT 1 / 0")
                await (await connection.execute("SELECT 1 / 1")).fetchone()
        answer = await (await connection.execute("SELECT 1")).fetchone()
    assert answer is not None and tuple(answer) == (1,)


async def test_the_driver_has_the_names_that_are_not_public(resources: Resources) -> None:
    """Nobody promised to keep them: a driver that calls them otherwise would go around our pipeline in silence."""
    assert inspect.isgeneratorfunction(AsyncPipeline._communicate_gen) and inspect.isgeneratorfunction(generators.send)
    asked = inspect.signature(AsyncPipeline._fetch_gen).parameters
    assert [(name, one.kind) for name, one in asked.items()][1:] == [("flush", inspect.Parameter.KEYWORD_ONLY)]
    async with await AsyncConnection.connect(resources.database.dsn(), autocommit=True) as connection:
        assert connection._pipeline is None and connection._check_connection_ok() is None
        assert isinstance(connection.lock, asyncio.Lock)
        async with connection.pipeline() as pipeline:
            assert not pipeline.command_queue and pipeline.pgconn is connection.pgconn
            assert connection._pipeline is pipeline and callable(pipeline.pgconn.pipeline_sync)


def test_only_drivers_that_were_tried_are_installed() -> None:
    """The range that is asked for ends before the next minor version, and the one that is tested is in it."""
    wanted = (Path(__file__).parents[3] / "pyproject.toml").read_text()
    found = re.search(r'"psycopg\[binary,pool\]>=3\.(\d+),<3\.(\d+)"', wanted)
    assert found, "the driver's range is open"
    least, beyond = (int(part) for part in found.groups())
    assert beyond == least + 1 and version("psycopg").startswith(f"3.{least}.")
