"""One run of a job, recorded from start to end."""

import asyncio
import logging
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from memory_butler.errors import MemoryButlerError, TargetUnavailable
from memory_butler.jobs.schedule import ScheduledJob
from memory_butler.metrics import upkeep
from memory_butler.models import Caller
from memory_butler.operations.lifecycle import job_status
from memory_butler.operations.lifecycle.job_status import OpenRun
from memory_butler.resources import Resources

# A successful run must not count as lost because recording its end failed once.
RETRY_SECONDS = (0.2, 1.0, 3.0, 10.0)

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedRun:
    job: str
    tenant: str
    butler: str
    outcome: str
    seconds: float
    report: dict[str, Any]


async def run_if_due(resources: Resources, entry: ScheduledJob, shard: Caller, every: timedelta) -> FinishedRun | None:
    """Run a job for a shard and record its outcome; None if it was not due, or another worker has it by now."""
    run = await job_status.begin(resources, shard, entry.job, every)
    if run is None:
        return None
    loop = asyncio.get_running_loop()
    began = loop.time()
    try:
        outcome, report = await _run(resources, entry, shard)
    except asyncio.CancelledError:
        stopped = {"error": "The worker was stopped before it had finished.", "cut_short": True}
        await job_status.finish(resources, shard, run, job_status.FAILED, stopped)
        raise
    seconds = round(loop.time() - began, 3)
    upkeep.RUNS.labels(entry.job, outcome).inc()
    upkeep.SECONDS.labels(entry.job).observe(seconds)
    if not await _finish(resources, shard, run, outcome, report):
        log.warning("%s of %s was reclaimed by another worker before it ended", entry.job, shard_name(shard))
        return None
    names = {"job": entry.job, "tenant": shard.principal.tenant, "butler": shard.principal.butler}
    return FinishedRun(**names, outcome=outcome, seconds=seconds, report=report)


async def _run(resources: Resources, entry: ScheduledJob, shard: Caller) -> tuple[str, dict[str, Any]]:
    try:
        return job_status.SUCCEEDED, await entry.run(resources, shard)
    except MemoryButlerError as problem:
        log.warning("%s of %s failed: %s", entry.job, shard_name(shard), problem.message)
        return job_status.FAILED, {"error": problem.message, "class": problem.error_class}
    except Exception as fault:
        # Boundary of a job: the failure is recorded, the stack is logged.
        log.exception("%s of %s failed", entry.job, shard_name(shard))
        message = f"An unexpected fault ({type(fault).__name__}); the log says where."
        return job_status.FAILED, {"error": message, "class": "internal_error"}


async def _finish(resources: Resources, shard: Caller, run: OpenRun, outcome: str, report: dict[str, Any]) -> bool:
    for pause in RETRY_SECONDS:
        try:
            return await job_status.finish(resources, shard, run, outcome, report)
        except TargetUnavailable as problem:
            if not problem.retryable:
                raise
            await asyncio.sleep(pause)
    return await job_status.finish(resources, shard, run, outcome, report)


def shard_name(shard: Caller) -> str:
    return f"{shard.principal.tenant}/{shard.principal.butler}"
