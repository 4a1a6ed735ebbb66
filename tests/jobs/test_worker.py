"""What is due is found, put into the queue, run for its shard and recorded, and what goes wrong does not stop it."""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from psycopg.types.json import Jsonb
from tests.conftest import START, MovingClock
from tests.jobs.conftest import (
    Row,
    Working,
    do_all_that_is_due,
    settle,
    until,
)

from memory_butler.errors import Conflict
from memory_butler.jobs import worker
from memory_butler.jobs.schedule import SCHEDULE, ScheduledJob
from memory_butler.jobs.worker import Worker
from memory_butler.models import Caller, NewEpisode
from memory_butler.operations.lifecycle.job_status import shard_of
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources

Rows = Callable[..., list[Row]]
HOUR = timedelta(hours=1)
RUNS = "SELECT * FROM memory.job_runs ORDER BY started_at, id"
QUEUED = "SELECT * FROM memory.procrastinate_jobs ORDER BY id"


class Job:
    """A job of the test's own: counts its runs, fails as told, and waits to be let go if it is held."""

    def __init__(self, *problems: BaseException | None) -> None:
        self.problems = list(problems)
        self.runs: list[str] = []
        self.going = asyncio.Event()
        self.let_go = asyncio.Event()
        self.let_go.set()

    async def __call__(self, resources: Resources, shard: Caller) -> dict[str, Any]:
        self.runs.append(f"{shard.principal.tenant}/{shard.principal.butler}")
        self.going.set()
        await self.let_go.wait()
        problem = self.problems.pop(0) if self.problems else None
        if problem:
            raise problem
        return {"did": len(self.runs)}

    def entry(self, name: str = "chore") -> ScheduledJob:
        return ScheduledJob(name, self, HOUR)


async def test_what_is_due_runs_in_order_for_each_shard_and_is_recorded(resources: Resources, rows: Rows) -> None:
    """A new shard has every job of the timetable run at once; each run is on record, and nothing is left behind."""
    await settle(resources, "one/home", "one/work", "two/home")
    ran = await do_all_that_is_due(resources)
    names = [entry.job for entry in SCHEDULE]
    for tenant, name in (("one", "home"), ("one", "work"), ("two", "home")):
        assert [run.job for run in ran if (run.tenant, run.butler) == (tenant, name)] == names
    recorded = rows(RUNS)
    assert [(run["job"], run["report"]) for run in recorded if run["outcome"] != "succeeded"] == []
    assert len(recorded) == 9
    assert all(run["started_at"] == START and run["finished_at"] == START for run in recorded)
    assert rows(QUEUED) == [] and rows("SELECT * FROM memory.procrastinate_workers") == []


async def test_reports_say_what_was_done(resources: Resources, rows: Rows, clock: MovingClock) -> None:
    """The sweep's own report is kept; consolidation says how many episodes it distilled, and what came of it."""
    await remember.episode(resources, NewEpisode(content="Watered the plants.", butler="main"))
    await do_all_that_is_due(resources)
    clock.move(days=8)
    await remember.episode(resources, NewEpisode(content="Fed the cat.", butler="main"))
    await do_all_that_is_due(resources)
    reports = {run["job"]: run["report"] for run in rows(RUNS)}
    assert reports["consolidation"] == {"runs": 1, "distilled": 1, "failed": 0, "nothing_kept": 1}
    assert reports["sweep"]["changed"] == 1
    assert [shard["butler"] for shard in reports["sweep"]["butlers"]] == ["main"]
    assert set(reports["cleanup"].values()) == {0}


async def test_each_job_has_its_own_round(resources: Resources, clock: MovingClock) -> None:
    """Consolidation every six hours, the others daily; in between nothing runs, however often somebody looks."""
    await settle(resources, "one/home")
    assert len(await do_all_that_is_due(resources)) == 3
    ran: Counter[str] = Counter()
    for _ in range(24):
        clock.move(hours=1)
        ran.update(run.job for run in await do_all_that_is_due(resources))
    assert ran == {"consolidation": 4, "sweep": 1, "cleanup": 1}


@pytest.mark.parametrize("job", ["consolidation", "sweep", "cleanup"])
async def test_how_often_is_a_setting(resources: Resources, clock: MovingClock, job: str) -> None:
    """A shorter round is kept for the job whose setting says so, and for no other."""
    upkeep = resources.settings.upkeep.model_copy(update={f"{job}_hours": 2})
    busy = replace(resources, settings=resources.settings.model_copy(update={"upkeep": upkeep}))
    await settle(resources, "one/home")
    await do_all_that_is_due(busy)
    clock.move(hours=2)
    assert [run.job for run in await do_all_that_is_due(busy)] == [job]


