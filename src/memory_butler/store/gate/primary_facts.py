"""What a process checks about an external database when it opens the store: role, pooler, clock."""

import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.rows import dict_row

from memory_butler.errors import TargetUnavailable
from memory_butler.store.gate.queries import Names, load_queries

# Clocks that differ by more than this are reported.
CLOCK_SECONDS = 5.0
QUERY = "primary_facts.look"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PrimaryFacts:
    """`is_pooled`: a connection leads through a pooler. `clock_ahead_seconds`: how far the server's clock is ahead."""

    is_pooled: bool
    clock_ahead_seconds: float


def look(dsn: str, names: Names, connect_timeout: int) -> PrimaryFacts:
    """Ask the server of `database_url`. Raises if it is a replica; a clock that differs is logged."""
    with psycopg.connect(dsn, connect_timeout=connect_timeout, autocommit=True, row_factory=dict_row) as connection:
        before = time.time()
        row = connection.execute(load_queries(names)[QUERY]).fetchone()
        assert row
        ahead = row["clock"] - (before + time.time()) / 2
        is_pooled = row["backend"] != connection.info.backend_pid
    if row["in_recovery"]:
        raise TargetUnavailable(
            "database_url leads to a replica, which cannot be written to.",
            recovery="Set MEMORY_BUTLER_DATABASE_URL to the primary, or to an address that follows it; replicas belong"
            " in database.replicas.",
        )
    if abs(ahead) > CLOCK_SECONDS:
        log.warning(
            "the clock of the database is %.0f s %s that of this machine; synchronise both with NTP",
            abs(ahead),
            "ahead of" if ahead > 0 else "behind",
        )
    return PrimaryFacts(is_pooled, ahead)


@asynccontextmanager
async def direct_connection(dsn: str, names: Names) -> AsyncIterator[psycopg.AsyncConnection[dict[str, Any]]]:
    """A connection for locks that are held longer than a transaction.

    A pooler would leave such a lock with a session of somebody else, so a connection that leads through one is refused.
    """
    connection = await psycopg.AsyncConnection.connect(dsn, autocommit=True, row_factory=dict_row)
    async with connection:
        row = await (await connection.execute(load_queries(names)[QUERY], prepare=False)).fetchone()
        assert row
        if row["backend"] != connection.info.backend_pid:
            raise TargetUnavailable(
                "This holds a lock, for which a connection through a pooler cannot be used.",
                recovery="Set MEMORY_BUTLER_DATABASE__DIRECT_URL to the database itself. If MEMORY_BUTLER_OWNER_URL is"
                " set, it must not lead through the pooler either.",
            )
        yield connection
