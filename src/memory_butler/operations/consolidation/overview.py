"""Overview of consolidation: backlog, open claims and proposals, dead letters, and cost per day."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import UUID

from memory_butler.models import Caller
from memory_butler.operations.lifecycle.job_status import CONSOLIDATION, job_statuses
from memory_butler.resources import Resources, on_replica
from memory_butler.store.consolidation import runs as runs_store
from memory_butler.store.gate.database import Row
from memory_butler.store.lifecycle import job_runs, sweep
from memory_butler.store.system import alerts

DAYS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class ButlerBacklog:
    """Pending episodes of one butler: `waiting` are ready now, `later` wait for a retry."""

    butler: str
    waiting: int
    later: int
    oldest: datetime | None
    next_run: datetime | None
    is_due: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DailyCost:
    """Cost of the runs that began on one day (UTC)."""

    day: datetime
    runs: int = 0
    tokens: int = 0
    dollars: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationOverview:
    """`works_by_itself` is true if a distiller runs automatically; `days` ends with today."""

    distiller: str
    works_by_itself: bool
    butlers: tuple[str, ...]
    backlogs: tuple[ButlerBacklog, ...]
    claimed: int
    proposals: int
    dead_letters: int
    days: tuple[DailyCost, ...]
    daily_tokens: int | None
    daily_dollars: float | None

    @property
    def waiting(self) -> int:
        return sum(one.waiting + one.later for one in self.backlogs)

    @property
    def oldest(self) -> datetime | None:
        return min((one.oldest for one in self.backlogs if one.oldest), default=None)

    @property
    def next_run(self) -> datetime | None:
        """Time of the next scheduled run of a butler with a backlog, or of any butler if there is no backlog."""
        waiting = [one.next_run for one in self.backlogs if one.next_run and (one.waiting or one.later)]
        return min(waiting or [one.next_run for one in self.backlogs if one.next_run], default=None)

    @property
    def is_due(self) -> bool:
        """True if a butler with a backlog is due."""
        return any(one.is_due and one.waiting for one in self.backlogs)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcomes:
    """Number of items of one run per outcome; `undone` is true if any of it was undone."""

    outcomes: dict[str, int] = field(default_factory=dict)
    undone: bool = False


@on_replica
async def overview(resources: Resources, caller: Caller | None = None) -> ConsolidationOverview:
    """Returns the overview of a tenant."""
    caller = resources.allowed(caller, "runs")
    settings, now = resources.settings.consolidation, resources.clock()
    first = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=DAYS - 1)
    intervals = {CONSOLIDATION: resources.settings.upkeep.intervals()[CONSOLIDATION]}
    async with resources.database.read(caller.principal.tenant) as transaction:
        names = await sweep.butlers(transaction)
        waiting = {row["butler"]: row for row in await runs_store.backlog(transaction, now)}
        next_runs = {
            one.butler: one.next_run
            for one in job_statuses(await job_runs.histories(transaction, [*intervals]), intervals, now)
        }
        claimed = await runs_store.under_way(transaction)
        dead_letters, proposals = await alerts.dead_letters(transaction), await alerts.proposals(transaction)
        spent = {row["day"]: row for row in await runs_store.spent_by_day(transaction, first)}
    return ConsolidationOverview(
        distiller=resources.distiller.name if resources.distiller else settings.distiller,
        works_by_itself=resources.distiller is not None,
        butlers=tuple(names),
        backlogs=tuple(
            _backlog(name, waiting.get(name), next_runs.get(name), now) for name in sorted({*names, *waiting})
        ),
        claimed=claimed,
        proposals=proposals.count,
        dead_letters=dead_letters.count,
        days=tuple(_day(day, spent.get(day)) for day in (first + timedelta(days=number) for number in range(DAYS))),
        daily_tokens=settings.daily_tokens,
        daily_dollars=settings.daily_dollars,
    )


@on_replica
async def run_outcomes(
    resources: Resources, runs: Sequence[UUID], caller: Caller | None = None
) -> dict[UUID, RunOutcomes]:
    """Returns the outcomes of some runs by run id."""
    caller = resources.allowed(caller, "runs")
    async with resources.database.read(caller.principal.tenant) as transaction:
        rows = await runs_store.outcomes_of(transaction, runs)
        undone = await runs_store.undone_of(transaction, runs)
    outcomes: dict[UUID, dict[str, int]] = {run: {} for run in runs}
    for row in rows:
        outcomes[row["run"]][row["outcome"]] = row["items"]
    return {run: RunOutcomes(outcomes=outcomes[run], undone=run in undone) for run in runs}


def _backlog(name: str, row: Row | None, next_run: datetime | None, now: datetime) -> ButlerBacklog:
    return ButlerBacklog(
        butler=name,
        waiting=row["waiting"] if row else 0,
        later=row["later"] if row else 0,
        oldest=row["oldest"] if row else None,
        next_run=next_run,
        is_due=next_run is not None and next_run <= now,
    )


def _day(day: datetime, row: Row | None) -> DailyCost:
    if row is None:
        return DailyCost(day=day)
    return DailyCost(day=day, runs=row["runs"], tokens=row["tokens"], dollars=row["cost_microdollars"] / 1e6)
