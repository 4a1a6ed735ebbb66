"""What happened day by day, counted from the log. The counts are kept, and follow the log when somebody looks."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any
from uuid import UUID

from memory_butler.store.activity import View
from memory_butler.store.database import Row, Session

# So many events are counted in one transaction.
PIECE = 20_000


@dataclass(frozen=True, slots=True)
class Place:
    """Up to which event has been counted, and how many there are."""

    counted: int
    last_seq: int

    @property
    def is_behind(self) -> bool:
        return self.counted < self.last_seq


async def place(session: Session) -> Place:
    row = await session.one("days.place")
    return Place(row["counted"], row["last_seq"]) if row else Place(0, 0)


async def count_on(session: Session) -> int:
    """Count the next piece of the log; how many events it had."""
    await session.send("days.begin")
    row = await session.one("days.count_on", piece=PIECE)
    assert row
    return int(row["counted"])


async def drop(session: Session) -> None:
    """Forget all counts, so that they are made anew."""
    # A place that is not there yet cannot be held, and somebody may be counting for the first time.
    await session.send("days.begin")
    await session.one("days.hold")
    await session.send("days.drop")


async def happened(session: Session, view: View, since: date) -> list[Row]:
    """Events by day, kind, and the states before and after; what lies before `since` has no day."""
    return await session.all("days.happened", since=since, **_params(view))


async def first(session: Session, view: View) -> date | None:
    row = await session.one("days.first", **_params(view))
    return row["day"] if row else None


async def states_now(session: Session, ids: Sequence[UUID]) -> dict[UUID, str]:
    """How memories stand now, as far as they are still there."""
    return {row["id"]: row["validity"] for row in await session.all("days.states_now", ids=list(ids))}


def _params(view: View) -> dict[str, Any]:
    scopes, butlers = view.reach.scopes, view.reach.butlers
    return {
        "scopes": None if scopes is None else list(scopes),
        "butlers": None if butlers is None else list(butlers),
        "governs": view.governs,
    }
