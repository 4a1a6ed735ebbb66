"""Rebuilding a tenant from its log into an empty schema beside the store, and comparing the two."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime

import psycopg
from psycopg.rows import dict_row

from memory_butler.errors import OverloadRejected
from memory_butler.store import migrate
from memory_butler.store.database import Database, Session, translated
from memory_butler.store.queries import load_queries

# In an order in which everything a row refers to is there before it.
STEPS = (
    "replay.gather",
    "replay.rebuild_episodes",
    "replay.rebuild_tombstones",
    "replay.rebuild_facts",
    "replay.rebuild_rules",
    "replay.rebuild_aliases",
    "replay.rebuild_applications",
    "replay.rebuild_links",
)
TABLES = (
    "episodes",
    "episode_tombstones",
    "facts",
    "rules",
    "rule_applications",
    "memory_links",
    "aliases",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A row that did not come out the same: `only live`, `only rebuilt`, or `different` in these columns."""

    key: str
    kind: str
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TableReport:
    live: int = 0
    rebuilt: int = 0
    differences: int = 0
    examples: tuple[Difference, ...] = ()


@asynccontextmanager
async def scratch_schema(database: Database) -> AsyncIterator[None]:
    """An empty schema of the newest revision beside the store; gone afterwards, and only one at a time."""
    names = database.names
    queries = load_queries(names)
    with translated():
        connection = await psycopg.AsyncConnection.connect(database.owner_dsn(), autocommit=True, row_factory=dict_row)
        async with connection as owner:
            turn = await (await owner.execute(queries["replay.take_turn"], {"key": names.scratch})).fetchone()
            if not turn or not turn["mine"]:
                raise OverloadRejected("A replay of this store is running already.")
            await owner.execute(queries["replay.drop_scratch"])
            try:
                into = replace(names, schema=names.scratch)
                await asyncio.to_thread(migrate.migrate_to, "head", database.owner_dsn(), into)
                await owner.execute(queries["replay.make_final_states"])
                await owner.execute(queries["replay.share_final_states"])
                yield
            finally:
                await owner.execute(queries["replay.drop_scratch"])


async def rebuild(session: Session, now: datetime) -> None:
    """Rebuild the session's tenant from its events and their texts, and from nothing else."""
    await session.send("replay.begin", now=now)
    for step in STEPS:
        await session.send(step)


async def compare(session: Session, limit: int) -> dict[str, TableReport]:
    """Live and rebuilt rows of every table, with at most `limit` examples of a difference each."""
    rows = {row["name"]: row for row in await session.all("replay.compare", limit=limit)}
    return {name: _report(rows[name]) if name in rows else TableReport() for name in TABLES}


async def removed_texts(session: Session, limit: int) -> list[str]:
    """Whose words the log cites but the store no longer has."""
    return [row["owner"] for row in await session.all("replay.removed_texts", limit=limit)]


def _report(row: dict[str, object]) -> TableReport:
    examples = row["examples"] or []
    assert isinstance(examples, list)
    return TableReport(
        live=int(str(row["live"])),
        rebuilt=int(str(row["rebuilt"])),
        differences=int(str(row["differences"])),
        examples=tuple(Difference(key=e["key"], kind=e["kind"], columns=tuple(e["columns"])) for e in examples),
    )
