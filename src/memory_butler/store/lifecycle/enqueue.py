"""Jobs that a write puts into the queue in its own transaction, without the library of the queue."""

from collections.abc import Mapping
from typing import Any

from psycopg.types.json import Jsonb

from memory_butler.store.gate.database import Transaction
from memory_butler.store.system.fleet import QUEUE


def shard_lock(tenant: str, butler: str) -> str:
    """The lock that jobs of a shard hold while they run: one at a time."""
    return f"{tenant}/{butler}"


def queueing_lock(job: str, tenant: str, butler: str) -> str:
    """The lock of which at most one job waits at a time."""
    return f"{job}/{shard_lock(tenant, butler)}"


def tenant_of_lock(lock: str) -> str:
    """The tenant of a queueing lock."""
    return lock.split("/")[1]


def arguments(tenant: str, butler: str, trace: Mapping[str, str]) -> dict[str, Any]:
    """The arguments of a job: names, and the trace of the call that queued it."""
    return {"tenant": tenant, "butler": butler, **({"trace": dict(trace)} if trace else {})}


async def job(transaction: Transaction, job: str, butler: str, trace: Mapping[str, str]) -> None:
    """Queue a job for a butler of the transaction's tenant."""
    tenant = transaction.tenant
    await transaction.send(
        "enqueue.job",
        queue=QUEUE,
        job=job,
        lock=shard_lock(tenant, butler),
        queueing_lock=queueing_lock(job, tenant, butler),
        arguments=Jsonb(arguments(tenant, butler, trace)),
    )
