"""One run of a job, on record from its beginning to its end."""

import asyncio
import logging
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from memory_butler.butler import Butler
from memory_butler.errors import MemoryButlerError, TargetUnavailable
from memory_butler.jobs.timetable import Entry
from memory_butler.models import Caller
from memory_butler.operations import upkeep

# A run that went well must not count as lost because its last word met a broken connection.
RETRY_SECONDS = (0.2, 1.0, 3.0, 10.0)

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """A run that has ended."""

    job: str
    tenant: str
    butler: str
    outcome: str
    seconds: float
    report: dict[str, Any]


async def run_if_due(butler: Butler, entry: Entry, shard: Caller, every: timedelta) -> Ran | None:
    """Run a job for a shard and write down how it went; None if it was not due, or is somebody else's by now."""
    run = await upkeep.begin(butler, shard, entry.job, every)
    if run is None:
        return None
    loop = asyncio.get_running_loop()
    began = loop.time()
    try:
        outcome, report = await _run(butler, entry, shard)
    except asyncio.CancelledError:
        stopped = {"error": "The worker was stopped before it had finished.", "cut_short": True}
        await upkeep.finish(butler, shard, run, upkeep.FAILED, stopped)
        raise
    seconds = round(loop.time() - began, 3)
    if not await _finish(butler, shard, run, outcome, report):
        log.warning("%s of %s was given up for lost before it ended", entry.job, shard_name(shard))
        return None
    names = {"job": entry.job, "tenant": shard.principal.tenant, "butler": shard.principal.butler}
    return Ran(**names, outcome=outcome, seconds=seconds, report=report)


async def _run(butler: Butler, entry: Entry, shard: Caller) -> tuple[str, dict[str, Any]]:
    try:
        return upkeep.SUCCEEDED, await entry.run(butler, shard)
    except MemoryButlerError as problem:
        log.warning("%s of %s failed: %s", entry.job, shard_name(shard), problem.message)
        return upkeep.FAILED, {"error": problem.message, "class": problem.error_class}
    except Exception as fault:
        # The outermost place of a job: its record says that it failed, the log where.
        log.exception("%s of %s failed", entry.job, shard_name(shard))
        said = f"An unexpected fault ({type(fault).__name__}); the log says where."
        return upkeep.FAILED, {"error": said, "class": "internal_error"}


async def _finish(butler: Butler, shard: Caller, run: UUID, outcome: str, report: dict[str, Any]) -> bool:
    for pause in RETRY_SECONDS:
        try:
            return await upkeep.finish(butler, shard, run, outcome, report)
        except TargetUnavailable as problem:
            if not problem.retryable:
                raise
            await asyncio.sleep(pause)
    return await upkeep.finish(butler, shard, run, outcome, report)


def shard_name(shard: Caller) -> str:
    return f"{shard.principal.tenant}/{shard.principal.butler}"
