"""The state of all tenants: what one worker finds is what each tenant says of itself."""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from tests.conftest import START, MovingClock
from tests.jobs.conftest import do_all_that_is_due, settle

from memory_butler.errors import Conflict
from memory_butler.jobs.schedule import SCHEDULE, ScheduledJob
from memory_butler.models import MemoryType, NewEpisode, NewFact
from memory_butler.operations.lifecycle import job_status
from memory_butler.operations.system import fleet
from memory_butler.operations.writing import forget, remember
from memory_butler.policy.lifecycle.schedule import JobState
from memory_butler.resources import Resources
from memory_butler.store.system import fleet as store

HOUR = timedelta(hours=1)
Rows = Callable[..., list[dict[str, Any]]]


def of(resources: Resources, tenant: str) -> Resources:
    return replace(resources, settings=resources.settings.model_copy(update={"tenant": tenant}))


async def test_nothing_is_known_before_the_first_sample(alone: Resources) -> None:
    assert await fleet.latest(alone) is None


async def test_a_sample_says_of_every_tenant_what_it_says_of_itself(
    alone: Resources, clock: MovingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also with more tenants than one statement takes, in which no row of another tenant can be seen."""
    monkeypatch.setattr(store, "CHUNK", 2)
    shards = ["one/home", "one/work", "two/home", "three/home", "four/home"]
    await settle(alone, *shards)
    for tenant, count in (("one", 3), ("four", 2)):
        for number in range(count):
            await remember.episode(of(alone, tenant), NewEpisode(content=f"Day {number}.", butler="home"))
            clock.move(hours=1)
    fact = await remember.fact(of(alone, "two"), NewFact(subject="Ana", predicate="tea", content="green"))
    await forget.forget(of(alone, "two"), MemoryType.FACT, fact.ref)
    await do_all_that_is_due(alone, schedule=tuple(entry for entry in SCHEDULE if entry.job == "sweep"))
    await settle(alone, "five/home")
    clock.move(hours=1)
    found = await fleet.take(alone)
    assert await fleet.latest(alone) == found
    assert (found.tenants, found.shards, found.taken_at) == (6, 7, clock())
    assert found.backlog == fleet.Backlog(
        episodes=5, shards=2, median_age=3 * 3600, p95_age=6 * 3600, oldest_age=6 * 3600
    )
    assert found.memories == {"episode": {"active": 5}, "fact": {"retracted": 1}, "rule": {"active": 5}}
    expected: dict[str, Counter[str]] = {}
    for tenant in {shard.split("/")[0] for shard in [*shards, "five/home"]}:
        for one in await job_status.statuses(of(alone, tenant)):
            expected.setdefault(one.job, Counter())[one.status] += 1
    assert {job: Counter(figures.states) for job, figures in found.jobs.items()} == {
        job: Counter({str(state): states[state] for state in JobState}) for job, states in expected.items()
    }
    assert found.jobs["sweep"].states == {"ok": 6, "never": 1, "overdue": 0, "failing": 0}
    assert found.jobs["sweep"].last_success == START + 5 * HOUR
    assert (
        found.jobs["consolidation"].state is JobState.NEVER
        and found.state is JobState.NEVER
        and found.jobs["consolidation"].last_success is None
    )
    assert found.jobs["sweep"].overdue_seconds == 3600 and found.jobs["sweep"].worst == ("five/home",)


async def test_a_failing_job_is_named_first(alone: Resources, clock: MovingClock) -> None:
    """The worst state before the longest delay."""
    await settle(alone, "one/home", "two/home")

    async def run(given: Resources, shard: Any) -> dict[str, Any]:
        if shard.principal.tenant == "two":
            raise Conflict("No.")
        return {}

    await do_all_that_is_due(alone, schedule=(ScheduledJob("sweep", run),))
    clock.move(days=3)
    sweep = (await fleet.take(alone)).jobs["sweep"]
    assert (sweep.state, sweep.worst) == (JobState.FAILING, ("two/home", "one/home"))
    assert sweep.states == {"ok": 0, "never": 0, "overdue": 1, "failing": 1}
    assert sweep.overdue_seconds == (timedelta(days=3) - timedelta(minutes=5)).total_seconds()


async def test_one_process_takes_the_sample_for_all(alone: Resources, clock: MovingClock) -> None:
    """Of several at once one; the next after the time of the setting."""
    await settle(alone, "one/home")
    taken = await asyncio.gather(*(fleet.take_if_due(alone) for _ in range(4)))
    assert sum(one is not None for one in taken) == 1
    clock.move(seconds=alone.settings.telemetry.sample_seconds - 1)
    assert await fleet.take_if_due(alone) is None
    clock.move(seconds=1)
    assert await fleet.take_if_due(alone) is not None
    clock.move(days=-3)
    assert await fleet.take_if_due(alone) is not None, "a claim of the future was made by a wrong clock"


async def test_an_old_sample_says_that_no_worker_runs(alone: Resources, clock: MovingClock) -> None:
    found = await fleet.take(alone)
    assert not fleet.is_stale(alone.settings, found, clock())
    clock.move(seconds=3 * alone.settings.telemetry.sample_seconds + 1)
    assert fleet.is_stale(alone.settings, found, clock())


async def test_the_server_and_the_queue_are_looked_at(alone: Resources, own_rows: Rows) -> None:
    """Connections, sizes, queued jobs and workers."""
    await settle(alone, "one/home")
    own_rows(
        "INSERT INTO procrastinate_jobs (queue_name, task_name, lock, queueing_lock, args)"
        " VALUES ('upkeep', 'sweep', 'one/home', 'sweep/one/home', '{}')"
    )
    own_rows("INSERT INTO procrastinate_workers DEFAULT VALUES")
    found = await fleet.take(alone)
    assert found.queue.jobs == {"sweep": {"todo": 1}} and found.queue.oldest and found.queue.workers == 1
    assert 0 < found.server.connections <= found.server.max_connections
    assert found.server.bytes > found.server.tables["facts"]["bytes"] > found.server.tables["facts"]["index_bytes"] > 0


async def test_due_tenants_are_those_that_have_something_due(
    alone: Resources, clock: MovingClock, own_rows: Rows
) -> None:
    """The quick look over all tenants leaves out only tenants for which the exact one finds nothing."""
    intervals = alone.settings.upkeep.intervals()
    names = ["one", "two", "three", "four", "five"]
    await settle(alone, *(f"{name}/home" for name in names))

    async def exact() -> list[str]:
        return [name for name in names if await job_status.due(alone, name, intervals)]

    async def quick() -> list[str]:
        return await job_status.with_due_jobs(alone, names, intervals)

    assert await quick() == await exact() == names
    await do_all_that_is_due(alone)
    assert await quick() == await exact() == []
    clock.move(minutes=2)
    # An important one, an old one, one near its expiry, a usual one.
    await remember.episode(of(alone, "one"), NewEpisode(content="Grave.", butler="home", importance=9))
    await remember.episode(of(alone, "two"), NewEpisode(content="Usual.", butler="home"))
    assert await quick() == await exact() == ["one"]
    clock.move(hours=3, minutes=59)
    await do_all_that_is_due(alone)
    assert await quick() == await exact() == []
    clock.move(minutes=2)
    assert await quick() == await exact() == ["two"]
    await do_all_that_is_due(alone)
    clock.move(days=1)
    assert await quick() == await exact() == names
    await do_all_that_is_due(alone)
    clock.move(minutes=2)
    own_rows("UPDATE memory.counted_upto SET seq = 0 WHERE tenant_id = 'three'")
    own_rows("UPDATE memory.tenants SET last_seq = last_seq + 5000 WHERE tenant_id = 'three'")
    assert await quick() == await exact() == ["three"]
    other = replace(alone, embedding_version=alone.embedding_version + 1, opened_at=clock.now)
    assert await job_status.with_due_jobs(other, names, intervals) == names


async def test_the_look_over_all_tenants_ends_bound_to_none(alone: Resources) -> None:
    """A statement that follows in the same transaction sees no tenant's own_rows by mistake of the look before it."""
    await settle(alone, "one/home", "two/home")
    async with alone.database.read("") as transaction:
        assert await store.backlogs(transaction, ["one", "two"]) == []
        assert (await store.stuck(transaction, ["one", "two"]))["dead_letters"] == 0
    async with alone.database.read("two") as transaction:
        assert await transaction.column("sweep.butlers") == ["home"]
