"""Links between memories, as they are stored."""

from datetime import datetime
from typing import Any
from uuid import UUID

from memory_butler.models import Link, MemoryType, Relation
from memory_butler.store.database import Session


async def insert(session: Session, link: Link, request_id: str | None, now: datetime) -> dict[str, Any]:
    """Store a link; returns what its event keeps of it."""
    row = {
        "source_type": link.source_type,
        "source_id": link.source_id,
        "target_type": link.target_type,
        "target_id": link.target_id,
        "relation": link.relation,
        "request_id": request_id,
    }
    await session.send("links.insert", now=now, **row)
    return {key: str(value) if isinstance(value, UUID) else value for key, value in row.items()} | {
        "created_at": now.isoformat()
    }


async def around(session: Session, memory_id: UUID, limit: int = 200) -> list[Link]:
    rows = await session.all("links.around", id=memory_id, limit=limit)
    return [
        Link(
            **{
                **row,
                "source_type": MemoryType(row["source_type"]),
                "target_type": MemoryType(row["target_type"]),
                "relation": Relation(row["relation"]),
            }
        )
        for row in rows
    ]
