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


async def around(session: Session, memory_id: UUID, eyes: str | None, limit: int = 200) -> list[Link]:
    """The links of a memory whose other end a butler may see; with no butler's eyes, all of them."""
    return [as_link(row) for row in await session.all("links.around", id=memory_id, eyes=eyes, limit=limit)]


async def hidden(session: Session, memory_id: UUID, eyes: str | None) -> int:
    """How many links of a memory lead to what a butler may not see."""
    if eyes is None:
        return 0
    row = await session.one("links.hidden", id=memory_id, eyes=eyes)
    return int(row["count"]) if row else 0


async def owned(session: Session, episodes: Sequence[UUID], eyes: str) -> set[UUID]:
    """Which of these episodes are the butler's own."""
    rows = await session.all("links.owned", ids=list(episodes), eyes=eyes)
    return {row["id"] for row in rows}


def as_link(row: Row) -> Link:
    return Link(
        **{
            **row,
            "source_type": MemoryType(row["source_type"]),
            "target_type": MemoryType(row["target_type"]),
            "relation": Relation(row["relation"]),
        }
    )
