"""Lists for people: pages of memories, of their history and links, of runs and of what was given up."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from memory_butler.models import Episode, Event, Link, Memory, MemoryType, Token
from memory_butler.models.listings import Sort
from memory_butler.store.consolidation import Run
from memory_butler.store.database import Row, Session
from memory_butler.store.episodes import as_episode
from memory_butler.store.facts import as_fact
from memory_butler.store.links import as_link
from memory_butler.store.rules import as_rule
from memory_butler.store.tokens import as_token

# Before the first and behind the last of all places.
LOWEST, HIGHEST = UUID(int=0), UUID(int=2**128 - 1)
BEGINNING, END = "-infinity", "infinity"

_QUERIES: dict[MemoryType, dict[str, str]] = {
    MemoryType.FACT: {
        "newest": "listings.facts_newest",
        "oldest": "listings.facts_oldest",
        "by": "listings.facts_by",
        "by_back": "listings.facts_by_back",
        "count": "listings.facts_count",
    },
    MemoryType.RULE: {
        "newest": "listings.rules_newest",
        "oldest": "listings.rules_oldest",
        "by": "listings.rules_by",
        "by_back": "listings.rules_by_back",
        "count": "listings.rules_count",
    },
    MemoryType.EPISODE: {
        "newest": "listings.episodes_newest",
        "oldest": "listings.episodes_oldest",
        "by": "listings.episodes_by",
        "by_back": "listings.episodes_by_back",
        "count": "listings.episodes_count",
    },
}
_READ: dict[MemoryType, Callable[[Row], Memory]] = {
    MemoryType.FACT: as_fact,
    MemoryType.RULE: as_rule,
    MemoryType.EPISODE: as_episode,
}
# A moment or a number, and an id.
Place = Sequence[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """By what a list is sorted, and whether it is gone back in. What has faded by `now` counts as faded."""

    sort: Sort
    descending: bool
    now: datetime
    back: bool = False


async def memories(
    session: Session, kind: MemoryType, filters: Mapping[str, Any], order: Order, *, after: Place | None, limit: int
) -> list[tuple[Memory, Place]]:
    """A page of memories, each with its place in the list: those after a place, or before it, the nearest first."""
    await session.send("listings.start")
    if order.sort is Sort.CREATED:
        is_newest = order.descending != order.back
        name = "newest" if is_newest else "oldest"
        beginning = (END, HIGHEST) if is_newest else (BEGINNING, LOWEST)
        more: dict[str, Any] = {}
    else:
        name, beginning = ("by_back", ("inf", HIGHEST)) if order.back else ("by", ("-inf", LOWEST))
        more = {"sort": order.sort, "sign": -1 if order.descending else 1, "now": order.now}
    place = after or beginning
    rows = await session.all(_QUERIES[kind][name], **filters, **more, after=place[0], after_id=place[1], limit=limit)
    found: list[tuple[Memory, Place]] = []
    for row in rows:
        key = row.pop("key") if "key" in row else row["created_at"].isoformat()
        found.append((_READ[kind](row), (key, row["id"])))
    return found


async def count(session: Session, kind: MemoryType, filters: Mapping[str, Any], most: int) -> int:
    """How many there are in all; if there are more than `most`, it is not counted further."""
    row = await session.one(_QUERIES[kind]["count"], **filters, most=most)
    assert row
    return int(row["count"])


async def history(session: Session, memory_id: UUID, from_seq: int, limit: int) -> list[Event]:
    """Events of a memory, the oldest first, beginning with this one."""
    rows = await session.all("listings.history", id=memory_id, from_seq=from_seq, limit=limit)
    return [Event(**row) for row in rows]


async def links(
    session: Session, memory_id: UUID, eyes: str | None, after: Sequence[Any] | None, limit: int
) -> list[Link]:
    """Links of a memory whose other end a butler may see; with no butler's eyes, all of them."""
    created_at, relation, source, target = after or (BEGINNING, "", LOWEST, LOWEST)
    rows = await session.all(
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
    session: Session, *, butler: str | None, state: str | None, after: Place | None, limit: int
) -> list[Run]:
    place = after or (END, HIGHEST)
    rows = await session.all(
        "listings.runs", butler=butler, state=state, after=place[0], after_id=place[1], limit=limit
    )
    return [Run(**row) for row in rows]


async def dead_letters(session: Session, *, butler: str | None, after: Place | None, limit: int) -> list[Episode]:
    place = after or (BEGINNING, LOWEST)
    rows = await session.all("listings.dead_letters", butler=butler, after=place[0], after_id=place[1], limit=limit)
    return [as_episode(row) for row in rows]


async def tokens(session: Session, *, after: Place | None, limit: int) -> list[Token]:
    place = after or (END, HIGHEST)
    rows = await session.all("listings.tokens", after=place[0], after_id=place[1], limit=limit)
    return [as_token(row) for row in rows]
