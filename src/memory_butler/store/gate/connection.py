"""A connection whose pipeline sends related statements in one write.

This overrides private methods of psycopg: its public pipeline has no switch for when to write. The version is pinned to
one minor release in pyproject.toml, and tests/store/gate/test_connection.py fails if the methods change.
"""

import asyncio
import math
import os
import select
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any

import psycopg
from psycopg import AsyncConnection, AsyncPipeline
from psycopg.abc import PQGen
from psycopg.generators import send
from psycopg.pq import TransactionStatus
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool

from memory_butler.errors import TargetUnavailable
from memory_butler.settings import Settings
from memory_butler.store.gate import server_waits
from memory_butler.store.gate.server_waits import Commits

Row = dict[str, Any]
# The function of the server that warns of a commit which no synchronous replica has.
GAVE_UP_REPLICATION = "SyncRepWaitForLSN"
# Prepare each statement when it is first sent: planning the search costs more than running it.
PREPARE_AFTER = 0


class Pipeline(AsyncPipeline):
    """A pipeline that writes nothing before a result is awaited.

    psycopg writes each statement on its own, after a turn of the event loop. BEGIN, the tenant, the query and COMMIT
    were four writes, and the server woke up for each.
    """

    def _communicate_gen(self) -> PQGen[None]:
        yield from ()

    def _fetch_gen(self, *, flush: bool) -> PQGen[None]:
        ends_with_sync = bool(self.command_queue) and self.command_queue[-1] == self.pgconn.pipeline_sync
        while self.command_queue:
            self.command_queue.popleft()()
        if not flush or ends_with_sync:
            yield from send(self.pgconn)
        yield from super()._fetch_gen(flush=flush and not ends_with_sync)


class Connection(AsyncConnection[Row]):
    """An AsyncConnection that uses this Pipeline.

    `is_unreplicated`: the server gave up waiting for a synchronous replica, and reports the commit all the same.
    """

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self.is_unreplicated = False
        self.add_notice_handler(self._note)

    def _note(self, notice: psycopg.errors.Diagnostic) -> None:
        self.is_unreplicated |= notice.source_function == GAVE_UP_REPLICATION

    async def wait(self, *given: Any, **more: Any) -> Any:
        call = server_waits.current.get()
        if call is None:
            return await super().wait(*given, **more)
        call.since = time.monotonic()
        try:
            return await super().wait(*given, **more)
        finally:
            call.since = None

    @asynccontextmanager
    async def pipeline(self) -> AsyncIterator[AsyncPipeline]:
        async with self.lock:
            self._check_connection_ok()
            if self._pipeline is None:
                self._pipeline = Pipeline(self)
        async with super().pipeline() as pipeline:
            yield pipeline


@asynccontextmanager
async def closed_after(seconds: float, connection: AsyncConnection[Any]) -> AsyncIterator[None]:
    """Shut down a connection whose server does not answer, so that its caller fails instead of hanging."""
    timer = asyncio.get_running_loop().call_later(seconds, shut_down, connection)
    try:
        yield
    finally:
        timer.cancel()


def shut_down(connection: AsyncConnection[Any]) -> None:
    """Break a connection whose server does not answer; whoever waits for it gets an error at once."""
    with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(connection.fileno())) as line:
        line.shutdown(socket.SHUT_RDWR)


def connect_timeout(settings: Settings) -> int:
    """Whole seconds; libpq uses at least two."""
    return max(2, math.ceil(settings.deadline_seconds))


def make_pool(
    settings: Settings,
    dsn: str | Callable[[], Awaitable[str]],
    check: Callable[[AsyncConnection[Any]], Awaitable[None]],
    is_pooled: bool,
) -> AsyncConnectionPool[AsyncConnection[Row]]:
    """A pool of connections to one server; not opened yet. `is_pooled`: they lead through a pooler."""
    return AsyncConnectionPool(
        dsn,
        connection_class=Connection,
        kwargs={
            "autocommit": True,
            "row_factory": dict_row,
            "connect_timeout": connect_timeout(settings),
            # Behind a pooler, the next transaction may use another server connection without the statements.
            "prepare_threshold": None if is_pooled else PREPARE_AFTER,
        },
        min_size=1,
        max_size=settings.pool_size,
        # Shorter than the deadline of the call, so that the caller gets the reason.
        timeout=settings.deadline_seconds * 0.8,
        # The pool backs off after each failure; a new call makes it try again at once.
        reconnect_timeout=settings.deadline_seconds,
        check=check,
        open=False,
    )


async def check_open(connection: AsyncConnection[Any]) -> None:
    """Called by a pool before every use; needs no round trip. A connection that the server closed is readable."""
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    if poll.poll(0):
        await connection.close()
        raise psycopg.OperationalError("the server closed the connection")


@asynccontextmanager
async def read_transaction(connection: AsyncConnection[Any]) -> AsyncIterator[None]:
    """Open an implicit transaction: the server treats everything before one Sync as one transaction.

    BEGIN and COMMIT would be half of the statements of a read, and a read needs no rollback.
    """
    try:
        async with connection.pipeline():
            yield
    finally:
        if not connection.closed and connection.info.transaction_status is not TransactionStatus.IDLE:
            await connection.rollback()


@asynccontextmanager
async def write_transaction(
    connection: AsyncConnection[Row],
    commits: Commits,
    position_query: bytes | None = None,
    record: Callable[[int], None] | None = None,
) -> AsyncIterator[None]:
    """Open a transaction whose BEGIN is sent with the first statement and whose COMMIT with the last awaited one.

    psycopg's own transaction block waits for the server at its beginning: one round trip more. `record` gets the
    result of `position_query`, which is sent with the COMMIT.
    """
    placed = None
    try:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(connection.pipeline())
            await connection.execute("BEGIN")
            yield
            done = await connection.execute("COMMIT")
            if position_query:
                placed = await connection.execute(position_query)
            with commits.one():
                await stack.aclose()
    finally:
        if not connection.closed and connection.info.transaction_status is not TransactionStatus.IDLE:
            await connection.rollback()
    if done.statusmessage != "COMMIT" or getattr(connection, "is_unreplicated", False):
        # A connection that reported such a commit is not used again.
        shut_down(connection)
        raise psycopg.OperationalError("the transaction was not committed, or not on a second server")
    if placed and record:
        row = await placed.fetchone()
        assert row
        record(row["position"])


@asynccontextmanager
async def reconnected_if_demoted(pool: AsyncConnectionPool[Any] | None, *, writes: bool) -> AsyncIterator[None]:
    """A write that meets a replica: the primary was demoted. New connections lead to the new primary."""
    try:
        yield
    except psycopg.errors.ReadOnlySqlTransaction as problem:
        if not writes:
            raise
        if pool:
            await pool.drain()
        raise TargetUnavailable() from problem
