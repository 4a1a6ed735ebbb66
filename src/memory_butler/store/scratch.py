"""The schema that a replay rebuilds into, when the replay did not live to remove it."""

import psycopg
from psycopg.rows import dict_row

from memory_butler.store.database import Database, translated
from memory_butler.store.queries import load_queries


async def drop_left_over(database: Database) -> bool:
    """Remove it, unless a replay is at work in it; says whether there was one to remove."""
    names = database.names
    async with database.aside() as session:
        found = await session.one("queue.has_scratch", scratch=names.scratch)
    if not found or not found["there"]:
        return False
    queries = load_queries(names)
    with translated():
        connection = await psycopg.AsyncConnection.connect(database.owner_dsn(), autocommit=True, row_factory=dict_row)
        async with connection as owner:
            turn = await (await owner.execute(queries["replay.take_turn"], {"key": names.scratch})).fetchone()
            if not turn or not turn["mine"]:
                return False
            await owner.execute(queries["replay.drop_scratch"])
    return True
