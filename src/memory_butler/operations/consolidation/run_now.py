"""Consolidate now, on request of a person, instead of at the scheduled time."""

from collections.abc import Callable

from memory_butler.models import Caller, RunReport
from memory_butler.operations.consolidation.backlog import backlogs
from memory_butler.operations.consolidation.consolidate import consolidate
from memory_butler.operations.consolidation.shard_job import summarize
from memory_butler.operations.lifecycle.job_status import CONSOLIDATION, put_on_record, shard_for
from memory_butler.resources import Resources

Progress = Callable[[RunReport], None]


async def consolidate_now(
    resources: Resources,
    caller: Caller | None = None,
    *,
    only_butler: str | None = None,
    limit: int | None = None,
    progress: Progress = lambda report: None,
) -> list[RunReport]:
    """Consolidate the backlog of all butlers or of one, up to `limit` episodes.

    An error ends it. Runs that finished before stay, and `progress` was called for each of them.
    """
    caller = resources.allowed(caller, "consolidate")
    reports: list[RunReport] = []
    for name in await backlogs(resources, caller, only_butler=only_butler):
        left = None if limit is None else limit - episode_count(reports)
        reports += await _shard(resources, caller, name, left, progress)
    return reports


def episode_count(reports: list[RunReport]) -> int:
    """Number of episodes in these runs."""
    return sum(len(report.episodes) for report in reports)


async def _shard(
    resources: Resources, caller: Caller, name: str, limit: int | None, progress: Progress
) -> list[RunReport]:
    """Consolidate one butler's backlog and record it as a job run, so that the job does not count as overdue."""
    shard = shard_for(caller, name)
    started, reports = resources.clock(), list[RunReport]()

    def collect(report: RunReport) -> None:
        reports.append(report)
        progress(report)

    while limit is None or episode_count(reports) < limit:
        left = None if limit is None else limit - episode_count(reports)
        if not await consolidate(resources, shard, limit=left, progress=collect):
            break
    if reports:
        await put_on_record(resources, shard, CONSOLIDATION, started, summarize(reports))
    return reports
