"""Records of job runs: shard, times and outcome."""

import json
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from memory_butler.store.gate.database import Row, Transaction

LOST = {"error": "The worker was lost.", "cut_short": True}


async def tenants(transaction: Transaction) -> list[str]:
    return await transaction.column("job_runs.tenants")


def which(
    jobs: Sequence[str], butler: str | None = None, *, after: Sequence[Any] | None = None, limit: int | None = None
) -> dict[str, Any]:
    """The parameters of `histories`: of which butler, and which part, after a butler and the number of a job."""
    last_butler, last_job = after or (None, None)
    return {"jobs": list(jobs), "butler": butler, "after": last_butler, "after_job": last_job, "limit": limit}


async def histories(transaction: Transaction, jobs: Sequence[str], butler: str | None = None, **part: Any) -> list[Row]:
    """The history of each job: one row per butler and job, in the order of the jobs."""
    return await transaction.all("job_runs.histories", **which(jobs, butler, **part))


async def worst(transaction: Transaction, limit: int, **judged_by: Any) -> list[Row]:
    """The jobs in the worst state first; each row has the total number and the number of jobs that are not ok."""
    return await transaction.all("job_runs.worst", limit=limit, **judged_by)


async def late(transaction: Transaction, **judged_by: Any) -> list[Row]:
    """Late and failing jobs by state, each with the number of butlers and the first of them."""
    return await transaction.all("job_runs.late", **judged_by)


async def close_lost(transaction: Transaction, butler: str, now: datetime) -> None:
    """Close the run of a shard's lost worker. The caller must hold the shard's lock."""
    await transaction.send("job_runs.close_lost", butler=butler, now=now, report=Jsonb(LOST))


async def start(transaction: Transaction, run: UUID, butler: str, job: str, now: datetime) -> None:
    await transaction.send("job_runs.start", id=run, butler=butler, job=job, now=now)


async def finish(
    transaction: Transaction, run: UUID, outcome: str, report: dict[str, Any], now: datetime
) -> Row | None:
    """The times of the run, or None if it was closed as lost."""
    return await transaction.one("job_runs.finish", id=run, outcome=outcome, report=_shape(report), now=now)


async def put_on_record(transaction: Transaction, *, report: dict[str, Any], **given: Any) -> None:
    await transaction.send("job_runs.put_on_record", report=_shape(report), **given)


def _shape(report: dict[str, Any]) -> Jsonb:
    return Jsonb(report, dumps=partial(json.dumps, default=str))


async def drop_old(transaction: Transaction, butler: str, before: datetime) -> int:
    return len(await transaction.all("job_runs.drop_old", butler=butler, before=before))
