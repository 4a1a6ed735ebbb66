"""Reads and writes of undo: events with their states, and memories restored to the state after an event."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from memory_butler.models import (
    ConsolidationStatus,
    Maturity,
    MemoryState,
    MemoryType,
    Permanence,
    UndoCandidate,
    Validity,
)
from memory_butler.store.gate.database import Row, Transaction
from memory_butler.store.history.events import ALIAS

NAMED_LATER = 3
NEWEST = 2**63 - 1
_RESTORE: dict[str, str] = {
    MemoryType.FACT: "undo.restore_facts",
    MemoryType.RULE: "undo.restore_rules",
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
    """A memory to restore to the state after the event `source`, with these values overridden."""

    id: UUID
    source: UUID
    validity: str
    maturity: str | None
    renews: bool
    rewords: bool
    decay_rate: float | None


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
        brought_back = {row["id"] for row in await transaction.all("undo.undone_to", ids=doubtful)}
        for row in rows:
            row["is_unchanged"] = row["is_unchanged"] or row["id"] in brought_back
    return [_past(row) for row in rows]


async def later(transaction: Transaction, event_id: UUID) -> list[Row]:
    """Later events of the same memory that are not undone."""
    return await transaction.all("undo.later", id=event_id, limit=NAMED_LATER)


async def look_up_by_key(transaction: Transaction) -> None:
    """Set the planner to look up rows by key; once in a transaction that changes many memories."""
    await transaction.send("undo.look_up_by_key")


async def restore(transaction: Transaction, kind: str, memories: Sequence[Restoring], now: datetime) -> None:
    await transaction.send(
        _RESTORE[kind],
        ids=[memory.id for memory in memories],
        sources=[memory.source for memory in memories],
        validities=[memory.validity for memory in memories],
        maturities=[memory.maturity for memory in memories],
        renews=[memory.renews for memory in memories],
        rewords=[memory.rewords for memory in memories],
        decay_rates=[memory.decay_rate for memory in memories],
        now=now,
    )


async def find_application(transaction: Transaction, application_id: UUID) -> Row:
    row = await transaction.one("undo.find_application", id=application_id)
    assert row
    return row


async def insert_application(transaction: Transaction, **given: Any) -> None:
    await transaction.send("undo.insert_application", **given)


async def settle_evidence(transaction: Transaction, **given: Any) -> None:
    await transaction.send("undo.settle_evidence", **given)


async def around(transaction: Transaction, memory_id: UUID, limit: int = 200, up_to: int = NEWEST) -> dict[UUID, Row]:
    """Context of a memory's newest events, or the newest up to one: reason, whether it is undone, the fact it names."""
    rows = await transaction.all("undo.around", id=memory_id, limit=limit, up_to=up_to)
    return {row.pop("id"): row for row in rows}


def _past(row: Row) -> UndoCandidate:
    created_at = row.pop("created_at")
    validity, maturity, consolidation = (row.pop(name) for name in ("validity", "maturity", "consolidation"))
    was = {name: row.pop(f"was_{name}") for name in _WAS}
    permanence = row.pop("permanence")
    row["butler"] = row["butler"] or ""
    current = before = None
    if validity:
        current = MemoryState(
            created_at=created_at, permanence=_permanence(permanence), **_states(validity, maturity, consolidation)
        )
    if validity and not row.pop("is_first"):
        before = MemoryState(
            created_at=created_at,
            confidence=was["confidence"] or 0.0,
            permanence=_permanence(was["permanence"]),
            pinned=bool(was["pinned"]),
            last_confirmed_at=was["confirmed_at"],
            expires_at=was["to_expire_at"],
            **_states(was["validity"], was["maturity"], was["consolidation"]),
        )
    row.pop("is_first", None)
    return UndoCandidate(current=current, before=before, **row)


_WAS = ("validity", "maturity", "consolidation", "confidence", "permanence", "pinned", "confirmed_at", "to_expire_at")


def _permanence(value: str | None) -> Permanence | None:
    return Permanence(value) if value else None


def _states(validity: str, maturity: str | None, consolidation: str | None) -> dict[str, Any]:
    return {
        "validity": Validity(validity),
        "maturity": Maturity(maturity) if maturity else None,
        "consolidation": ConsolidationStatus(consolidation) if consolidation else None,
    }
