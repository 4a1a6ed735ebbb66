"""The gate: every transaction is opened here, for one tenant, and driver errors are translated here."""

import asyncio
import math
import os
import select
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import replace
from datetime import datetime
from typing import Any, Self

import psycopg
from psycopg import AsyncConnection, AsyncCursor, AsyncRawCursor, IsolationLevel
from psycopg.pq import TransactionStatus
from psycopg.rows import dict_row, tuple_row
from psycopg_pool import AsyncConnectionPool, PoolClosed, PoolTimeout, TooManyRequests

from memory_butler.errors import (
    DeadlinePassed,
    IntegrityViolation,
    InternalError,
    MemoryButlerError,
    OverloadRejected,
    TargetUnavailable,
)
from memory_butler.settings import Settings
from memory_butler.store import migrate
from memory_butler.store.connection import Connection
from memory_butler.store.embedded import EmbeddedPostgres
from memory_butler.store.embedded_upgrade import APP, DATABASE, OWNER
from memory_butler.store.postgres_account import is_postmaster
from memory_butler.store.queries import Names, load_queries, numbered

Row = dict[str, Any]

READ = "database.bind_read"
StoreUpgraded = migrate.StoreUpgraded

INVARIANT_BROKEN = "MB001"
WRONG_REVISION = "MB002"
# A prepared statement that is there already, or is not there: of somebody else's connection.
MIXED_UP = ("42P05", "26000")
# The server gives up a statement at the deadline; if by then nothing is heard from it at all, we do.
GRACE_SECONDS = 1.0
# A statement is prepared on a connection when it is first sent: planning the search costs more than running it.
PREPARE_AFTER = 0
# What to wait for before each transaction. Set by work that is not urgent, for itself and the tasks it starts.
giving_way: ContextVar[Callable[[], Awaitable[None]] | None] = ContextVar("giving_way", default=None)


@contextmanager
def translated() -> Iterator[None]:
    """Turn what the driver raises into one of our own errors."""
    try:
        yield
    except (PoolTimeout, PoolClosed) as problem:
        raise TargetUnavailable() from problem
    except TooManyRequests as problem:
        raise OverloadRejected() from problem
    except psycopg.errors.QueryCanceled as problem:
        raise DeadlinePassed() from problem
    except psycopg.IntegrityError as problem:
        raise IntegrityViolation(f"The store refused the change: {_first_line(problem)}") from problem
    except psycopg.errors.InsufficientPrivilege as problem:
        raise IntegrityViolation(f"The store refused access: {_first_line(problem)}") from problem
    except psycopg.Error as problem:
        raise _by_state(problem) from problem


def _by_state(problem: psycopg.Error) -> MemoryButlerError:
    state = problem.sqlstate
    if state == INVARIANT_BROKEN:
        return IntegrityViolation(f"The store refused the change: {_first_line(problem)}")
    if state == WRONG_REVISION:
        return StoreUpgraded(f"{_first_line(problem)[:1].upper()}{_first_line(problem)[1:]}.")
    if isinstance(problem, psycopg.OperationalError):
        return TargetUnavailable()
    if state in MIXED_UP:
        return InternalError(
            "The database mixes up prepared statements, as it does behind a transaction pooler.",
            recovery="Set service.pooler = true, or connect to the database directly.",
        )
    return InternalError(f"The database answered with error {state or type(problem).__name__}.")


def _first_line(problem: psycopg.Error) -> str:
    return (problem.diag.message_primary or str(problem)).splitlines()[0]


class Session:
    """One transaction of one tenant. Statements are sent at once and waited for when their rows are asked for."""

    def __init__(self, connection: AsyncConnection[Row], queries: dict[str, bytes], tenant: str) -> None:
        self._connection = connection
        self._queries = queries
        self.tenant = tenant
        self.last_ref = 0
        self._refs = 0

    async def lock(self, now: datetime, *, refs: int) -> None:
        """Take the tenant's write lock, and reserve so many short references."""
        row = await self.one("database.lock_tenant", now=now, refs=refs)
        assert row
        self.last_ref, self._refs = row["last_ref"], refs

    def take_ref(self) -> int:
        """The next of the reserved references."""
        assert self._refs > 0, "more is stored than was announced"
        self._refs -= 1
        return self.last_ref - self._refs

    async def send(self, query: str, /, **params: Any) -> AsyncCursor[Row]:
        params["tenant"] = self.tenant
        return await self._connection.execute(self._queries[query], params)

    async def one(self, query: str, /, **params: Any) -> Row | None:
        return await (await self.send(query, **params)).fetchone()

    async def send_for_tuples(self, query: str, /, **params: Any) -> AsyncCursor[tuple[Any, ...]]:
        """The same for what is read by the hundred, without the names. Fetched after the transaction, its rows have
        travelled together with the statement and the COMMIT: one round trip."""
        params["tenant"] = self.tenant
        statement, names = numbered(self._queries[query])
        cursor = AsyncRawCursor(self._connection, row_factory=tuple_row)
        return await cursor.execute(statement, [params[name] for name in names], binary=True)

    async def all(self, query: str, /, **params: Any) -> list[Row]:
        return await (await self.send(query, **params)).fetchall()

    async def run(self, statement: str, params: dict[str, Any]) -> AsyncCursor[Row]:
        """Send a statement of the queue's library, which brings its own."""
        return await self._connection.execute(statement.encode(), params)