async def test_after_a_long_pause_every_job_runs_once(resources: Resources, clock: MovingClock, rows: Rows) -> None:
    """A store that was switched off for a month catches up with one run of each job, not with one for every round."""
    await settle(resources, "one/home")
    await do_all_that_is_due(resources)
    clock.move(days=30)
    async with Working(Worker(resources)) as working:
        await until(lambda: len(rows("SELECT * FROM memory.job_runs WHERE outcome IS NOT NULL")) == 6)
        for _ in range(3):
            assert await working.upkeep.tick() == 0
    assert Counter(run["job"] for run in rows(RUNS)) == {"consolidation": 2, "sweep": 2, "cleanup": 2}


async def test_a_failed_run_is_recorded_and_retried_later_and_later(
    resources: Resources, clock: MovingClock, rows: Rows
) -> None:
    """Not at every look, but after five minutes, then ten; a run that works puts it back into its round."""
    await settle(resources, "one/home")
    job = Job(Conflict("The cupboard is locked."), Conflict("Still locked."))
    chores = {"schedule": (job.entry(),)}
    times = []
    for minute in range(0, 90, 5):
        if await do_all_that_is_due(resources, **chores):
            times.append(minute)
        clock.move(minutes=5)
    assert times == [0, 5, 15, 75]
    recorded = rows(RUNS)
    assert [run["outcome"] for run in recorded] == ["failed", "failed", "succeeded", "succeeded"]
    assert recorded[0]["report"] == {"error": "The cupboard is locked.", "class": "conflict"}


async def test_the_words_of_an_unforeseen_fault_are_not_recorded(resources: Resources, rows: Rows) -> None:
    """They may quote a memory: the record keeps the fault's class."""
    await settle(resources, "one/home")
    await do_all_that_is_due(resources, schedule=(Job(KeyError("the diary of Ana")).entry(),))
    (run,) = rows(RUNS)
    assert (run["outcome"], run["report"]["class"]) == ("failed", "internal_error")
    assert "KeyError" in run["report"]["error"] and "Ana" not in str(run["report"])
    (kept,) = rows(QUEUED)
    assert (kept["status"], kept["args"]) == ("failed", {"tenant": "one", "butler": "home"})


async def test_a_job_of_one_shard_that_fails_does_not_stop_the_others(resources: Resources) -> None:
    """The other jobs of the shard and the other shards run."""
    await settle(resources, "one/home", "two/home")
    bad, good = Job(Conflict("No."), Conflict("No.")), Job()
    ran = await do_all_that_is_due(resources, schedule=(bad.entry("bad"), good.entry("good")))
    assert sorted((run.tenant, run.job, run.outcome) for run in ran) == [
        ("one", "bad", "failed"),
        ("one", "good", "succeeded"),
        ("two", "bad", "failed"),
        ("two", "good", "succeeded"),
    ]


@pytest.mark.parametrize(("concurrency", "pool_size", "together"), [(1, 10, 1), (3, 10, 3), (3, 2, 2)])
async def test_how_many_shards_at_a_time_is_a_setting(
    resources: Resources, concurrency: int, pool_size: int, together: int
) -> None:
    """As many as it says are worked on at the same moment, if there are connections enough, and no more."""
    await settle(resources, *(f"one/b{number}" for number in range(5)))
    upkeep = resources.settings.upkeep.model_copy(update={"concurrency": concurrency})
    given = replace(
        resources, settings=resources.settings.model_copy(update={"upkeep": upkeep, "pool_size": pool_size})
    )
    job = Job()
    job.let_go.clear()
    async with Working(Worker(given, schedule=(job.entry(),))) as working:
        await until(lambda: len(job.runs) == together)
        for _ in range(3):
            await working.upkeep.tick()
        assert len(job.runs) == together
        job.let_go.set()


async def test_several_who_look_at_once_queue_a_job_once(resources: Resources, rows: Rows) -> None:
    """Whoever comes second finds it in the queue; the arguments are names and nothing else."""
    await settle(resources, "one/home", "one/work")
    watchers = [Worker(resources) for _ in range(4)]
    assert sum(await asyncio.gather(*(watcher.tick() for watcher in watchers))) == 6
    queued = rows(QUEUED)
    assert [(job["task_name"], job["lock"]) for job in queued if job["args"]["butler"] == "home"] == [
        (entry.job, "one/home") for entry in SCHEDULE
    ]
    assert all(set(job["args"]) == {"tenant", "butler"} for job in queued)


