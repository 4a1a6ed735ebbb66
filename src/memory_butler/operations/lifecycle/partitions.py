"""Partitions: the status of the tables that can have them, moving a table into them, and keeping them ahead of time."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from memory_butler.errors import OverloadRejected
from memory_butler.resources import Resources
from memory_butler.store.gate.driver_errors import LockBusy
from memory_butler.store.partitions import moves
from memory_butler.store.partitions.moves import MOVING, PARTITIONED, PLAIN, Layout, Mover, Partition

DAYS_PER_MONTH = 31
# Older rows share one partition.
MONTHS_BACK = 120

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableStatus:
    """A table's layout, whether it is due for partitions, and its partitions."""

    layout: Layout
    is_due: bool
    partitions: tuple[Partition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """A table that was moved: the rows that were copied and compared."""

    base: str
    copied: int
    compared: int


async def status(resources: Resources) -> tuple[TableStatus, ...]:
    """The tables that can have partitions, over all tenants."""
    async with resources.database.read("") as transaction:
        found = []
        for layout in await moves.layouts(transaction):
            has_some = layout.layout == PARTITIONED
            parts = await moves.partitions(transaction, layout.base) if has_some else []
            found.append(TableStatus(layout=layout, is_due=_is_due(resources, layout), partitions=tuple(parts)))
        return tuple(found)


async def migrate(resources: Resources, progress: Progress, *, only_due: bool = False) -> tuple[Moved, ...]:
    """Move the tables into partitions while the store is in use. Continues an interrupted move; a table that has
    partitions is left alone."""
    done = []
    async with moves.mover(resources.database) as mover:
        for base in moves.BASES:
            layout = await mover.layout(base)
            if layout.layout == PLAIN and (not only_due or _is_due(resources, layout)):
                await _begin(resources, mover, base)
            elif layout.layout != MOVING:
                continue
            rules = resources.settings.partitions
            copied = await mover.copy(base, rules.page, progress)
            compared = await mover.verify(base, rules.page, progress)
            await mover.end(base)
            done.append(Moved(base=base, copied=copied, compared=compared))
    return tuple(done)


async def cancel(resources: Resources) -> tuple[str, ...]:
    """Give up moves that are under way; the plain tables have every row."""
    done = []
    async with moves.mover(resources.database) as mover:
        for base in moves.BASES:
            if (await mover.layout(base)).layout == MOVING:
                await mover.cancel(base)
                done.append(base)
    return tuple(done)


async def keep_ahead(resources: Resources) -> int:
    """Make the partitions of the coming months; returns their number. A busy store is left for the next day."""
    rules = resources.settings.partitions
    try:
        async with resources.database.unlocked_write() as transaction:
            return await moves.ahead(transaction, resources.clock(), rules.ahead_months, rules.buckets)
    except LockBusy:
        return 0


async def move_if_due(resources: Resources) -> tuple[Moved, ...]:
    """Move the tables that have grown enough, if the settings allow it."""
    if not resources.settings.partitions.auto:
        return ()
    if not any(one.is_due or one.layout.layout == MOVING for one in await status(resources)):
        return ()
    try:
        return await migrate(resources, _unseen, only_due=True)
    except OverloadRejected:
        # Another worker moves them, or the store is too busy: the next cleanup continues.
        return ()


def _is_due(resources: Resources, layout: Layout) -> bool:
    return layout.layout == PLAIN and layout.rows >= resources.settings.partitions.from_rows


async def _begin(resources: Resources, mover: Mover, base: str) -> None:
    rules, now = resources.settings.partitions, resources.clock()
    oldest = await mover.oldest(base) or now
    first = max(min(oldest, now), now - timedelta(days=DAYS_PER_MONTH * MONTHS_BACK))
    last = _months_later(now, rules.ahead_months)
    await mover.begin(base, first, last, rules.buckets, now)


def _months_later(moment: datetime, months: int) -> datetime:
    count = moment.year * 12 + moment.month - 1 + months
    return moment.replace(year=count // 12, month=count % 12 + 1, day=1)


def _unseen(stage: str, done: int, total: int) -> None:
    """Discard progress."""
