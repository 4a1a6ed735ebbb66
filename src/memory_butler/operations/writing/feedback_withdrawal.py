"""Withdraw feedback on a rule, or undo the withdrawal. The rule is re-evaluated from the remaining feedback."""

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from uuid import UUID

from memory_butler.models import Maturity, MemoryType, UndoCandidate
from memory_butler.operations.writing.rule_evidence import deserved_maturity, feedback_rules
from memory_butler.policy.history.undo import Resolution, resolve
from memory_butler.policy.lifecycle import maturity
from memory_butler.settings import Settings
from memory_butler.store.gate.database import Row, Transaction
from memory_butler.store.history import events
from memory_butler.store.history import undo as store
from memory_butler.store.history.events import AuditTrail
from memory_butler.store.memories import rules

WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True)
class Reevaluation:
    """A rule's new state, the feedback that it was derived from, and the extra data of its event."""

    resolution: Resolution
    evidence: Row
    extra: dict[str, Any]


async def withdraw(
    transaction: Transaction, trail: AuditTrail, candidate: UndoCandidate, settings: Settings
) -> Reevaluation:
    """Undo feedback by an application that withdraws it; undo a withdrawal by recording the feedback again."""
    assert candidate.application and candidate.current and candidate.before
    row = await _opposite(transaction, trail, candidate.application)
    application = {"id": trail.make_id(trail.now), "rule_id": candidate.entity_id, **row}
    application["request_id"] = trail.lineage.request_id
    await rules.insert_application(transaction, application)
    evidence = await rules.evidence(transaction, candidate.entity_id)
    age_days = (trail.now - candidate.current.created_at) / timedelta(days=1)
    deserved = await deserved_maturity(
        transaction,
        candidate.entity_id,
        candidate.before.maturity or Maturity.CANDIDATE,
        maturity.Evidence(evidence["successes"], evidence["harmful"], age_days),
        feedback_rules(settings, candidate.butler),
        actor=trail.actor,
    )
    resolution = resolve(
        MemoryType.RULE,
        candidate.current,
        replace(candidate.before, maturity=deserved),
        trail.now,
        settings.lifecycle_of(candidate.butler).decay,
        takes_back_confirmation=candidate.is_confirmation,
    )
    assert isinstance(resolution, Resolution)
    reason = application.pop("reason")
    recorded = {name: value if value is None else str(value) for name, value in application.items()}
    recorded["created_at"] = application["created_at"].isoformat()
    return Reevaluation(
        resolution,
        evidence,
        {"application": recorded | await events.reason_of(transaction, candidate.entity_id, reason)},
    )


async def write_evidence(transaction: Transaction, rule_id: UUID, evidence: Row) -> None:
    """Write the counters, effectiveness and reasons that follow from the feedback."""
    successes, harmful = evidence["successes"], evidence["harmful"]
    await transaction.send(
        "undo.settle_evidence",
        rule_id=rule_id,
        successes=successes,
        harmful=harmful,
        reasons=evidence["stored_reasons"],
        effectiveness=maturity.effectiveness(successes, harmful),
    )


async def _opposite(transaction: Transaction, trail: AuditTrail, application: dict[str, Any]) -> dict[str, Any]:
    if application["outcome"] == WITHDRAWN:
        first = await store.find_application(transaction, UUID(application["withdraws"]))
        # Never earlier than the first time: this clock may be slightly behind.
        return {**first, "created_at": max(trail.now, first["created_at"]), "withdraws": None}
    return {
        "outcome": WITHDRAWN,
        "reason": None,
        "butler": trail.butler,
        "session_id": trail.lineage.session_id,
        "created_at": trail.now,
        "withdraws": UUID(application["id"]),
    }
