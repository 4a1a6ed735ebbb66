"""Judge: confirm a memory, or report how a rule did."""

from datetime import datetime, timedelta

from memory_butler.butler import Butler
from memory_butler.errors import Conflict, InvalidInput
from memory_butler.models import LIVE, Caller, Episode, Fact, MemoryType, Outcome, Rule, Stored
from memory_butler.operations.change import admit_reason, require_changeable, said
from memory_butler.operations.once import fingerprint, trail, write_once
from memory_butler.policy import maturity
from memory_butler.policy.admission import optional_label, parse_handle
from memory_butler.store import events, facts, rules
from memory_butler.store.database import Session
from memory_butler.store.events import Change, Trail

MOMENT = timedelta(microseconds=1)


async def confirm(
    butler: Butler, memory_type: str, handle: str, caller: Caller | None = None, *, idempotency_key: str | None = None
) -> Stored:
    """Say that a fact or rule still holds: its decay starts again, and a fading one is active again."""
    caller = caller or butler.local_caller()
    wanted = parse_handle(memory_type, handle)
    if wanted.type is MemoryType.EPISODE:
        raise InvalidInput("An episode is what happened and cannot be confirmed; facts and rules can.")

    async def work(session: Session, now: datetime) -> Stored:
        memory = await require_changeable(session, caller, wanted)
        assert not isinstance(memory, Episode)
        if memory.validity not in LIVE:
            raise Conflict(
                f"{wanted} is {memory.validity} and cannot be confirmed.",
                recovery="Restore it with memory_restore if it is right after all.",
            )
        await (facts if isinstance(memory, Fact) else rules).confirm(session, [memory.id], now)
        await events.record(session, trail(butler, caller, now), [Change(memory.type, memory.id, "confirmed")])
        return said(memory, "confirmed")

    digest = fingerprint("confirm", {"type": wanted.type, "id": str(wanted)})
    return await write_once(butler, caller, optional_label(idempotency_key, "idempotency_key"), digest, work)


async def mark(
    butler: Butler,
    handle: str,
    outcome: Outcome,
    caller: Caller | None = None,
    *,
    reason: str | None = None,
    idempotency_key: str | None = None,
) -> Stored:
    """Report that a rule helped or harmed: one application, and everything that follows from the evidence."""
    caller = caller or butler.local_caller()
    wanted = parse_handle(MemoryType.RULE, handle)
    why = admit_reason(reason)

    async def work(session: Session, now: datetime) -> Stored:
        rule = await require_changeable(session, caller, wanted)
        assert isinstance(rule, Rule)
        if rule.validity not in LIVE:
            raise Conflict(
                f"{wanted} is {rule.validity}; feedback on it would change nothing.",
                recovery="If it is in use after all, bring it back with memory_restore first.",
            )
        marks = trail(butler, caller, now)
        extra = await _apply(session, marks, rule, outcome, why)
        await events.record(session, marks, [Change(MemoryType.RULE, rule.id, outcome, extra)])
        return said(rule, f"marked_{outcome}")

    digest = fingerprint("mark", {"id": str(wanted), "outcome": outcome, "reason": why})
    return await write_once(butler, caller, optional_label(idempotency_key, "idempotency_key"), digest, work)


async def _apply(session: Session, marks: Trail, rule: Rule, outcome: Outcome, why: str | None) -> dict[str, object]:
    """Write the application and derive counters, effectiveness and maturity from all of them."""
    application = {
        "id": marks.make_id(marks.now),
        "rule_id": rule.id,
        "outcome": outcome,
        "butler": marks.butler,
        "session_id": marks.lineage.session_id,
        "request_id": marks.lineage.request_id,
    }
    # A report made after a reversal counts, also by a clock that is a little behind.
    at = max(marks.now, rule.judged_from + MOMENT) if rule.judged_from else marks.now
    await rules.insert_application(session, reason=why, now=at, **application)
    evidence = await rules.evidence(session, rule.id)
    successes, harmful = evidence["successes"], evidence["harmful"]
    age_days = (marks.now - rule.created_at) / timedelta(days=1)
    await rules.apply_evidence(
        session,
        rule_id=rule.id,
        successes=successes,
        harmful=harmful,
        reasons=evidence["reasons"],
        effectiveness=maturity.effectiveness(successes, harmful),
        maturity=maturity.mature(rule.maturity, maturity.Evidence(successes, harmful, age_days)),
        renews=outcome is Outcome.HELPFUL,
        now=marks.now,
    )
    kept = {key: value if value is None else str(value) for key, value in application.items()}
    kept["created_at"] = at.isoformat()
    return {"application": kept | await events.reason_of(session, rule.id, why)}
