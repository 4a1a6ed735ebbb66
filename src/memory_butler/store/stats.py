"""Counts over a tenant's memories."""

from collections.abc import Sequence
from datetime import datetime

from memory_butler.models import Reach
from memory_butler.store import job_runs
from memory_butler.store.database import Row, Session


async def overview(session: Session, reach: Reach, now: datetime, jobs: Sequence[str]) -> dict[str, list[Row]]:
    """Everything a report on a tenant needs, in one round trip."""
    scopes = None if reach.scopes is None else list(reach.scopes)
    butlers = None if reach.butlers is None else list(reach.butlers)
    sent = {
        "counts": await session.send("stats.counts", scopes=scopes, butlers=butlers),
        "confidence": await session.send("stats.confidence", scopes=scopes, now=now),
        "backlog": await session.send("stats.backlog", butlers=butlers),
        "effectiveness": await session.send("stats.effectiveness", scopes=scopes),
        "log": await session.send("stats.log"),
        "runs": await session.send("job_runs.histories", **job_runs.which(jobs)),
    }
    return {name: await cursor.fetchall() for name, cursor in sent.items()}


async def pending_of(session: Session, butler: str) -> int:
    """How many of a butler's episodes wait for consolidation."""
    row = await session.one("stats.backlog", butlers=[butler])
    assert row
    return int(row["pending"])
