"""Every process stores what it has measured, and exports the state of all tenants."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from tests.conftest import START, MovingClock
from tests.jobs.conftest import Row, do_all_that_is_due, settle

from memory_butler.jobs import reporting
from memory_butler.metrics.registry import REGISTRY
from memory_butler.metrics.service_levels import MEASURED
from memory_butler.models import NewEpisode
from memory_butler.operations.system import fleet, objectives
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources

Rows = Callable[..., list[Row]]


def gauge(name: str, **labels: str) -> float | None:
    return REGISTRY.get_sample_value(f"memory_butler_{name}", labels)


async def test_the_newest_sample_is_exported(resources: Resources, clock: MovingClock) -> None:
    """Backlogs, jobs, queue and database, as the worker found them."""
    await settle(resources, "one/home", "two/home")
    await do_all_that_is_due(resources)
    await remember.episode(resources, NewEpisode(content="Rain.", butler="home"))
    clock.move(hours=30)
    await fleet.take(resources)
    await reporting.report(resources)
    assert gauge("sample_timestamp_seconds") == clock().timestamp()
    assert (gauge("tenants"), gauge("shards")) == (3, 3)
    assert gauge("backlog_age_seconds", quantile="0.95") == 30 * 3600
    assert (gauge("backlog_episodes"), gauge("backlog_shards")) == (1, 1)
    assert gauge("shard_jobs", job="sweep", state="overdue") == 2
    assert gauge("shard_jobs", job="sweep", state="never") == 1
    assert gauge("job_last_success_timestamp_seconds", job="sweep") == START.timestamp()
    assert gauge("job_oldest_success_timestamp_seconds", job="sweep") == START.timestamp()
    assert gauge("job_overdue_seconds", job="sweep") == 30 * 3600
    assert gauge("memories", type="rule", state="active") == 2
    assert (gauge("queue_jobs", job="sweep", status="todo"), gauge("queue_oldest_seconds")) == (0, 0)
    assert (gauge("database_connections") or 0) > 0 and (gauge("table_bytes", table="facts") or 0) > 0
    assert (gauge("pool_connections") or 0) >= 1
    labels = {frozenset(one.labels.values()) for metric in REGISTRY.collect() for one in metric.samples}
    assert not any({"one", "two", "home"} & values for values in labels), "no tenant, no butler"


async def test_it_reports_until_it_is_stopped_and_once_more_then(resources: Resources, rows: Rows) -> None:
    """What was measured in the last moment is stored, too."""
    MEASURED.take()
    quick = resources.settings.telemetry.model_copy(update={"report_seconds": 600})
    slow = replace(resources, settings=resources.settings.model_copy(update={"telemetry": quick}))
    stop = asyncio.Event()
    task = asyncio.create_task(reporting.report_until(slow, stop))
    await asyncio.sleep(0)
    MEASURED.call("memory_store_episode", "ok", 0.1)
    stop.set()
    await task
    assert rows(
        "SELECT sum(counts[1])::int AS stored FROM memory.objective_buckets WHERE objective = 'episode_writes'"
    ) == [{"stored": 1}]


async def test_a_failure_is_survived(
    resources: Resources, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The next report stores what this one could not."""

    async def broken(*_: object) -> bool:
        raise RuntimeError("no")

    with monkeypatch.context() as patch:
        patch.setattr(objectives, "keep", broken)
        await reporting.report(resources)
    assert "reporting failed" in caplog.text
    await reporting.report(resources)


async def test_workers_take_samples(resources: Resources, clock: MovingClock) -> None:
    """`work --once` leaves one behind, for monitoring where a timer starts it."""
    await settle(resources, "one/home")
    await do_all_that_is_due(resources)
    found = await fleet.latest(resources)
    assert found and found.jobs["sweep"].states["ok"] == 1
    clock.move(seconds=10)
    await do_all_that_is_due(resources)
    assert await fleet.latest(resources) == found
    clock.now += timedelta(seconds=resources.settings.telemetry.sample_seconds)
    await do_all_that_is_due(resources)
    assert await fleet.latest(resources) != found
