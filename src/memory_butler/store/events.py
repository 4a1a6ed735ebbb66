"""The log: every change to a memory writes its event here, in the same transaction."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from memory_butler.models import Event, Lineage
from memory_butler.store.database import Session
from memory_butler.store.ids import MakeId
from memory_butler.store.recordsets import recordset


@dataclass(frozen=True, slots=True, kw_only=True)
class Trail:
    """What every event of one request has in common."""

    now: datetime
    # Who is named with the change: a butler, or the person or program that a token names.
    actor: str
    lineage: Lineage
    make_id: MakeId
    group_id: UUID | None = None
    # Whose memories they become: the actor's own, if it is a butler itself.
    butler: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "butler", self.butler or self.actor)


# What the log speaks of beside memories: another name of a subject.
ALIAS = "alias"


@dataclass(frozen=True, slots=True)
class Change:
    """That a memory or a name changed, and what came with it (links, an application, a tombstone). It belongs to the
    request of its trail unless it has one of its own."""

    type: str
    id: UUID
    event: str
    extra: dict[str, Any] = field(default_factory=dict)
    undoes: UUID | None = None
    request_id: str | None = None


async def record(session: Session, trail: Trail, changes: Sequence[Change]) -> None:
    """One event per change, numbered in the order given; a change to a memory that does not exist is refused."""
    rows = [
        {
            "n": place,
            "entity_type": change.type,
            "id": change.id,
            "event_id": trail.make_id(trail.now),
            "event_type": f"{change.type}.{change.event}",
            "extra": change.extra,
            "undoes": change.undoes,
            "request_id": change.request_id or trail.lineage.request_id,
        }
        for place, change in enumerate(changes, start=1)
    ]
    await session.send(
        "events.record",
        changes=recordset(rows),
        group_id=trail.group_id,
        **_lineage(trail),
    )


async def reason_of(session: Session, memory_id: UUID, reason: str | None) -> dict[str, Any]:
    """Keep the words of a reason apart from the event that cites them; returns what the event keeps."""
    if reason is None:
        return {}
    body = json.dumps({"reason": reason}, ensure_ascii=False)
    await session.send("events.keep_text", memory_id=memory_id, body=body)
    return {"reason_hash": hashlib.sha256(body.encode()).hexdigest()}


async def bump(session: Session, trail: Trail, ids: Sequence[UUID], read: str) -> None:
    """Count a reference to each memory a read returned."""
    await session.send("events.bump", ids=list(ids), read=read, event_id=trail.make_id(trail.now), **_lineage(trail))


async def of_memory(session: Session, memory_id: UUID, limit: int = 200) -> list[Event]:
    rows = await session.all("events.of_memory", id=memory_id, limit=limit)
    return [Event(**row) for row in rows]


def _lineage(trail: Trail) -> dict[str, Any]:
    lineage = trail.lineage
    return {
        "now": trail.now,
        "actor": trail.actor,
        "request_id": lineage.request_id,
        "subrequest_id": lineage.subrequest_id,
        "segment_id": lineage.segment_id,
        "session_id": lineage.session_id,
    }
