"""Rules and their applications."""

from datetime import datetime
from uuid import UUID

from memory_butler.models import Maturity, Origin, Rule, Validity
from memory_butler.store.encryption.hashes import by_stored
from memory_butler.store.encryption.texts import sealed_reason
from memory_butler.store.encryption.vault import CONTENT_HASH
from memory_butler.store.gate.database import Row, Transaction

# A warning names so many reasons: enough to understand it, few enough to read.
REASONS = 5


def as_rule(row: Row) -> Rule:
    row.pop("content_hash")
    kinds = {"validity": Validity(row["validity"]), "maturity": Maturity(row["maturity"])}
    return Rule(**{**row, **kinds, "origin": Origin(row["origin"])})


async def find_live_twin(transaction: Transaction, scope: str, digest: bytes) -> Rule | None:
    hashes = await by_stored(transaction, [digest], CONTENT_HASH)
    row = await transaction.one("rules.find_live_twin", scope=scope, content_hashes=list(hashes))
    return as_rule(row) if row else None


async def find_occupant(transaction: Transaction, rule_id: UUID) -> Rule | None:
    """Another live rule with the same content."""
    row = await transaction.one("rules.find_occupant", id=rule_id)
    return as_rule(row) if row else None


async def reverse(transaction: Transaction, rule_id: UUID, now: datetime) -> None:
    await transaction.send("rules.reverse", id=rule_id, now=now)


async def insert_application(transaction: Transaction, application: Row) -> None:
    """Record feedback on a rule, or withdraw it."""
    reason = await sealed_reason(transaction, application["rule_id"], application["reason"])
    await transaction.send("rules.insert_application", **application | {"reason": reason})


async def counted_evidence(
    transaction: Transaction, rule_id: UUID, *, per_session: int, per_caller: int, actor: str
) -> Row:
    """The marks that count, if only some of each session and of each caller's day do, and their sessions."""
    return await transaction.row(
        "rules.counted_evidence", rule_id=rule_id, per_session=per_session, per_caller=per_caller, actor=actor
    )


async def evidence(transaction: Transaction, rule_id: UUID) -> Row:
    return await transaction.row("rules.evidence", rule_id=rule_id, reasons=REASONS)
