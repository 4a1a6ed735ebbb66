"""Pages of memories, of their events and links, of consolidation runs and of dead letters."""

import heapq
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from memory_butler.models import Episode, Event, Link, Memory, MemoryType, Token
from memory_butler.models.listings import Sort
from memory_butler.store.access.tokens import as_token
from memory_butler.store.consolidation.runs import Run
from memory_butler.store.gate.database import Transaction
from memory_butler.store.memories.episodes import as_episode
from memory_butler.store.memories.links import as_link
from memory_butler.store.memories.memories import as_memory

# Before the first and behind the last of all places.
LOWEST, HIGHEST = UUID(int=0), UUID(int=2**128 - 1)
BEGINNING, END = "-infinity", "infinity"

# A moment or a number, and an id.
Place = Sequence[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Sort order and direction of a list. Effective confidence is computed at `now`."""

    sort: Sort
    descending: bool
    now: datetime
    back: bool = False


async def memories(
    transaction: Transaction,
    kind: MemoryType,
    filters: Mapping[str, Any],
    order: Order,
    *,
    after: Place | None,
    limit: int,
) -> list[tuple[Memory, Place]]:
    """A page of memories after or before a place, the nearest first, each with its place in the list."""
    await transaction.send("listings.start")
    if order.sort is Sort.CREATED:
        is_newest = order.descending != order.back
        query = "listings.newest" if is_newest else "listings.oldest"
        beginning = (END, HIGHEST) if is_newest else (BEGINNING, LOWEST)
        more: dict[str, Any] = {}
    else:
        query, beginning = ("listings.by_back", ("inf", HIGHEST)) if order.back else ("listings.by", ("-inf", LOWEST))
        more = {"sort": order.sort, "sign": -1 if order.descending else 1, "now": order.now}
    place = after or beginning
    rows = await transaction.all(f"{query}:{kind}", **filters, **more, after=place[0], after_id=place[1], limit=limit)
    found: list[tuple[Memory, Place]] = []
    for row in rows:
        key = row.pop("key") if "key" in row else row["created_at"].isoformat()
        found.append((as_memory(kind, row), (key, row["id"])))
    return found


async def of_types(
    transaction: Transaction,
    filters: Mapping[MemoryType, Mapping[str, Any]],
    order: Order,
    *,
    after: Place | None,
    limit: int,
) -> list[tuple[Memory, Place]]:
    """The same of several types, merged: places of different types compare with each other."""
    found = [
        await memories(transaction, kind, wanted, order, after=after, limit=limit) for kind, wanted in filters.items()
    ]
    if len(found) == 1:
        return found[0]
    by_time = order.sort is Sort.CREATED
    is_falling = order.descending != order.back if by_time else order.back
    merged = heapq.merge(
        *found,
        key=lambda one: (datetime.fromisoformat(one[1][0]) if by_time else one[1][0], one[1][1]),
        reverse=is_falling,
    )
    return list(itertools.islice(merged, limit))


async def count(transaction: Transaction, kind: MemoryType, filters: Mapping[str, Any], most: int) -> int:
    """The total number, counted up to `most`."""
    return int((await transaction.row(f"listings.count:{kind}", **filters, most=most))["count"])


async def history(transaction: Transaction, memory_id: UUID, from_seq: int, limit: int) -> list[Event]:
    """Events of a memory, the oldest first, beginning with this one."""
    rows = await transaction.all("listings.history", id=memory_id, from_seq=from_seq, limit=limit)
    return [Event(**row) for row in rows]


async def links(
    transaction: Transaction, memory_id: UUID, eyes: str | None, after: Sequence[Any] | None, limit: int
) -> list[Link]:
    """Links of a memory whose other end a butler may see; all of them if `butler` is None."""
    created_at, relation, source, target = after or (BEGINNING, "", LOWEST, LOWEST)
    rows = await transaction.all(
        "listings.links",
        id=memory_id,
        eyes=eyes,
        after=created_at,
        after_relation=relation,
        after_source=source,
        after_target=target,
        limit=limit,
    )
    return [as_link(row) for row in rows]


async def runs(
    transaction: Transaction, *, butler: str | None, state: str | None, after: Place | None, limit: int
) -> list[Run]:
    place = after or (END, HIGHEST)
    rows = await transaction.all(
        "listings.runs", butler=butler, state=state, after=place[0], after_id=place[1], limit=limit
    )
    return [Run(**row) for row in rows]


async def dead_letters(
    transaction: Transaction, *, butler: str | None, after: Place | None, limit: int
) -> list[Episode]:
    place = after or (BEGINNING, LOWEST)
    rows = await transaction.all("listings.dead_letters", butler=butler, after=place[0], after_id=place[1], limit=limit)
    return [as_episode(row) for row in rows]


async def tokens(transaction: Transaction, *, after: Place | None, limit: int) -> list[Token]:
    place = after or (END, HIGHEST)
    rows = await transaction.all("listings.tokens", after=place[0], after_id=place[1], limit=limit)
    return [as_token(row) for row in rows]
