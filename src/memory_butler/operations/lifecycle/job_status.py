"""Job status: due jobs, recorded runs, and the state of every job."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from memory_butler.metrics import reembedding, service_levels, upkeep
from memory_butler.models import Caller, Principal, Role
from memory_butler.models.listings import Page
from memory_butler.operations.browse.cursors import Cursors, cut_page
from memory_butler.operations.browse.listings import DEFAULT_LIMIT, MAX_LIMIT
from memory_butler.operations.consolidation.shard_job import early_age, urgent_butlers
from memory_butler.policy.lifecycle import schedule
from memory_butler.policy.lifecycle.schedule import JobState, RunHistory
from memory_butler.policy.memories.validation import slug, whole_number
from memory_butler.resources import Resources, on_replica
from memory_butler.store.gate.database import Row, Transaction
from memory_butler.store.history import days
from memory_butler.store.lifecycle import job_runs
from memory_butler.store.memories.episodes import NEAR_EXPIRY
from memory_butler.store.retrieval import embedding_versions
from memory_butler.store.system import fleet

Intervals = Mapping[str, timedelta]
SUCCEEDED, FAILED = "succeeded", "failed"
CONSOLIDATION, SWEEP, CLEANUP = "consolidation", "sweep", "cleanup"
# Uncounted events that make a cleanup urgent. Up to twice as many are counted by a read.
URGENT_TAIL = days.TAIL // 2


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStatus:
    """Status of one job for one butler."""

    job: str
    butler: str
    status: JobState
    last_run: datetime | None
    outcome: str | None
    seconds: float | None
    next_run: datetime
    overdue_seconds: float | None
    failures: int
    report: dict[str, Any] = field(default_factory=dict)

    @property
    def note(self) -> str | None:
        """Message of the last run: its error, or why it did less than usual."""
        message = self.report.get("error") or self.report.get("note")
        return str(message) if message else None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstJobs:
    """The jobs in the worst state, the worst first; the total number, and the number of jobs that are not ok."""

    jobs: tuple[JobStatus, ...] = ()
    total: int = 0
    unwell: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LateJob:
    """A late job: the number of butlers concerned, and the first of them."""

    job: str
    status: JobState
    first: str
    butlers: int

    @property
    def butler(self) -> str:
        """The name of the butler, or the number of butlers."""
        return self.first if self.butlers == 1 else f"{self.butlers:,} butlers"


@dataclass(frozen=True, slots=True)
class OpenRun:
    """A run that has begun: when it was due, and whether the job had failed since its last success."""

    id: UUID
    job: str
    due_at: datetime
    is_retry: bool


def shard_of(tenant: str, butler: str) -> Caller:
    """Caller for jobs of a butler, with the permissions of an administrator of one tenant."""
    return Caller(Principal(tenant, butler, Role.ADMIN))


def shard_for(caller: Caller, butler: str) -> Caller:
    """The same on behalf of a user, whom the events name."""
    who = caller.principal
    return Caller(Principal(who.tenant, butler, Role.ADMIN, name=who.name), caller.lineage)


async def tenants(resources: Resources) -> list[str]:
    async with resources.database.unlocked_write() as transaction:
        return await job_runs.tenants(transaction)


async def with_due_jobs(resources: Resources, names: Sequence[str], intervals: Intervals) -> list[str]:
    """Those of some tenants that may have a job due: `due` says which."""
    now, rules = resources.clock(), resources.settings.consolidation
    waits = early_age(resources.settings)
    distils = resources.distiller is not None and CONSOLIDATION in intervals
    async with resources.database.unlocked_write() as transaction:
        found = await fleet.with_due_jobs(
            transaction,
            names,
            jobs=list(intervals),
            every_seconds=[every.total_seconds() for every in intervals.values()],
            now=now,
            version=resources.embedding_version,
            early_from=rules.early_from if distils else None,
            early_importance=rules.early_importance if distils else None,
            expires_by=now + NEAR_EXPIRY if distils else None,
            waiting_since=now - waits if distils and waits else None,
            uncounted=URGENT_TAIL,
        )
    # The others have nothing to embed again, either.
    for name in set(names) - set(found):
        resources.known_versions.behind.pop(name, None)
    reembedding.BEHIND.set(sum(resources.known_versions.behind.values()))
    return found


async def due(resources: Resources, tenant: str, intervals: Intervals) -> list[tuple[str, str]]:
    """The butlers of a tenant and the jobs that should run for them now."""
    now = resources.clock()
    async with resources.database.unlocked_write(tenant) as transaction:
        rows = await job_runs.histories(transaction, list(intervals))
        urgent = await urgent_butlers(resources, transaction, now) if CONSOLIDATION in intervals else {}
        behind = await _behind(resources, transaction, rows)
    return [
        (row["butler"], row["job"])
        for row in rows
        if schedule.is_due(_history(row), intervals[row["job"]], now, pressing=_is_urgent(row, urgent, behind))
    ]


async def begin(resources: Resources, shard: Caller, job: str, every: timedelta) -> OpenRun | None:
    """Open the record of a run; None if it is not due. The caller must hold the shard's lock: a run that is still open
    then belongs to a dead worker."""
    now, name = resources.clock(), shard.principal.butler
    async with resources.database.unlocked_write(shard.principal.tenant) as transaction:
        await job_runs.close_lost(transaction, name, now)
        found = await job_runs.histories(transaction, [job], name)
        urgent = await urgent_butlers(resources, transaction, now, name) if job == CONSOLIDATION else {}
        if not found:
            return None
        history = _history(found[0])
        is_urgent = _is_urgent(found[0], urgent, await _behind(resources, transaction, found))
        if not schedule.is_due(history, every, now, pressing=is_urgent):
            return None
        run = resources.make_id(now)
        await job_runs.start(transaction, run, name, job, now)
    due_at = schedule.due_at(history, every)
    upkeep.LAG.labels(job).observe(max(now - due_at, timedelta(0)).total_seconds())
    return OpenRun(run, job, due_at, history.failures > 0)


async def finish(resources: Resources, shard: Caller, run: OpenRun, outcome: str, report: dict[str, Any]) -> bool:
    """Close the record of a run. False: it took so long that another worker has taken over."""
    now = resources.clock()
    async with resources.database.unlocked_write(shard.principal.tenant) as transaction:
        closed = await job_runs.finish(transaction, run.id, outcome, report, now) is not None
    # A failed sweep misses its objective once, however often it is retried.
    if closed and run.job == SWEEP and not run.is_retry:
        took = max(now - run.due_at, timedelta(0)).total_seconds() if outcome == SUCCEEDED else float("inf")
        service_levels.MEASURED.value(service_levels.SWEEP, took)
    return closed


async def put_on_record(
    resources: Resources, shard: Caller, job: str, started_at: datetime, report: dict[str, Any]
) -> None:
    """Record a run that a user started by hand, so that the job does not count as overdue."""
    now = resources.clock()
    async with resources.database.unlocked_write(shard.principal.tenant) as transaction:
        await job_runs.put_on_record(
            transaction,
            id=resources.make_id(now),
            job=job,
            butler=shard.principal.butler,
            started_at=started_at,
            now=now,
            report=report,
        )


@on_replica
async def statuses(resources: Resources, caller: Caller | None = None) -> tuple[JobStatus, ...]:
    """Status of every job of every butler."""
    caller = resources.admin(caller, "see the jobs of every butler")
    intervals = resources.settings.upkeep.intervals()
    async with resources.database.read(caller.principal.tenant) as transaction:
        rows = await job_runs.histories(transaction, list(intervals))
    return job_statuses(rows, intervals, resources.clock())


@on_replica
async def worst(resources: Resources, caller: Caller | None = None, *, limit: int = DEFAULT_LIMIT) -> WorstJobs:
    """The jobs in the worst state, at most `limit`."""
    caller = resources.allowed(caller, "jobs")
    most, intervals, now = (
        whole_number(limit, "limit", 1, MAX_LIMIT),
        resources.settings.upkeep.intervals(),
        resources.clock(),
    )
    async with resources.database.read(caller.principal.tenant) as transaction:
        rows = await job_runs.worst(transaction, most, **_state_parameters(intervals, now))
    if not rows:
        return WorstJobs()
    return WorstJobs(jobs=job_statuses(rows, intervals, now), total=rows[0]["total"], unwell=rows[0]["unwell"])


async def late(transaction: Transaction, intervals: Intervals, now: datetime) -> tuple[LateJob, ...]:
    """Late and failing jobs, grouped by job and state."""
    return tuple(
        LateJob(job=row["job"], status=JobState(row["standing"]), first=row["first"], butlers=row["butlers"])
        for row in await job_runs.late(transaction, **_state_parameters(intervals, now))
    )


def _state_parameters(intervals: Intervals, now: datetime) -> dict[str, Any]:
    """Parameters from which the store computes the state of a job."""
    return {
        "jobs": list(intervals),
        "every_seconds": [every.total_seconds() for every in intervals.values()],
        "now": now,
        "grace": schedule.GRACE,
        "first_retry": schedule.FIRST_RETRY,
        "worst_first": [str(one) for one in reversed(JobState)],
    }


@on_replica
async def listed(
    resources: Resources,
    caller: Caller | None = None,
    *,
    only_butler: str | None = None,
    limit: int = DEFAULT_LIMIT,
    cursor: str | None = None,
) -> Page[JobStatus]:
    """A page of job statuses."""
    caller = resources.allowed(caller, "jobs")
    most, whose = (
        whole_number(limit, "limit", 1, MAX_LIMIT),
        None if only_butler is None else slug(only_butler, "butler"),
    )
    intervals = resources.settings.upkeep.intervals()
    jobs, cursors = list(intervals), Cursors(f"jobs of {whose}", caller.principal.tenant)
    after = cursors.decode(cursor, lambda name: slug(name, "butler"), lambda job: jobs.index(job) + 1)
    async with resources.database.read(caller.principal.tenant) as transaction:
        found = await job_runs.histories(transaction, jobs, whose, after=after, limit=most + 1)
    return cut_page(job_statuses(found, intervals, resources.clock()), most, cursors, lambda one: [one.butler, one.job])


def _is_urgent(row: Row, urgent: Mapping[str, datetime], behind: str | None) -> bool:
    """True if a job is urgent: a consolidation with an urgent backlog, or the cleanup of an behind index or
    projection."""
    name: str = row["butler"]
    if row["job"] == CLEANUP:
        return name == behind
    since = urgent.get(name) if row["job"] == CONSOLIDATION else None
    return since is not None and (row["started_at"] is None or row["started_at"] < since)


async def _behind(resources: Resources, transaction: Transaction, rows: Sequence[Row]) -> str | None:
    """The butler whose cleanup is urgent, because it works for the whole tenant: memories have vectors of an earlier
    model, or many events are not counted yet."""
    first = next((row["butler"] for row in rows if row["job"] == CLEANUP), None)
    if first is None:
        return None
    standing = await embedding_versions.standing(transaction, resources.embedding_version)
    behind = resources.known_versions.behind
    behind[transaction.tenant] = standing.earlier if standing.is_chosen else 0
    reembedding.BEHIND.set(sum(behind.values()))
    if standing.is_due or (await days.place(transaction)).uncounted >= URGENT_TAIL:
        return str(first)
    return None


def _history(row: Row) -> RunHistory:
    return RunHistory(
        since=row["since"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
        outcome=row["outcome"],
        cut_short=bool((row["report"] or {}).get("cut_short")),
        failures=row["failures"],
    )


async def status_summary(resources: Resources, caller: Caller | None = None) -> dict[str, dict[str, Any]]:
    """Summary of every job over all butlers."""
    return summarize(await statuses(resources, caller), resources.settings.upkeep.intervals())


def job_statuses(rows: Iterable[Row], intervals: Intervals, now: datetime) -> tuple[JobStatus, ...]:
    """Converts rows of the job record to statuses."""
    return tuple(_job_status(row, intervals[row["job"]], now) for row in rows)


def _job_status(row: Row, every: timedelta, now: datetime) -> JobStatus:
    history = _history(row)
    started, finished = history.started_at, history.finished_at
    overdue = schedule.overdue_by(history, every, now)
    return JobStatus(
        job=row["job"],
        butler=row["butler"],
        status=schedule.job_state(history, every, now),
        last_run=started,
        outcome=(history.outcome or "running") if started else None,
        seconds=(finished - started).total_seconds() if started and finished else None,
        next_run=schedule.due_at(history, every),
        overdue_seconds=overdue.total_seconds() if overdue else None,
        failures=history.failures,
        report=row["report"] or {},
    )


def summarize(found: Iterable[JobStatus], intervals: Intervals) -> dict[str, dict[str, Any]]:
    """One entry per job over all butlers: the latest run, the next one, and the worst state of any."""
    by_job: dict[str, list[JobStatus]] = {job: [] for job in intervals}
    for one in found:
        by_job[one.job].append(one)
    return {job: _summary(statuses) for job, statuses in by_job.items()}


def _summary(found: list[JobStatus]) -> dict[str, Any]:
    ran = [one for one in found if one.last_run]
    latest = max(ran, key=lambda one: (one.last_run, one.butler), default=None)
    worst = schedule.worst(one.status for one in found)
    late = [one.overdue_seconds for one in found if one.overdue_seconds]
    summary: dict[str, Any] = {"last_run": "never"}
    if latest and latest.last_run:
        summary = {"last_run": latest.last_run.isoformat(), "outcome": latest.outcome}
    summary["status"] = str(worst)
    if found:
        summary["next_run"] = min(one.next_run for one in found).isoformat()
    if late:
        summary["overdue_hours"] = round(max(late) / 3600, 1)
    notes = [one.note for one in found if one.status is worst and one.note]
    if notes:
        summary["note"] = notes[0]
    return summary
