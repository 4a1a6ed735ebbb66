"""Moving a table into monthly partitions while the store is in use, and keeping partitions ahead of time.

The rows are copied into a new table in pages of one tenant, while a trigger copies every change; then both are
compared, and the new table takes the place of the plain one in one transaction. An interrupted move continues where it
was.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import psycopg
from psycopg import AsyncConnection

from memory_butler.errors import IntegrityViolation, OverloadRejected
from memory_butler.store.gate.database import Database, Row, Transaction
from memory_butler.store.gate.driver_errors import translated
from memory_butler.store.gate.primary_facts import direct_connection
from memory_butler.store.gate.queries import load_queries

BASES: Final = ("memory_events", "episodes")
PLAIN, MOVING, PARTITIONED = "plain", "moving", "partitioned"
FIRST_ID: Final = UUID(int=0)
# Shorter than `deadlock_timeout`: where a call and a move wait for each other, the move gives up and no call fails.
LOCK_MILLISECONDS: Final = 500
LOCK_TRIES: Final = 120
LOCK_PAUSE_SECONDS: Final = 0.25

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How a table is stored: plain, moving or partitioned. `rows` is the planner's estimate."""

    base: str
    layout: str
    rows: int
    bytes: int
    copied: int = 0
    state: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """A partition: its bounds as ids, its parts by tenant, estimated rows and size."""

    name: str
    bounds: str
    parts: int
    rows: int
    bytes: int


async def layouts(transaction: Transaction) -> list[Layout]:
    return [_layout(row) for row in await transaction.all("moves.layouts")]


async def partitions(transaction: Transaction, base: str) -> list[Partition]:
    return [Partition(**row) for row in await transaction.all("moves.partitions", base=base)]


async def ahead(transaction: Transaction, now: datetime, months: int, buckets: int) -> int:
    """Make the partitions of the coming months that are missing; returns their number."""
    return int((await transaction.row("moves.ahead", now=now, months=months, buckets=buckets))["made"])


@asynccontextmanager
async def mover(database: Database) -> AsyncIterator["Mover"]:
    """Open a connection that owns the tables; one move at a time."""
    queries, key = load_queries(database.names), {"key": f"{database.names.schema} partitions"}
    with translated():
        async with direct_connection(database.owner_dsn(), database.names) as owner:
            turn = await (await owner.execute(queries["moves.take_turn"], key)).fetchone()
            if not turn or not turn["mine"]:
                raise OverloadRejected(
                    "The partitions of this store are being migrated already.",
                    recovery="Wait until that has ended; memory-butler partitions status shows the progress.",
                )
            try:
                await owner.execute(queries["moves.wait_briefly"], {"milliseconds": str(LOCK_MILLISECONDS)})
                yield Mover(owner, queries)
            finally:
                if not owner.broken:
                    await owner.execute(queries["moves.end_turn"], key)


class Mover:
    """Moves tables of the whole store."""

    def __init__(self, owner: AsyncConnection[Row], queries: dict[str, bytes]) -> None:
        self._owner = owner
        self._queries = queries

    async def layout(self, base: str) -> Layout:
        return next(one for one in [_layout(row) for row in await self._all("moves.layouts")] if one.base == base)

    async def oldest(self, base: str) -> datetime | None:
        """The time in the smallest id of a table."""
        found = None
        for tenant in await self._tenants():
            await self._all("moves.bind", tenant=tenant)
            for row in await self._all(f"moves.oldest:{base}", tenant=tenant):
                found = min(found or row["oldest"], row["oldest"])
        return found

    async def begin(self, base: str, first: datetime, last: datetime, buckets: int, now: datetime) -> None:
        """Make the new table; from now on each change reaches both."""
        await self._briefly("moves.begin", base=base, first=first, last=last, buckets=buckets, now=now)

    async def copy(self, base: str, size: int, progress: Progress) -> int:
        """Copy the rows that are missing; returns their number. Continues an interrupted copy."""
        (at,) = [row for row in await self._all("moves.layouts") if row["base"] == base]
        if at["state"] != "copying":
            return 0
        copied = before = at["copied"]
        last: UUID | None = at["at_id"]
        for tenant in await self._tenants(at["at_tenant"]):
            last = last if tenant == at["at_tenant"] else FIRST_ID
            while last is not None:
                (page,) = await self._all("moves.copy", base=base, tenant=tenant, after=last, size=size)
                copied, last = copied + page["copied"], page["last"]
                progress(f"Copying {base}", copied, max(copied, at["rows"]))
        await self._all_sent("moves.set_state", base=base, state="verifying")
        return int(copied - before)

    async def verify(self, base: str, size: int, progress: Progress) -> int:
        """Compare all rows of both tables; raises IntegrityViolation if any differ."""
        seen, rows = 0, (await self.layout(base)).rows
        for tenant in await self._tenants():
            last: UUID | None = FIRST_ID
            while last is not None:
                (page,) = await self._all("moves.verify", base=base, tenant=tenant, after=last, size=size)
                seen, last = seen + page["seen"], page["last"]
                if page["wrong"]:
                    raise IntegrityViolation(
                        f"{page['wrong']} copied rows of {base} differ from the originals; nothing was replaced.",
                        recovery="Run `memory-butler partitions migrate --cancel`, and report this.",
                    )
                progress(f"Comparing {base}", seen, max(seen, rows))
        return seen

    async def end(self, base: str) -> None:
        """Let the new table take the place of the plain one."""
        await self._briefly("moves.end", base=base)
        await self._all_sent(f"moves.analyze:{base}")

    async def cancel(self, base: str) -> None:
        await self._briefly("moves.cancel", base=base)

    async def _tenants(self, first: str = "") -> list[str]:
        return [row["name"] for row in await self._all("moves.tenants", first=first)]

    async def _briefly(self, query: str, **params: Any) -> None:
        """Run a statement that locks a whole table for a moment; it waits for running transactions again and again, and
        lets others pass in between."""
        for attempt in range(1, LOCK_TRIES + 1):
            try:
                await self._all_sent(query, **params)
            except (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected):
                if attempt == LOCK_TRIES:
                    raise
                await asyncio.sleep(LOCK_PAUSE_SECONDS)
            else:
                return

    async def _all(self, query: str, **params: Any) -> list[Row]:
        return await (await self._owner.execute(self._queries[query], params)).fetchall()

    async def _all_sent(self, query: str, **params: Any) -> None:
        await self._owner.execute(self._queries[query], params)


def _layout(row: Row) -> Layout:
    return Layout(
        base=row["base"],
        layout=row["layout"],
        rows=row["rows"],
        bytes=row["bytes"],
        copied=row["copied"] or 0,
        state=row["state"],
    )
