"""The duties of a sweep, one function each: the scan, and the change of what is due."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from memory_butler.models import Maturity, MemoryType, Permanence, Tier, Validity
from memory_butler.operations.lifecycle.sweep_shard import (
    REMOVED,
    Due,
    Page,
    Pages,
    Selection,
    Shard,
    remove_surplus,
    scan_and_change,
)
from memory_butler.policy.lifecycle import sweep
from memory_butler.policy.lifecycle.confidence import DecayRules, fact_rate, rule_rate
from memory_butler.policy.lifecycle.maturity import Evidence, MaturityRules
from memory_butler.policy.lifecycle.tiers import MEMBERS
from memory_butler.store.gate.database import Row, Transaction
from memory_butler.store.history.events import AuditTrail
from memory_butler.store.lifecycle import sweep as store
from memory_butler.store.lifecycle.sweep import FIRST_ID, FIRST_MOMENT, Scanned, TierOf

# Maximum numbers of rows scanned and changed by one transaction: it holds the tenant's lock for a moment only.
SCANNED = 5_000
CHANGED = 500
DELETED = 250
# Above every effective confidence.
NO_LIMIT = 2.0


def _bounded(scanned: Scanned, due: list[Due]) -> Page:
    """A scan in the order of ids, cut after `CHANGED` due memories."""
    if len(due) > CHANGED:
        return Page(due[CHANGED - 1].place, due[:CHANGED], due[CHANGED - 1].id)
    return Page(scanned.rows_scanned, due, scanned.last if scanned.rows_scanned == SCANNED else None)


def promote_facts(shard: Shard) -> Pages:
    """Promote facts that were referenced often over several days to the next permanence class."""
    mid, decay = shard.lifecycle.mid, shard.lifecycle.decay
    spread = timedelta(days=mid.promote_after_days)

    async def scan(transaction: Transaction, now: datetime, after: UUID) -> Page:
        scanned = await store.used_facts(
            transaction,
            butler=shard.name,
            after=after,
            limit=SCANNED,
            permanences=list(sweep.NEXT_PERMANENCE),
            references=mid.promote_after_references,
        )
        due = []
        for row in scanned.rows:
            use = sweep.Use(row["times"], row["first_at"], row["last_at"])
            earned = sweep.promoted(
                Permanence(row["permanence"]), use, after_references=mid.promote_after_references, spread=spread
            )
            if earned:
                extra = {"promotion": _promotion(row, earned)}
                due.append(Due(MemoryType.FACT, row["id"], row["ref"], "facts", earned, extra, row["place"]))
        return _bounded(scanned, due)

    async def promote(transaction: Transaction, trail: AuditTrail, due: Sequence[Due]) -> None:
        rates = {one.id: (str(one.becomes), sweep.decay_rate_of(str(one.becomes), decay)) for one in due}
        await store.promote_facts(transaction, rates, now=trail.now, fading_below=decay.fading_below)
        await shard.record(transaction, trail, "promoted", due)

    return scan_and_change(shard, FIRST_ID, scan, promote)


def _promotion(row: Row, earned: Permanence) -> dict[str, Any]:
    """The evidence that the event of a promotion cites."""
    return {
        "from": row["permanence"],
        "to": str(earned),
        "references": row["times"],
        "first": row["first_at"].isoformat(),
        "last": row["last_at"].isoformat(),
        "first_seq": row["first_seq"],
        "last_seq": row["last_seq"],
    }


def mature_rules(shard: Shard) -> Pages:
    """Give rules the maturity that their evidence supports."""

    async def scan(transaction: Transaction, now: datetime, after: UUID) -> Page:
        scanned = await store.rules_with_evidence(transaction, butler=shard.name, after=after, limit=CHANGED)
        due = [one for row in scanned.rows for one in _steps(row, now, shard.lifecycle.maturity)]
        return Page(scanned.rows_scanned, due, scanned.last if scanned.rows_scanned == CHANGED else None)

    async def mature(transaction: Transaction, trail: AuditTrail, due: Sequence[Due]) -> None:
        # Each step is a change with its own event, which holds the state of the rule after that step.
        while due:
            step = {one.id: one for one in reversed(due)}
            await store.mature_rules(transaction, {id: str(one.becomes) for id, one in step.items()}, trail.now)
            await shard.record(transaction, trail, "matured", list(step.values()))
            transaction.recorded.update(f"rule.{one.outcome}" for one in step.values())
            due = [one for one in due if step[one.id] is not one]

    return scan_and_change(shard, FIRST_ID, scan, mature)


def _steps(row: Row, now: datetime, rules: MaturityRules) -> list[Due]:
    before = Maturity(row["maturity"])
    evidence = Evidence(row["successes"], row["harmful"], (now - row["created_at"]) / timedelta(days=1))
    due = []
    for after in sweep.maturity_steps(before, evidence, rules):
        extra = {"from": str(before), "to": str(after)}
        due.append(Due(MemoryType.RULE, row["id"], row["ref"], sweep.maturity_change(before, after), after, extra))
        before = after
    return due


def update_decay_rates(shard: Shard) -> Pages:
    """Write the decay rates of the settings to live facts and rules that carry another rate.

    From then on effective confidence is confidence × exp(-new rate × days since the last confirmation): the new rate
    counts for the whole time since then, not only from now on.
    """
    planned, rates = shard.plan_so_far(), _rates(shard.lifecycle.decay)

    async def scan(transaction: Transaction, now: datetime, after: UUID) -> Page:
        scanned = await store.outdated_rates(
            transaction, planned, butler=shard.name, after=after, limit=SCANNED, **rates
        )
        return _bounded(scanned, [_rate_change(row) for row in scanned.rows])

    async def update(transaction: Transaction, trail: AuditTrail, due: Sequence[Due]) -> None:
        await store.set_decay_rates(transaction, {one.id: one.extra["to"] for one in due})
        await shard.record(transaction, trail, "rate_changed", due)

    return scan_and_change(shard, FIRST_ID, scan, update)


def _rates(rules: DecayRules) -> dict[str, Any]:
    """The decay rates of the settings as parameters of a scan."""
    return {
        "permanences": list(Permanence),
        "fact_rates": [fact_rate(permanence, rules) for permanence in Permanence],
        "rule_rate": rule_rate(rules),
    }


def _rate_change(row: Row) -> Due:
    extra = {"from": row["decay_rate"], "to": row["set_rate"]}
    return Due(MemoryType(row["type"]), row["id"], row["ref"], f"{row['type']}s", None, extra, row["place"])


def revive(shard: Shard) -> Pages:
    """Make fading memories active again whose effective confidence is no longer below the threshold.

    That happens when a decay rate or the threshold is lowered. A confirmation makes a memory active by itself.
    """
    return _move(shard, Validity.ACTIVE, (Validity.FADING,), (shard.lifecycle.decay.fading_below, NO_LIMIT))


def fade(shard: Shard) -> Pages:
    """Mark memories as fading whose effective confidence fell below the first threshold."""
    decay = shard.lifecycle.decay
    return _move(shard, Validity.FADING, (Validity.ACTIVE,), (decay.expired_below, decay.fading_below))


def expire(shard: Shard) -> Pages:
    """Expire memories whose effective confidence fell below the second threshold."""
    return _move(
        shard, Validity.EXPIRED, (Validity.ACTIVE, Validity.FADING), (0.0, shard.lifecycle.decay.expired_below)
    )


_EVENTS = {Validity.ACTIVE: "revived", Validity.FADING: "faded", Validity.EXPIRED: "expired"}


def _move(shard: Shard, to: Validity, states: Sequence[Validity], between: tuple[float, float]) -> Pages:
    """Move memories of some states to another, by their effective confidence."""
    expires, planned, rates = to is Validity.EXPIRED, shard.plan_so_far(), _rates(shard.lifecycle.decay)

    async def scan(transaction: Transaction, now: datetime, after: UUID) -> Page:
        scanned = await store.by_confidence(
            transaction,
            planned,
            butler=shard.name,
            after=after,
            limit=SCANNED,
            now=now,
            states=list(states),
            at_least=between[0],
            below=between[1],
            **rates,
        )
        extra = {"cause": "confidence"} if expires else {}
        becomes = REMOVED if expires else None
        due = [
            Due(MemoryType(row["type"]), row["id"], row["ref"], f"{row['type']}s", becomes, extra, row["place"])
            for row in scanned.rows
            if not (to is Validity.ACTIVE and _is_promoted(shard, row))
        ]
        return _bounded(scanned, due)

    async def move(transaction: Transaction, trail: AuditTrail, due: Sequence[Due]) -> None:
        await store.set_validity(transaction, [one.id for one in due], to)
        await shard.record(transaction, trail, _EVENTS[to], due)

    return scan_and_change(shard, FIRST_ID, scan, move)


def _is_promoted(shard: Shard, row: Row) -> bool:
    """True if a dry run plans to promote this fact, which makes it active."""
    return bool(row["type"] == MemoryType.FACT and shard.planned.get(row["id"], row["grade"]) != row["grade"])


def delete_expired_episodes(shard: Shard) -> Pages:
    """Delete episodes past their TTL; a tombstone without their text remains."""

    async def scan(transaction: Transaction, now: datetime, after: tuple[datetime, UUID]) -> Page:
        rows = await transaction.all(
            "sweep.expired_episodes", butler=shard.name, now=now, after_at=after[0], after=after[1], limit=DELETED
        )
        due = [
            Due(MemoryType.EPISODE, row["id"], row["ref"], "expired", REMOVED)
            for row in rows
            if not sweep.is_kept_beyond_ttl(
                pinned=row["pinned"],
                active=row["active"],
                pending=row["pending"],
                reference_count=row["reference_count"],
                protected_from=shard.lifecycle.eden.protected_from,
            )
        ]
        last = (rows[-1]["expires_at"], rows[-1]["id"]) if len(rows) == DELETED else None
        return Page(len(rows), due, last)

    async def delete(transaction: Transaction, trail: AuditTrail, due: Sequence[Due]) -> None:
        await _delete(shard, transaction, trail, due, "expired")

    return scan_and_change(shard, (FIRST_MOMENT, FIRST_ID), scan, delete)


async def _delete(shard: Shard, transaction: Transaction, trail: AuditTrail, due: Sequence[Due], reason: str) -> None:
    ids = [one.id for one in due]
    tombstones = await store.insert_tombstones(transaction, ids, reason, trail.now)
    recorded = [Due(one.type, one.id, one.ref, one.outcome, extra={"tombstone": tombstones[one.id]}) for one in due]
    await shard.record(transaction, trail, "deleted", recorded)
    await store.delete_episodes(transaction, ids)


def keep_eden_within_capacity(shard: Shard) -> Pages:
    """Delete the oldest consolidated episodes above the capacity. Others are kept until their TTL."""

    removed = list(shard.planned)

    async def measure(transaction: Transaction) -> tuple[int, int]:
        held = await store.count_episodes(transaction, shard.name, removed)
        return held, sweep.surplus(held, shard.lifecycle.eden.capacity)

    async def select(transaction: Transaction, after: tuple[datetime, UUID], limit: int) -> list[Row]:
        return await store.oldest_consolidated(
            transaction, shard.name, removed, after_at=after[0], after=after[1], limit=limit
        )

    async def recheck(transaction: Transaction, rows: Sequence[Row]) -> set[UUID]:
        return await store.still_consolidated(transaction, [row["id"] for row in rows])

    def due(row: Row) -> Due:
        return Due(MemoryType.EPISODE, row["id"], row["ref"], "capacity", REMOVED)

    async def delete(transaction: Transaction, trail: AuditTrail, due: Sequence[Due]) -> None:
        await _delete(shard, transaction, trail, due, "capacity")

    return remove_surplus(shard, Selection(measure, select, recheck, due, delete, DELETED))


def evict_from_mid(shard: Shard) -> Pages:
    """Expire the least recently used mid-term memories above the capacity, and stale ones."""
    return _evict(shard, Tier.MID)


def evict_from_long(shard: Shard) -> Pages:
    """Expire the least recently used long-term memories above the capacity, and stale ones."""
    return _evict(shard, Tier.LONG)


def _evict(shard: Shard, which: Tier) -> Pages:
    limits = shard.lifecycle.mid if which is Tier.MID else shard.lifecycle.long
    stale_days, planned = limits.stale_after_days, shard.plan_so_far()
    tier = TierOf(
        butler=shard.name,
        permanences=MEMBERS[which].permanences,
        maturities=MEMBERS[which].maturities,
        protected_permanences=sweep.PROTECTED.permanences,
        protected_maturities=sweep.PROTECTED.maturities,
        stale_since=None if stale_days is None else shard.resources.clock() - timedelta(days=stale_days),
    )

    async def measure(transaction: Transaction) -> tuple[int, int]:
        row = await store.measure_tier(transaction, tier, planned)
        return row["held"], sweep.surplus(row["held"], limits.capacity, row["stale"])

    async def select(transaction: Transaction, after: tuple[datetime, UUID], limit: int) -> list[Row]:
        return await store.least_used(transaction, tier, planned, after_at=after[0], after=after[1], limit=limit)

    async def recheck(transaction: Transaction, rows: Sequence[Row]) -> set[UUID]:
        return await store.still_unused(transaction, tier, [row["id"] for row in rows], rows[-1]["used_at"])

    def due(row: Row) -> Due:
        cause = "stale" if row["stale"] else "capacity"
        return Due(MemoryType(row["type"]), row["id"], row["ref"], cause, REMOVED, {"cause": cause})

    async def move(transaction: Transaction, trail: AuditTrail, due: Sequence[Due]) -> None:
        await store.set_validity(transaction, [one.id for one in due], Validity.EXPIRED)
        await shard.record(transaction, trail, "expired", due)

    return remove_surplus(shard, Selection(measure, select, recheck, due, move, CHANGED))


async def drop_old_keys(shard: Shard) -> Pages:
    """Delete idempotency keys past their lifetime."""
    after = (FIRST_MOMENT, "", "")
    while True:
        async with shard.reading() as transaction:
            rows = await transaction.all(
                "sweep.old_keys",
                butler=shard.name,
                now=shard.resources.clock(),
                after_at=after[0],
                after_butler=after[1],
                after_key=after[2],
                limit=SCANNED,
            )
        dropped = len(rows)
        if rows and not shard.dry_run:
            async with shard.changing() as (transaction, trail):
                dropped = await store.drop_keys(transaction, rows, trail.now)
        yield Page(len(rows), keys=dropped)
        if len(rows) < SCANNED:
            return
        after = (rows[-1]["expires_at"], rows[-1]["butler"], rows[-1]["key"])