class Database:
    """The store's connections. Open it once per process."""

    def __init__(self, settings: Settings, embedded: EmbeddedPostgres | None) -> None:
        self._settings = settings
        self.index_rules = settings.vector_index
        self.embedded = embedded
        self.names = Names(schema=settings.db_schema, app_role=settings.app_role)
        self._pool: AsyncConnectionPool[AsyncConnection[Row]] | None = None
        self._starting = asyncio.Lock()
        # How many calls wait for a connection.
        self._wanted = 0
        self._postmaster: int | None = None
        # The embedded server comes with its own role; the setting is for databases that somebody else runs.
        self._role = APP if embedded else settings.app_role
        self.names = replace(self.names, app_role=self._role)

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        return cls(settings, None if settings.database_url else EmbeddedPostgres(settings.home))

    @property
    def _connect_timeout(self) -> int:
        """In whole seconds, of which the driver takes two at least."""
        return max(2, math.ceil(self._settings.deadline_seconds))

    def dsn(self) -> str:
        if self.embedded:
            return self.embedded.dsn(APP, DATABASE)
        assert self._settings.database_url
        return self._settings.database_url.get_secret_value()

    def owner_dsn(self) -> str:
        if self.embedded:
            return self.embedded.dsn(OWNER, DATABASE)
        return self._settings.owner_url.get_secret_value() if self._settings.owner_url else self.dsn()

    async def open(self, *, upgrade: bool = True) -> None:
        """Start the embedded server if it is ours to start, bring the schema up to date, connect.

        Somebody else's store is not brought up to date: it can be read by its names, without search.
        """
        if self.embedded:
            await asyncio.to_thread(self.embedded.ensure_running)
        if upgrade:
            with translated():
                vector = await asyncio.to_thread(
                    migrate.upgrade, self.dsn(), self.owner_dsn(), self.names, self._connect_timeout
                )
            self.names = replace(self.names, vector=vector)
        self._pool = AsyncConnectionPool(
            self._reachable_dsn,
            connection_class=Connection,
            kwargs={
                "autocommit": True,
                "row_factory": dict_row,
                "connect_timeout": self._connect_timeout,
                # Behind a pooler the next transaction may be on another server connection, which knows of none.
                "prepare_threshold": None if self._settings.service.pooler else PREPARE_AFTER,
            },
            min_size=1,
            max_size=self._settings.pool_size,
            # Sooner than the deadline of the call, so that the caller hears the reason.
            timeout=self._settings.deadline_seconds * 0.8,
            # The pool waits longer after each failure; a new call is a better reason to try again.
            reconnect_timeout=self._settings.deadline_seconds,
            check=self._check_alive,
            open=False,
        )
        await self._pool.open()

    async def close(self) -> None:
        if self._pool:
            await self._pool.close()
        self._unwatch()

    @asynccontextmanager
    async def read(self, tenant: str) -> AsyncIterator[Session]:
        """A transaction that cannot write."""
        async with self._transaction(tenant, READ) as session:
            yield session

    @asynccontextmanager
    async def write(
        self,
        tenant: str,
        now: datetime,
        *,
        refs: int = 0,
        relaxed: bool = False,
        longest_seconds: float | None = None,
    ) -> AsyncIterator[Session]:
        """A transaction that holds the tenant's write lock and has `refs` short references reserved."""
        async with self._transaction(
            tenant, "database.bind_write", longest_seconds=longest_seconds, relaxed=relaxed
        ) as session:
            await session.lock(now, refs=refs)
            yield session

    @asynccontextmanager
    async def aside(self, tenant: str = "", *, relaxed: bool = False) -> AsyncIterator[Session]:
        """A transaction beside the memory, for upkeep: a tenant's records of it or, without a tenant, what all share.

        It takes no write lock, and an embedded server that somebody has stopped stays so.
        """
        if self.embedded and not self._lives() and not await asyncio.to_thread(self.embedded.is_running):
            raise TargetUnavailable("The database is stopped.")
        async with self._transaction(tenant, "database.bind_write", wanted=0, relaxed=relaxed) as session:
            yield session

    @asynccontextmanager
    async def rehearse(self, tenant: str, longest_seconds: float, names: Names | None = None) -> AsyncIterator[Session]:
        """A transaction on one snapshot of the store that may take long, may write, and is never committed."""
        with translated():
            async with self._connection() as connection:
                await connection.set_isolation_level(IsolationLevel.REPEATABLE_READ)
                try:
                    async with connection.pipeline(), connection.transaction(force_rollback=True):
                        session = Session(connection, load_queries(names or self.names), tenant)
                        await self._bind(session, "database.bind_write", longest_seconds, relaxed=True)
                        yield session
                finally:
                    if not connection.closed:
                        await connection.set_isolation_level(None)

    @asynccontextmanager
    async def _transaction(
        self, tenant: str, bind: str, *, wanted: int = 1, longest_seconds: float | None = None, **more: Any
    ) -> AsyncIterator[Session]:
        deadline = longest_seconds or self._settings.deadline_seconds
        within = _read if bind == READ else _committed
        with translated():
            async with (
                self._connection(wanted) as connection,
                _given_up_after(deadline + GRACE_SECONDS, connection),
                within(connection),
            ):
                session = Session(connection, load_queries(self.names), tenant)
                await self._bind(session, bind, deadline, **more)
                yield session

    async def _bind(self, session: Session, bind: str, deadline_seconds: float, **more: Any) -> None:
        await session.send(
            bind,
            role=self._role,
            search_path=f'"{self.names.schema}", "{self.names.vector}"',
            timeout_ms=str(round(deadline_seconds * 1000)),
            revision=migrate.HEAD,
            **more,
        )

    @asynccontextmanager
    async def _connection(self, wanted: int = 1) -> AsyncIterator[AsyncConnection[Row]]:
        assert self._pool, "the database is not open"
        if give_way := giving_way.get():
            await give_way()
        self._wanted += wanted
        try:
            connection = await self._pool.getconn()
        finally:
            self._wanted -= wanted
        try:
            async with connection:
                yield connection
        finally:
            await self._pool.putconn(connection)

    async def _reachable_dsn(self) -> str:
        """Asked by the pool before every new connection: an embedded server that was killed is started again then, if
        a call is waiting for it. To replace a connection that broke when somebody stopped it is no reason."""
        if self.embedded:
            if not self._wanted and not await asyncio.to_thread(self.embedded.is_running):
                raise psycopg.OperationalError("the database is stopped")
            async with self._starting:
                await asyncio.to_thread(self.embedded.ensure_running)
                self._watch_postmaster()
        return self.dsn()

    def _watch_postmaster(self) -> None:
        """Keep a descriptor that tells when the embedded server's main process ends, where there is such a thing."""
        self._unwatch()
        pid = self.embedded.pid if self.embedded else None
        if self.embedded and pid and hasattr(os, "pidfd_open") and is_postmaster(pid, self.embedded.data_dir):
            with suppress(OSError):
                self._postmaster = os.pidfd_open(pid)

    def _lives(self) -> bool:
        """Whether the main process of the embedded server is watched and has not ended."""
        if self._postmaster is None:
            return False
        poll = select.poll()
        poll.register(self._postmaster, select.POLLIN)
        return not poll.poll(0)

    def _unwatch(self) -> None:
        if self._postmaster is not None:
            os.close(self._postmaster)
            self._postmaster = None

    async def _check_alive(self, connection: AsyncConnection[Any]) -> None:
        """Asked by the pool before every use, and answered without a round trip.

        A connection that the server has closed has something to read while it is idle; one whose server was killed
        a moment ago may not have it yet, so the server's process is looked at in the same breath.
        """
        poll = select.poll()
        poll.register(connection.fileno(), select.POLLIN)
        if self._postmaster is not None:
            poll.register(self._postmaster, select.POLLIN)
        if poll.poll(0):
            # The driver has not noticed yet, and the pool would take it back as a good one. Where one connection is
            # gone the others are, too; tried one by one, each would make the caller wait longer.
            await connection.close()
            assert self._pool
            await self._pool.drain()
            raise psycopg.OperationalError("the server closed the connection")


