"""Counts over a tenant's memories."""

from collections.abc import Sequence
from datetime import datetime

from memory_butler.models import Reach
from memory_butler.store.gate.database import Row, Transaction
from memory_butler.store.lifecycle import job_runs


async def overview(transaction: Transaction, reach: Reach, now: datetime, jobs: Sequence[str]) -> dict[str, list[Row]]:
    """All figures of a tenant's report, in one round trip."""
    scopes, butlers = reach.scopes, reach.butlers
    sent = {
        "counts": await transaction.send("stats.counts", scopes=scopes, butlers=butlers),
        "confidence": await transaction.send("stats.confidence", scopes=scopes, now=now),
        "backlog": await transaction.send("stats.backlog", butlers=butlers),
        "effectiveness": await transaction.send("stats.effectiveness", scopes=scopes),
        "log": await transaction.send("stats.log"),
        "runs": await transaction.send("job_runs.histories", **job_runs.which(jobs)),
    }
    return {name: await cursor.fetchall() for name, cursor in sent.items()}
