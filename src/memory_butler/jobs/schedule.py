"""The schedule: which jobs run, and how often.

A job runs for one shard (tenant, butler) at a time. Jobs of one shard run one after another in the order of `SCHEDULE`,
shards in parallel. The intervals are settings under `upkeep`; jobs cannot be switched off. Each job also brings the
projections of its tenant up to date.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from memory_butler.models import Caller
from memory_butler.operations.consolidation.shard_job import consolidate_shard
from memory_butler.operations.history import days
from memory_butler.operations.lifecycle import partitions
from memory_butler.operations.lifecycle.cleanup import cleanup
from memory_butler.operations.lifecycle.sweep import sweep
from memory_butler.resources import Resources
from memory_butler.settings import Settings

Report = dict[str, Any]
Run = Callable[[Resources, Caller], Awaitable[Report]]


@dataclass(frozen=True, slots=True)
class ScheduledJob:
    """A job and its function for one shard, which must be safe to kill at any point and run again."""

    job: str
    run: Run
    # Interval of a job that has none in the settings.
    every: timedelta | None = None


async def _consolidate(resources: Resources, shard: Caller) -> Report:
    report = await consolidate_shard(resources, shard)
    await days.catch_up(resources, shard.principal.tenant)
    return report


async def _sweep(resources: Resources, shard: Caller) -> Report:
    report = await sweep(resources, shard, only_butler=shard.principal.butler)
    await partitions.keep_ahead(resources)
    await days.catch_up(resources, shard.principal.tenant)
    return report.as_dict()


SCHEDULE: tuple[ScheduledJob, ...] = (
    # Every 6 hours, earlier with a large or important backlog: episodes become facts and rules.
    ScheduledJob("consolidation", _consolidate),
    # Daily: fade, expire, promote and demote, delete expired episodes, enforce capacities.
    ScheduledJob("sweep", _sweep),
    # Daily: old job runs, finished jobs, dead workers; earlier with an outdated index or many uncounted events.
    ScheduledJob("cleanup", cleanup),
)


def intervals(settings: Settings, schedule: tuple[ScheduledJob, ...]) -> dict[str, timedelta]:
    """Return the interval of each job."""
    configured = settings.upkeep.intervals()
    return {entry.job: entry.every or configured[entry.job] for entry in schedule}
