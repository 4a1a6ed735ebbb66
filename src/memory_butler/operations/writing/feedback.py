"""Feedback: confirm a memory, or mark a rule as helpful or harmful."""

from datetime import datetime, timedelta

from memory_butler.errors import Conflict, InvalidInput
from memory_butler.models import LIVE, Caller, MemoryType, Outcome, Rule, Stored
from memory_butler.operations.retrieval.named_memory import find_handle
from memory_butler.operations.writing.admission import admit_reason
from memory_butler.operations.writing.change_target import require_changeable, write_result
from memory_butler.operations.writing.idempotency import Fingerprint, audit_trail, run_idempotent
from memory_butler.operations.writing.rule_evidence import FeedbackRules, deserved_maturity, feedback_rules
from memory_butler.policy.lifecycle import maturity
from memory_butler.policy.lifecycle.sweep import maturity_change
from memory_butler.policy.memories.validation import clean_key, parse_handle
from memory_butler.resources import Resources
from memory_butler.store.gate.database import Transaction
from memory_butler.store.history import events
from memory_butler.store.history.events import AuditTrail, Change
from memory_butler.store.memories import memories, rules

ONE_MICROSECOND = timedelta(microseconds=1)


async def confirm(
    resources: Resources,
    memory_type: str | None,
    handle: str,
    caller: Caller | None = None,
    *,
    idempotency_key: str | None = None,
) -> Stored:
    """Confirm that a fact or rule still holds: decay restarts, and a fading memory becomes active."""
    caller = caller or resources.local_caller()
    target = await find_handle(resources, caller, memory_type, handle)
    if target.type is MemoryType.EPISODE:
        raise InvalidInput(
            "An episode records what happened and cannot be confirmed.",
            recovery="Pass the reference of a fact or a rule.",
        )

    async def work(transaction: Transaction, now: datetime) -> Stored:
        memory = await require_changeable(transaction, caller, target)
        if memory.validity not in LIVE:
            raise Conflict(
                f"{target} is {memory.validity} and cannot be confirmed.",
                recovery="If it is right, restore it first with memory_restore.",
            )
        await memories.confirm(transaction, memory.type, [memory.id], now)
        await events.record(
            transaction, audit_trail(resources, caller, now), [Change(memory.type, memory.id, "confirmed")]
        )
        resources.briefed.referenced([memory.id])
        return write_result(memory, "confirmed")

    digest = Fingerprint("confirm", {"type": target.type, "id": str(target)})
    return await run_idempotent(resources, caller, clean_key(idempotency_key), digest, work)


async def mark(
    resources: Resources,
    handle: str,
    outcome: Outcome,
    caller: Caller | None = None,
    *,
    reason: str | None = None,
    idempotency_key: str | None = None,
) -> Stored:
    """Record that a rule helped or harmed, and derive its counters, effectiveness and maturity from all feedback."""
    caller = caller or resources.local_caller()
    target = parse_handle(MemoryType.RULE, handle)
    reason, admitted = admit_reason(resources, caller, reason)

    async def work(transaction: Transaction, now: datetime) -> Stored:
        rule = await require_changeable(transaction, caller, target)
        assert isinstance(rule, Rule)
        if rule.validity not in LIVE:
            raise Conflict(
                f"{target} is {rule.validity}; feedback only counts for rules in use.",
                recovery="Restore it first with memory_restore.",
            )
        trail = audit_trail(resources, caller, now, admitted=admitted)
        given = feedback_rules(resources.settings, rule.source_butler)
        extra = await _apply(transaction, trail, rule, given, outcome=outcome, reason=reason)
        await events.record(transaction, trail, [Change(MemoryType.RULE, rule.id, outcome, extra)])
        resources.briefed.referenced([rule.id])
        return write_result(rule, f"marked_{outcome}")

    digest = Fingerprint("mark", {"id": str(target), "outcome": outcome, "reason": reason})
    key = clean_key(idempotency_key)
    return await run_idempotent(resources, caller, key, digest, work, admitted=admitted)


async def _apply(
    transaction: Transaction,
    trail: AuditTrail,
    rule: Rule,
    given: FeedbackRules,
    *,
    outcome: Outcome,
    reason: str | None,
) -> dict[str, object]:
    """Insert the application, then derive counters, effectiveness and maturity from all applications of the rule."""
    application = {
        "id": trail.make_id(trail.now),
        "rule_id": rule.id,
        "outcome": outcome,
        "butler": trail.butler,
        "session_id": trail.lineage.session_id,
        "request_id": trail.lineage.request_id,
    }
    # Feedback given after a reversal counts even if this clock is slightly behind.
    at = max(trail.now, rule.judged_from + ONE_MICROSECOND) if rule.judged_from else trail.now
    await rules.insert_application(transaction, {"reason": reason, "created_at": at, "withdraws": None, **application})
    evidence = await rules.evidence(transaction, rule.id)
    successes, harmful = evidence["successes"], evidence["harmful"]
    found = maturity.Evidence(successes, harmful, (trail.now - rule.created_at) / timedelta(days=1))
    deserved = await deserved_maturity(transaction, rule.id, rule.maturity, found, given, actor=trail.actor)
    if deserved is not rule.maturity:
        transaction.recorded[f"rule.{maturity_change(rule.maturity, deserved)}"] += 1
    await transaction.send(
        "rules.apply_evidence",
        rule_id=rule.id,
        successes=successes,
        harmful=harmful,
        reasons=evidence["stored_reasons"],
        effectiveness=maturity.effectiveness(successes, harmful),
        maturity=deserved,
        renews=outcome is Outcome.HELPFUL,
        now=trail.now,
    )
    recorded = {key: value if value is None else str(value) for key, value in application.items()}
    recorded["created_at"] = at.isoformat()
    return {"application": recorded | await events.reason_of(transaction, rule.id, reason)}
