"""Upkeep inside a server gives way to calls, and is never kept waiting for good."""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta

import pytest
from tests.jobs.conftest import Working, settle, until
from tests.jobs.test_worker import Job

from memory_butler.adapters.lazy_resources import LazyResources
from memory_butler.jobs.worker import Worker
from memory_butler.jobs.yield_to_calls import ActiveCalls
from memory_butler.resources import Resources, open_resources
from memory_butler.store.gate.database import wait_before_transaction

LONG = 3600.0


@pytest.fixture
def calls() -> ActiveCalls:
    """Calls for whose end upkeep would wait for an hour."""
    return ActiveCalls(max_wait_seconds=LONG)


@pytest.fixture
def polite(calls: ActiveCalls) -> Iterator[None]:
    """Everything that this test starts gives way to the calls."""
    before = wait_before_transaction.set(calls.wait_until_idle)
    yield
    wait_before_transaction.reset(before)


async def test_whoever_gives_way_waits_for_the_last_call(calls: ActiveCalls) -> None:
    """Not for the first of two to end; and where there is none, not at all."""
    await calls.wait_until_idle()
    with calls.track():
        with calls.track():
            waiting = asyncio.create_task(calls.wait_until_idle())
            await _until_waiting(calls, 1)
        await asyncio.sleep(0)
        assert calls.waiting == 1 and not waiting.done()
    await waiting
    assert (calls.active, calls.waiting) == (0, 0)


async def test_a_gap_between_two_calls_is_no_moment_for_upkeep() -> None:
    """What began in the gap would meet the next call; it has to stay quiet for a while, and then upkeep goes on."""
    calls = ActiveCalls(max_wait_seconds=LONG, idle_seconds=LONG)
    with calls.track():
        waiting = asyncio.create_task(calls.wait_until_idle())
        await _until_waiting(calls, 1)
    for _ in range(10):
        await asyncio.sleep(0)
    assert calls.waiting == 1 and not waiting.done()
    waiting.cancel()
    brief = ActiveCalls(max_wait_seconds=LONG, idle_seconds=0.001)
    with brief.track():
        pass
    await brief.wait_until_idle()


async def test_quiet_is_not_waited_for_for_good() -> None:
    """Where there is always a call within the while that it has to be quiet, upkeep goes on after its patience."""
    calls = ActiveCalls(max_wait_seconds=0.001, idle_seconds=LONG)
    with calls.track():
        pass
    await calls.wait_until_idle()
    assert (calls.active, calls.waiting) == (0, 0)


async def test_nobody_gives_way_for_good() -> None:
    """After a while upkeep goes on beside calls that never end."""
    calls = ActiveCalls(max_wait_seconds=0.001)
    with calls.track():
        await calls.wait_until_idle()
        assert (calls.active, calls.waiting) == (1, 0)


async def test_whoever_is_stopped_while_waiting_waits_no_more(calls: ActiveCalls) -> None:
    """A server that ends does not wait for its upkeep's turn."""
    with calls.track():
        waiting = asyncio.create_task(calls.wait_until_idle())
        await _until_waiting(calls, 1)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert calls.waiting == 0


@pytest.mark.usefixtures("polite")
async def test_upkeep_begins_nothing_while_a_call_is_served(resources: Resources, calls: ActiveCalls) -> None:
    """Neither the look at the timetable nor the worker touches the store before the call has ended; then all runs."""
    await settle(resources, "one/home", "two/home")
    job = Job()
    with ExitStack() as served:
        served.enter_context(calls.track())
        async with Working(Worker(resources, schedule=(job.entry(),), concurrency=1)):
            await _until_waiting(calls, 1)
            assert job.runs == []
            served.close()
            await until(lambda: sorted(job.runs) == ["one/home", "two/home"])


@pytest.mark.usefixtures("polite")
async def test_calls_themselves_do_not_give_way(resources: Resources, calls: ActiveCalls) -> None:
    """Work of the same process that was not told to wait goes to the store at once, also while upkeep waits."""
    with calls.track():
        waiting = asyncio.create_task(_look(resources))
        await _until_waiting(calls, 1)
        async with asyncio.timeout(20):
            token = wait_before_transaction.set(None)
            await _look(resources)
            wait_before_transaction.reset(token)
        assert not waiting.done()
    await waiting


async def test_the_worker_of_a_server_yields_to_the_calls_of_its_door(resources: Resources) -> None:
    """What works beside an open store waits for the calls that are counted there; the store's callers do not."""
    looked = asyncio.Event()

    async def worker(opened: Resources, stop: asyncio.Event) -> None:
        await _look(opened)
        looked.set()
        await stop.wait()

    lazy = LazyResources(
        resources.settings, lambda: open_resources(resources.settings, embedder=resources.embedder), worker=worker
    )
    lazy.calls = ActiveCalls(max_wait_seconds=LONG)
    with lazy.calls.track():
        lazy.begin()
        opened = await lazy.get(20)
        await _look(opened)
        await _until_waiting(lazy.calls, 1)
        assert not looked.is_set()
    async with asyncio.timeout(20):
        await looked.wait()
        await lazy.close()


async def test_a_process_is_told_when_its_store_is_loaded(resources: Resources) -> None:
    """Once, without a call and without a worker; what a server then does about its memory is its own affair."""
    told: list[str] = []
    loaded = asyncio.Event()
    lazy = LazyResources(
        resources.settings,
        lambda: open_resources(resources.settings, embedder=resources.embedder),
        on_ready=lambda: (told.append("loaded"), loaded.set())[1],
    )
    lazy.begin()
    async with asyncio.timeout(20):
        await loaded.wait()
        await lazy.close()
    assert told == ["loaded"]


async def _look(resources: Resources) -> None:
    async with resources.database.read("one"):
        pass


async def _until_waiting(calls: ActiveCalls, number: int) -> None:
    async with asyncio.timeout(20):
        while calls.waiting < number:  # noqa: ASYNC110 (there is nothing to be told)
            await asyncio.sleep(0)


def test_a_day_has_room_for_every_shards_upkeep() -> None:
    """A thousand shards are looked after within a day, even if every transaction waits as long as it may."""
    of_a_day = timedelta(days=1).total_seconds() / ActiveCalls()._max_wait_seconds
    assert of_a_day > 1000 * 150
