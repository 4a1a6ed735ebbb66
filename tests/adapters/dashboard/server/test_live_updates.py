"""Pages that are open: who is told of what is written, and how often a page is drawn for it."""

import asyncio
from collections.abc import Awaitable, Callable
from types import SimpleNamespace

import pytest

from memory_butler.adapters.dashboard.actions import throttle
from memory_butler.adapters.dashboard.actions.throttle import Throttle
from memory_butler.adapters.dashboard.server.live_updates import Callback, LiveUpdates
from memory_butler.adapters.dashboard.server.page_context import is_background_refresh
from memory_butler.adapters.lazy_resources import LazyResources
from memory_butler.errors import TargetUnavailable
from memory_butler.models import Activity, NewFact
from memory_butler.operations.history import activity
from memory_butler.operations.writing import remember
from memory_butler.policy.history.activity import encode_cursor
from memory_butler.resources import Resources


def followers(tenant: str) -> list[str]:
    return [task.get_name() for task in asyncio.all_tasks() if task.get_name() == f"dashboard of {tenant}"]


def heard() -> tuple[Callback, "asyncio.Queue[str]"]:
    said: asyncio.Queue[str] = asyncio.Queue()

    async def told(items: tuple[Activity, ...]) -> None:
        for item in items:
            said.put_nowait(item.event.event_type)

    return told, said


async def test_who_leaves_twice_takes_nobody_along(resources: Resources) -> None:
    """A page that was turned away leaves once more when it is closed; those who came meanwhile share one follower, and
    nothing of them is left when the server ends."""
    live, caller = LiveUpdates(LazyResources.already_open(resources)), resources.local_caller()
    since, tenant = await activity.latest(resources, caller), caller.principal.tenant
    leave = live.subscribe(caller, since, heard()[0])
    leave()
    told, said = heard()
    live.subscribe(caller, since, told)
    leave()
    live.subscribe(caller, since, heard()[0])
    await remember.fact(resources, NewFact(subject="Ana", predicate="tea", content="green"))
    assert await asyncio.wait_for(said.get(), 20) == "fact.created"
    assert len(followers(tenant)) == 1
    await live.close()
    assert followers(tenant) == []


async def test_a_store_that_was_set_back_is_followed_from_there(resources: Resources) -> None:
    """A page that has heard of more than the log has by now keeps nobody from the news, and hears what is next."""
    live, caller = LiveUpdates(LazyResources.already_open(resources)), resources.local_caller()
    (told_ahead, said_ahead), (told, said) = heard(), heard()
    live.subscribe(caller, encode_cursor(caller.principal.tenant, 1_000_000), told_ahead)
    live.subscribe(caller, await activity.latest(resources, caller), told)
    try:
        for content in ("green", "black"):
            await remember.fact(resources, NewFact(subject="Ana", predicate=content, content=content))
            assert await asyncio.wait_for(said.get(), 20) == "fact.created"
        assert await asyncio.wait_for(said_ahead.get(), 20) == "fact.created"
    finally:
        await live.close()


@pytest.fixture
def timers(monkeypatch: pytest.MonkeyPatch) -> list[tuple[float, Callable[[], Awaitable[None]]]]:
    """What was put off, and for how long."""
    found: list[tuple[float, Callable[[], Awaitable[None]]]] = []
    timer = lambda seconds, work, *, once: found.append((seconds, work))  # noqa: E731
    monkeypatch.setattr(throttle, "ui", SimpleNamespace(timer=timer))
    return found


async def test_news_while_a_page_is_drawn_are_drawn_afterwards(
    timers: list[tuple[float, Callable[[], Awaitable[None]]]],
) -> None:
    """Two drawings never overlap: what comes meanwhile is put off, all of it together, and counts as nobody's click."""
    drawn: list[bool] = []

    async def draw() -> None:
        if not drawn:
            await calmly()
            await calmly()
        drawn.append(is_background_refresh())

    calmly = Throttle(draw)
    await calmly()
    assert drawn == [False]
    [(_, again)] = timers
    await calmly()
    assert len(timers) == 1
    await again()
    assert drawn == [False, True]


async def test_what_takes_long_is_drawn_less_often(
    timers: list[tuple[float, Callable[[], Awaitable[None]]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page that takes two seconds to draw rests for eight, so that drawing it is not all that a server does."""
    now = [100.0]

    async def draw() -> None:
        now[0] += 2

    monkeypatch.setattr(throttle, "time", SimpleNamespace(monotonic=lambda: now[0]))
    calmly = Throttle(draw, seconds=1.5)
    await calmly()
    await calmly()
    assert [seconds for seconds, _ in timers] == [8]


async def test_what_came_while_drawing_failed_is_drawn_soon(
    timers: list[tuple[float, Callable[[], Awaitable[None]]]],
) -> None:
    """A page that could not be drawn is drawn again for what came meanwhile, and does not wait for the next news."""
    drawn: list[bool] = []

    async def draw() -> None:
        drawn.append(is_background_refresh())
        if len(drawn) == 1:
            await calmly()
            raise TargetUnavailable()

    calmly = Throttle(draw)
    with pytest.raises(TargetUnavailable):
        await calmly()
    [(_, again)] = timers
    await again()
    assert drawn == [False, True]
