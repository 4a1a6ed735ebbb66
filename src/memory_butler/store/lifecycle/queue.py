"""The job queue: its library speaks to the database through the same gate as everything else.

A connection of its own would need the role and the schema's name at its start, which a pooler in front of a database
does not pass on; here both are set in each transaction. News travels inside the process; what other processes put into
the queue is found by looking.
"""

import asyncio
import json
from collections.abc import Iterable, Sequence
from typing import Any, LiteralString

from procrastinate.connector import BaseAsyncConnector, Notify
from procrastinate.sql import queries
from procrastinate.sync_psycopg_connector import wrap_exceptions
from psycopg.errors import UniqueViolation
from psycopg.types.json import Jsonb

from memory_butler.store.gate.database import Database, Row, Transaction

# After each of these a job may be ready that was not before. (One that waited for its shard's turn is, at the end of
# another, and the library would find it only at its next look.)
_NEWS = frozenset(queries[name] for name in ("defer_jobs", "finish_job", "retry_job"))


class GatedConnector(BaseAsyncConnector):
    """Connector of procrastinate that uses our gate."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._news = asyncio.Event()

    async def open_async(self, pool: Any = None) -> None:
        """The database is open already."""

    async def close_async(self) -> None:
        """It is closed by whoever opened it."""

    async def execute_query_async(self, query: LiteralString, **arguments: Any) -> None:
        async with self._database.unlocked_write() as transaction:
            await transaction.run(query, _wrapped(arguments))
        self._spread(query)

    async def execute_query_one_async(self, query: LiteralString, **arguments: Any) -> Row:
        return (await self.execute_query_all_async(query, **arguments))[0]

    async def execute_query_all_async(self, query: LiteralString, **arguments: Any) -> list[Row]:
        async with self._database.unlocked_write() as transaction:
            try:
                rows = await (await transaction.run(query, _wrapped(arguments))).fetchall()
            except UniqueViolation:
                # The one error that the library looks at: a job that waits already.
                with wrap_exceptions():
                    raise
        self._spread(query)
        return rows

    def _spread(self, query: str) -> None:
        if query in _NEWS:
            self.tell()

    def tell(self) -> None:
        """Let the worker of this process look for a job now."""
        self._news.set()

    async def listen_notify(self, on_notification: Notify, channels: Iterable[str]) -> None:
        payload = json.dumps({"type": "job_inserted", "job_id": 0})
        while True:
            await self._news.wait()
            self._news.clear()
            for channel in channels:
                await on_notification(channel=channel, payload=payload)


def _wrapped(arguments: dict[str, Any]) -> dict[str, Any]:
    return {name: _wrap(value) for name, value in arguments.items()}


def _wrap(value: Any) -> Any:
    """Arguments of a job are JSON; a job to be put into the queue is a tuple that contains them."""
    match value:
        case dict():
            return Jsonb(value)
        case tuple():
            return tuple(_wrap(item) for item in value)
        case list():
            return [_wrap(item) for item in value]
    return value


async def silent_workers(transaction: Transaction, queue: str, silence_seconds: float) -> set[int]:
    """Workers that hold a job and sent no heartbeat for this time."""
    found = await transaction.all("queue.silent_workers", queue=queue, silence_seconds=silence_seconds)
    return {row["id"] for row in found}


async def held_by(transaction: Transaction, queue: str, worker: int) -> set[int]:
    return set(await transaction.column("queue.held", queue=queue, worker=worker))


async def waiting(transaction: Transaction, queue: str) -> set[str]:
    """Queueing locks of the jobs that have not started."""
    return set(await transaction.column("queue.waiting", queue=queue))


async def reclaim(
    transaction: Transaction, queue: str, *, lost: Sequence[int], dropped: Sequence[int], silence_seconds: float
) -> int:
    """Make abandoned jobs ready again; returns their number."""
    whose = {"queue": queue, "lost": list(lost), "dropped": list(dropped), "silence_seconds": silence_seconds}
    again = await transaction.all("queue.reclaim", **whose)
    return len(again) + len(await transaction.all("queue.release", **whose))


async def drop_finished(transaction: Transaction, days: int, limit: int) -> int:
    return len(await transaction.all("queue.drop_finished", days=days, limit=limit))


async def drop_workers(transaction: Transaction, days: int) -> int:
    return len(await transaction.all("queue.drop_workers", days=days))
