"""Servers whose clocks differ by ten minutes write into one tenant: nothing is lost, and the log can be replayed."""

from dataclasses import replace
from datetime import timedelta

from tests.conftest import MovingClock

from memory_butler.models import MemoryType, NewFact, Question
from memory_butler.models.listings import Listing
from memory_butler.operations.browse import listings
from memory_butler.operations.history import activity, replay
from memory_butler.operations.lifecycle import sweep
from memory_butler.operations.retrieval import search
from memory_butler.operations.writing import forget, remember, restore
from memory_butler.policy.history.activity import START
from memory_butler.resources import Resources

MINUTES = 10
WRITES = 12


def _skewed(resources: Resources, minutes: int) -> Resources:
    clock = MovingClock(resources.clock() + timedelta(minutes=minutes))
    return replace(resources, clock=clock, opened_at=clock.now)


async def test_writes_of_servers_with_different_clocks_are_all_there_in_the_order_of_their_commits(
    resources: Resources,
) -> None:
    """A fact that replaces another is the current one although the clock of its server is behind."""
    fast, slow = _skewed(resources, MINUTES), _skewed(resources, -MINUTES)
    written = []
    for number in range(WRITES):
        server = (fast, slow)[number % 2]
        city = NewFact(subject="Anna", predicate="city", content=f"city {number}")
        tea = NewFact(subject="Anna", predicate=f"tea:{number}", content=f"tea {number}")
        written += [(await remember.fact(server, city)).ref, (await remember.fact(server, tea)).ref]
        await search.search(server, Question(query="Anna tea", min_relevance=0))
    await forget.forget(fast, "fact", written[1])
    await restore.restore(slow, "fact", written[1])
    for server in (fast, slow):
        found = (await listings.memories(server, Listing(type=MemoryType.FACT), limit=100)).items
        contents = {one.memory.content for one in found if one.memory.validity == "active"}
        assert contents == {f"tea {number}" for number in range(WRITES)} | {f"city {WRITES - 1}"}


async def test_a_reader_of_the_log_misses_no_event_of_a_server_whose_clock_is_behind(resources: Resources) -> None:
    fast, slow = _skewed(resources, MINUTES), _skewed(resources, -MINUTES)
    cursor = START
    written: list[str] = []
    seen: list[str | None] = []
    for number in range(WRITES):
        server = (fast, slow)[number % 2]
        new = NewFact(subject="Anna", predicate=f"tea:{number}", content=f"tea {number}")
        written.append((await remember.fact(server, new)).ref)
        page = await activity.activity(slow, since=cursor)
        cursor = page.cursor
        seen += [item.ref for item in page.items if item.event.event_type == "fact.created"]
    assert seen == [f"fact:{ref}" for ref in written]
    assert (await replay.replay(resources)).intact


async def test_a_sweep_by_a_slow_clock_expires_nothing_early(resources: Resources) -> None:
    fast, slow = _skewed(resources, MINUTES), _skewed(resources, -MINUTES)
    stored = await remember.fact(fast, NewFact(subject="Anna", predicate="city", content="Lisbon"))
    for server in (slow, fast, slow):
        await sweep.sweep(server)
    [found] = (await listings.memories(slow, Listing(type=MemoryType.FACT))).items
    assert found.memory.ref == stored.ref and 0 <= found.memory.confidence <= 1
    assert (await replay.replay(resources)).intact
