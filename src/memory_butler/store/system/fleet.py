"""Reads over many tenants at once, for jobs and monitoring: each under the row-level security of its own tenant.

They return names of tenants and butlers, times and counts, and nothing of what is stored.
"""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from psycopg.types.json import Jsonb

from memory_butler.store.gate.database import Row, Transaction

# The queue of all scheduled jobs.
QUEUE = "upkeep"
# Tenants per statement: some ten milliseconds of the server's time.
CHUNK = 250


async def with_due_jobs(transaction: Transaction, tenants: Sequence[str], **limits: Any) -> list[str]:
    """Those of these tenants that may have a job due."""
    return await transaction.column("fleet.with_due_jobs", tenants=list(tenants), **limits)


async def jobs(transaction: Transaction, tenants: Sequence[str], jobs: Sequence[str]) -> list[Row]:
    """The history of each job of each butler."""
    return await transaction.all("fleet.jobs", tenants=list(tenants), jobs=list(jobs))


async def backlogs(transaction: Transaction, tenants: Sequence[str]) -> list[Row]:
    """The backlogs of the butlers that have one."""
    return await transaction.all("fleet.backlogs", tenants=list(tenants))


async def memories(transaction: Transaction, tenants: Sequence[str]) -> list[Row]:
    """Memories by type and state, as far as the jobs have counted them."""
    return await transaction.all("fleet.memories", tenants=list(tenants))


async def stuck(transaction: Transaction, tenants: Sequence[str]) -> Row:
    """What waits for a person."""
    return await transaction.row("fleet.stuck", tenants=list(tenants))


async def queue(transaction: Transaction, silence_seconds: float) -> tuple[list[Row], int]:
    """The jobs in the queue by kind and status, and the number of workers."""
    jobs = await transaction.all("fleet.queue", queue=QUEUE)
    return jobs, (await transaction.row("fleet.workers", silence_seconds=silence_seconds))["workers"]


async def server(transaction: Transaction) -> Row:
    """Connections and size of the database."""
    return await transaction.row("fleet.server")


async def tables(transaction: Transaction) -> list[Row]:
    return await transaction.all("fleet.tables")


async def index_bloat(transaction: Transaction) -> float | None:
    """The largest share of a vector index that a new one would not need; None without an index."""
    found = []
    for row in await transaction.all("fleet.vector_indexes"):
        built = json.loads(row["note"]) if row["note"] else {}
        if built.get("rows") and built.get("bytes") and row["bytes"]:
            found.append(max(0.0, 1 - built["bytes"] / built["rows"] * row["rows"] / row["bytes"]))
    return max(found, default=None)


async def claim(transaction: Transaction, now: datetime, due_since: datetime) -> bool:
    """Claim the next sample; False if it was claimed already."""
    return await transaction.one("fleet.claim", now=now, due_since=due_since) is not None


async def keep(transaction: Transaction, now: datetime, figures: dict[str, Any]) -> None:
    await transaction.send("fleet.keep", now=now, figures=Jsonb(figures))


async def kept(transaction: Transaction) -> Row | None:
    return await transaction.one("fleet.kept")
