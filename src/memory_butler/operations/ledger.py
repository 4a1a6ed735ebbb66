"""The ledger of consolidation: what waits and for how long, what is open, and what it costs, day by day."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import UUID

from memory_butler.butler import Butler
from memory_butler.models import Caller
from memory_butler.operations.upkeep import CONSOLIDATION, stand
from memory_butler.policy.roles import check_role
from memory_butler.store import attention, consolidation, job_runs, sweep
from memory_butler.store.database import Row

DAYS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """What waits of one butler: now, and for another try after a failure."""

    butler: str
    waiting: int
    later: int
    oldest: datetime | None
    next_run: datetime | None
    is_due: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """What the runs that began on one day, in UTC, have cost."""

    day: datetime
    runs: int = 0
    tokens: int = 0
    dollars: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """`works_by_itself` says whether anybody distils without being asked; `days` ends with today."""

    distiller: str
    works_by_itself: bool
    butlers: tuple[str, ...]
    backlogs: tuple[Backlog, ...]
    claimed: int
    proposals: int
    dead_letters: int
    days: tuple[Day, ...]
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
        """When somebody's turn comes next, of those who have something that waits or else of all."""
        waiting = [one.next_run for one in self.backlogs if one.next_run and (one.waiting or one.later)]
        return min(waiting or [one.next_run for one in self.backlogs if one.next_run], default=None)

    @property
    def is_due(self) -> bool:
        """Whether somebody's turn has come who has something that waits."""
        return any(one.is_due and one.waiting for one in self.backlogs)


@dataclass(frozen=True, slots=True, kw_only=True)
class CameTo:
    """What one run came to: how many items have which outcome, and whether something of it was taken back."""

    outcomes: dict[str, int] = field(default_factory=dict)
    undone: bool = False


async def ledger(butler: Butler, caller: Caller | None = None) -> Ledger:
    """How consolidation stands in a tenant."""
    caller = caller or butler.local_caller()
    check_role(caller.principal, "runs")
    settings, now = butler.settings.consolidation, butler.clock()
    first = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=DAYS - 1)
    cadences = {CONSOLIDATION: butler.settings.upkeep.cadences()[CONSOLIDATION]}
    async with butler.database.read(caller.principal.tenant) as session:
        names = await sweep.butlers(session)
        waiting = {row["butler"]: row for row in await consolidation.backlog(session, now)}
        turns = {
            one.butler: one.next_run for one in stand(await job_runs.histories(session, [*cadences]), cadences, now)
        }
        claimed = await consolidation.under_way(session)
        given_up, proposals = await attention.given_up(session), await attention.proposals(session)
        spent = {row["day"]: row for row in await consolidation.spent_by_day(session, first)}
    return Ledger(
        distiller=butler.distiller.name if butler.distiller else settings.distiller,
        works_by_itself=butler.distiller is not None,
        butlers=tuple(names),
        backlogs=tuple(_backlog(name, waiting.get(name), turns.get(name), now) for name in sorted({*names, *waiting})),
        claimed=claimed,
        proposals=proposals.count,
        dead_letters=given_up.count,
        days=tuple(_day(day, spent.get(day)) for day in (first + timedelta(days=number) for number in range(DAYS))),
        daily_tokens=settings.daily_tokens,
        daily_dollars=settings.daily_dollars,
    )


async def came_to(butler: Butler, runs: Sequence[UUID], caller: Caller | None = None) -> dict[UUID, CameTo]:
    """What some runs came to, in figures."""
    caller = caller or butler.local_caller()
    check_role(caller.principal, "runs")
    async with butler.database.read(caller.principal.tenant) as session:
        rows = await consolidation.outcomes_of(session, runs)
        undone = await consolidation.undone_of(session, runs)
    outcomes: dict[UUID, dict[str, int]] = {run: {} for run in runs}
    for row in rows:
        outcomes[row["run"]][row["outcome"]] = row["items"]
    return {run: CameTo(outcomes=outcomes[run], undone=run in undone) for run in runs}


def _backlog(name: str, row: Row | None, next_run: datetime | None, now: datetime) -> Backlog:
    return Backlog(
        butler=name,
        waiting=row["waiting"] if row else 0,
        later=row["later"] if row else 0,
        oldest=row["oldest"] if row else None,
        next_run=next_run,
        is_due=next_run is not None and next_run <= now,
    )


def _day(day: datetime, row: Row | None) -> Day:
    if row is None:
        return Day(day=day)
    return Day(day=day, runs=row["runs"], tokens=row["tokens"], dollars=row["cost_microdollars"] / 1e6)
