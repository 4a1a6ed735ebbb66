"""Events that are to be undone, and memories as an event left them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from memory_butler.models import ConsolidationStatus, Maturity, MemoryType, Past, Standing, Validity
from memory_butler.store.database import Row, Session
from memory_butler.store.events import ALIAS

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
    """What an id names: one event, with the group it belongs to if any, or a group. `oldest` comes first in the log."""

    kind: str
    entity_type: str | None
    event_id: UUID | None
    group_id: UUID | None
    oldest: int
    events: int


@dataclass(frozen=True, slots=True)
class Restoring:
    """A memory that goes back to what the event `source` left of it, but for these."""

    id: UUID
    source: UUID
    validity: str
    maturity: str | None
    renews: bool
    rewords: bool


async def find(session: Session, identifier: UUID) -> Named | None:
    row = await session.one("undo.find", id=identifier)
    if row is None:
        return None
    return Named(event_id=identifier if row["kind"] == "event" else None, **row)


async def examine(session: Session, named: Named, below: int, limit: int) -> list[Past]:
    """The newest events of what is to be undone that are older than `below`."""
    group_id = None if named.event_id else named.group_id
    rows = await session.all("undo.examine", event_id=named.event_id, group_id=group_id, below=below, limit=limit)
    doubtful = [row["id"] for row in rows if row.pop("is_last_undo") and not row["is_unchanged"]]
    if doubtful:
        brought_back = {row["id"] for row in await session.all("undo.undone_to", ids=doubtful)}
        for row in rows:
            row["is_unchanged"] = row["is_unchanged"] or row["id"] in brought_back
    return [_past(row) for row in rows]


async def later(session: Session, event_id: UUID) -> list[Row]:
    """What happened to a memory after an event, and still counts."""
    return await session.all("undo.later", id=event_id, limit=NAMED_LATER)


async def look_up_by_key(session: Session) -> None:
    """To be said once in a transaction that changes many memories."""
    await session.send("undo.look_up_by_key")


async def restore(session: Session, kind: str, memories: Sequence[Restoring], now: datetime) -> None:
    await session.send(
        _RESTORE[kind],
        ids=[memory.id for memory in memories],
        sources=[memory.source for memory in memories],
        validities=[memory.validity for memory in memories],
        maturities=[memory.maturity for memory in memories],
        renews=[memory.renews for memory in memories],
        rewords=[memory.rewords for memory in memories],
        now=now,
    )


async def find_application(session: Session, application_id: UUID) -> Row:
    row = await session.one("undo.find_application", id=application_id)
    assert row
    return row


async def insert_application(session: Session, **given: Any) -> None:
    await session.send("undo.insert_application", **given)


async def settle_evidence(session: Session, **given: Any) -> None:
    await session.send("undo.settle_evidence", **given)


async def around(session: Session, memory_id: UUID, limit: int = 200, up_to: int = NEWEST) -> dict[UUID, Row]:
    """What is known around each of a memory's newest events, or the newest up to one: reason, whether it is undone,
    which fact it speaks of."""
    rows = await session.all("undo.around", id=memory_id, limit=limit, up_to=up_to)
    return {row.pop("id"): row for row in rows}


def _past(row: Row) -> Past:
    """What the statement found, its loose columns put together."""
    created_at = row.pop("created_at")
    validity, maturity, consolidation = (row.pop(name) for name in ("validity", "maturity", "consolidation"))
    was = {name: row.pop(f"was_{name}") for name in _WAS}
    stands = before = None
    if validity:
        stands = Standing(created_at=created_at, **_states(validity, maturity, consolidation))
    if validity and not row.pop("is_first"):
        before = Standing(
            created_at=created_at,
            confidence=was["confidence"] or 0.0,
            decay_rate=was["decay_rate"] or 0.0,
            pinned=bool(was["pinned"]),
            last_confirmed_at=was["confirmed_at"],
            expires_at=was["to_expire_at"],
            **_states(was["validity"], was["maturity"], was["consolidation"]),
        )
    row.pop("is_first", None)
    return Past(stands=stands, before=before, **row)


_WAS = ("validity", "maturity", "consolidation", "confidence", "decay_rate", "pinned", "confirmed_at", "to_expire_at")


def _states(validity: str, maturity: str | None, consolidation: str | None) -> dict[str, Any]:
    return {
        "validity": Validity(validity),
        "maturity": Maturity(maturity) if maturity else None,
        "consolidation": ConsolidationStatus(consolidation) if consolidation else None,
    }
