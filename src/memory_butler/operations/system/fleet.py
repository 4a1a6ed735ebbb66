"""The fleet: the state of upkeep over all tenants, taken by one worker every few minutes and kept for every process.

It names tenants and butlers whose jobs are in a bad state, and nothing of what they store.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from memory_butler.metrics import service_levels
from memory_butler.models.wire.codec import decode, encode
from memory_butler.operations.lifecycle import job_status
from memory_butler.operations.system import objectives
from memory_butler.policy.lifecycle import schedule
from memory_butler.policy.lifecycle.schedule import JobState, RunHistory
from memory_butler.policy.system.objectives import percentile
from memory_butler.resources import Resources
from memory_butler.settings import Settings
from memory_butler.store.gate.database import Database, Row
from memory_butler.store.system import fleet as store

# Shards of a bad state that a sample names, for each job.
NAMED = 5
# Pause between two parts of the tenants: the process has calls to answer.
PAUSE_SECONDS = 0.02
# A sample this many intervals old means that no worker runs.
STALE_AFTER = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFigures:
    """One job over all shards: shards by state, the first and the last success of the shards' latest ones, the longest
    delay, and the worst shards as `tenant/butler`. Without a success yet, `first_success` is when a shard began."""

    states: dict[str, int]
    first_success: datetime | None
    last_success: datetime | None
    overdue_seconds: float
    worst: tuple[str, ...]

    @property
    def state(self) -> JobState:
        """The worst state of any shard. A new shard whose first run is not late yet is ok."""
        found = {JobState(name) for name, count in self.states.items() if count}
        if found and not self.overdue_seconds:
            found = found - {JobState.NEVER} or {JobState.OK}
        return schedule.worst(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """Episodes that wait for consolidation, the butlers that have some, and the age of their oldest in seconds."""

    episodes: int = 0
    shards: int = 0
    median_age: float = 0
    p95_age: float = 0
    oldest_age: float = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """Connections and size of the database, its tables, and the bloat of the worst vector index."""

    connections: int = 0
    max_connections: int = 0
    bytes: int = 0
    index_bloat: float | None = None
    tables: dict[str, dict[str, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """Jobs in the queue by job and status, since when the oldest waits, and the number of workers."""

    jobs: dict[str, dict[str, int]] = field(default_factory=dict)
    oldest: datetime | None = None
    workers: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """The state of all tenants at a time."""

    taken_at: datetime
    seconds: float
    tenants: int
    shards: int
    jobs: dict[str, JobFigures]
    backlog: Backlog
    memories: dict[str, dict[str, int]]
    dead_letters: int
    proposals: int
    quarantined: int
    queue: Queue
    server: Server

    @property
    def state(self) -> JobState:
        return schedule.worst(one.state for one in self.jobs.values())


async def latest(resources: Resources) -> Fleet | None:
    """The newest sample; None if no worker has taken one yet."""
    return await latest_in(resources.database)


async def latest_in(database: Database) -> Fleet | None:
    """The newest sample in a database."""
    # It does not start an embedded database that the user has stopped, as a read would.
    async with database.unlocked_write() as transaction:
        row = await store.kept(transaction)
    return decode(Fleet, row["figures"]) if row else None


async def upkeep_summary(resources: Resources) -> dict[str, Any]:
    """The state of the jobs of all tenants in short: `status`, the state of each job, and the worst butlers."""
    found = await latest(resources)
    state, detail = judge(resources.settings, found, resources.clock())
    summary: dict[str, Any] = {"status": str(state)}
    if detail:
        summary["detail"] = detail
    if found:
        summary |= {"sampled_at": found.taken_at.isoformat(), "tenants": found.tenants}
        summary["jobs"] = {
            job: encode(found.jobs[job]) for job in resources.settings.upkeep.intervals() if job in found.jobs
        }
    return summary


def judge(settings: Settings, found: Fleet | None, now: datetime) -> tuple[JobState, str | None]:
    """The state of upkeep, and what is wrong with it as a whole."""
    if found is None:
        return JobState.NEVER, "No worker has checked the schedule yet."
    if is_stale(settings, found, now):
        return JobState.OVERDUE, f"No worker has checked the schedule since {found.taken_at:%Y-%m-%d %H:%M} UTC."
    return found.state, None


def is_stale(settings: Settings, fleet: Fleet, now: datetime) -> bool:
    """True if the sample is so old that no worker can be running."""
    return now - fleet.taken_at > STALE_AFTER * timedelta(seconds=settings.telemetry.sample_seconds)


async def take_if_due(resources: Resources) -> Fleet | None:
    """Take a sample, unless another process has taken one or is about to."""
    now = resources.clock()
    every = timedelta(seconds=resources.settings.telemetry.sample_seconds)
    async with resources.database.unlocked_write() as transaction:
        if not await store.claim(transaction, now, now - every):
            return None
    return await take(resources)


async def take(resources: Resources) -> Fleet:
    """Take a sample now and keep it."""
    loop = asyncio.get_running_loop()
    began, now = loop.time(), resources.clock()
    intervals = resources.settings.upkeep.intervals()
    tenants = await job_status.tenants(resources)
    figures = _Figures(intervals, now)
    for part in _parts(tenants):
        async with resources.database.read("") as transaction:
            figures.add_jobs(await store.jobs(transaction, part, list(intervals)))
            figures.add_backlogs(await store.backlogs(transaction, part))
            figures.add_memories(await store.memories(transaction, part))
            figures.stuck.update(await store.stuck(transaction, part))
        await asyncio.sleep(PAUSE_SECONDS)
    queue, server = await _queue(resources), await _server(resources)
    await objectives.drop_old(resources)
    if resources.distiller is not None:
        for age in figures.ages:
            service_levels.MEASURED.value(service_levels.FRESHNESS, age)
    fleet = Fleet(
        taken_at=now,
        seconds=round(loop.time() - began, 3),
        tenants=len(tenants),
        shards=len(figures.shards),
        jobs={job: figures.of_job(job) for job in intervals},
        backlog=figures.backlog(),
        memories={kind: dict(sorted(counts.items())) for kind, counts in sorted(figures.memories.items())},
        dead_letters=figures.stuck["dead_letters"],
        proposals=figures.stuck["proposals"],
        quarantined=figures.stuck["quarantined"],
        queue=queue,
        server=server,
    )
    async with resources.database.unlocked_write() as transaction:
        await store.keep(transaction, now, encode(fleet))
    return fleet


def _parts(tenants: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(tenants), store.CHUNK):
        yield tenants[start : start + store.CHUNK]


class _Figures:
    """Figures of some tenants, added up part by part."""

    def __init__(self, intervals: Mapping[str, timedelta], now: datetime) -> None:
        self._intervals, self._now = intervals, now
        self.shards: set[tuple[str, str]] = set()
        self.ages: list[float] = []
        self._episodes = 0
        self.memories: dict[str, Counter[str]] = defaultdict(Counter)
        self.stuck: Counter[str] = Counter()
        self._states: dict[str, Counter[str]] = {job: Counter() for job in intervals}
        self._successes: dict[str, list[datetime]] = {job: [] for job in intervals}
        self._last: dict[str, datetime] = {}
        self._overdue: dict[str, float] = defaultdict(float)
        self._worst: dict[str, list[tuple[int, float, str]]] = defaultdict(list)

    def add_jobs(self, rows: Sequence[Row]) -> None:
        order = list(JobState)
        for row in rows:
            job, shard = row["job"], (row["tenant"], row["butler"])
            self.shards.add(shard)
            history = _history(row)
            state = schedule.job_state(history, self._intervals[job], self._now)
            late = schedule.overdue_by(history, self._intervals[job], self._now)
            self._states[job][state] += 1
            succeeded = row["succeeded_at"]
            self._successes[job].append(succeeded or row["since"])
            if succeeded:
                self._last[job] = max(succeeded, self._last.get(job, succeeded))
            seconds = late.total_seconds() if late else 0.0
            self._overdue[job] = max(self._overdue[job], seconds)
            if late or state is JobState.FAILING:
                self._worst[job].append((order.index(state), seconds, "/".join(shard)))

    def add_backlogs(self, rows: Sequence[Row]) -> None:
        for row in rows:
            self._episodes += row["episodes"]
            self.ages.append(max(0.0, (self._now - row["oldest"]).total_seconds()))

    def add_memories(self, rows: Sequence[Row]) -> None:
        for row in rows:
            self.memories[row["entity_type"]][row["validity"]] += row["memories"]

    def of_job(self, job: str) -> JobFigures:
        worst = sorted(self._worst[job], key=lambda one: (-one[0], -one[1], one[2]))
        return JobFigures(
            states={str(state): self._states[job][state] for state in JobState},
            first_success=min(self._successes[job], default=None),
            last_success=self._last.get(job),
            overdue_seconds=round(self._overdue[job], 1),
            worst=tuple(name for _, _, name in worst[:NAMED]),
        )

    def backlog(self) -> Backlog:
        return Backlog(
            episodes=self._episodes,
            shards=len(self.ages),
            median_age=round(percentile(self.ages, 0.5), 1),
            p95_age=round(percentile(self.ages, 0.95), 1),
            oldest_age=round(max(self.ages, default=0.0), 1),
        )


def _history(row: Row) -> RunHistory:
    return RunHistory(
        since=row["since"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
        outcome=row["outcome"],
        cut_short=bool(row["cut_short"]),
        failures=row["failures"],
    )


async def _queue(resources: Resources) -> Queue:
    async with resources.database.unlocked_write() as transaction:
        rows, workers = await store.queue(transaction, resources.settings.upkeep.lost_after_seconds)
    jobs: dict[str, dict[str, int]] = {}
    for row in rows:
        jobs.setdefault(row["job"], {})[row["status"]] = row["jobs"]
    oldest = min((row["oldest"] for row in rows if row["oldest"]), default=None)
    return Queue(jobs=jobs, oldest=oldest, workers=workers)


async def _server(resources: Resources) -> Server:
    async with resources.database.read("") as transaction:
        found: dict[str, Any] = await store.server(transaction)
        tables = await store.tables(transaction)
        bloat = await store.index_bloat(transaction)
    return Server(
        **found,
        index_bloat=None if bloat is None else round(bloat, 3),
        tables={row["name"]: {key: row[key] for key in row if key != "name"} for row in tables},
    )
