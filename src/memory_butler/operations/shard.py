"""One butler's memories while they are swept, and the two ways a duty goes through them.

A look takes no lock. Only where something is due, it is taken again under the tenant's lock, and what it finds then is
changed, with its events, in one transaction. A rehearsal ends with the first look; what it foresees is laid
over what the later looks see, so that it foresees exactly what would be done.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from memory_butler.butler import Butler
from memory_butler.models import Lineage, MemoryType
from memory_butler.policy import upkeep
from memory_butler.settings import Lifecycle
from memory_butler.store import events
from memory_butler.store.database import Row, Session
from memory_butler.store.events import Change, Trail
from memory_butler.store.sweep import FIRST_ID, FIRST_MOMENT, Foreseen

ACTOR = "upkeep"
# How much is chosen at once where the whole shard has to be weighed for it, and how long that may take.
CHOSEN = 20_000
LONGEST_SECONDS = 600
# What a rehearsal notes for a memory that would be out of its tier.
GONE = "gone"


@dataclass(frozen=True, slots=True)
class Due:
    """A memory that is due for a change: what the report calls the change, and what the memory becomes by it."""

    type: MemoryType
    id: UUID
    ref: str
    outcome: str
    becomes: str | None = None
    extra: dict[str, Any] = field(default_factory=dict)
    place: int = 0


@dataclass(frozen=True, slots=True)
class Batch:
    """How many rows were looked at, what was due among them (memories, or keys), and where the next batch begins, if
    there is one."""

    scanned: int
    due: Sequence[Due] = ()
    last: Any = None
    keys: int = 0


@dataclass(slots=True, kw_only=True)
class Shard:
    """One butler's memories while they are swept."""

    butler: Butler
    tenant: str
    name: str
    lineage: Lineage
    lifecycle: Lifecycle
    group_id: UUID
    dry_run: bool
    foreseen: dict[UUID, str] = field(default_factory=dict)
    events: int = 0

    def reading(self) -> AbstractAsyncContextManager[Session]:
        return self.butler.database.read(self.tenant)

    def weighing(self) -> AbstractAsyncContextManager[Session]:
        """For a read over the whole shard, which may take longer than a call is allowed to."""
        return self.butler.database.rehearse(self.tenant, LONGEST_SECONDS)

    @asynccontextmanager
    async def changing(self) -> AsyncIterator[tuple[Session, Trail]]:
        now = self.butler.clock()
        trail = Trail(now=now, actor=ACTOR, lineage=self.lineage, make_id=self.butler.make_id, group_id=self.group_id)
        async with self.butler.database.write(self.tenant, now) as session:
            yield session, trail

    async def record(self, session: Session, trail: Trail, event: str, due: Sequence[Due]) -> None:
        await events.record(session, trail, [Change(one.type, one.id, event, one.extra) for one in due])
        self.events += len(due)

    def foresee(self, due: Sequence[Due]) -> None:
        if self.dry_run:
            self.foreseen.update({one.id: one.becomes for one in due if one.becomes})

    def overlay(self) -> Foreseen:
        return Foreseen.of(
            [(id, grade, 0.0 if grade == GONE else upkeep.decay_rate_of(grade)) for id, grade in self.foreseen.items()]
        )


Batches = AsyncGenerator[Batch, None]
Look = Callable[[Session, datetime, Any], Awaitable[Batch]]
Do = Callable[[Session, Trail, Sequence[Due]], Awaitable[None]]


async def walk(shard: Shard, start: Any, look: Look, change: Do) -> Batches:
    """Look, batch after batch, and change what is due."""
    after, found = start, Batch(0)
    while after is not None:
        # Where the last batch had something, this one probably has: it is looked at under the lock at once.
        expected = bool(found.due) and not shard.dry_run
        if not expected:
            async with shard.reading() as session:
                found = await look(session, shard.butler.clock(), after)
        if expected or (found.due and not shard.dry_run):
            async with shard.changing() as (session, trail):
                found = await look(session, trail.now, after)
                if found.due:
                    await change(session, trail, found.due)
        shard.foresee(found.due)
        yield found
        after = found.last


@dataclass(frozen=True, slots=True)
class Choice:
    """How to choose what goes where there is too much: how much there is and has to go, which, and whether still."""

    measure: Callable[[Session], Awaitable[tuple[int, int]]]
    choose: Callable[[Session, tuple[datetime, UUID], int], Awaitable[list[Row]]]
    still: Callable[[Session, Sequence[Row]], Awaitable[set[UUID]]]
    due: Callable[[Row], Due]
    change: Do
    at_once: int


async def let_go(shard: Shard, choice: Choice) -> Batches:
    """Choose without the lock, then let go under it of what has not been used in the meantime."""
    after, chosen, going_on = (FIRST_MOMENT, FIRST_ID), 0, True
    while going_on:
        # Measured and chosen in one snapshot: what another sweep lets go of meanwhile is what this one has chosen, too.
        async with shard.weighing() as session:
            held, too_many = await choice.measure(session)
            too_many -= chosen if shard.dry_run else 0
            rows = await choice.choose(session, after, min(too_many, CHOSEN)) if too_many > 0 else []
        yield Batch(0 if chosen else held)
        for start in range(0, len(rows), choice.at_once):
            part = rows[start : start + choice.at_once]
            due = [choice.due(row) for row in part]
            if not shard.dry_run:
                async with shard.changing() as (session, trail):
                    still = await choice.still(session, part)
                    due = [one for one in due if one.id in still]
                    if due:
                        await choice.change(session, trail, due)
            shard.foresee(due)
            yield Batch(0, due)
        going_on = bool(rows) and too_many > CHOSEN
        if rows:
            after, chosen = (rows[-1]["used_at"], rows[-1]["id"]), chosen + len(rows)
