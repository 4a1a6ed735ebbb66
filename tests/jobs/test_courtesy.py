"""Upkeep inside a server gives way to calls, and is never kept waiting for good."""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta

import pytest

from memory_butler.adapters.opening import LateButler
from memory_butler.butler import Butler, open_butler
from memory_butler.jobs.courtesy import Calls
from memory_butler.jobs.work import Upkeep
from memory_butler.store.database import giving_way

from .conftest import Working, settle, until
from .test_work import Job

LONG = 3600.0


@pytest.fixture
def calls() -> Calls:
    """Calls for whose end upkeep would wait for an hour."""
    return Calls(patience_seconds=LONG)


@pytest.fixture
def polite(calls: Calls) -> Iterator[None]:
    """Everything that this test starts gives way to the calls."""
    before = giving_way.set(calls.give_way)
    yield
    giving_way.reset(before)


async def test_whoever_gives_way_waits_for_the_last_call(calls: Calls) -> None:
    """Not for the first of two to end; and where there is none, not at all."""
    await calls.give_way()
    with calls.one():
        with calls.one():
            waiting = asyncio.create_task(calls.give_way())
            await _until_waiting(calls, 1)
        await asyncio.sleep(0)
        assert calls.kept_waiting == 1 and not waiting.done()
    await waiting
    assert (calls.in_hand, calls.kept_waiting) == (0, 0)


async def test_a_gap_between_two_calls_is_no_moment_for_upkeep() -> None:
    """What began in the gap would meet the next call; it has to stay quiet for a while, and then upkeep goes on."""
    calls = Calls(patience_seconds=LONG, quiet_seconds=LONG)
    with calls.one():
        waiting = asyncio.create_task(calls.give_way())
        await _until_waiting(calls, 1)
    for _ in range(10):
        await asyncio.sleep(0)
    assert calls.kept_waiting == 1 and not waiting.done()
    waiting.cancel()
    brief = Calls(patience_seconds=LONG, quiet_seconds=0.001)
    with brief.one():
        pass
    await brief.give_way()


async def test_quiet_is_not_waited_for_for_good() -> None:
    """Where there is always a call within the while that it has to be quiet, upkeep goes on after its patience."""
    calls = Calls(patience_seconds=0.001, quiet_seconds=LONG)
    with calls.one():
        pass
    await calls.give_way()
    assert (calls.in_hand, calls.kept_waiting) == (0, 0)


async def test_nobody_gives_way_for_good() -> None:
    """After a while upkeep goes on beside calls that never end."""
    calls = Calls(patience_seconds=0.001)
    with calls.one():
        await calls.give_way()
        assert (calls.in_hand, calls.kept_waiting) == (1, 0)


async def test_whoever_is_stopped_while_waiting_waits_no_more(calls: Calls) -> None:
    """A server that ends does not wait for its upkeep's turn."""
    with calls.one():
        waiting = asyncio.create_task(calls.give_way())
        await _until_waiting(calls, 1)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert calls.kept_waiting == 0


@pytest.mark.usefixtures("polite")
async def test_upkeep_begins_nothing_while_a_call_is_served(butler: Butler, calls: Calls) -> None:
    """Neither the look at the timetable nor the worker touches the store before the call has ended; then all runs."""
    await settle(butler, "one/home", "two/home")
    job = Job()
    with ExitStack() as served:
        served.enter_context(calls.one())
        async with Working(Upkeep(butler, timetable=(job.entry(),), concurrency=1)):
            await _until_waiting(calls, 1)
            assert job.runs == []
            served.close()
            await until(lambda: sorted(job.runs) == ["one/home", "two/home"])


@pytest.mark.usefixtures("polite")
async def test_calls_themselves_do_not_give_way(butler: Butler, calls: Calls) -> None:
    """Work of the same process that was not told to wait goes to the store at once, also while upkeep waits."""
    with calls.one():
        waiting = asyncio.create_task(_look(butler))
        await _until_waiting(calls, 1)
        async with asyncio.timeout(20):
            token = giving_way.set(None)
            await _look(butler)
            giving_way.reset(token)
        assert not waiting.done()
    await waiting


async def test_the_companion_of_a_server_gives_way_to_the_calls_of_its_door(butler: Butler) -> None:
    """What works beside an open store waits for the calls that are counted there; the store's callers do not."""
    looked = asyncio.Event()

    async def companion(opened: Butler, stop: asyncio.Event) -> None:
        await _look(opened)
        looked.set()
        await stop.wait()

    late = LateButler(
        butler.settings, lambda: open_butler(butler.settings, embedder=butler.embedder), companion=companion
    )
    late.calls = Calls(patience_seconds=LONG)
    with late.calls.one():
        late.begin()
        opened = await late.get(20)
        await _look(opened)
        await _until_waiting(late.calls, 1)
        assert not looked.is_set()
    async with asyncio.timeout(20):
        await looked.wait()
        await late.close()


async def test_a_process_is_told_when_its_store_is_loaded(butler: Butler) -> None:
    """Once, without a call and without a companion; what a server then does about its memory is its own affair."""
    told: list[str] = []
    loaded = asyncio.Event()
    late = LateButler(
        butler.settings,
        lambda: open_butler(butler.settings, embedder=butler.embedder),
        warmed=lambda: (told.append("loaded"), loaded.set())[1],
    )
    late.begin()
    async with asyncio.timeout(20):
        await loaded.wait()
        await late.close()
    assert told == ["loaded"]


async def _look(butler: Butler) -> None:
    async with butler.database.read("one"):
        pass


async def _until_waiting(calls: Calls, number: int) -> None:
    async with asyncio.timeout(20):
        while calls.kept_waiting < number:  # noqa: ASYNC110 (there is nothing to be told)
            await asyncio.sleep(0)


def test_a_day_has_room_for_every_shards_upkeep() -> None:
    """A thousand shards are looked after within a day, even if every transaction waits as long as it may."""
    of_a_day = timedelta(days=1).total_seconds() / Calls()._patience
    assert of_a_day > 1000 * 150
