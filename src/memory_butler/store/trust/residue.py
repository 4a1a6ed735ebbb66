"""Physical residue: rewrite the data files of the embedded store, so that deleted rows leave no bytes in them.

A deleted row stays in its page until the space is used again, in the write-ahead log until its segment is overwritten,
and its values in the planner's statistics until the table is counted again.
"""

import asyncio
from typing import Any, Final

import psycopg
from psycopg.rows import dict_row

from memory_butler.store.embedded.upgrade import DATABASE, SUPERUSER
from memory_butler.store.gate.database import Database
from memory_butler.store.gate.driver_errors import translated
from memory_butler.store.gate.queries import load_queries

LOCK_MILLISECONDS: Final = 5_000
# Segments that were prepared ahead are used up one by one; there are at most min_wal_size of them.
_ROUNDS: Final = 64
_RECEIVE_SECONDS: Final = 3.0
_POLL_SECONDS: Final = 0.05


async def rewrite(database: Database, most_bytes: int) -> bool:
    """Rewrite all tables of the store and renew the write-ahead log; returns False if it is larger than allowed, if
    a table is being moved into partitions, or if old segments of the log stay because an archive lacks them.

    Raises an error if a table stays in use: repeat it later.
    """
    assert database.embedded
    queries, schema = load_queries(database.names), database.names.schema
    with translated():
        connection = await psycopg.AsyncConnection.connect(
            database.embedded.dsn(SUPERUSER, DATABASE), autocommit=True, row_factory=dict_row
        )
        async with connection as owner:
            size = await (await owner.execute(queries["residue.size"], {"schema": schema})).fetchone()
            if not size or size["bytes"] > most_bytes or size["is_moving"]:
                return False
            await owner.execute(queries["residue.wait_briefly"], {"milliseconds": str(LOCK_MILLISECONDS)})
            tables = await (await owner.execute(queries["residue.tables"], {"schema": schema})).fetchall()
            for table in tables:
                await owner.execute(queries[f"residue.rewrite:{table['name']}"])
            await owner.execute(queries["residue.rewrite_statistics"])
            return await _renew_log(owner, queries)


async def _renew_log(owner: psycopg.AsyncConnection[dict[str, Any]], queries: dict[str, bytes]) -> bool:
    """Replace the segments of the log; returns False if old ones stay."""
    fewest = _ROUNDS * 2
    await owner.execute(queries["residue.stop_recycling"])
    try:
        await owner.execute(queries["residue.reload"])
        for _ in range(_ROUNDS):
            await owner.execute(queries["residue.mark_log"])
            await owner.execute(queries["residue.end_segment"])
            await _received(owner, queries)
            await owner.execute(queries["residue.checkpoint"])
            other = await (await owner.execute(queries["residue.other_segments"])).fetchone()
            segments = other["segments"] if other else 0
            if not segments:
                return True
            fewest = min(fewest, segments)
            if segments > fewest + 2:
                # A replication slot keeps them: there is one more each time.
                return False
        return False
    finally:
        if not owner.broken:
            await owner.execute(queries["residue.recycle_again"])
            await owner.execute(queries["residue.reload"])


async def _received(owner: psycopg.AsyncConnection[dict[str, Any]], queries: dict[str, bytes]) -> None:
    """Wait until replicas and archives that are connected have the ended segment: the server keeps it for them."""
    for _ in range(round(_RECEIVE_SECONDS / _POLL_SECONDS)):
        behind = await (await owner.execute(queries["residue.receivers_behind"])).fetchone()
        if not behind or not behind["receivers"]:
            return
        await asyncio.sleep(_POLL_SECONDS)
