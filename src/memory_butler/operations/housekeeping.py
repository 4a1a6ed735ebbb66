"""Housekeeping: what upkeep itself leaves behind, and an index that is behind. No memory is touched."""

from datetime import timedelta
from typing import Any

from memory_butler.butler import Butler
from memory_butler.errors import MemoryButlerError
from memory_butler.models import Caller
from memory_butler.operations import upkeep
from memory_butler.operations.index import catch_up
from memory_butler.store import consolidation, job_runs, queue, scratch

RUNS_KEPT = timedelta(days=90)
JOBS_KEPT_DAYS = 7
WORKERS_KEPT_DAYS = 1
BATCH = 1000


async def cleanup(butler: Butler, shard: Caller) -> dict[str, Any]:
    """Drop a shard's old records of runs (the latest of each job stays), finished jobs of the queue, workers that are
    long dead, and a schema that a replay left over; index anew what an earlier version indexed."""
    async with butler.database.aside(shard.principal.tenant) as session:
        runs = await job_runs.drop_old(session, shard.principal.butler, butler.clock() - RUNS_KEPT)
        distilled = await consolidation.drop_old_runs(
            session, shard.principal.butler, butler.clock() - RUNS_KEPT, BATCH
        )
        keys = await consolidation.drop_needless_keys(session, 10 * BATCH)
    async with butler.database.aside() as session:
        jobs = await queue.drop_finished(session, JOBS_KEPT_DAYS, BATCH)
        workers = await queue.drop_workers(session, WORKERS_KEPT_DAYS)
    report: dict[str, Any] = {
        "runs": runs,
        "consolidation_runs": distilled,
        "distilled_keys": keys,
        "queue_jobs": jobs,
        "workers": workers,
        "scratch_schemas": 0,
    }
    report["reindexed"] = await catch_up(butler, shard.principal.tenant)
    # From now on all of the tenant is found by meaning with this one; the next model sees that it is another.
    report[upkeep.INDEXED_UNDER] = butler.embedding_version
    try:
        report["scratch_schemas"] = int(await scratch.drop_left_over(butler.database))
    except MemoryButlerError as problem:
        report["note"] = f"A schema that a replay left over could not be removed: {problem.message}"
    return report
