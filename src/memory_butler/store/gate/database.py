"""The gate: every transaction is opened here, for one tenant."""

import asyncio
import select
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import ContextVar
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, Self, TypeVar

import psycopg
from psycopg import AsyncConnection, AsyncCursor, AsyncRawCursor, IsolationLevel
from psycopg_pool import AsyncConnectionPool

from memory_butler.errors import TargetUnavailable
from memory_butler.metrics import changes, statements
from memory_butler.settings import Settings
from memory_butler.store.embedded.postmaster import Postmaster
from memory_butler.store.embedded.server import EmbeddedPostgres
from memory_butler.store.embedded.upgrade import APP, DATABASE, OWNER
from memory_butler.store.encryption.vault import Encryption, Vault, open_encryption
from memory_butler.store.gate import migrate, primary_facts, server_waits
from memory_butler.store.gate.connection import (
    closed_after,
    connect_timeout,
    make_pool,
    read_transaction,
    reconnected_if_demoted,
    write_transaction,
)
from memory_butler.store.gate.driver_errors import translated
from memory_butler.store.gate.indexed_tenants import IndexedTenants
from memory_butler.store.gate.queries import Names, load_queries, numbered
from memory_butler.store.gate.read_plane import ReadPlane, open_read_plane
from memory_butler.store.gate.reserved_refs import References

Row = dict[str, Any]
Made = TypeVar("Made")

READ = "database.bind_read"
WRITE = "database.bind_write"
StoreUpgraded = migrate.StoreUpgraded
# Parameters of a write transaction without the tenant's lock.
UNLOCKED: dict[str, Any] = {"lock_ms": "0", "stores": False}

# The server cancels a statement at the deadline. If it does not answer by then plus this time, we close the connection.
GRACE_SECONDS = 1.0
# Awaited before each transaction. Background work sets it for itself and for the tasks it starts.
wait_before_transaction: ContextVar[Callable[[], Awaitable[None]] | None] = ContextVar(
    "wait_before_transaction", default=None
)


class Transaction:
    """One transaction of one tenant. Statements are pipelined: a result is awaited when its rows are fetched."""

    def __init__(self, connection: AsyncConnection[Row], queries: dict[str, bytes], tenant: str) -> None:
        self._connection = connection
        self._queries = queries
        self.tenant = tenant
        self.refs = References()
        # The keys of the tenant, if anything in the store is encrypted.
        self.vault: Vault | None = None
        self.times = statements.StatementTimes()
        # Events recorded in it by type; counted as metrics when it is committed.
        self.recorded: Counter[str] = Counter()

    async def lock(self, now: datetime, *, refs: int, wait: bool = True) -> None:
        """Take the tenant's write lock and reserve `refs` short references. Without `wait` only the statements that
        follow wait for the lock, in the database."""
        await self.refs.reserve(await self.send("database.lock_tenant", now=now, refs=refs), refs, wait=wait)

    async def send(self, query: str, /, **params: Any) -> AsyncCursor[Row]:
        """Send a named query. A tuple is sent as an array, like a list."""
        self.times.sent(query)
        if self.vault:
            cursor = self._connection.cursor(row_factory=self.vault.rows)
            return await cursor.execute(self._queries[query], self._arrays(params))
        return await self._connection.execute(self._queries[query], self._arrays(params))

    async def one(self, query: str, /, **params: Any) -> Row | None:
        row = await (await self.send(query, **params)).fetchone()
        self.times.fetched()
        return row

    async def row(self, query: str, /, **params: Any) -> Row:
        """The row of a query that always has one."""
        row = await self.one(query, **params)
        assert row is not None
        return row

    async def column(self, query: str, /, **params: Any) -> list[Any]:
        """The first column of all rows."""
        return [next(iter(row.values())) for row in await self.all(query, **params)]

    async def send_for(self, make: Callable[[Sequence[Any]], Made], query: str, /, **params: Any) -> AsyncCursor[Made]:
        """Like `send`, with `make` called on the values of each row. Fetching the rows after the transaction costs no
        round trip."""
        self.times.sent(query)
        statement, names = numbered(self._queries[query])
        values = self._arrays(params)
        factory = self.vault.values(make) if self.vault else lambda _: make
        cursor = AsyncRawCursor(self._connection, row_factory=factory)
        return await cursor.execute(statement, [values[name] for name in names], binary=True)

    def _arrays(self, params: dict[str, Any]) -> dict[str, Any]:
        """The parameters and the tenant; the driver would send a tuple as a record."""
        values = {name: list(value) if type(value) is tuple else value for name, value in params.items()}
        return values | {"tenant": self.tenant}

    async def all(self, query: str, /, **params: Any) -> list[Row]:
        rows = await (await self.send(query, **params)).fetchall()
        self.times.fetched()
        return rows

    async def run(self, statement: str, params: dict[str, Any]) -> AsyncCursor[Row]:
        """Send a statement of procrastinate, which brings its own SQL."""
        return await self._connection.execute(statement.encode(), params)


