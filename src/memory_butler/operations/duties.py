"""The duties of a sweep, one function each: what it looks for, and what it does with what it finds."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from memory_butler.models import Maturity, MemoryType, Permanence, Tier, Validity
from memory_butler.operations.shard import GONE, Batch, Batches, Choice, Due, Shard, let_go, walk
from memory_butler.policy import confidence, upkeep
from memory_butler.policy.maturity import Evidence
from memory_butler.policy.tiers import MEMBERS
from memory_butler.store import sweep as store
from memory_butler.store.database import Row, Session
from memory_butler.store.events import Trail
from memory_butler.store.sweep import FIRST_ID, FIRST_MOMENT, Looked, TierOf

# How much one transaction looks at, and how much it changes at most: the tenant's lock is held for a moment only.
SCANNED = 5_000
CHANGED = 500
BURIED = 250


def _bounded(looked: Looked, due: list[Due]) -> Batch:
    """A look in the order of the ids, cut where enough is due."""
    if len(due) > CHANGED:
        return Batch(due[CHANGED - 1].place, due[:CHANGED], due[CHANGED - 1].id)
    return Batch(looked.scanned, due, looked.last if looked.scanned == SCANNED else None)


def promote_facts(shard: Shard) -> Batches:
    """Facts that are used again and again over days move up one permanence."""
    mid = shard.lifecycle.mid
    spread = timedelta(days=mid.promote_after_days)

    async def look(session: Session, now: datetime, after: UUID) -> Batch:
        looked = await store.used_facts(
            session,
            butler=shard.name,
            after=after,
            limit=SCANNED,
            permanences=list(upkeep.NEXT_PERMANENCE),
            references=mid.promote_after_references,
        )
        due = []
        for row in looked.rows:
            use = upkeep.Use(row["times"], row["first_at"], row["last_at"])
            earned = upkeep.promoted(
                Permanence(row["permanence"]), use, after_references=mid.promote_after_references, spread=spread
            )
            if earned:
                extra = {"promotion": _promotion(row, earned)}
                due.append(Due(MemoryType.FACT, row["id"], row["ref"], "facts", earned, extra, row["place"]))
        return _bounded(looked, due)

    async def promote(session: Session, trail: Trail, due: Sequence[Due]) -> None:
        rates = {one.id: (str(one.becomes), upkeep.decay_rate_of(str(one.becomes))) for one in due}
        await store.promote_facts(session, rates, now=trail.now, fading_below=confidence.FADING_BELOW)
        await shard.record(session, trail, "promoted", due)

    return walk(shard, FIRST_ID, look, promote)


def _promotion(row: Row, earned: Permanence) -> dict[str, Any]:
    """What the event of a promotion cites."""
    return {
        "from": row["permanence"],
        "to": str(earned),
        "references": row["times"],
        "first": row["first_at"].isoformat(),
        "last": row["last_at"].isoformat(),
        "first_seq": row["first_seq"],
        "last_seq": row["last_seq"],
    }


def mature_rules(shard: Shard) -> Batches:
    """Rules become what their evidence supports: trusted, less trusted, or a warning."""

    async def look(session: Session, now: datetime, after: UUID) -> Batch:
        looked = await store.judged_rules(session, butler=shard.name, after=after, limit=CHANGED)
        due = [one for row in looked.rows for one in _steps(row, now)]
        return Batch(looked.scanned, due, looked.last if looked.scanned == CHANGED else None)

    async def mature(session: Session, trail: Trail, due: Sequence[Due]) -> None:
        # Each step is a change of its own, with an event that holds the rule as that step left it.
        while due:
            step = {one.id: one for one in reversed(due)}
            await store.mature_rules(session, {id: str(one.becomes) for id, one in step.items()}, trail.now)
            await shard.record(session, trail, "matured", list(step.values()))
            due = [one for one in due if step[one.id] is not one]

    return walk(shard, FIRST_ID, look, mature)


def _steps(row: Row, now: datetime) -> list[Due]:
    before = Maturity(row["maturity"])
    evidence = Evidence(row["successes"], row["harmful"], (now - row["created_at"]) / timedelta(days=1))
    due = []
    for after in upkeep.maturity_steps(before, evidence):
        extra = {"from": str(before), "to": str(after)}
        due.append(Due(MemoryType.RULE, row["id"], row["ref"], upkeep.trust_gained(before, after), after, extra))
        before = after
    return due


def fade(shard: Shard) -> Batches:
    """What nobody has confirmed for long is no longer returned unless it is asked for."""
    worth = (confidence.EXPIRED_BELOW, confidence.FADING_BELOW)
    return _decay(shard, Validity.FADING, (Validity.ACTIVE,), worth)


def expire(shard: Shard) -> Batches:
    """What has faded almost entirely is out of use."""
    return _decay(shard, Validity.EXPIRED, (Validity.ACTIVE, Validity.FADING), (0.0, confidence.EXPIRED_BELOW))


def _decay(shard: Shard, to: Validity, states: Sequence[Validity], worth: tuple[float, float]) -> Batches:
    ends, foreseen = to is Validity.EXPIRED, shard.overlay()

    async def look(session: Session, now: datetime, after: UUID) -> Batch:
        looked = await store.decayed(
            session,
            foreseen,
            butler=shard.name,
            after=after,
            limit=SCANNED,
            now=now,
            states=list(states),
            at_least=worth[0],
            below=worth[1],
        )
        extra = {"cause": "confidence"} if ends else {}
        becomes = GONE if ends else None
        due = [
            Due(MemoryType(row["type"]), row["id"], row["ref"], f"{row['type']}s", becomes, extra, row["place"])
            for row in looked.rows
        ]
        return _bounded(looked, due)

    async def move(session: Session, trail: Trail, due: Sequence[Due]) -> None:
        await store.set_validity(session, [one.id for one in due], to)
        await shard.record(session, trail, "expired" if ends else "faded", due)

    return walk(shard, FIRST_ID, look, move)


def delete_expired_episodes(shard: Shard) -> Batches:
    """Episodes whose time is over go, and leave a trace without words."""

    async def look(session: Session, now: datetime, after: tuple[datetime, UUID]) -> Batch:
        rows = await store.expired_episodes(
            session, butler=shard.name, now=now, after_at=after[0], after=after[1], limit=BURIED
        )
        due = [
            Due(MemoryType.EPISODE, row["id"], row["ref"], "expired", GONE)
            for row in rows
            if not upkeep.outlives_its_time(
                pinned=row["pinned"],
                active=row["active"],
                consolidated=row["consolidated"],
                reference_count=row["reference_count"],
                protected_from=shard.lifecycle.eden.protected_from,
            )
        ]
        last = (rows[-1]["expires_at"], rows[-1]["id"]) if len(rows) == BURIED else None
        return Batch(len(rows), due, last)

    async def delete(session: Session, trail: Trail, due: Sequence[Due]) -> None:
        await _delete(shard, session, trail, due, "expired")

    return walk(shard, (FIRST_MOMENT, FIRST_ID), look, delete)


async def _delete(shard: Shard, session: Session, trail: Trail, due: Sequence[Due], reason: str) -> None:
    ids = [one.id for one in due]
    tombstones = await store.bury(session, ids, reason, trail.now)
    told = [Due(one.type, one.id, one.ref, one.outcome, extra={"tombstone": tombstones[one.id]}) for one in due]
    await shard.record(session, trail, "deleted", told)
    await store.delete_episodes(session, ids)


def keep_eden_within_capacity(shard: Shard) -> Batches:
    """Of too many episodes the oldest consolidated go; what has yet to be consolidated has its time."""

    gone = list(shard.foreseen)

    async def measure(session: Session) -> tuple[int, int]:
        held = await store.count_episodes(session, shard.name, gone)
        return held, upkeep.surplus(held, shard.lifecycle.eden.capacity)

    async def choose(session: Session, after: tuple[datetime, UUID], limit: int) -> list[Row]:
        return await store.oldest_consolidated(
            session, shard.name, gone, after_at=after[0], after=after[1], limit=limit
        )

    async def still(session: Session, rows: Sequence[Row]) -> set[UUID]:
        return await store.still_consolidated(session, [row["id"] for row in rows])

    def due(row: Row) -> Due:
        return Due(MemoryType.EPISODE, row["id"], row["ref"], "capacity", GONE)

    async def delete(session: Session, trail: Trail, due: Sequence[Due]) -> None:
        await _delete(shard, session, trail, due, "capacity")

    return let_go(shard, Choice(measure, choose, still, due, delete, BURIED))


def evict_from_mid(shard: Shard) -> Batches:
    """Of too many mid-term memories the least recently used are out of use, and so is what is stale."""
    return _evict(shard, Tier.MID)


def evict_from_long(shard: Shard) -> Batches:
    """The same for long-term memories."""
    return _evict(shard, Tier.LONG)


def _evict(shard: Shard, which: Tier) -> Batches:
    limits = shard.lifecycle.mid if which is Tier.MID else shard.lifecycle.long
    stale_days, foreseen = limits.stale_after_days, shard.overlay()
    tier = TierOf(
        butler=shard.name,
        permanences=MEMBERS[which].permanences,
        maturities=MEMBERS[which].maturities,
        protected_permanences=upkeep.PROTECTED.permanences,
        protected_maturities=upkeep.PROTECTED.maturities,
        stale_since=None if stale_days is None else shard.butler.clock() - timedelta(days=stale_days),
    )

    async def measure(session: Session) -> tuple[int, int]:
        found = await store.measure_tier(session, tier, foreseen)
        return found["held"], upkeep.surplus(found["held"], limits.capacity, found["stale"])

    async def choose(session: Session, after: tuple[datetime, UUID], limit: int) -> list[Row]:
        return await store.least_used(session, tier, foreseen, after_at=after[0], after=after[1], limit=limit)

    async def still(session: Session, rows: Sequence[Row]) -> set[UUID]:
        return await store.still_unused(session, tier, [row["id"] for row in rows], rows[-1]["used_at"])

    def due(row: Row) -> Due:
        cause = "stale" if row["stale"] else "capacity"
        return Due(MemoryType(row["type"]), row["id"], row["ref"], cause, GONE, {"cause": cause})

    async def move(session: Session, trail: Trail, due: Sequence[Due]) -> None:
        await store.set_validity(session, [one.id for one in due], Validity.EXPIRED)
        await shard.record(session, trail, "expired", due)

    return let_go(shard, Choice(measure, choose, still, due, move, CHANGED))


async def drop_old_keys(shard: Shard) -> Batches:
    """Idempotency keys past their time are forgotten."""
    after = (FIRST_MOMENT, "", "")
    while True:
        async with shard.reading() as session:
            rows = await store.old_keys(
                session,
                butler=shard.name,
                now=shard.butler.clock(),
                after_at=after[0],
                after_butler=after[1],
                after_key=after[2],
                limit=SCANNED,
            )
        dropped = len(rows)
        if rows and not shard.dry_run:
            async with shard.changing() as (session, trail):
                dropped = await store.drop_keys(session, rows, trail.now)
        yield Batch(len(rows), keys=dropped)
        if len(rows) < SCANNED:
            return
        after = (rows[-1]["expires_at"], rows[-1]["butler"], rows[-1]["key"])
