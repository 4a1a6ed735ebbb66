"""Projections of the log: events per day, and memories by state. Jobs keep them; a read adds what is not counted yet.

They can be dropped and counted again from the log at any time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from uuid import UUID

from memory_butler.store.gate.database import Row, Transaction
from memory_butler.store.history.activity import View

# So many events are counted in one transaction.
PIECE = 20_000
# So many uncounted events a read counts by itself.
TAIL = 10_000


@dataclass(frozen=True, slots=True)
class Place:
    """The last counted event, and the number of events."""

    counted: int
    last_seq: int

    @property
    def uncounted(self) -> int:
        return self.last_seq - self.counted


async def place(transaction: Transaction) -> Place:
    row = await transaction.one("days.place")
    return Place(row["counted"], row["last_seq"]) if row else Place(0, 0)


async def count_on(transaction: Transaction) -> int:
    """Count the next page of the log; returns its number of events."""
    await transaction.send("days.begin")
    return int((await transaction.row("days.count_on", piece=PIECE))["counted"])


async def drop(transaction: Transaction) -> None:
    """Delete all counts."""
    # A place that is not there yet cannot be held, and somebody may be counting for the first time.
    await transaction.send("days.begin")
    await transaction.one("days.hold")
    await transaction.send("days.drop")


async def happened(transaction: Transaction, view: View, since: date) -> list[Row]:
    """Events by day, type, and states before and after. Events before `since` have no day; `first` is the first day.

    It includes the first `TAIL` events that are not counted yet."""
    return await transaction.all("days.happened", since=since, piece=TAIL, **view.params())


async def states_now(transaction: Transaction, ids: Sequence[UUID]) -> dict[UUID, str]:
    """Present states of the memories that still exist."""
    return {row["id"]: row["validity"] for row in await transaction.all("days.states_now", ids=list(ids))}