@asynccontextmanager
async def _read(connection: AsyncConnection[Any]) -> AsyncIterator[None]:
    """A transaction that ends with its last statement: to the server, what comes before one Sync is one transaction.
    BEGIN and COMMIT would be half of the statements of a read, and nothing is lost if it does not end well."""
    try:
        async with connection.pipeline():
            yield
    finally:
        if not connection.closed and connection.info.transaction_status is not TransactionStatus.IDLE:
            await connection.rollback()


@asynccontextmanager
async def _committed(connection: AsyncConnection[Any]) -> AsyncIterator[None]:
    """A transaction whose BEGIN travels with the first statement and whose COMMIT with the last that is waited for.

    The driver's own transaction block waits for the server at its beginning, one round trip more.
    """
    try:
        async with connection.pipeline():
            await connection.execute("BEGIN")
            yield
            done = await connection.execute("COMMIT")
    finally:
        if not connection.closed and connection.info.transaction_status is not TransactionStatus.IDLE:
            await connection.rollback()
    if done.statusmessage != "COMMIT":
        raise psycopg.OperationalError("the transaction was not committed")


@asynccontextmanager
async def _given_up_after(seconds: float, connection: AsyncConnection[Any]) -> AsyncIterator[None]:
    """Cut a connection that is silent for too long: whoever waits for it sees it closed instead of hanging."""
    timer = asyncio.get_running_loop().call_later(seconds, _cut, connection)
    try:
        yield
    finally:
        timer.cancel()


def _cut(connection: AsyncConnection[Any]) -> None:
    with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(connection.fileno())) as line:
        line.shutdown(socket.SHUT_RDWR)
