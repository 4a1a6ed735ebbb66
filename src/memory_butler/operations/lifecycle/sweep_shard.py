"""One butler's memories during a sweep, and the two ways a duty goes through them.

A scan takes no lock. If it finds memories that are due, the duty repeats it under the tenant's lock and changes what
is still due, with its events, in one transaction. A dry run stops after the first scan. Its planned changes are
passed to later scans, so that its report equals that of a real run.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from memory_butler.models import Lineage, MemoryType
from memory_butler.policy.lifecycle import sweep
from memory_butler.resources import Resources
from memory_butler.settings import Lifecycle
from memory_butler.store.gate.database import Row, Transaction
from memory_butler.store.history import events
from memory_butler.store.history.events import AuditTrail, Change
from memory_butler.store.lifecycle.sweep import FIRST_ID, FIRST_MOMENT, Planned

ACTOR = "upkeep"
# Number of memories selected at once where the selection reads the whole shard, and the time limit of that read.
SELECTED = 20_000
LONGEST_SECONDS = 600
# Planned state of a memory that a dry run would expire or delete.
REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class Due:
    """A memory that is due for a change: the name of the change in the report, and the state it leads to."""

    type: MemoryType
    id: UUID
    ref: str
    outcome: str
    becomes: str | None = None
    extra: dict[str, Any] = field(default_factory=dict)
    place: int = 0


@dataclass(frozen=True, slots=True)
class Page:
    """Number of rows scanned, the memories or keys that are due among them, and the start of the next page if any."""

    scanned: int
    due: Sequence[Due] = ()
    last: Any = None
    keys: int = 0


@dataclass(slots=True, kw_only=True)
class Shard:
    """One butler's memories during a sweep."""

    resources: Resources
    tenant: str
    name: str
    lineage: Lineage
    lifecycle: Lifecycle
    group_id: UUID
    dry_run: bool
    # By memory: the permanence class or maturity that a dry run would give it, or `REMOVED`.
    planned: dict[UUID, str] = field(default_factory=dict)
    events: int = 0

    def reading(self) -> AbstractAsyncContextManager[Transaction]:
        return self.resources.database.read(self.tenant)

    def reading_all(self) -> AbstractAsyncContextManager[Transaction]:
        """A transaction for a read over the whole shard, with a longer time limit than a call has."""
        return self.resources.database.rollback_only(self.tenant, LONGEST_SECONDS)

    @asynccontextmanager
    async def changing(self) -> AsyncIterator[tuple[Transaction, AuditTrail]]:
        now = self.resources.clock()
        trail = AuditTrail(
            now=now, actor=ACTOR, lineage=self.lineage, make_id=self.resources.make_id, group_id=self.group_id
        )
        async with self.resources.database.write(self.tenant, now) as transaction:
            yield transaction, trail

    async def record(self, transaction: Transaction, trail: AuditTrail, event: str, due: Sequence[Due]) -> None:
        await events.record(transaction, trail, [Change(one.type, one.id, event, one.extra) for one in due])
        self.events += len(due)

    def plan(self, due: Sequence[Due]) -> None:
        if self.dry_run:
            self.planned.update({one.id: one.becomes for one in due if one.becomes})

    def plan_so_far(self) -> Planned:
        decay = self.lifecycle.decay
        return Planned.of(
            [
                (id, grade, 0.0 if grade == REMOVED else sweep.decay_rate_of(grade, decay))
                for id, grade in self.planned.items()
            ]
        )


Pages = AsyncGenerator[Page, None]
Scan = Callable[[Transaction, datetime, Any], Awaitable[Page]]
Apply = Callable[[Transaction, AuditTrail, Sequence[Due]], Awaitable[None]]


async def scan_and_change(shard: Shard, start: Any, scan: Scan, change: Apply) -> Pages:
    """Scan page after page and change what is due."""
    after, page = start, Page(0)
    while after is not None:
        # If the last page had due memories, the next one probably has: scan it under the lock at once.
        expected = bool(page.due) and not shard.dry_run
        if not expected:
            async with shard.reading() as transaction:
                page = await scan(transaction, shard.resources.clock(), after)
        if expected or (page.due and not shard.dry_run):
            async with shard.changing() as (transaction, trail):
                page = await scan(transaction, trail.now, after)
                if page.due:
                    await change(transaction, trail, page.due)
        shard.plan(page.due)
        yield page
        after = page.last


@dataclass(frozen=True, slots=True)
class Selection:
    """Selection of surplus memories: measure the surplus, select candidates, recheck them under the lock, change."""

    measure: Callable[[Transaction], Awaitable[tuple[int, int]]]
    select: Callable[[Transaction, tuple[datetime, UUID], int], Awaitable[list[Row]]]
    recheck: Callable[[Transaction, Sequence[Row]], Awaitable[set[UUID]]]
    due: Callable[[Row], Due]
    change: Apply
    page_size: int


async def remove_surplus(shard: Shard, selection: Selection) -> Pages:
    """Select surplus memories without the lock, then change under it those that were not used in the meantime."""
    after, selected, going_on = (FIRST_MOMENT, FIRST_ID), 0, True
    while going_on:
        # Measure and select in one snapshot: a concurrent sweep removes memories that are selected here too.
        async with shard.reading_all() as transaction:
            held, surplus = await selection.measure(transaction)
            surplus -= selected if shard.dry_run else 0
            rows = await selection.select(transaction, after, min(surplus, SELECTED)) if surplus > 0 else []
        yield Page(0 if selected else held)
        for start in range(0, len(rows), selection.page_size):
            part = rows[start : start + selection.page_size]
            due = [selection.due(row) for row in part]
            if not shard.dry_run:
                async with shard.changing() as (transaction, trail):
                    remaining = await selection.recheck(transaction, part)
                    due = [one for one in due if one.id in remaining]
                    if due:
                        await selection.change(transaction, trail, due)
            shard.plan(due)
            yield Page(0, due)
        going_on = bool(rows) and surplus > SELECTED
        if rows:
            after, selected = (rows[-1]["used_at"], rows[-1]["id"]), selected + len(rows)
