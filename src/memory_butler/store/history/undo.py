"""Reads and writes of undo: events with their states, and memories restored to the state after an event."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from memory_butler.models import MemoryState, MemoryType, UndoCandidate
from memory_butler.models.wire.codec import decode
from memory_butler.store.gate.database import Row, Transaction
from memory_butler.store.history.events import ALIAS

NAMED_LATER = 3
NEWEST = 2**63 - 1
_RESTORE: dict[str, str] = {
    MemoryType.FACT: "undo.restore:fact",
    MemoryType.RULE: "undo.restore:rule",
    MemoryType.EPISODE: "undo.restore_episodes",
    ALIAS: "undo.restore_aliases",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """The event or group that an id names. `oldest` is the sequence number of its first event."""

    kind: str
    entity_type: str | None
    event_id: UUID | None
    group_id: UUID | None
    oldest: int
    events: int


@dataclass(frozen=True, slots=True)
class Restoring:
    """A memory to restore to the state after the event `source`, except for the columns in `given`."""

    id: UUID
    source: UUID
    given: dict[str, Any]
    renews: bool
    rewords: bool


async def find(transaction: Transaction, identifier: UUID) -> Named | None:
    row = await transaction.one("undo.find", id=identifier)
    if row is None:
        return None
    return Named(event_id=identifier if row["kind"] == "event" else None, **row)


async def examine(transaction: Transaction, named: Named, below: int, limit: int) -> list[UndoCandidate]:
    """The next events to undo, newest first, below a sequence number."""
    group_id = None if named.event_id else named.group_id
    rows = await transaction.all("undo.examine", event_id=named.event_id, group_id=group_id, below=below, limit=limit)
    doubtful = [row["id"] for row in rows if row.pop("is_last_undo") and not row["is_unchanged"]]
    if doubtful:
        brought_back = set(await transaction.column("undo.undone_to", ids=doubtful))
        for row in rows:
            row["is_unchanged"] = row["is_unchanged"] or row["id"] in brought_back
    return [_past(row) for row in rows]


async def later(transaction: Transaction, event_id: UUID) -> list[Row]:
    """Later events of the same memory that are not undone."""
    return await transaction.all("undo.later", id=event_id, limit=NAMED_LATER)


async def restore(transaction: Transaction, kind: str, memories: Sequence[Restoring], now: datetime) -> None:
    await transaction.send(
        _RESTORE[kind],
        ids=[memory.id for memory in memories],
        sources=[memory.source for memory in memories],
        renews=[memory.renews for memory in memories],
        rewords=[memory.rewords for memory in memories],
        given=[Jsonb(memory.given) for memory in memories],
        now=now,
    )


async def find_application(transaction: Transaction, application_id: UUID) -> Row:
    return await transaction.row("undo.find_application", id=application_id)


async def around(transaction: Transaction, memory_id: UUID, limit: int = 200, up_to: int = NEWEST) -> dict[UUID, Row]:
    """Context of a memory's newest events, or the newest up to one: reason, whether it is undone, the fact it names."""
    rows = await transaction.all("undo.around", id=memory_id, limit=limit, up_to=up_to)
    return {row.pop("id"): row for row in rows}


def _past(row: Row) -> UndoCandidate:
    current, before, left_behind = row.pop("current"), row.pop("before"), row.pop("left_behind")
    if current and left_behind:
        current |= {name: left_behind.get(name) for name in ("validity", "maturity", "consolidation_status")}
    return UndoCandidate(
        current=decode(MemoryState, current) if current else None,
        before=decode(MemoryState, before) if current and before else None,
        **row | {"butler": row["butler"] or ""},
    )
