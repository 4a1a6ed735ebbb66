"""The log: every change to a memory writes its event here, in the same transaction."""

import hashlib
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from memory_butler.models import Event, Lineage
from memory_butler.store.encryption.texts import sealed_reason
from memory_butler.store.gate.database import Transaction
from memory_butler.store.gate.ids import MakeId
from memory_butler.store.gate.recordsets import recordset


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditTrail:
    """Fields that all events of one request share."""

    now: datetime
    # Author of the change: a butler, or the person or program that a token names.
    actor: str
    lineage: Lineage
    make_id: MakeId
    group_id: UUID | None = None
    # Owner of the memories; default: the actor.
    butler: str = ""
    # Secrets that redaction removed from the request, by kind. Each event of the request records them.
    redacted: Mapping[str, int] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "butler", self.butler or self.actor)


# Entity type of an event about another name of a subject.
ALIAS = "alias"


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a memory or an alias, with the links, application or tombstone that came with it.

    `request_id` overrides that of the trail.
    """

    type: str
    id: UUID
    event: str
    extra: dict[str, Any] = field(default_factory=dict)
    undoes: UUID | None = None
    request_id: str | None = None


async def record(transaction: Transaction, trail: AuditTrail, changes: Sequence[Change]) -> None:
    """Record one event per change, in this order. Raises an error if a memory does not exist."""
    rows = [
        {
            "n": place,
            "entity_type": change.type,
            "id": change.id,
            "event_id": trail.make_id(trail.now),
            "event_type": f"{change.type}.{change.event}",
            "extra": {**change.extra, "redacted": dict(trail.redacted)} if trail.redacted else change.extra,
            "undoes": change.undoes,
            "request_id": change.request_id or trail.lineage.request_id,
        }
        for place, change in enumerate(changes, start=1)
    ]
    transaction.recorded.update(f"{change.type}.{change.event}" for change in changes)
    await transaction.send(
        "events.record",
        changes=recordset(rows),
        group_id=trail.group_id,
        **_lineage(trail),
    )


async def reason_of(
    transaction: Transaction, memory_id: UUID, reason: str | None, *, sealed: bool | None = None
) -> dict[str, Any]:
    """Store the text of a reason apart from its event; returns the hash for the event.

    The random salt, deleted with the text, keeps the hash from being guessed. The reason is encrypted if the memory is;
    `sealed` tells so of a memory that is not stored yet.
    """
    if reason is None:
        return {}
    reason = await sealed_reason(transaction, memory_id, reason, sealed=sealed)
    body = json.dumps({"reason": reason, "salt_of_reason": secrets.token_hex(16)}, ensure_ascii=False)
    await transaction.send("events.keep_text", memory_id=memory_id, body=body)
    return {"reason_hash": hashlib.sha256(body.encode()).hexdigest()}


async def bump(transaction: Transaction, trail: AuditTrail, ids: Sequence[UUID], read: str) -> None:
    """Count a reference to each memory a read returned."""
    await transaction.send(
        "events.bump", ids=list(ids), read=read, event_id=trail.make_id(trail.now), **_lineage(trail)
    )


async def of_memory(transaction: Transaction, memory_id: UUID, limit: int = 200) -> list[Event]:
    rows = await transaction.all("events.of_memory", id=memory_id, limit=limit)
    return [Event(**row) for row in rows]


def _lineage(trail: AuditTrail) -> dict[str, Any]:
    lineage = trail.lineage
    return {
        "now": trail.now,
        "actor": trail.actor,
        "request_id": lineage.request_id,
        "subrequest_id": lineage.subrequest_id,
        "segment_id": lineage.segment_id,
        "session_id": lineage.session_id,
    }
