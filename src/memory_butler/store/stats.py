"""Counts over a tenant's memories."""

from datetime import datetime

from memory_butler.store.database import Row, Session


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
