"""The timetable: what runs by itself, how often, and for what.

Every job runs for one shard, a tenant's butler, at a time. Jobs of a shard run one after another in the order of this
page, shards beside each other. How often is set under `upkeep`; that it happens is not a setting.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from memory_butler.butler import Butler
from memory_butler.models import Caller
from memory_butler.operations.distilling_job import consolidate_shard
from memory_butler.operations.housekeeping import cleanup
from memory_butler.operations.sweep import sweep
from memory_butler.settings import Settings

Report = dict[str, Any]
Run = Callable[[Butler, Caller], Awaitable[Report]]


@dataclass(frozen=True, slots=True)
class Entry:
    """A job, and what it runs for a shard. It must bear being killed anywhere and run again."""

    job: str
    run: Run
    # Only for a job that the settings do not know.
    every: timedelta | None = None


async def _sweep(butler: Butler, shard: Caller) -> Report:
    report = await sweep(butler, shard, only_butler=shard.principal.butler)
    return report.as_dict()


TIMETABLE: tuple[Entry, ...] = (
    # Every 6 hours, and earlier where much or something important waits: episodes become facts and rules.
    Entry("consolidation", consolidate_shard),
    # Every day: fade, expire, judge, promote, delete what is over, make room.
    Entry("sweep", _sweep),
    # Every day: old records of runs, finished jobs, dead workers.
    Entry("cleanup", cleanup),
)


def cadences(settings: Settings, timetable: tuple[Entry, ...]) -> dict[str, timedelta]:
    """How often each entry runs."""
    usual = settings.upkeep.cadences()
    return {entry.job: entry.every or usual[entry.job] for entry in timetable}
