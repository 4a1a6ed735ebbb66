"""What stands around the results of a search: one statement for all of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memory_butler.models import MemoryType, Reach
from memory_butler.models.neighbours import Kinship, Neighbour
from memory_butler.store.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """Whose neighbours are asked for, how many of each kind, and what the caller may see."""

    ids: Sequence[UUID]
    expand: int
    reach: Reach
    min_confidence: float
    now: datetime


async def around(database: Database, tenant: str, asked: Around) -> list[tuple[Neighbour, ...]]:
    """The neighbours of each memory asked for, in the order asked."""
    async with database.read(tenant) as session:
        cursor = await session.send_for_tuples(
            "neighbours.around",
            ids=list(asked.ids),
            expand=asked.expand,
            scopes=None if asked.reach.scopes is None else list(asked.reach.scopes),
            butlers=None if asked.reach.butlers is None else list(asked.reach.butlers),
            min_confidence=asked.min_confidence,
            now=asked.now,
            # A tier and a time narrow down what a question is about, not who may see what stands beside it.
            permanences=None,
            maturities=None,
            time_from=None,
            time_to=None,
        )
    found: list[list[Neighbour]] = [[] for _ in asked.ids]
    for place, kind, relation, *rest in await cursor.fetchall():
        found[place - 1].append(Neighbour(MemoryType(kind), Kinship(relation), *rest))
    return [tuple(beside) for beside in found]
