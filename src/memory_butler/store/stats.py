"""Counts over a tenant's memories."""

from datetime import datetime

from psycopg import AsyncCursor

from memory_butler.store.database import Row, Session
from memory_butler.store.search_index import Probe


async def count_hidden(session: Session, probe: Probe) -> AsyncCursor[Row]:
    """Ask, without waiting, how many live memories scope and confidence keep out of a read."""
    return await session.send(
        "stats.hidden",
        scopes=None if probe.reach.scopes is None else list(probe.reach.scopes),
        min_confidence=probe.min_confidence,
        now=probe.now,
    )


async def hidden(counted: AsyncCursor[Row]) -> dict[str, int]:
    row = await counted.fetchone()
    assert row
    return {"scope": row["scope"], "confidence": row["confidence"]}


async def overview(session: Session, scope: str | None, now: datetime) -> dict[str, list[Row]]:
    """Everything a report on a tenant needs, in one round trip."""
    sent = {
        "counts": await session.send("stats.counts", scope=scope),
        "confidence": await session.send("stats.confidence", scope=scope, now=now),
        "backlog": await session.send("stats.backlog", scope=scope),
        "effectiveness": await session.send("stats.effectiveness", scope=scope),
        "log": await session.send("stats.log"),
        "runs": await session.send("stats.last_runs"),
    }
    return {name: await cursor.fetchall() for name, cursor in sent.items()}
