"""Links between memories, as they are stored."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from memory_butler.models import Link, MemoryType, Relation
from memory_butler.store.database import Row, Session
from memory_butler.store.recordsets import recordset


async def insert(session: Session, links: Sequence[Link], request_id: str | None) -> None:
    await session.send("links.insert", links=recordset([kept(link, request_id) for link in links]))


def kept(link: Link, request_id: str | None) -> dict[str, Any]:
    """What the event of a memory keeps of a link."""
    return {
        "source_type": link.source_type,
        "source_id": str(link.source_id),
        "target_type": link.target_type,
        "target_id": str(link.target_id),
        "relation": link.relation,
        "request_id": request_id,
        "created_at": link.created_at.isoformat(),
    }


async def around(session: Session, memory_id: UUID, limit: int = 200) -> list[Link]:
    return [as_link(row) for row in await session.all("links.around", id=memory_id, limit=limit)]


def as_link(row: Row) -> Link:
    return Link(
        **{
            **row,
            "source_type": MemoryType(row["source_type"]),
            "target_type": MemoryType(row["target_type"]),
            "relation": Relation(row["relation"]),
        }
    )
