"""Upkeep's books: what is due for which shard, what ran, and how it stands."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from memory_butler.butler import Butler
from memory_butler.errors import PermissionDenied
from memory_butler.models import Caller, Principal, Role
from memory_butler.models.listings import Page
from memory_butler.operations.browse import MOST, USUAL
from memory_butler.operations.cursors import Cursors, cut
from memory_butler.operations.distilling_job import pressing
from memory_butler.policy import schedule
from memory_butler.policy.admission import slug, whole_number
from memory_butler.policy.roles import check_role
from memory_butler.policy.schedule import History, Standing
from memory_butler.store import job_runs
from memory_butler.store.database import Row, Session

Cadences = Mapping[str, timedelta]
SUCCEEDED, FAILED = "succeeded", "failed"
CONSOLIDATION, CLEANUP = "consolidation", "cleanup"
# What a cleanup notes: the embedding version under which it left the tenant's index.
INDEXED_UNDER = "embedding_version"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStanding:
    """How one job stands for one butler."""

    job: str
    butler: str
    status: Standing
    last_run: datetime | None
    outcome: str | None
    seconds: float | None
    next_run: datetime
    overdue_seconds: float | None
    failures: int
    report: dict[str, Any] = field(default_factory=dict)

    @property
    def note(self) -> str | None:
        """What the last run has to say: why it failed, or why it did less than its name promises."""
        said = self.report.get("error") or self.report.get("note")
        return str(said) if said else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Worst:
    """The jobs that most need a look, the worst first; how many there are in all, and how many are not well."""

    jobs: tuple[JobStanding, ...] = ()
    total: int = 0
    unwell: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LateJob:
    """A job that is late in one way: for how many butlers, and the first of them."""

    job: str
    status: Standing
    first: str
    butlers: int

    @property
    def butler(self) -> str:
        """Whose it is: a name, or how many there are to be named."""
        return self.first if self.butlers == 1 else f"{self.butlers:,} butlers"


def shard_of(tenant: str, butler: str) -> Caller:
    """Upkeep acts for a butler with an administrator's rights, inside one tenant."""
    return Caller(Principal(tenant, butler, Role.ADMIN))


def shard_for(caller: Caller, butler: str) -> Caller:
    """The same on behalf of a person, who is named with what is changed."""
    who = caller.principal
    return Caller(Principal(who.tenant, butler, Role.ADMIN, name=who.name), caller.lineage)


async def tenants(butler: Butler) -> list[str]:
    """Whose stores there are."""
    async with butler.database.aside() as session:
        return await job_runs.tenants(session)


async def due(butler: Butler, tenant: str, cadences: Cadences) -> list[tuple[str, str]]:
    """The butlers of a tenant and the jobs that should run for them now."""
    now = butler.clock()
    async with butler.database.aside(tenant) as session:
        rows = await job_runs.histories(session, list(cadences))
        pressed = await pressing(butler, session, now) if CONSOLIDATION in cadences else set()
    behind = _behind(butler, _latest_cleanup(rows))
    return [
        (row["butler"], row["job"])
        for row in rows
        if schedule.is_due(_history(row), cadences[row["job"]], now, pressing=_presses(row, pressed, behind))
    ]


async def begin(butler: Butler, shard: Caller, job: str, every: timedelta) -> UUID | None:
    """Open the record of a run; None if there is nothing to do. To be called by whoever has the shard's turn: a run
    that is still open then belongs to a worker that is gone."""
    now, name = butler.clock(), shard.principal.butler
    async with butler.database.aside(shard.principal.tenant) as session:
        await job_runs.close_lost(session, name, now)
        found = await job_runs.histories(session, [job], name)
        pressed = await pressing(butler, session, now, name) if job == CONSOLIDATION else set()
        if not found:
            return None
        presses = _presses(found[0], pressed, _behind(butler, _latest_cleanup(found)))
        if not schedule.is_due(_history(found[0]), every, now, pressing=presses):
            return None
        run = butler.make_id(now)
        await job_runs.start(session, run, name, job, now)
    return run


