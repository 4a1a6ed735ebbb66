"""The schema that a replay rebuilds into: whose turn it is to use it, and what a replay left that did not live to
remove it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
from psycopg.rows import dict_row

from memory_butler.store.database import Database, translated
from memory_butler.store.queries import load_queries


@asynccontextmanager
async def emptied(database: Database) -> AsyncIterator[psycopg.AsyncConnection[dict[str, Any]] | None]:
    """The owner's connection, with the schema gone and nobody else's to make anew for as long as it is open; none
    while a replay is at work in it."""
    queries = load_queries(database.names)
    with translated():
        connection = await psycopg.AsyncConnection.connect(database.owner_dsn(), autocommit=True, row_factory=dict_row)
        async with connection as owner:
            key = {"key": database.names.scratch}
            turn = await (await owner.execute(queries["replay.take_turn"], key)).fetchone()
            if not turn or not turn["mine"]:
                yield None
                return
            await owner.execute(queries["replay.drop_scratch"])
            yield owner


async def drop_left_over(database: Database) -> bool:
    """Remove it, unless a replay is at work in it; says whether there was one to remove."""
    async with database.aside() as session:
        found = await session.one("queue.has_scratch", scratch=database.names.scratch)
    if not found or not found["there"]:
        return False
    async with emptied(database) as owner:
        return owner is not None
