"""Rules and the record of their application, as they are stored."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from memory_butler.models import Maturity, NewRule, Rule, Validity
from memory_butler.store.database import Row, Session
from memory_butler.store.recordsets import recordset

# A warning names so many reasons: enough to understand it, few enough to read.
REASONS = 5


def as_rule(row: Row) -> Rule:
    row.pop("content_hash")
    return Rule(**{**row, "validity": Validity(row["validity"]), "maturity": Maturity(row["maturity"])})


async def find_live_twin(session: Session, scope: str, digest: bytes) -> Rule | None:
    row = await session.one("rules.find_live_twin", scope=scope, content_hash=digest)
    return as_rule(row) if row else None


def as_row(new: NewRule, **given: Any) -> Row:
    """A new rule with what else its row holds."""
    return {"content": new.content, "scope": new.scope, "tags": new.tags, "metadata": new.metadata, **given}


async def insert(session: Session, rows: Sequence[Row]) -> None:
    await session.send("rules.insert", rules=recordset(rows))


async def set_validity(session: Session, rule_id: UUID, validity: Validity) -> None:
    await session.send("rules.set_validity", id=rule_id, validity=validity)


async def confirm(session: Session, ids: Sequence[UUID], now: datetime) -> None:
    await session.send("rules.confirm", ids=list(ids), now=now)


async def restore(session: Session, rule_id: UUID, now: datetime) -> None:
    await session.send("rules.restore", id=rule_id, now=now)


async def set_pinned(session: Session, rule_id: UUID, pinned: bool) -> None:
    await session.send("rules.set_pinned", id=rule_id, pinned=pinned)


async def find_occupant(session: Session, rule_id: UUID) -> Rule | None:
    """Another live rule that says the same."""
    row = await session.one("rules.find_occupant", id=rule_id)
    return as_rule(row) if row else None


async def reverse(session: Session, rule_id: UUID, now: datetime) -> None:
    await session.send("rules.reverse", id=rule_id, now=now)


async def get(session: Session, memory_id: UUID | None, ref: str | None) -> Rule | None:
    row = await session.one("rules.get", id=memory_id, ref=ref)
    return as_rule(row) if row else None


async def insert_application(session: Session, **given: Any) -> None:
    await session.send("rules.insert_application", **given)


async def evidence(session: Session, rule_id: UUID) -> Row:
    row = await session.one("rules.evidence", rule_id=rule_id, reasons=REASONS)
    assert row
    return row


async def apply_evidence(session: Session, **given: Any) -> None:
    await session.send("rules.apply_evidence", **given)
