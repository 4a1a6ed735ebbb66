"""The temporary schema of a replay: its lock, and the removal of one that an interrupted replay left."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import psycopg

from memory_butler.store.gate.database import Database
from memory_butler.store.gate.driver_errors import translated
from memory_butler.store.gate.primary_facts import direct_connection
from memory_butler.store.gate.queries import load_queries


@asynccontextmanager
async def emptied(database: Database) -> AsyncIterator[psycopg.AsyncConnection[dict[str, Any]] | None]:
    """The owner's connection, with the schema dropped and locked while it is open; None while a replay uses it."""
    queries = load_queries(database.names)
    with translated():
        async with direct_connection(database.owner_dsn(), database.names) as owner:
            key = {"key": database.names.scratch}
            turn = await (await owner.execute(queries["replay.take_turn"], key)).fetchone()
            if not turn or not turn["mine"]:
                yield None
                return
            try:
                await owner.execute(queries["replay.drop_scratch"])
                yield owner
            finally:
                # The server releases the lock of a closed connection a moment later, too late for the next replay.
                if not owner.broken:
                    await owner.execute(queries["replay.release_turn"], key)


async def drop_left_over(database: Database) -> bool:
    """Drop the schema unless a replay uses it; returns whether there was one."""
    async with database.unlocked_write() as transaction:
        found = await transaction.one("queue.has_scratch", scratch=database.names.scratch)
    if not found or not found["there"]:
        return False
    async with emptied(database) as owner:
        return owner is not None
