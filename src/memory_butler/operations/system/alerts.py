"""Alerts: what is stuck, late, about to be lost, or waits for a decision."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from memory_butler.models import EVERY_SCOPE, Caller, Episode, Fact, Memory, Rule
from memory_butler.operations.lifecycle import job_status
from memory_butler.operations.lifecycle.job_status import LateJob
from memory_butler.policy.access import visibility
from memory_butler.policy.lifecycle.confidence import anchor, falls_below
from memory_butler.resources import Resources, on_replica
from memory_butler.store.system import alerts as store
from memory_butler.store.system.alerts import EpisodeCounts, MarkBurst, OpenItems
from memory_butler.store.trust import quarantine

IMPORTANT = 7
FADES_WITHIN = timedelta(days=7)
NEW_FOR = timedelta(days=14)
SHOWN = 5
# As many marks of one agent session within an hour turn a rule into a warning.
BURST_MARKS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class FadingFact:
    """An important fact, and the time at which it fades or faded."""

    fact: Fact
    fades_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewWarning:
    """A rule that became an anti-pattern, and when."""

    rule: Rule
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Alerts:
    """The first entries of each kind, and totals. Dead letters, proposals, jobs and quarantined memories are for
    administrators only; `line` counts the episodes that the caller may see by consolidation status."""

    fading: tuple[FadingFact, ...]
    fading_total: int
    warnings: tuple[NewWarning, ...]
    warnings_total: int
    bursts: tuple[MarkBurst, ...]
    bursts_total: int
    at: datetime
    line: EpisodeCounts
    dead_letters: OpenItems
    proposals: OpenItems
    jobs: tuple[LateJob, ...]
    expiring: tuple[Episode, ...] = ()
    expiring_total: int = 0
    quarantined: tuple[Memory, ...] = ()
    quarantined_total: int = 0


@on_replica
async def alerts(resources: Resources, caller: Caller | None = None) -> Alerts:
    """Returns the alerts that the caller may see."""
    caller = caller or resources.local_caller()
    governs = caller.principal.role.governs
    reached = visibility.readable(caller.principal, EVERY_SCOPE if governs else None, None)
    scopes = reached.scopes
    now = resources.clock()
    dead_letters = proposals = OpenItems(0, None)
    jobs: tuple[LateJob, ...] = ()
    quarantined: list[Memory] = []
    quarantined_total = 0
    async with resources.database.read(caller.principal.tenant) as transaction:
        facts, fading_total = await store.fading(
            transaction,
            scopes=scopes,
            importance=IMPORTANT,
            by=now + FADES_WITHIN,
            below=resources.settings.fading_thresholds(),
            limit=SHOWN,
        )
        rules, warnings_total = await store.warnings(transaction, scopes=scopes, since=now - NEW_FOR, limit=SHOWN)
        bursts, bursts_total = await store.bursts(
            transaction, scopes=scopes, since=now - NEW_FOR, marks=BURST_MARKS, limit=SHOWN
        )
        line = await store.episode_counts(transaction, reached.butlers)
        expiring, expiring_total = await store.expiring(
            transaction, resources.settings.eden_of_butlers(), now, butlers=reached.butlers, limit=SHOWN
        )
        if governs:
            dead_letters, proposals = await store.dead_letters(transaction), await store.proposals(transaction)
            quarantined, quarantined_total = await quarantine.waiting(transaction, SHOWN)
            jobs = await job_status.late(transaction, resources.settings.upkeep.intervals(), now)
    return Alerts(
        fading=tuple(FadingFact(fact=fact, fades_at=_fades_at(resources, fact)) for fact in facts),
        fading_total=fading_total,
        warnings=tuple(NewWarning(rule=rule, since=since) for rule, since in rules),
        warnings_total=warnings_total,
        bursts=tuple(bursts),
        bursts_total=bursts_total,
        at=now,
        line=line,
        dead_letters=dead_letters,
        proposals=proposals,
        jobs=jobs,
        expiring=tuple(expiring),
        expiring_total=expiring_total,
        quarantined=tuple(quarantined),
        quarantined_total=quarantined_total,
    )


def _fades_at(resources: Resources, fact: Fact) -> datetime | None:
    since = anchor(fact.created_at, fact.last_confirmed_at)
    threshold = resources.settings.lifecycle_of(fact.source_butler).decay.fading_below
    return falls_below(threshold, fact.confidence, fact.decay_rate, since)
