"""The timetable: what is on it, how often it runs, and that what it names does what it says."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from memory_butler.errors import InvalidInput
from memory_butler.jobs.schedule import SCHEDULE, intervals
from memory_butler.models import NewEpisode, NewRule
from memory_butler.operations.consolidation.shard_job import consolidate_shard
from memory_butler.operations.lifecycle import job_status
from memory_butler.operations.lifecycle.job_status import shard_of
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources
from memory_butler.settings import load_settings

HOURS = {"consolidation": 6, "sweep": 24, "cleanup": 24}


def test_everything_that_must_happen_is_on_it(tmp_path: Path) -> None:
    """Consolidation every six hours, sweep and cleanup daily; what is reported on is what runs, in the same order."""
    settings = load_settings(home=tmp_path)
    assert intervals(settings, SCHEDULE) == {job: timedelta(hours=hours) for job, hours in HOURS.items()}
    assert list(settings.upkeep.intervals()) == [entry.job for entry in SCHEDULE]


@pytest.mark.parametrize("job", HOURS)
def test_how_often_is_a_setting_and_whether_is_not(tmp_path: Path, job: str) -> None:
    """Another cadence is taken; never, always and next year are refused by the setting's name."""
    settings = load_settings(home=tmp_path, upkeep={f"{job}_hours": 12})
    assert settings.upkeep.intervals()[job] == timedelta(hours=12)
    for hours in (0, -1, 0.01, 9000, "never"):
        with pytest.raises(InvalidInput, match=f"upkeep.{job}_hours"):
            load_settings(home=tmp_path, upkeep={f"{job}_hours": hours})
    with pytest.raises(InvalidInput, match=r"upkeep\.skip"):
        load_settings(home=tmp_path, upkeep={"skip": job})


@pytest.mark.parametrize("name", ["concurrency", "tick_seconds", "lost_after_seconds"])
def test_a_worker_has_bounds(tmp_path: Path, name: str) -> None:
    """Nothing and far too much are refused by the setting's name."""
    for value in (0, 1_000_000):
        with pytest.raises(InvalidInput, match=f"upkeep.{name}"):
            load_settings(home=tmp_path, upkeep={name: value})


@pytest.mark.parametrize(
    ("distiller", "why"), [("off", "switched off"), ("agent", "connected agents are the distiller")]
)
async def test_where_nobody_distils_the_job_says_what_waits(resources: Resources, distiller: str, why: str) -> None:
    """Pending episodes of the shard alone are counted; nothing is distilled, and the record says why."""
    chosen = resources.settings.consolidation.model_copy(update={"distiller": distiller})
    idle = replace(resources, distiller=None, settings=resources.settings.model_copy(update={"consolidation": chosen}))
    for n in range(3):
        await remember.episode(resources, NewEpisode(content=f"Talk number {n} about tulips.", butler="main"))
    await remember.episode(resources, NewEpisode(content="Somebody else's tulips.", butler="other"))
    report = await consolidate_shard(idle, shard_of(resources.settings.tenant, "main"))
    assert (report["pending"], report["distilled"]) == (3, 0)
    assert why in report["note"]


async def test_the_job_distils_what_waits(resources: Resources) -> None:
    """With nothing configured the built-in distiller does it, and the record has the figures."""
    await remember.episode(resources, NewEpisode(content="I live in Lisbon.", butler="main"))
    report = await consolidate_shard(resources, shard_of(resources.settings.tenant, "main"))
    assert report == {"runs": 1, "distilled": 1, "failed": 0, "nothing_kept": 0, "created": 1}


PRESSING: dict[str, tuple[int, dict[str, Any], timedelta]] = {
    "many": (50, {}, timedelta()),
    "important": (1, {"importance": 9}, timedelta()),
    "about to expire": (1, {}, timedelta(days=6, hours=1)),
}


@pytest.mark.parametrize("why", PRESSING)
async def test_what_presses_does_not_wait_its_turn(resources: Resources, clock: Any, why: str) -> None:
    """A run that has just succeeded is followed by another at once; one that failed is left alone as ever."""
    many, given, later = PRESSING[why]
    tenant, every = resources.settings.tenant, resources.settings.upkeep.intervals()
    shard = shard_of(tenant, "main")
    await remember.rule(resources, NewRule(content="Be brief."))

    async def due() -> bool:
        return ("main", "consolidation") in await job_status.due(resources, tenant, every)

    run = await job_status.begin(resources, shard, "consolidation", every["consolidation"])
    assert run
    await job_status.finish(resources, shard, run, job_status.SUCCEEDED, {})
    clock.move(minutes=2)
    assert not await due()
    for n in range(many):
        await remember.episode(resources, NewEpisode(content=f"Talk number {n}.", butler="main", **given))
    if later:
        clock.move(seconds=later.total_seconds())
        run = await job_status.begin(resources, shard, "consolidation", every["consolidation"])
        assert run
        await job_status.finish(resources, shard, run, job_status.SUCCEEDED, {})
        clock.move(minutes=2)
    assert await due()
    run = await job_status.begin(resources, shard, "consolidation", every["consolidation"])
    assert run
    await job_status.finish(resources, shard, run, job_status.FAILED, {"error": "The model does not answer."})
    clock.move(minutes=2)
    assert not await due()


async def test_one_ordinary_episode_waits_four_hours(resources: Resources, clock: Any) -> None:
    """Then it is distilled ahead of the timetable, so that no backlog comes near six hours; a run that leaves it, for
    want of a budget, is not repeated until the timetable says so. How long is a setting."""
    tenant, every = resources.settings.tenant, {"consolidation": timedelta(hours=6)}
    shard, due = shard_of(tenant, "main"), [("main", "consolidation")]

    async def run() -> None:
        begun = await job_status.begin(resources, shard, "consolidation", every["consolidation"])
        assert begun
        await job_status.finish(resources, shard, begun, job_status.SUCCEEDED, {})

    await remember.rule(resources, NewRule(content="Be brief."))
    await run()
    clock.move(hours=1)
    await remember.episode(resources, NewEpisode(content="Talk.", butler="main"))
    clock.move(hours=3, minutes=59)
    assert await job_status.due(resources, tenant, every) == []
    clock.move(minutes=1)
    assert await job_status.due(resources, tenant, every) == due
    later = resources.settings.consolidation.model_copy(update={"early_hours": 4.5})
    lazy = replace(resources, settings=resources.settings.model_copy(update={"consolidation": later}))
    assert await job_status.due(lazy, tenant, every) == []
    never = resources.settings.consolidation.model_copy(update={"early_hours": 6})
    strict = replace(resources, settings=resources.settings.model_copy(update={"consolidation": never}))
    await run()
    for hours in (1, 4):
        clock.move(hours=hours)
        assert await job_status.due(resources, tenant, every) == []
    clock.move(hours=1)
    assert await job_status.due(resources, tenant, every) == await job_status.due(strict, tenant, every) == due
