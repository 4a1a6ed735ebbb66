"""The measurements of all processes, kept in the database."""

import asyncio
from collections.abc import Callable
from datetime import timedelta

import pytest
from tests.conftest import MovingClock
from tests.jobs.conftest import do_all_that_is_due, settle

from memory_butler.errors import PermissionDenied
from memory_butler.jobs.schedule import ScheduledJob
from memory_butler.metrics import service_levels
from memory_butler.metrics.service_levels import CONTEXT, FRESHNESS, SWEEP, WRITES, Measurements
from memory_butler.models import Caller, NewEpisode, Principal, Role
from memory_butler.operations.system import fleet, objectives
from memory_butler.operations.writing import remember
from memory_butler.policy.system.objectives import Level
from memory_butler.resources import Resources


@pytest.fixture(autouse=True)
def measured(monkeypatch: pytest.MonkeyPatch) -> Measurements:
    """A process that has measured nothing yet."""
    fresh = Measurements()
    monkeypatch.setattr(service_levels, "MEASURED", fresh)
    return fresh


async def found(resources: Resources, name: str, days: int = 7) -> Level:
    levels = await objectives.levels(resources, days=days)
    return next(one for one in levels.levels if one.objective.name == name)


async def test_the_measurements_of_all_processes_add_up(alone: Resources, clock: MovingClock) -> None:
    """Written at the same time and one after the other, in one stretch of time and the next."""
    processes = [Measurements() for _ in range(4)]
    for one in processes:
        one.call("memory_context", "ok", 0.04)
        one.call("memory_store_episode", "ok", 0.04)
    assert await asyncio.gather(*(objectives.keep(alone, one) for one in processes)) == [True] * 4
    assert not await objectives.keep(alone, processes[0])
    clock.move(minutes=25)
    processes[0].call("memory_context", "timeout", 5)
    await objectives.keep(alone, processes[0])
    level = await found(alone, CONTEXT)
    assert (level.total, level.good, level.is_met) == (5, 4, False)
    assert (await found(alone, WRITES)).total == 4


async def test_a_window_reaches_back_some_days_and_old_buckets_go(
    alone: Resources, clock: MovingClock, measured: Measurements, own_rows: Callable[..., list[dict[str, object]]]
) -> None:
    measured.call("memory_context", "timeout", 5)
    await objectives.keep(alone, measured)
    clock.move(days=3)
    measured.call("memory_context", "ok", 0.01)
    await objectives.keep(alone, measured)
    assert [(await found(alone, CONTEXT, days)).total for days in (1, 3, 7)] == [1, 2, 2]
    clock.move(days=34)
    assert await objectives.drop_old(alone) == 1
    assert len(own_rows("SELECT * FROM memory.objective_buckets")) == 1


async def test_what_cannot_be_stored_is_stored_later(
    alone: Resources, measured: Measurements, own_rows: Callable[..., list[dict[str, object]]]
) -> None:
    measured.call("memory_context", "ok", 0.01)
    own_rows("ALTER TABLE memory.objective_buckets RENAME TO away")
    with pytest.raises(Exception, match="42P01"):
        await objectives.keep(alone, measured)
    own_rows("ALTER TABLE memory.away RENAME TO objective_buckets")
    await objectives.keep(alone, measured)
    assert (await found(alone, CONTEXT)).total == 1


async def test_a_sample_measures_the_age_of_each_backlog(
    alone: Resources, clock: MovingClock, measured: Measurements
) -> None:
    for name, hours in (("one", 7), ("two", 1), ("three", 0)):
        await remember.episode(alone, NewEpisode(content=f"{name} came.", butler=name))
        clock.move(hours=hours)
    await fleet.take(alone)
    await objectives.keep(alone, measured)
    level = await found(alone, FRESHNESS)
    assert (level.total, level.good, level.is_met) == (3, 2, False)


async def test_a_sweep_is_measured_from_when_it_was_due(
    alone: Resources, clock: MovingClock, measured: Measurements
) -> None:
    """Late ones and failed ones miss the objective, each once."""
    await settle(alone, "one/home", "two/home")
    troubles = [True, True, False]

    async def run(given: Resources, shard: Caller) -> dict[str, str]:
        if shard.principal.tenant == "two" and troubles.pop(0):
            raise RuntimeError
        return {}

    sweep = (ScheduledJob("sweep", run),)
    for _ in range(3):
        await do_all_that_is_due(alone, schedule=sweep)
        clock.move(minutes=20)
    # One was done at once, two failed and was retried.
    await objectives.keep(alone, measured)
    level = await found(alone, SWEEP)
    assert (level.total, level.good) == (2, 1)
    clock.move(days=1)
    await do_all_that_is_due(alone, schedule=(sweep[0], ScheduledJob("chore", run, timedelta(hours=1))))
    await objectives.keep(alone, measured)
    level = await found(alone, SWEEP)
    assert (level.total, level.good) == (4, 1), "an hour late"


async def test_only_those_who_see_all_tenants_see_the_service(alone: Resources) -> None:
    reader = Caller(Principal(alone.settings.tenant, "main", Role.AGENT))
    with pytest.raises(PermissionDenied):
        await objectives.levels(alone, reader)
