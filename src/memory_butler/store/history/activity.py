"""Pages of a tenant's log, limited to what the caller may see."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any

from memory_butler.models import Event, Lineage, Reach
from memory_butler.store.gate.database import Row, Transaction

# Most events that one read looks through for those that its reader may see.
PIECE = 5_000
# By then, asynchronous commits have reached the disk.
SAFE_AFTER = timedelta(seconds=2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """An event with its lineage and context."""

    event: Event
    lineage: Lineage
    before: Mapping[str, Any]
    reason: str | None
    other: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Events, the last examined place, the last visible place of the log, and the length of the log."""

    found: list[Noted]
    upto: int
    last_seq: int
    length: int


@dataclass(frozen=True, slots=True)
class View:
    """Visible part of the log: scopes, butlers and, for administrators, events without a memory."""

    reach: Reach
    governs: bool

    def params(self) -> dict[str, Any]:
        return {"scopes": self.reach.scopes, "butlers": self.reach.butlers, "governs": self.governs}


async def after(transaction: Transaction, seq: int, view: View, now: datetime, limit: int) -> Piece:
    """The next events after a place."""
    return _piece(await transaction.all("activity.after", after=seq, **_params(view, now, limit)))


async def newest(transaction: Transaction, view: View, now: datetime, limit: int) -> Piece:
    """The last events."""
    return _piece(await transaction.all("activity.newest", **_params(view, now, limit)))


def _params(view: View, now: datetime, limit: int) -> dict[str, Any]:
    return {**view.params(), "safe": now - SAFE_AFTER, "piece": PIECE, "limit": limit}


def _piece(rows: list[Row]) -> Piece:
    first = rows[0]
    return Piece(
        found=[as_noted(row) for row in rows if row["seq"] is not None],
        upto=first["upto"],
        last_seq=first["last_seq"],
        length=first["length"],
    )


_EVENT = tuple(field.name for field in fields(Event))
_LINEAGE = tuple(field.name for field in fields(Lineage))


def as_noted(row: Row) -> Noted:
    return Noted(
        event=Event(**{name: row[name] for name in _EVENT}),
        lineage=Lineage(**{name: row[name] for name in _LINEAGE}),
        before=row["before"] or {},
        reason=row["reason"],
        other=row["other"],
    )