class Database:
    """The store's connections. Open it once per process."""

    def __init__(self, settings: Settings, embedded: EmbeddedPostgres | None) -> None:
        self._settings = settings
        self.index_rules = settings.vector_index
        self.embedded = embedded
        self._pool: AsyncConnectionPool[AsyncConnection[Row]] | None = None
        self._starting = asyncio.Lock()
        # Number of calls that wait for a connection.
        self._wanted = 0
        self._postmaster = Postmaster()
        # The embedded server has its own role; the setting is for external databases.
        self._role = APP if embedded else settings.app_role
        self.names = Names(schema=settings.db_schema, app_role=self._role)
        self.indexed_tenants = IndexedTenants()
        # None: nothing is encrypted.
        self.encryption: Encryption | None = None
        self._revision = f"{migrate.HEAD}+keys"
        # True if connections lead through a pooler: then nothing is prepared on them, and they cannot listen.
        self.is_pooled = bool(settings.service.pooler)
        self._commits = server_waits.Commits()
        # Shorter than the deadline of a call, so that a server that answers is told from one that does not.
        self._statement_seconds = settings.deadline_seconds * server_waits.STATEMENT_SHARE
        # None: there are no replicas.
        self.read_plane: ReadPlane | None = None

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        idle_seconds = settings.database.idle_stop_minutes * 60
        embedded = None if settings.database_url else EmbeddedPostgres(settings.home, idle_seconds=idle_seconds)
        return cls(settings, embedded)

    def dsn(self) -> str:
        if self.embedded:
            return self.embedded.dsn(APP, DATABASE)
        assert self._settings.database_url
        return self._settings.database_url.get_secret_value()

    def owner_dsn(self) -> str:
        if self.embedded:
            return self.embedded.dsn(OWNER, DATABASE)
        return self._settings.owner_url.get_secret_value() if self._settings.owner_url else self.direct_dsn()

    def direct_dsn(self) -> str:
        """The connection past a pooler, if one is set."""
        url = self._settings.direct_url
        return url.get_secret_value() if url and not self.embedded else self.dsn()

    async def open(self, *, upgrade: bool = True) -> None:
        """Start the embedded server if there is one, migrate the schema, connect.

        `upgrade=False` leaves the schema as it is, for stores of other programs: they can be read, but not searched.
        """
        if self.embedded:
            await asyncio.to_thread(self.embedded.ensure_running)
        else:
            await self._look()
        if upgrade:
            with translated():
                vector = await asyncio.to_thread(
                    migrate.upgrade, self.dsn(), self.owner_dsn(), self.names, connect_timeout(self._settings)
                )
            self.names = replace(self.names, vector=vector)
        self._pool = make_pool(self._settings, self._reachable_dsn, self._check_alive, self.is_pooled)
        await self._pool.open()
        if upgrade:
            async with self.read("") as transaction:
                row = await transaction.row("tenant_keys.any", table=f'"{self.names.schema}".tenant_keys')
            self.encryption = await asyncio.to_thread(open_encryption, self._settings.encryption, row["any"])
            if self.encryption is None:
                self._revision = migrate.HEAD
            self.read_plane = await open_read_plane(self._settings, self.dsn, self.names)

    async def _look(self) -> None:
        """Check an external server before anything is done with it."""
        with translated():
            facts = await asyncio.to_thread(primary_facts.look, self.dsn(), self.names, connect_timeout(self._settings))
        if self._settings.service.pooler is None:
            self.is_pooled = facts.is_pooled

    async def close(self) -> None:
        if self.read_plane:
            await self.read_plane.close()
        if self._pool:
            await self._pool.close()
        self._postmaster.close()

    @asynccontextmanager
    async def read(self, tenant: str, *, deadline_seconds: float | None = None) -> AsyncIterator[Transaction]:
        """Open a read-only transaction, on a replica inside an operation of the read plane if one is fresh."""
        plane = self.read_plane
        replica = await plane.choose(tenant) if plane and plane.is_serving else None
        if replica is None:
            async with self._transaction(tenant, READ, deadline_seconds=deadline_seconds) as transaction:
                yield transaction
            return
        deadline = deadline_seconds or self._statement_seconds
        with translated():
            async with (
                replica.connection() as connection,
                self._bound(connection, read_transaction(connection), tenant, READ, deadline) as transaction,
            ):
                yield transaction

    @asynccontextmanager
    async def write(
        self,
        tenant: str,
        now: datetime,
        *,
        refs: int = 0,
        relaxed: bool = False,
        deadline_seconds: float | None = None,
        lock_seconds: float = 0,
    ) -> AsyncIterator[Transaction]:
        """Open a transaction that holds the tenant's write lock and has `refs` short references reserved.

        `lock_seconds` bounds the wait for the lock: raises LockBusy after it. 0: wait until the deadline. A `relaxed`
        write, which counts references after a read, does not wait for the lock's answer: that saves a round trip.
        """
        async with self._transaction(
            tenant,
            WRITE,
            deadline_seconds=deadline_seconds,
            relaxed=relaxed,
            lock_ms=str(round(lock_seconds * 1000)),
            stores=refs > 0,
        ) as transaction:
            await transaction.lock(now, refs=refs, wait=not relaxed)
            yield transaction

    @asynccontextmanager
    async def unlocked_write(self, tenant: str = "", *, relaxed: bool = False) -> AsyncIterator[Transaction]:
        """Open a transaction without the write lock, for technical tables of a tenant or, without one, shared ones.

        It does not start an embedded server that the user has stopped.
        """
        if self.embedded and not self._postmaster.lives and not await asyncio.to_thread(self.embedded.is_running):
            raise TargetUnavailable("The database is stopped.")
        async with self._transaction(tenant, WRITE, wanted=0, relaxed=relaxed, **UNLOCKED) as transaction:
            yield transaction

    @asynccontextmanager
    async def rollback_only(
        self, tenant: str, deadline_seconds: float, names: Names | None = None
    ) -> AsyncIterator[Transaction]:
        """Open a transaction on one snapshot that may write, and is always rolled back."""
        with translated():
            async with self._connection() as connection:
                await connection.set_isolation_level(IsolationLevel.REPEATABLE_READ)
                try:
                    async with connection.pipeline(), connection.transaction(force_rollback=True):
                        transaction = Transaction(connection, load_queries(names or self.names), tenant)
                        await self._bind(transaction, WRITE, deadline_seconds, relaxed=True, **UNLOCKED)
                        yield transaction
                finally:
                    if not connection.closed:
                        await connection.set_isolation_level(None)

    @asynccontextmanager
    async def _transaction(
        self, tenant: str, bind: str, *, wanted: int = 1, deadline_seconds: float | None = None, **more: Any
    ) -> AsyncIterator[Transaction]:
        deadline = deadline_seconds or self._statement_seconds
        plane, relaxed = self.read_plane, bool(more.get("relaxed"))
        # A count of references is not worth waiting for.
        if plane and ((relaxed and plane.primary_is_down) or (plane.primary_is_lost and not self.embedded)):
            raise TargetUnavailable("The primary database cannot be reached.")
        if call := server_waits.current.get():
            call.statement_seconds, call.is_down = self._statement_seconds, self._is_down
        with translated(), self._commits.explained():
            async with reconnected_if_demoted(self._pool, writes=bind != READ), self._connection(wanted) as connection:
                opened = read_transaction(connection) if bind == READ else self._writing(connection, tenant, relaxed)
                async with self._bound(connection, opened, tenant, bind, deadline, **more) as transaction:
                    yield transaction

    @asynccontextmanager
    async def _bound(
        self,
        connection: AsyncConnection[Row],
        opened: AbstractAsyncContextManager[None],
        tenant: str,
        bind: str,
        deadline_seconds: float,
        **more: Any,
    ) -> AsyncIterator[Transaction]:
        """Bind a transaction of a connection to its tenant, role and deadline."""
        async with closed_after(deadline_seconds + GRACE_SECONDS, connection):
            transaction = Transaction(connection, load_queries(self.names), tenant)
            async with opened:
                await self._bind(transaction, bind, deadline_seconds, **more)
                yield transaction
            transaction.times.ended()
            for change, count in transaction.recorded.items():
                changes.CHANGES.labels(change).inc(count)

    def _is_down(self) -> bool:
        return self._commits.are_stalled or (self.read_plane is not None and self.read_plane.primary_is_down)

    def _writing(
        self, connection: AsyncConnection[Row], tenant: str, relaxed: bool
    ) -> AbstractAsyncContextManager[None]:
        """A write transaction; with replicas, the position after it is recorded, except for counts of references."""
        plane = self.read_plane
        if plane is None or relaxed:
            return write_transaction(connection, self._commits)
        query = load_queries(self.names)["replicas.written"]
        return write_transaction(connection, self._commits, query, partial(plane.record, tenant))

    async def _bind(self, transaction: Transaction, bind: str, deadline_seconds: float, **more: Any) -> None:
        await transaction.send(
            bind,
            role=self._role,
            search_path=f'"{self.names.schema}", "{self.names.vector}"',
            timeout_ms=str(round(deadline_seconds * 1000)),
            revision=self._revision,
            **more,
        )
        if self.encryption:
            loading = await transaction.send("tenant_keys.load")
            transaction.vault = Vault(self.encryption, transaction.tenant, loading)

    @asynccontextmanager
    async def _connection(self, wanted: int = 1) -> AsyncIterator[AsyncConnection[Row]]:
        assert self._pool, "the database is not open"
        if wait := wait_before_transaction.get():
            await wait()
        self._wanted += wanted
        try:
            with statements.POOL_WAIT.time(), statements.POOL_FAILURES.count_exceptions(psycopg.Error):
                connection = await self._pool.getconn()
        finally:
            self._wanted -= wanted
        try:
            async with connection:
                yield connection
        finally:
            await self._pool.putconn(connection)

    def pool_figures(self) -> tuple[int, int, int]:
        """Connections of the pool, those that are idle, and the transactions that wait for one."""
        stats = self._pool.get_stats() if self._pool else {}
        return stats.get("pool_size", 0), stats.get("pool_available", 0), stats.get("requests_waiting", 0)

    async def _reachable_dsn(self) -> str:
        """Called by the pool before every new connection: restarts an embedded server that was killed.

        Only if a call waits for it: the pool also replaces connections that broke because the user stopped the server.
        """
        if self.embedded:
            if not self._wanted and not await asyncio.to_thread(self.embedded.is_running):
                raise psycopg.OperationalError("the database is stopped")
            async with self._starting:
                await asyncio.to_thread(self.embedded.ensure_running)
                self._postmaster.watch(self.embedded)
        return self.dsn()

    async def _check_alive(self, connection: AsyncConnection[Any]) -> None:
        """Called by the pool before every use; needs no round trip.

        A connection that the server has closed is readable while it is idle. Just after a kill it may not be readable
        yet, so the server's process is polled as well.
        """
        poll = select.poll()
        poll.register(connection.fileno(), select.POLLIN)
        self._postmaster.register(poll)
        if poll.poll(0):
            # The driver has not noticed yet, so the pool would reuse the connection. If one connection is closed, all
            # are; checking them one by one would make the caller wait longer.
            await connection.close()
            assert self._pool
            await self._pool.drain()
            raise psycopg.OperationalError("the server closed the connection")
