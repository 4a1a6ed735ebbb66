"""Rules and their applications."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from memory_butler.models import Maturity, NewRule, Rule, Validity
from memory_butler.store.gate.database import Row, Transaction
from memory_butler.store.gate.recordsets import recordset

# A warning names so many reasons: enough to understand it, few enough to read.
REASONS = 5


def as_rule(row: Row) -> Rule:
    row.pop("content_hash")
    return Rule(**{**row, "validity": Validity(row["validity"]), "maturity": Maturity(row["maturity"])})


async def find_live_twin(transaction: Transaction, scope: str, digest: bytes) -> Rule | None:
    row = await transaction.one("rules.find_live_twin", scope=scope, content_hash=digest)
    return as_rule(row) if row else None


def as_row(new: NewRule, **given: Any) -> Row:
    """The row of a new rule."""
    return {"content": new.content, "scope": new.scope, "tags": new.tags, "metadata": new.metadata, **given}


async def insert(transaction: Transaction, rows: Sequence[Row]) -> None:
    await transaction.send("rules.insert", rules=recordset(rows))


async def set_validity(transaction: Transaction, rule_id: UUID, validity: Validity) -> None:
    await transaction.send("rules.set_validity", id=rule_id, validity=validity)


async def confirm(transaction: Transaction, ids: Sequence[UUID], now: datetime) -> None:
    await transaction.send("rules.confirm", ids=list(ids), now=now)


async def restore(transaction: Transaction, rule_id: UUID, now: datetime) -> None:
    await transaction.send("rules.restore", id=rule_id, now=now)


async def set_pinned(transaction: Transaction, rule_id: UUID, pinned: bool) -> None:
    await transaction.send("rules.set_pinned", id=rule_id, pinned=pinned)


async def find_occupant(transaction: Transaction, rule_id: UUID) -> Rule | None:
    """Another live rule with the same content."""
    row = await transaction.one("rules.find_occupant", id=rule_id)
    return as_rule(row) if row else None


async def reverse(transaction: Transaction, rule_id: UUID, now: datetime) -> None:
    await transaction.send("rules.reverse", id=rule_id, now=now)


async def get(transaction: Transaction, memory_id: UUID | None, ref: str | None) -> Rule | None:
    row = await transaction.one("rules.get", id=memory_id, ref=ref)
    return as_rule(row) if row else None


async def insert_application(transaction: Transaction, **given: Any) -> None:
    await transaction.send("rules.insert_application", **given)


async def evidence(transaction: Transaction, rule_id: UUID) -> Row:
    row = await transaction.one("rules.evidence", rule_id=rule_id, reasons=REASONS)
    assert row
    return row


async def apply_evidence(transaction: Transaction, **given: Any) -> None:
    await transaction.send("rules.apply_evidence", **given)
