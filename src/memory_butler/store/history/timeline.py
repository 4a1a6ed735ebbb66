"""The log of a tenant, newest first. Events of one group form one entry."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any, NamedTuple
from uuid import UUID

from memory_butler.store.gate.database import Row, Transaction
from memory_butler.store.history.activity import SAFE_AFTER, Noted, View, as_noted

# Most events that one read looks through.
PIECE = 5_000
# So many events of a group are told one by one.
LINES = 5
# So much of a memory's words is told with what happened to it.
ABOUT_CHARACTERS = 200
END = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Filter of events; an unset field does not filter."""

    view: View
    actions: Sequence[str] | None = None
    kinds: Sequence[str] | None = None
    actor: str | None = None
    until: datetime | None = None
    memories: Sequence[UUID] | None = None
    group: UUID | None = None


class Line(NamedTuple):
    """An event, whether it is undone, and the content, subject and predicate of its memory if they still exist."""

    noted: Noted
    undone: bool
    about: str | None
    subject: str | None
    predicate: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """An entry: its last events and, for a group, the number of events of each type."""

    place: int
    events: list[Line]
    together: int
    counts: Mapping[str, int]
    all_undone: bool


@dataclass(frozen=True, slots=True)
class Piece:
    found: list[Found]
    down_to: int


async def before(transaction: Transaction, seq: int, choice: Choice, now: datetime, limit: int) -> Piece:
    """The newest entries before a place, and the last examined place."""
    params: dict[str, Any] = {
        "actions": choice.actions,
        "kinds": choice.kinds,
        "actor": choice.actor,
        "until": choice.until,
        "memories": choice.memories,
        "group": choice.group,
        **choice.view.params(),
        "before": seq,
        "limit": limit,
        "lines": LINES,
        "about": ABOUT_CHARACTERS,
    }
    if choice.group is not None:
        rows = await transaction.all("timeline.before_in", **params)
    elif choice.memories is not None:
        rows = await transaction.all("timeline.before_of", **params)
    else:
        rows = await transaction.all("timeline.before", piece=PIECE, safe=now - SAFE_AFTER, **params)
    entries = groupby((row for row in rows if row["seq"] is not None), key=lambda row: int(row["place"]))
    return Piece([_found(place, list(lines)) for place, lines in entries], rows[0]["down_to"])


async def named(transaction: Transaction, ref: str) -> list[UUID]:
    """The memories that a short reference names."""
    return await transaction.column("timeline.named", ref=ref)


def _beginning(text: str | None) -> str | None:
    """An encrypted text comes whole."""
    return None if text is None else text[:ABOUT_CHARACTERS]


def _found(place: int, rows: list[Row]) -> Found:
    return Found(
        place=place,
        events=[
            Line(as_noted(row), row["is_undone"], _beginning(row["about"]), row["subject"], row["predicate"])
            for row in rows
        ],
        together=rows[0]["together"] or 1,
        counts=rows[0]["counts"] or {},
        all_undone=bool(rows[0]["all_undone"]),
    )