async def finish(butler: Butler, shard: Caller, run: UUID, outcome: str, report: dict[str, Any]) -> bool:
    """Close the record of a run. False: it took so long that another worker has taken over."""
    async with butler.database.aside(shard.principal.tenant) as session:
        return await job_runs.finish(session, run, outcome, report, butler.clock()) is not None


async def put_on_record(butler: Butler, shard: Caller, job: str, started_at: datetime, report: dict[str, Any]) -> None:
    """Write down a run that a person made by hand, so that nobody takes the job for overdue."""
    now = butler.clock()
    async with butler.database.aside(shard.principal.tenant) as session:
        await job_runs.put_on_record(
            session,
            id=butler.make_id(now),
            job=job,
            butler=shard.principal.butler,
            started_at=started_at,
            now=now,
            report=report,
        )


async def standings(butler: Butler, caller: Caller | None = None) -> tuple[JobStanding, ...]:
    """How every job stands, butler by butler."""
    caller = caller or butler.local_caller()
    if not caller.principal.role.governs:
        raise PermissionDenied("Only an administrator may see the jobs of every butler.")
    cadences = butler.settings.upkeep.cadences()
    async with butler.database.read(caller.principal.tenant) as session:
        rows = await job_runs.histories(session, list(cadences))
    return stand(rows, cadences, butler.clock())


async def worst(butler: Butler, caller: Caller | None = None, *, limit: int = USUAL) -> Worst:
    """Those that somebody should look at before the others, however many butlers there are."""
    caller = caller or butler.local_caller()
    check_role(caller.principal, "jobs")
    most, cadences, now = whole_number(limit, "limit", 1, MOST), butler.settings.upkeep.cadences(), butler.clock()
    async with butler.database.read(caller.principal.tenant) as session:
        rows = await job_runs.worst(session, most, **_judged_by(cadences, now))
    if not rows:
        return Worst()
    return Worst(jobs=stand(rows, cadences, now), total=rows[0]["total"], unwell=rows[0]["unwell"])


async def late(session: Session, cadences: Cadences, now: datetime) -> tuple[LateJob, ...]:
    """What is late or fails, job by job: a few lines, however many butlers there are."""
    return tuple(
        LateJob(job=row["job"], status=Standing(row["standing"]), first=row["first"], butlers=row["butlers"])
        for row in await job_runs.late(session, **_judged_by(cadences, now))
    )


def _judged_by(cadences: Cadences, now: datetime) -> dict[str, Any]:
    """What the store has to know to say how a job stands."""
    return {
        "jobs": list(cadences),
        "every_seconds": [every.total_seconds() for every in cadences.values()],
        "now": now,
        "grace": schedule.GRACE,
        "first_retry": schedule.FIRST_RETRY,
        "worst_first": [str(one) for one in reversed(Standing)],
    }


async def listed(
    butler: Butler,
    caller: Caller | None = None,
    *,
    only_butler: str | None = None,
    limit: int = USUAL,
    cursor: str | None = None,
) -> Page[JobStanding]:
    """The same, a page at a time."""
    caller = caller or butler.local_caller()
    check_role(caller.principal, "jobs")
    most, whose = whole_number(limit, "limit", 1, MOST), None if only_butler is None else slug(only_butler, "butler")
    cadences = butler.settings.upkeep.cadences()
    jobs, cursors = list(cadences), Cursors(f"jobs of {whose}", caller.principal.tenant)
    after = cursors.read(cursor, lambda name: slug(name, "butler"), lambda job: jobs.index(job) + 1)
    async with butler.database.read(caller.principal.tenant) as session:
        found = await job_runs.histories(session, jobs, whose, after=after, limit=most + 1)
    return cut(stand(found, cadences, butler.clock()), most, cursors, lambda one: [one.butler, one.job])