async def test_what_waits_already_is_not_tried_again(
    resources: Resources, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A look at a long queue does not offer it again all that is in it."""
    await settle(resources, "one/home", "two/home")
    upkeep = Worker(resources, schedule=(Job().entry(),))
    assert await upkeep.tick() == 2
    offered, offer = [], upkeep._queue.defer
    monkeypatch.setattr(upkeep._queue, "defer", lambda *job: offered.append(job) or offer(*job))
    await settle(resources, "three/home")
    assert await upkeep.tick() == 1
    assert offered == [("chore", "three", "home")] and len(rows(QUEUED)) == 3


async def test_a_job_that_is_no_longer_due_does_nothing(resources: Resources, rows: Rows) -> None:
    """One that was queued again while it ran finds, when its turn comes, that there is nothing to do."""
    await settle(resources, "one/home")
    job = Job()
    first, late = Worker(resources, schedule=(job.entry(),)), Worker(resources, schedule=(job.entry(),))
    assert await first.tick() == 1
    await first.once(asyncio.Event())
    # What somebody does who had looked before the run was recorded.
    await late._queue.defer("chore", "one", "home")
    await late.once(asyncio.Event())
    assert job.runs == ["one/home"] and len(rows(RUNS)) == 1 and rows(QUEUED) == []


async def test_many_tenants_take_turns(resources: Resources, rows: Rows, monkeypatch: pytest.MonkeyPatch) -> None:
    """One look is bounded, the next takes those that wait for nothing yet first, and `once` leaves nobody out."""
    monkeypatch.setattr(worker, "TENANTS_PER_TICK", 2)
    await settle(resources, *(f"t{number}/home" for number in range(4)))
    upkeep = Worker(resources, schedule=(Job().entry(),))
    assert [await upkeep.tick() for _ in range(4)] == [2, 2, 0, 0]
    assert len(rows(QUEUED)) == 4
    assert len(await do_all_that_is_due(resources, schedule=(Job().entry(),))) == 4


async def test_a_shard_that_appears_is_looked_after(resources: Resources, rows: Rows) -> None:
    """A butler that stores its first memory while a worker runs is found at the next look."""
    async with Working(Worker(resources)):
        await settle(resources, "one/home")
        await until(lambda: len(rows("SELECT * FROM memory.job_runs WHERE outcome = 'succeeded'")) == 3)


async def test_a_stop_lets_the_running_job_finish(resources: Resources, rows: Rows) -> None:
    """A worker that is asked to stop takes nothing new and waits for what it has begun."""
    await settle(resources, "one/home", "two/home")
    job = Job()
    job.let_go.clear()
    async with Working(Worker(resources, schedule=(job.entry(),), concurrency=1)) as working:
        await job.going.wait()
        await until(lambda: "todo" in [queued["status"] for queued in rows(QUEUED)])
        working.stop.set()
        await asyncio.sleep(0)
        assert not working.task.done()
        job.let_go.set()
        await working.task
    assert [run["outcome"] for run in rows(RUNS)] == ["succeeded"]
    # A tick that looks just before a job begins queues it a second time.
    assert {job["status"] for job in rows(QUEUED)} == {"todo"}


async def test_a_job_that_does_not_end_in_time_is_cut_short_and_run_again_at_once(
    resources: Resources, rows: Rows
) -> None:
    """The patience of a stop is bounded; what was cut short is on record as that, and due for the next worker."""
    await settle(resources, "one/home")
    job = Job()
    job.let_go.clear()
    async with Working(Worker(resources, schedule=(job.entry(),), stop_seconds=0.05)) as working:
        await job.going.wait()
        working.stop.set()
        await asyncio.wait_for(working.task, 5)
    (run,) = rows(RUNS)
    assert (run["outcome"], run["report"]["cut_short"]) == ("failed", True)
    job.let_go.set()
    (again,) = await do_all_that_is_due(resources, schedule=(job.entry(),))
    assert again.outcome == "succeeded"


async def test_once_waits_for_a_long_job_and_a_stop_bounds_it(resources: Resources, rows: Rows) -> None:
    """It ends when its jobs do, however long they take; asked to stop, it cuts them short as every worker does."""
    await settle(resources, "one/home")
    job = Job()
    job.let_go.clear()
    stop = asyncio.Event()
    once = asyncio.create_task(Worker(resources, schedule=(job.entry(),), stop_seconds=0.05).once(stop))
    await job.going.wait()
    await asyncio.wait({once}, timeout=0.3)
    assert not once.done()
    stop.set()
    await asyncio.wait_for(once, 5)
    (run,) = rows(RUNS)
    assert (run["outcome"], run["report"]["cut_short"]) == ("failed", True)
    job.let_go.set()
    await Worker(resources, schedule=(job.entry(),), stop_seconds=0.05).once(asyncio.Event())
    assert [run["outcome"] for run in rows(RUNS)] == ["failed", "succeeded"]


async def test_upkeep_survives_the_loss_of_its_connections(
    resources: Resources, rows: Rows, clock: MovingClock
) -> None:
    """Connections that break under it cost a moment, and the next round is run all the same."""
    await settle(resources, "one/home")
    job = Job()
    async with Working(Worker(resources, schedule=(job.entry(),))):
        await until(lambda: len(job.runs) == 1)
        rows("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'memory_app'"
             " AND datname = current_database()")  # fmt: skip
        clock.move(hours=2)
        await until(lambda: len(job.runs) == 2)
        await until(lambda: [run["outcome"] for run in rows(RUNS)] == ["succeeded"] * 2)


async def test_whatever_breaks_the_worker_it_is_started_again(
    resources: Resources, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that was struck off the list, and so cannot take a job any more, is replaced by a new one."""
    monkeypatch.setattr(worker, "FIRST_PAUSE_SECONDS", 0.05)
    job = Job()
    async with Working(Worker(resources, schedule=(job.entry(),))):
        (first,) = await until(lambda: rows("SELECT id FROM memory.procrastinate_workers"))
        rows("DELETE FROM memory.procrastinate_workers")
        await settle(resources, "one/home")
        await until(lambda: [run["outcome"] for run in rows(RUNS)] == ["succeeded"])
        (second,) = rows("SELECT id FROM memory.procrastinate_workers")
    assert second["id"] > first["id"]


async def test_a_job_that_was_run_but_never_given_back_does_not_block_its_shard(
    resources: Resources, rows: Rows
) -> None:
    """If the queue could not be told of its end, the job is found in the hands of a worker that is not at it."""
    await settle(resources, "one/home")
    job = Job()
    async with Working(Worker(resources, schedule=(job.entry(),))):
        await until(lambda: [run["outcome"] for run in rows(RUNS)] == ["succeeded"] and not rows(QUEUED))
        rows(
            "INSERT INTO procrastinate_jobs (queue_name, task_name, lock, queueing_lock, args, status, worker_id)"
            " SELECT 'upkeep', 'chore', 'one/home', 'chore/one/home', %s, 'doing', id FROM procrastinate_workers",
            Jsonb({"tenant": "one", "butler": "home"}),
        )
        assert [job["status"] for job in rows(QUEUED)] == ["doing"]
        await until(lambda: not rows(QUEUED))
    assert len(job.runs) == 1


async def test_a_tenant_whose_timetable_cannot_be_read_does_not_stop_the_others(
    resources: Resources, rows: Rows
) -> None:
    """The others' jobs are queued; the trouble is logged."""
    await settle(resources, "one/home", "two/home")
    # Asked once for the embedding version, once for all tenants, then once for each that has something due.
    troubles = iter([None, None, Conflict("No time."), None])

    def clock() -> Any:
        if trouble := next(troubles):
            raise trouble
        return resources.clock()

    assert await Worker(replace(resources, clock=clock)).tick() == 3
    assert {job["args"]["tenant"] for job in rows(QUEUED)} == {"two"}


async def test_a_job_acts_inside_its_tenant_alone(resources: Resources) -> None:
    """It is handed an administrator's rights for the shard it runs for, and for no other tenant."""
    seen: list[Caller] = []

    async def look(given: Resources, shard: Caller) -> dict[str, Any]:
        seen.append(shard)
        async with given.database.read(shard.principal.tenant) as transaction:
            cursor = await transaction.run("SELECT DISTINCT tenant_id FROM memory.rules", {})
            return {"tenants": [row["tenant_id"] for row in await cursor.fetchall()]}

    await settle(resources, "one/home", "two/home")
    ran = await do_all_that_is_due(resources, schedule=(ScheduledJob("look", look, HOUR),))
    assert {run.tenant: run.report["tenants"] for run in ran} == {"one": ["one"], "two": ["two"]}
    # Shards run side by side: which of two comes first is nobody's promise.
    assert sorted(seen, key=lambda shard: shard.principal.tenant) == [shard_of("one", "home"), shard_of("two", "home")]
