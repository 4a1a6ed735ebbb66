"""Links between memories."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from memory_butler.models import Link, MemoryType, Relation
from memory_butler.models.vocabulary import WRITABLE
from memory_butler.store.gate.database import Row, Transaction
from memory_butler.store.gate.recordsets import recordset


async def insert(transaction: Transaction, links: Sequence[Link], request_id: str | None) -> None:
    await insert_kept(transaction, [kept(link, request_id) for link in links])


async def insert_kept(transaction: Transaction, links: Sequence[dict[str, Any]]) -> None:
    """Insert links as events hold them."""
    await transaction.send("links.insert", links=recordset(list(links)))


async def written(transaction: Transaction, memory_id: UUID) -> set[tuple[str, UUID]]:
    """Relations and targets of the links of a memory that callers may write."""
    rows = await transaction.all("links.written", id=memory_id, relations=list(WRITABLE))
    return {(row["relation"], row["target_id"]) for row in rows}


async def withdraw(transaction: Transaction, links: Sequence[dict[str, Any]]) -> None:
    await transaction.send("links.withdraw", links=recordset(list(links)))


def kept(link: Link, request_id: str | None) -> dict[str, Any]:
    """A link in the payload of an event."""
    return {
        "source_type": link.source_type,
        "source_id": str(link.source_id),
        "target_type": link.target_type,
        "target_id": str(link.target_id),
        "relation": link.relation,
        "request_id": request_id,
        "created_at": link.created_at.isoformat(),
    }


async def around(transaction: Transaction, memory_id: UUID, eyes: str | None, limit: int = 200) -> list[Link]:
    """The links of a memory whose other end a butler may see; all of them if `butler` is None."""
    return [as_link(row) for row in await transaction.all("links.around", id=memory_id, eyes=eyes, limit=limit)]


async def hidden(transaction: Transaction, memory_id: UUID, eyes: str | None) -> int:
    """The number of links of a memory to memories that a butler may not see."""
    if eyes is None:
        return 0
    row = await transaction.one("links.hidden", id=memory_id, eyes=eyes)
    return int(row["count"]) if row else 0


async def owned(transaction: Transaction, episodes: Sequence[UUID], eyes: str) -> set[UUID]:
    """Those of these episodes that belong to the butler."""
    return set(await transaction.column("links.owned", ids=list(episodes), eyes=eyes))


def as_link(row: Row) -> Link:
    return Link(
        **{
            **row,
            "source_type": MemoryType(row["source_type"]),
            "target_type": MemoryType(row["target_type"]),
            "relation": Relation(row["relation"]),
        }
    )
