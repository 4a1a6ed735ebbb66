"""Rebuilding a tenant from its log into an empty schema beside the store, and comparing the two.

The log is worked through in pieces, now by the order of events and now by the ids of memories. So it may be as long
as it likes: no statement holds more than a piece of it.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from memory_butler.errors import OverloadRejected
from memory_butler.store.gate import migrate
from memory_butler.store.gate.database import Database, Transaction
from memory_butler.store.gate.queries import load_queries
from memory_butler.store.history.scratch import emptied

PIECE = 20_000
FIRST_ID, LAST_ID = UUID(int=0), UUID(int=2**128 - 1)
TABLES = (
    "episodes",
    "episode_tombstones",
    "facts",
    "rules",
    "rule_applications",
    "memory_links",
    "memory_references",
    "aliases",
)

Progress = Callable[[str, int, int], None]
Range = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A row that differs: `only live`, `only rebuilt`, or `different` in these columns."""

    key: str
    kind: str
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TableReport:
    live: int = 0
    rebuilt: int = 0
    differences: int = 0
    examples: tuple[Difference, ...] = ()


@dataclass(frozen=True, slots=True)
class Pieces:
    """The length of a log, and ids that split its memories into ranges with about the same number of events."""

    events: int
    milestones: tuple[UUID, ...]

    def by_event(self) -> Iterator[Range]:
        for after in range(0, self.events, PIECE):
            yield {"after": after, "upto": min(after + PIECE, self.events)}

    def by_id(self) -> Iterator[Range]:
        """Ranges that leave no id out, whether the log knows it or not."""
        for after, upto in zip((FIRST_ID, *self.milestones), (*self.milestones, LAST_ID), strict=True):
            yield {"after": after, "upto": upto}


@asynccontextmanager
async def scratch_schema(database: Database) -> AsyncIterator[None]:
    """A temporary schema of the newest revision. There is one at a time."""
    names = database.names
    queries = load_queries(names)
    async with emptied(database) as owner:
        if owner is None:
            raise OverloadRejected("A replay of this store is running already.")
        try:
            into = replace(names, schema=names.scratch)
            await asyncio.to_thread(migrate.migrate_to, "head", database.owner_dsn(), into)
            await owner.execute(queries["replay.let_facts_come_in_any_order"])
            await owner.execute(queries["replay.make_wordless"])
            await owner.execute(queries["replay.share_wordless"])
            yield
        finally:
            await owner.execute(queries["replay.drop_scratch"])


async def survey(transaction: Transaction) -> Pieces:
    """The length of the tenant's log, and its ranges."""
    length = await transaction.one("replay.length")
    assert length
    milestones = await transaction.all("replay.milestones", size=PIECE)
    return Pieces(length["events"], tuple(row["entity_id"] for row in milestones))


async def rebuild(transaction: Transaction, pieces: Pieces, now: datetime, progress: Progress) -> None:
    """Rebuild the tenant from its events and their texts alone."""
    await transaction.send("replay.begin", now=now)
    for piece in pieces.by_event():
        await transaction.one("replay.rebuild_references", until=None, **piece)
        buried = await transaction.one("replay.rebuild_tombstones", **piece)
        if buried and buried["made"]:
            await transaction.send("replay.drop_references", **piece)
        progress("Reading the log", piece["upto"], pieces.events)
    ranges = list(pieces.by_id())
    for number, piece in enumerate(ranges, start=1):
        await transaction.one("replay.rebuild_states", until=None, **piece)
        progress("Rebuilding memories", number, len(ranges))
    await transaction.send("replay.drop_baseless_facts")
    for piece in pieces.by_event():
        await transaction.one("replay.rebuild_applications", **piece)
        await transaction.one("replay.rebuild_links", **piece)
        await transaction.send("replay.drop_old_references", **piece)
        progress("Rebuilding links", piece["upto"], pieces.events)


async def compare(transaction: Transaction, pieces: Pieces, limit: int, progress: Progress) -> dict[str, TableReport]:
    """Live and rebuilt rows of every table, with at most `limit` examples of a difference each."""
    found = dict.fromkeys(TABLES, TableReport())
    ranges = list(pieces.by_id())
    for number, piece in enumerate(ranges, start=1):
        for row in await transaction.all("replay.compare", limit=limit, **piece):
            found[row["name"]] = _added(found[row["name"]], row, limit)
        progress("Comparing", number, len(ranges))
    return found


async def removed_texts(transaction: Transaction, limit: int) -> list[str]:
    """Owners of texts that the log cites and the store no longer has."""
    return await transaction.column("replay.removed_texts", limit=limit)


def _added(table: TableReport, row: dict[str, Any], limit: int) -> TableReport:
    examples = tuple(
        Difference(key=entry["key"], kind=entry["kind"], columns=tuple(entry["columns"]))
        for entry in row["examples"] or []
    )
    return TableReport(
        live=table.live + row["live"],
        rebuilt=table.rebuilt + row["rebuilt"],
        differences=table.differences + row["differences"],
        examples=(*table.examples, *examples)[:limit],
    )
