"""Sweep: the daily upkeep of what is remembered. Its body is the list of duties."""

import time
from collections import Counter
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from memory_butler.butler import Butler
from memory_butler.errors import NotFound, PermissionDenied
from memory_butler.models import Caller
from memory_butler.operations import duties
from memory_butler.operations.shard import Batches, Shard
from memory_butler.policy.admission import admit_lineage, slug
from memory_butler.policy.upkeep import Duty
from memory_butler.store import sweep as store

DUTIES: tuple[tuple[Duty, Callable[[Shard], Batches]], ...] = (
    (Duty.PROMOTE, duties.promote_facts),
    (Duty.MATURE, duties.mature_rules),
    (Duty.FADE, duties.fade),
    (Duty.EXPIRE, duties.expire),
    (Duty.DELETE, duties.delete_expired_episodes),
    (Duty.EDEN, duties.keep_eden_within_capacity),
    (Duty.MID, duties.evict_from_mid),
    (Duty.LONG, duties.evict_from_long),
    (Duty.KEYS, duties.drop_old_keys),
)
EXAMPLES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class DutyReport:
    """What one duty did for one butler: how much it looked at and changed, by outcome, and a few of them by name."""

    duty: Duty
    scanned: int
    changed: int
    outcomes: dict[str, int]
    examples: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardReport:
    """What a sweep did for one butler. Its group names all of it, so that it can be undone; None: there is nothing."""

    butler: str
    group_id: UUID | None
    duties: tuple[DutyReport, ...]

    @property
    def changed(self) -> int:
        return sum(duty.changed for duty in self.duties)

    def as_dict(self) -> dict[str, Any]:
        """The report as plain values."""
        return {
            "butler": self.butler,
            "changed": self.changed,
            "group_id": str(self.group_id) if self.group_id else None,
            "duties": [
                {
                    "duty": str(duty.duty),
                    "scanned": duty.scanned,
                    "changed": duty.changed,
                    "outcomes": duty.outcomes,
                    "examples": list(duty.examples),
                    "seconds": duty.seconds,
                }
                for duty in self.duties
            ],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepReport:
    """What a sweep did, or in a rehearsal what it would do."""

    started_at: datetime
    dry_run: bool
    shards: tuple[ShardReport, ...]
    seconds: float

    @property
    def changed(self) -> int:
        return sum(shard.changed for shard in self.shards)

    def as_dict(self) -> dict[str, Any]:
        """The report as plain values, for whoever keeps or sends it."""
        return {
            "started_at": self.started_at.isoformat(),
            "dry_run": self.dry_run,
            "changed": self.changed,
            "seconds": self.seconds,
            "butlers": [shard.as_dict() for shard in self.shards],
        }


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a sweep is: told after every batch, and after every duty, when one more of them is done."""

    butler: str
    duty: Duty
    scanned: int
    changed: int
    duties_done: int
    duties: int


Tell = Callable[[Progress], None]


async def sweep(
    butler: Butler,
    caller: Caller | None = None,
    *,
    only_butler: str | None = None,
    dry_run: bool = False,
    progress: Tell | None = None,
) -> SweepReport:
    """Do every duty for every butler of the caller's tenant, or for one of them. A dry run only tells what is due."""
    caller = caller or butler.local_caller()
    if not caller.principal.role.governs:
        raise PermissionDenied(
            "Only an administrator may sweep the store.", recovery="It is swept daily by itself; there is no need to."
        )
    tell = progress or (lambda step: None)
    tenant = caller.principal.tenant
    names = await _butlers(butler, tenant, only_butler)
    started_at, began = butler.clock(), time.monotonic()
    shards = []
    for number, name in enumerate(names):
        shard = Shard(
            butler=butler,
            tenant=tenant,
            name=name,
            lineage=admit_lineage(caller.lineage),
            lifecycle=butler.settings.lifecycle_of(name),
            group_id=butler.make_id(started_at),
            dry_run=dry_run,
        )
        shards.append(await _sweep_shard(shard, tell, number * len(DUTIES), len(names) * len(DUTIES)))
    return SweepReport(
        started_at=started_at, dry_run=dry_run, shards=tuple(shards), seconds=round(time.monotonic() - began, 3)
    )


async def _butlers(butler: Butler, tenant: str, only: str | None) -> list[str]:
    async with butler.database.read(tenant) as session:
        names = await store.butlers(session)
    if only is None:
        return names
    wanted = slug(only, "butler")
    if wanted not in names:
        raise NotFound(
            f"There is no butler {wanted!r} that has stored anything.",
            recovery=f"Name one of: {', '.join(names)}." if names else "Nothing is stored yet, so nothing is due.",
        )
    return [wanted]


async def _sweep_shard(shard: Shard, tell: Tell, done: int, of: int) -> ShardReport:
    reports = []
    for duty, work in DUTIES:
        began = time.monotonic()
        scanned, outcomes, examples = 0, Counter[str](), list[str]()
        async with aclosing(work(shard)) as batches:
            async for batch in batches:
                scanned += batch.scanned
                outcomes.update(one.outcome for one in batch.due)
                outcomes.update({"keys": batch.keys} if batch.keys else {})
                examples += [f"{one.type}:{one.ref}" for one in batch.due[: EXAMPLES - len(examples)]]
                tell(Progress(shard.name, duty, scanned, outcomes.total(), done, of))
        done += 1
        tell(Progress(shard.name, duty, scanned, outcomes.total(), done, of))
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
    return ShardReport(butler=shard.name, group_id=shard.group_id if shard.events else None, duties=tuple(reports))
