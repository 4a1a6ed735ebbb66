"""Neighbours of search results: one statement for all of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memory_butler.models import MemoryType, Reach
from memory_butler.models.neighbours import Neighbour, NeighbourRelation
from memory_butler.store.gate.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """The results, the number of neighbours of each kind, and the caller's visibility."""

    ids: Sequence[UUID]
    expand: int
    reach: Reach
    min_confidence: float
    now: datetime


async def around(database: Database, tenant: str, asked: Around) -> list[tuple[Neighbour, ...]]:
    """The neighbours of each memory asked for, in the order asked."""
    async with database.read(tenant) as transaction:
        cursor = await transaction.send_for(
            tuple,
            "neighbours.around",
            ids=list(asked.ids),
            expand=asked.expand,
            scopes=asked.reach.scopes,
            butlers=asked.reach.butlers,
            min_confidence=asked.min_confidence,
            now=asked.now,
            # A tier, tags and a time narrow down what a question is about, not who may see what stands beside it.
            permanences=None,
            tags=None,
            maturities=None,
            time_from=None,
            time_to=None,
        )
    found: list[list[Neighbour]] = [[] for _ in asked.ids]
    for place, kind, relation, *rest in await cursor.fetchall():
        found[place - 1].append(Neighbour(MemoryType(kind), NeighbourRelation(relation), *rest))
    return [tuple(beside) for beside in found]
