"""Distil now: work through what waits because a person asks for it, rather than when its turn comes."""

from collections.abc import Callable

from memory_butler.butler import Butler
from memory_butler.models import Caller, RunReport
from memory_butler.operations.backlog import backlogs
from memory_butler.operations.consolidate import consolidate
from memory_butler.operations.distilling_job import in_figures
from memory_butler.operations.upkeep import CONSOLIDATION, put_on_record, shard_for
from memory_butler.policy.roles import check_role

Progress = Callable[[RunReport], None]


async def distil_now(
    butler: Butler,
    caller: Caller | None = None,
    *,
    only_butler: str | None = None,
    limit: int | None = None,
    progress: Progress = lambda report: None,
) -> list[RunReport]:
    """Everybody's backlog, or one butler's, however long; at most so many episodes if there is a limit.

    Whatever goes wrong ends it. What was done until then stays, and `progress` was told of it.
    """
    caller = caller or butler.local_caller()
    check_role(caller.principal, "consolidate")
    reports: list[RunReport] = []
    for name in await backlogs(butler, caller, only_butler=only_butler):
        left = None if limit is None else limit - taken(reports)
        reports += await _shard(butler, caller, name, left, progress)
    return reports


def taken(reports: list[RunReport]) -> int:
    """How many episodes runs have dealt with."""
    return sum(len(report.episodes) for report in reports)


async def _shard(butler: Butler, caller: Caller, name: str, limit: int | None, progress: Progress) -> list[RunReport]:
    """One butler's; put on record, so that nobody takes the job for overdue."""
    shard = shard_for(caller, name)
    started, reports = butler.clock(), list[RunReport]()

    def tell(report: RunReport) -> None:
        reports.append(report)
        progress(report)

    while limit is None or taken(reports) < limit:
        left = None if limit is None else limit - taken(reports)
        if not await consolidate(butler, shard, limit=left, progress=tell):
            break
    if reports:
        await put_on_record(butler, shard, CONSOLIDATION, started, in_figures(reports))
    return reports