def _presses(row: Row, pressed: set[str], behind: str | None) -> bool:
    """What has waited too long to be distilled; and a cleanup, where the tenant's index is behind."""
    name: str = row["butler"]
    return name == behind if row["job"] == CLEANUP else row["job"] == CONSOLIDATION and name in pressed


def _latest_cleanup(rows: Iterable[Row]) -> Row | None:
    """The one that says how a tenant's index stands: each cleanup brings all of it up to date. One that has failed says
    nothing, and is tried again anyway."""
    ran = [row for row in rows if row["job"] == CLEANUP and row["started_at"] and row["outcome"] != FAILED]
    return max(ran, key=lambda row: (row["started_at"], row["butler"]), default=None)


def _behind(butler: Butler, latest: Row | None) -> str | None:
    """The butler whose cleanup should come early, because the tenant was last indexed under another embedding version
    and is not found by meaning. The record says it, whichever models were in use in between; the passages themselves
    are too many to be asked every minute. Nothing that ran since this process was opened counts: of two processes that
    differ for good, each has its way once, and not every minute."""
    if latest is None or latest["outcome"] is None or latest["started_at"] >= butler.opened_at:
        return None
    name: str = latest["butler"]
    return name if latest["report"].get(INDEXED_UNDER) != butler.embedding_version else None


def _history(row: Row) -> History:
    return History(
        since=row["since"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
        outcome=row["outcome"],
        cut_short=bool((row["report"] or {}).get("cut_short")),
        failures=row["failures"],
    )


async def standings_in_short(butler: Butler, caller: Caller | None = None) -> dict[str, dict[str, Any]]:
    """How every job stands, over all butlers."""
    return in_short(await standings(butler, caller), butler.settings.upkeep.cadences())


def stand(rows: Iterable[Row], cadences: Cadences, now: datetime) -> tuple[JobStanding, ...]:
    """What the rows of the record mean at this moment."""
    return tuple(_stand(row, cadences[row["job"]], now) for row in rows)


def _stand(row: Row, every: timedelta, now: datetime) -> JobStanding:
    history = _history(row)
    started, finished = history.started_at, history.finished_at
    overdue = schedule.overdue_by(history, every, now)
    return JobStanding(
        job=row["job"],
        butler=row["butler"],
        status=schedule.standing(history, every, now),
        last_run=started,
        outcome=(history.outcome or "running") if started else None,
        seconds=(finished - started).total_seconds() if started and finished else None,
        next_run=schedule.due_at(history, every),
        overdue_seconds=overdue.total_seconds() if overdue else None,
        failures=history.failures,
        report=row["report"] or {},
    )


def in_short(found: Iterable[JobStanding], cadences: Cadences) -> dict[str, dict[str, Any]]:
    """One entry per job over all butlers: the latest run, the next one, and the worst standing of any."""
    by_job: dict[str, list[JobStanding]] = {job: [] for job in cadences}
    for one in found:
        by_job[one.job].append(one)
    return {job: _in_short(standing) for job, standing in by_job.items()}


def _in_short(found: list[JobStanding]) -> dict[str, Any]:
    ran = [one for one in found if one.last_run]
    latest = max(ran, key=lambda one: (one.last_run, one.butler), default=None)
    worst = schedule.worst(one.status for one in found)
    late = [one.overdue_seconds for one in found if one.overdue_seconds]
    short: dict[str, Any] = {"last_run": "never"}
    if latest and latest.last_run:
        short = {"last_run": latest.last_run.isoformat(), "outcome": latest.outcome}
    short["status"] = str(worst)
    if found:
        short["next_run"] = min(one.next_run for one in found).isoformat()
    if late:
        short["overdue_hours"] = round(max(late) / 3600, 1)
    notes = [one.note for one in found if one.status is worst and one.note]
    if notes:
        short["note"] = notes[0]
    return short
