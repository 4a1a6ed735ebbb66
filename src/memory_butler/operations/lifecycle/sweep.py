"""Sweep: the daily upkeep of memories. It runs a list of duties for every butler of a tenant."""

import logging
import time
from collections import Counter
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from memory_butler.errors import Conflict, NotFound
from memory_butler.models import Caller, Episode
from memory_butler.models.wire.codec import encode
from memory_butler.operations.lifecycle import sweep_duties as duties
from memory_butler.operations.lifecycle.sweep_shard import Pages, Shard
from memory_butler.operations.system import call_log
from memory_butler.policy.lifecycle.sweep import Duty
from memory_butler.policy.memories.validation import slug, validate_lineage
from memory_butler.resources import Resources
from memory_butler.settings import EdenTier
from memory_butler.store.history import chain
from memory_butler.store.lifecycle import sweep as store
from memory_butler.store.system import alerts

DUTIES: tuple[tuple[Duty, Callable[[Shard], Pages]], ...] = (
    (Duty.PROMOTE, duties.promote_facts),
    (Duty.MATURE, duties.mature_rules),
    (Duty.RATES, duties.update_decay_rates),
    (Duty.REVIVE, duties.revive),
    (Duty.FADE, duties.fade),
    (Duty.EXPIRE, duties.expire),
    (Duty.DELETE, duties.delete_expired_episodes),
    (Duty.EDEN, duties.keep_eden_within_capacity),
    (Duty.MID, duties.evict_from_mid),
    (Duty.LONG, duties.evict_from_long),
    (Duty.KEYS, duties.drop_old_keys),
)
EXAMPLES = 5
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class DutyReport:
    """Result of one duty for one butler: rows scanned, changes by outcome, and the references of a few of them."""

    duty: Duty
    scanned: int
    changed: int
    outcomes: dict[str, int]
    examples: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardReport:
    """Result of a sweep for one butler. All its events have the group id, so that it can be undone; None: no events.

    `expiring` are the first important episodes that expire soon and of which nothing was kept.
    """

    butler: str
    group_id: UUID | None
    duties: tuple[DutyReport, ...]
    expiring: tuple[str, ...] = ()
    expiring_total: int = 0

    @property
    def changed(self) -> int:
        return sum(duty.changed for duty in self.duties)

    def as_dict(self) -> dict[str, Any]:
        return {
            "butler": self.butler,
            "changed": self.changed,
            "group_id": str(self.group_id) if self.group_id else None,
            "duties": encode(self.duties),
            "expiring_unkept": {"episodes": self.expiring_total, "next": list(self.expiring)},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepReport:
    """Result of a sweep, or in a dry run its planned changes."""

    started_at: datetime
    dry_run: bool
    shards: tuple[ShardReport, ...]
    seconds: float

    @property
    def changed(self) -> int:
        return sum(shard.changed for shard in self.shards)

    def as_dict(self) -> dict[str, Any]:
        return {
            "started_at": self.started_at.isoformat(),
            "dry_run": self.dry_run,
            "changed": self.changed,
            "seconds": self.seconds,
            "butlers": [shard.as_dict() for shard in self.shards],
        }


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a sweep, reported after every page and after every duty."""

    butler: str
    duty: Duty
    scanned: int
    changed: int
    duties_done: int
    duties: int


ReportProgress = Callable[[Progress], None]


async def sweep(
    resources: Resources,
    caller: Caller | None = None,
    *,
    only_butler: str | None = None,
    dry_run: bool = False,
    progress: ReportProgress = lambda step: None,
) -> SweepReport:
    """Run every duty for every butler of the caller's tenant, or for one of them. A dry run changes nothing."""
    caller = resources.admin(caller, "sweep the store", recovery="A worker sweeps it daily.")
    tenant = caller.principal.tenant
    names = await _butlers(resources, tenant, only_butler)
    jump = await _clock_jump(resources, tenant)
    started_at, began = resources.clock(), time.monotonic()
    shards = []
    for number, name in enumerate(names):
        shard = Shard(
            resources=resources,
            tenant=tenant,
            name=name,
            lineage=validate_lineage(caller.lineage),
            lifecycle=resources.settings.lifecycle_of(name),
            group_id=resources.make_id(started_at),
            dry_run=dry_run,
        )
        keep = frozenset({Duty.DELETE} if jump else ())
        shards.append(await _sweep_shard(shard, progress, number * len(DUTIES), len(names) * len(DUTIES), keep))
    if not dry_run:
        async with resources.database.unlocked_write(tenant) as transaction:
            await chain.seal(transaction, resources.clock())
        await call_log.trim(resources, tenant)
    kept = sum(duty.changed for shard in shards for duty in shard.duties if duty.duty is Duty.DELETE)
    if jump and kept and not dry_run:
        raise Conflict(
            f"{jump} {kept} expired episodes were not deleted; everything else was swept.",
            recovery="Check the clock of this machine. If it is right, sweep again after a day of use, or raise "
            "upkeep.longest_gap_days.",
        )
    return SweepReport(
        started_at=started_at, dry_run=dry_run, shards=tuple(shards), seconds=round(time.monotonic() - began, 3)
    )


async def _clock_jump(resources: Resources, tenant: str) -> str | None:
    """Describe an implausible time since the store was last used; None if the clock is plausible.

    Episodes are deleted for good, so a clock that jumped forward must not decide about them. Events of the last day do
    not count: they may have been written after the jump.
    """
    now, longest = resources.clock(), timedelta(days=resources.settings.upkeep.longest_gap_days)
    async with resources.database.read(tenant) as transaction:
        last = await store.last_event_before(transaction, now - timedelta(days=1))
    if last is None or now - last <= longest:
        return None
    return f"The clock says {now:%Y-%m-%d}, but the last event is of {last:%Y-%m-%d}."


async def _butlers(resources: Resources, tenant: str, only: str | None) -> list[str]:
    async with resources.database.read(tenant) as transaction:
        names = await store.butlers(transaction)
    if only is None:
        return names
    wanted = slug(only, "butler")
    if wanted not in names:
        raise NotFound(
            f"The butler {wanted!r} has stored nothing.",
            recovery=f"Name one of: {', '.join(names)}." if names else "Nothing is stored yet.",
        )
    return [wanted]


async def _sweep_shard(
    shard: Shard, progress: ReportProgress, done: int, of: int, only_planned: frozenset[Duty]
) -> ShardReport:
    """Run every duty; those of `only_planned` change nothing."""
    reports = []
    for duty, work in DUTIES:
        began = time.monotonic()
        scanned, outcomes, examples = 0, Counter[str](), list[str]()
        async with aclosing(work(replace(shard, dry_run=True) if duty in only_planned else shard)) as pages:
            async for page in pages:
                scanned += page.scanned
                outcomes.update(one.outcome for one in page.due)
                outcomes.update({"keys": page.keys} if page.keys else {})
                examples += [f"{one.type}:{one.ref}" for one in page.due[: EXAMPLES - len(examples)]]
                progress(Progress(shard.name, duty, scanned, outcomes.total(), done, of))
        done += 1
        progress(Progress(shard.name, duty, scanned, outcomes.total(), done, of))
        reports.append(
            DutyReport(
                duty=duty,
                scanned=scanned,
                changed=outcomes.total(),
                outcomes=dict(sorted(outcomes.items())),
                examples=tuple(examples),
                seconds=round(time.monotonic() - began, 3),
            )
        )
    expiring, total = await _expiring(shard)
    return ShardReport(
        butler=shard.name,
        group_id=shard.group_id if shard.events else None,
        duties=tuple(reports),
        expiring=tuple(f"{one.type}:{one.ref}" for one in expiring),
        expiring_total=total,
    )


async def _expiring(shard: Shard) -> tuple[list[Episode], int]:
    """The important episodes that the next sweeps delete and of which nothing was kept; logged as a warning."""
    rules: dict[str | None, EdenTier] = {None: shard.lifecycle.eden}
    async with shard.reading() as transaction:
        found, total = await alerts.expiring(
            transaction, rules, shard.resources.clock(), butlers=[shard.name], limit=EXAMPLES
        )
    if total and not shard.dry_run:
        names = ", ".join(f"{one.type}:{one.ref}" for one in found)
        log.warning("%d important episodes of %s expire soon and nothing was kept: %s", total, shard.name, names)
    return found, total
