"""The backlog: which episode is consolidated next."""

from datetime import timedelta
from typing import Any

import psycopg
import pytest
from tests.support.sweeping import Life, contents, with_lifecycle

from memory_butler.models import Fact, NewFact, Stored
from memory_butler.operations.retrieval import get
from memory_butler.operations.writing import forget, remember
from memory_butler.resources import Resources
from memory_butler.store.gate.queries import load_queries, numbered
from memory_butler.store.memories import episodes

JUST = timedelta(microseconds=1)


@pytest.fixture
def life(resources: Resources, clock: Any, owner: psycopg.Connection[Any]) -> Life:
    return Life(resources, clock, owner)


async def line(life: Life, **eden: Any) -> list[tuple[str, bool]]:
    resources = with_lifecycle(life.resources, eden=eden)
    eden_tier = resources.settings.lifecycle_of("main").eden
    async with resources.database.read(life.tenant) as transaction:
        found = await episodes.next_in_line(transaction, "main", eden_tier, life.clock(), 100)
        first = await episodes.count_first_in_line(transaction, "main", eden_tier, life.clock())
    assert first == sum(waiting.first for waiting in found)
    return [(waiting.episode.content.removeprefix("we saw "), waiting.first) for waiting in found]


async def refer_in(life: Life, memory: Stored, *sessions: str | None) -> None:
    for session in sessions:
        await life.refer([memory], session=session)


async def test_what_several_sessions_referred_to_comes_first_once_it_is_old_enough(life: Life) -> None:
    """Three distinct sessions and six hours, and neither two nor a microsecond less; otherwise the oldest first."""
    early = await life.episode("early")
    life.clock.move(seconds=1)
    twice = await life.episode("twice")
    life.clock.move(seconds=1)
    thrice = await life.episode("thrice")
    await refer_in(life, early, "s1", "s1", "s1", "s1")
    await refer_in(life, twice, "s1", "s2", None, None)
    await refer_in(life, thrice, "s1", "s2", "s3")
    life.clock.move(hours=6)
    life.clock.now -= JUST
    assert await line(life) == [("early", False), ("twice", False), ("thrice", False)]
    life.clock.now += JUST
    assert await line(life) == [("thrice", True), ("early", False), ("twice", False)]
    assert await line(life, first_after_sessions=1) == [("early", True), ("twice", True), ("thrice", True)]
    assert await line(life, first_after_hours=7) == [("early", False), ("twice", False), ("thrice", False)]


async def test_only_what_can_be_consolidated_now_is_in_line(life: Life) -> None:
    """Not what is done, forgotten, another butler's, or waiting for its next try; that one comes when its time has."""
    done, gone, later = [await life.episode(name) for name in ("done", "gone", "later")]
    await life.episode("other", of="health")
    await life.episode("next")
    for memory in (done, gone, later):
        await refer_in(life, memory, "s1", "s2", "s3")
    await life.consolidate(done)
    await forget.forget(life.resources, "episode", gone.ref)
    life.clock.move(hours=6)
    assert await line(life) == [("later", True), ("next", False)]
    life.owner.execute(
        "UPDATE memory.episodes SET next_consolidation_retry_at = %s WHERE tenant_id = %s AND id = %s",
        (life.clock() + JUST, life.tenant, later.id),
    )
    eden = life.resources.settings.lifecycle_of("main").eden
    async with life.resources.database.read(life.tenant) as transaction:
        found = await episodes.next_in_line(transaction, "main", eden, life.clock(), 100)
    assert [waiting.episode.content for waiting in found] == ["we saw next"]
    life.clock.now += JUST
    assert await line(life) == [("later", True), ("next", False)]


async def test_the_line_is_bounded_and_looking_at_it_changes_nothing(life: Life) -> None:
    for number in range(3):
        await life.episode(f"number {number}")
        life.clock.move(minutes=1)
    before = contents(life)
    eden = life.resources.settings.lifecycle_of("main").eden
    async with life.resources.database.read(life.tenant) as transaction:
        found = await episodes.next_in_line(transaction, "main", eden, life.clock(), 2)
    assert [waiting.episode.content for waiting in found] == ["we saw number 0", "we saw number 1"]
    assert contents(life) == before


@pytest.mark.parametrize("name", ["episodes.next_in_line", "episodes.count_first_in_line"])
def test_who_waits_for_a_decision_is_looked_up_once_for_the_whole_line(life: Life, name: str) -> None:
    """And not again for each that stands in it, also by a plan that was made when nobody did."""
    query, _ = numbered(load_queries(life.resources.database.names)[name])
    lines = [line for (line,) in life.owner.execute(b"EXPLAIN (GENERIC_PLAN) " + query).fetchall()]
    assert any("hashed SubPlan" in line and line.lstrip().startswith("Filter:") for line in lines), "\n".join(lines)


@pytest.mark.parametrize(("given", "starts"), [(5, 6), (9, 10), (10, 10)])
async def test_what_comes_from_a_well_referenced_episode_starts_more_important(
    life: Life, given: int, starts: int
) -> None:
    """One step more for facts that name it as their source, at most ten; none more before it is old enough."""
    seen, other = await life.episode("seen"), await life.episode("other")
    await refer_in(life, seen, "s1", "s2", "s3")
    await refer_in(life, other, "s1", "s1", "s1")

    async def importance(source: Stored, predicate: str) -> int:
        new = NewFact(subject="x", predicate=predicate, content="y", importance=given, source_episode=source.ref)
        stored = await remember.fact(life.resources, new)
        found = (await get.get(life.resources, "fact", stored.ref, bump=False)).memory
        assert isinstance(found, Fact)
        return found.importance

    assert await importance(seen, "early") == given
    life.clock.move(hours=6)
    assert await importance(seen, "late") == starts
    assert await importance(other, "other") == given
