"""Withdraw: a report on a rule no longer counts, or counts again. The rule is judged anew by what is left."""

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from uuid import UUID

from memory_butler.models import Maturity, MemoryType, Past
from memory_butler.policy import maturity
from memory_butler.policy.undo import Settled, settle
from memory_butler.store import events, rules
from memory_butler.store import undo as store
from memory_butler.store.database import Row, Session
from memory_butler.store.events import Trail

WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True)
class Judged:
    """What a rule becomes by the evidence that is left, that evidence, and what its event keeps."""

    settled: Settled
    evidence: Row
    extra: dict[str, Any]


async def withdraw(session: Session, marks: Trail, past: Past) -> Judged:
    """Undo a report by another one that withdraws it; undo a withdrawal by making the report again."""
    assert past.application and past.stands and past.before
    row = await _opposite(session, marks, past.application)
    application = {"id": marks.make_id(marks.now), "rule_id": past.entity_id, **row}
    application["request_id"] = marks.lineage.request_id
    await store.insert_application(session, **application)
    evidence = await rules.evidence(session, past.entity_id)
    age_days = (marks.now - past.stands.created_at) / timedelta(days=1)
    deserved = maturity.mature(
        past.before.maturity or Maturity.CANDIDATE,
        maturity.Evidence(evidence["successes"], evidence["harmful"], age_days),
    )
    settled = settle(
        MemoryType.RULE,
        past.stands,
        replace(past.before, maturity=deserved),
        marks.now,
        takes_back_confirmation=past.is_confirmation,
    )
    assert isinstance(settled, Settled)
    reason = application.pop("reason")
    kept = {name: value if value is None else str(value) for name, value in application.items()}
    kept["created_at"] = application["created_at"].isoformat()
    return Judged(settled, evidence, {"application": kept | await events.reason_of(session, past.entity_id, reason)})


async def write_evidence(session: Session, rule_id: UUID, evidence: Row) -> None:
    """Counters, effectiveness and reasons follow from the evidence, whatever they were before."""
    successes, harmful = evidence["successes"], evidence["harmful"]
    await store.settle_evidence(
        session,
        rule_id=rule_id,
        successes=successes,
        harmful=harmful,
        reasons=evidence["reasons"],
        effectiveness=maturity.effectiveness(successes, harmful),
    )


async def _opposite(session: Session, marks: Trail, application: dict[str, Any]) -> dict[str, Any]:
    if application["outcome"] == WITHDRAWN:
        first = await store.find_application(session, UUID(application["withdraws"]))
        # Not before it was first made, when it counted: a clock may be a little behind.
        return {**first, "created_at": max(marks.now, first["created_at"]), "withdraws": None}
    return {
        "outcome": WITHDRAWN,
        "reason": None,
        "butler": marks.butler,
        "session_id": marks.lineage.session_id,
        "created_at": marks.now,
        "withdraws": UUID(application["id"]),
    }
