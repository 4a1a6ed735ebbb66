"""Cleanup: remove leftovers of jobs, update an outdated index and the projections. No memory is changed."""

from datetime import timedelta
from typing import Any

from memory_butler.errors import MemoryButlerError
from memory_butler.models import Caller
from memory_butler.operations.history import days
from memory_butler.operations.lifecycle import partitions
from memory_butler.operations.lifecycle.sweep_shard import ACTOR
from memory_butler.operations.retrieval import vector_indexes
from memory_butler.operations.retrieval.indexing import catch_up
from memory_butler.operations.retrieval.reembedding import reembed
from memory_butler.operations.trust import encryption_keys, residue
from memory_butler.resources import Resources
from memory_butler.store.consolidation import runs as runs_store
from memory_butler.store.history import references, scratch
from memory_butler.store.lifecycle import job_runs, queue

RUNS_KEPT = timedelta(days=90)
JOBS_KEPT_DAYS = 7
WORKERS_KEPT_DAYS = 1
BATCH = 1000
REEMBEDDING_SECONDS = 50.0


async def cleanup(resources: Resources, shard: Caller) -> dict[str, Any]:
    """Delete a shard's old run records (the latest of each job stays), finished jobs, dead workers and the schema of an
    interrupted replay; index what has no index entry; re-embed for a while; count new events; rewrite the data files
    after a large purge; rotate the key of encrypted texts if that is due."""
    async with resources.database.unlocked_write(shard.principal.tenant) as transaction:
        runs = await job_runs.drop_old(transaction, shard.principal.butler, resources.clock() - RUNS_KEPT)
        distilled = await runs_store.drop_old_runs(
            transaction, shard.principal.butler, resources.clock() - RUNS_KEPT, BATCH
        )
        keys = await runs_store.drop_needless_keys(transaction, 10 * BATCH)
    async with resources.database.unlocked_write() as transaction:
        jobs = await queue.drop_finished(transaction, JOBS_KEPT_DAYS, BATCH)
        workers = await queue.drop_workers(transaction, WORKERS_KEPT_DAYS)
    report: dict[str, Any] = {
        "runs": runs,
        "consolidation_runs": distilled,
        "distilled_keys": keys,
        "queue_jobs": jobs,
        "workers": workers,
        "scratch_schemas": 0,
    }
    report["reindexed"] = await catch_up(resources, shard.principal.tenant)
    # The schedule starts the next part after a minute.
    report["reembedded"] = await reembed(resources, shard.principal.tenant, seconds=REEMBEDDING_SECONDS)
    await resources.earlier_models.close_idle()
    await _switch_index(resources, shard, report)
    report["counted_events"] = await days.catch_up(resources, shard.principal.tenant)
    if cleaned := await residue.clean_up(resources, shard.principal.tenant, residue.BY_JOB_BYTES):
        report["purge_residue"] = cleaned
    await _rotate_keys(resources, shard, report)
    report["references"] = await _drop_old_references(resources, shard)
    for moved in await partitions.move_if_due(resources):
        report[f"partitioned_{moved.base}"] = moved.compared
    try:
        report["scratch_schemas"] = int(await scratch.drop_left_over(resources.database))
    except MemoryButlerError as problem:
        report["note"] = f"A schema that a replay left over could not be removed: {problem.message}"
    return report


async def _switch_index(resources: Resources, shard: Caller, report: dict[str, Any]) -> None:
    """Give a tenant that has grown its vector index."""
    try:
        if switched := await vector_indexes.switch_if_due(resources, shard.principal.tenant):
            report["vector_indexes"] = switched
    except MemoryButlerError as problem:
        report["vector_indexes_note"] = f"The vector index could not be changed: {problem.message}"


async def _rotate_keys(resources: Resources, shard: Caller, report: dict[str, Any]) -> None:
    """Rotate in pages; a job that is killed continues with its next run."""
    try:
        rotated = await encryption_keys.rotate_if_due(resources, shard)
    except MemoryButlerError as problem:
        report["keys_note"] = f"The encryption key could not be rotated: {problem.message}"
        return
    if rotated:
        report["keys_rotated"] = {
            "encrypted": rotated.encrypted,
            "anew": rotated.anew,
            "unreadable": rotated.unreadable,
            "continued": rotated.continued,
        }


async def _drop_old_references(resources: Resources, shard: Caller) -> int:
    """Drop the record of single reads after its retention; returns the number of dropped references."""
    now, dropped, tenant = resources.clock(), 0, shard.principal.tenant
    before = now - timedelta(days=resources.settings.upkeep.references_days)
    async with resources.database.read(tenant) as transaction:
        is_over = not await references.has_window(transaction, before)
    while not is_over:
        async with resources.database.write(tenant, now) as transaction:
            some, is_over = await references.drop_window(
                transaction, before=before, event_id=resources.make_id(now), actor=ACTOR, now=now
            )
        dropped += some
    return dropped
