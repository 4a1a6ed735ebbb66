"""One database server as the read plane sees it: probed once a second on a connection of its own."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import AsyncConnection
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool, PoolClosed, PoolTimeout, TooManyRequests

from memory_butler.store.gate.connection import Row, closed_after, shut_down
from memory_butler.store.gate.driver_errors import raise_if_cancelled

Pool = AsyncConnectionPool[AsyncConnection[Row]]

PROBE_SECONDS = 1.0
# A server that does not answer a probe within this time counts as down. libpq waits at least two seconds to connect.
ANSWER_SECONDS = 1.0
CONNECT_SECONDS = 2
APPLICATION = "memory-butler probe"
# A replica whose reads fail although it answers its probes is left out for this time.
REFUSED_SECONDS = 30.0
# Waiting longer for a connection of a busy replica is slower than asking the primary.
POOL_SECONDS = 0.5
# Replay removed rows that the read needed; the replica is well.
RECOVERY_CONFLICT = "40001"


class ReplicaFailed(Exception):
    """A read failed on a replica. It is repeated on the primary."""


@dataclass(frozen=True, slots=True)
class Probe:
    """The answer of a server: its role, cluster, database and position, and when it gave it.

    `is_pooled`: the connection leads through a pooler.
    """

    in_recovery: bool
    cluster: int
    database: str
    position: int
    # Start of the server, which tells two servers of one cluster apart.
    started: float
    is_pooled: bool
    at: float


class Endpoint:
    """A server with its last probe. `problem` says why it cannot be used; None: it can."""

    def __init__(self, dsn: Callable[[], str], query: bytes) -> None:
        self._dsn = dsn
        self._query = query
        self._connection: AsyncConnection[Row] | None = None
        self.probe: Probe | None = None
        self.problem: str | None = "it has not been probed yet"
        # Since when its probes fail.
        self.failing_since: float | None = None
        self.was_probed = asyncio.Event()

    async def ask(self) -> None:
        """Probe the server; sets `probe` or `problem`."""
        try:
            if self._connection is None or self._connection.closed:
                self._connection = await AsyncConnection.connect(
                    self._dsn(),
                    autocommit=True,
                    row_factory=dict_row,
                    prepare_threshold=None,
                    connect_timeout=CONNECT_SECONDS,
                    application_name=APPLICATION,
                )
            async with closed_after(ANSWER_SECONDS, self._connection):
                row = await (await self._connection.execute(self._query)).fetchone()
            assert row
            is_pooled = row.pop("backend") != self._connection.info.backend_pid
            self.probe, self.problem = Probe(**row, is_pooled=is_pooled, at=time.monotonic()), None
            self.failing_since = None
        except (psycopg.Error, OSError) as problem:
            raise_if_cancelled(problem)
            await self.close()
            self.probe, self.problem = None, f"it cannot be reached: {first_line(problem)}"
            self.failing_since = self.failing_since or time.monotonic()
        self.was_probed.set()

    async def close(self) -> None:
        if self._connection is not None:
            with suppress(psycopg.Error, OSError):
                await self._connection.close()
            self._connection = None


class Replica(Endpoint):
    """A replica with a pool of connections for reads."""

    def __init__(self, number: int, url: str, query: bytes, make_pool: Callable[[bool], Pool]) -> None:
        super().__init__(lambda: url, query)
        parts = conninfo_to_dict(url)
        place = str(parts.get("host") or parts.get("hostaddr") or "localhost")
        self.number = number
        self.name = f"database.replicas[{number}] ({place}:{parts.get('port') or 5432})"
        self._make_pool = make_pool
        # Open while the replica answers its probes: a pool that lost its server waits longer and longer to reconnect.
        self._pool: Pool | None = None
        # Largest position that it is known to have replayed.
        self.replayed = 0
        self.lag_seconds = 0.0
        self.lag_bytes = 0
        self.reads = 0
        self._in_use: set[AsyncConnection[Row]] = set()
        self._refused_until = float("-inf")
        self._refusal = ""

    @property
    def busy(self) -> int:
        return len(self._in_use)

    @property
    def refusal(self) -> str | None:
        """Why reads fail there although it answers its probes, until it is tried again."""
        return self._refusal if time.monotonic() < self._refused_until else None

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[AsyncConnection[Row]]:
        """A connection for one read. A failure of the replica becomes ReplicaFailed; an exceeded deadline does not."""
        try:
            pool = self._pool
            if pool is None:
                raise PoolClosed("the replica is down")
            connection = await pool.getconn(POOL_SECONDS)
            self._in_use.add(connection)
            try:
                async with connection:
                    yield connection
            finally:
                self._in_use.discard(connection)
                await pool.putconn(connection)
        except psycopg.errors.QueryCanceled:
            raise
        except (psycopg.Error, PoolTimeout, PoolClosed, TooManyRequests) as problem:
            raise_if_cancelled(problem)
            self._suspect(problem)
            raise ReplicaFailed(f"{self.name}: {first_line(problem)}") from problem

    async def replay(self, query: bytes) -> int:
        """Ask how far it has replayed the log."""
        async with self.connection() as connection:
            row = await (await connection.execute(query)).fetchone()
        assert row
        self.replayed = max(self.replayed, row["position"])
        return self.replayed

    async def ask(self) -> None:
        """Probe it; opens the pool of a replica that answers. Of one that does not, the reads in progress are broken,
        so that they are repeated elsewhere at once."""
        await super().ask()
        if self.probe is None:
            self.replayed = 0
            await self._close_pool()
            return
        self.replayed = self.probe.position
        if self._pool is None:
            pool = self._make_pool(self.probe.is_pooled)
            await pool.open()
            self._pool = pool

    async def close(self) -> None:
        await super().close()
        await self._close_pool()

    async def _close_pool(self) -> None:
        pool, self._pool = self._pool, None
        for connection in tuple(self._in_use):
            shut_down(connection)
        if pool is not None:
            await pool.close()

    def _suspect(self, problem: Exception) -> None:
        """Leave it out until the next probe, or longer if it refuses reads."""
        if isinstance(problem, PoolTimeout | TooManyRequests) and self.probe:
            return
        if isinstance(problem, psycopg.OperationalError | PoolClosed) and (
            getattr(problem, "sqlstate", None) != RECOVERY_CONFLICT
        ):
            self.probe, self.problem = None, f"a read failed: {first_line(problem)}"
        elif not isinstance(problem, psycopg.OperationalError):
            self._refused_until = time.monotonic() + REFUSED_SECONDS
            self._refusal = f"a read was refused: {first_line(problem)}"


def first_line(problem: BaseException) -> str:
    """The reason of a failure in one line."""
    message: Any = getattr(getattr(problem, "diag", None), "message_primary", None) or str(problem)
    return (str(message).strip().splitlines() or [type(problem).__name__])[0]


async def sleep_until_next_probe() -> None:
    await asyncio.sleep(PROBE_SECONDS)
