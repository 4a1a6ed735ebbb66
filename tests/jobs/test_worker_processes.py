"""Several worker processes on one store: a shard's jobs keep their order, shards run beside each other, and a worker
that is killed is not missed for long."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.jobs.chores import CHORES
from tests.jobs.conftest import Row, settle, until

from memory_butler.resources import Resources
from memory_butler.store.embedded.server import EmbeddedPostgres

Rows = Callable[..., list[Row]]
Start = Callable[..., Awaitable[asyncio.subprocess.Process]]
ROOT = Path(__file__).parents[2]
RUNS = "SELECT * FROM memory.job_runs ORDER BY started_at, id"
# A tick may look just before a job begins and queue it a second time; whoever takes that one out finds it not due.
HELD = "SELECT * FROM memory.procrastinate_jobs WHERE status <> 'todo'"


@pytest.fixture
async def start(server: EmbeddedPostgres, database: str) -> AsyncIterator[Start]:
    """Start a process on the test's store; whatever is still there afterwards is killed."""
    processes: list[asyncio.subprocess.Process] = []
    env = {
        **os.environ,
        "MEMORY_BUTLER_HOME": str(server.home),
        "MEMORY_BUTLER_DATABASE_URL": server.dsn("memory_app", database),
        "MEMORY_BUTLER_OWNER_URL": server.dsn("memory_owner", database),
        "MEMORY_BUTLER_UPKEEP__TICK_SECONDS": "0.1",
        "MEMORY_BUTLER_UPKEEP__LOST_AFTER_SECONDS": "1",
    }

    async def run(*arguments: str, **upkeep: str) -> asyncio.subprocess.Process:
        pipe = asyncio.subprocess.PIPE
        own = {f"MEMORY_BUTLER_UPKEEP__{name.upper()}": value for name, value in upkeep.items()}
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", *arguments, cwd=ROOT, env={**env, **own}, stdout=pipe, stderr=pipe
        )
        processes.append(process)
        return process

    yield run
    for process in processes:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def end(process: asyncio.subprocess.Process, how: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
    """Ask a process to end; its exit code and what it wrote."""
    process.send_signal(how)
    out, err = await asyncio.wait_for(process.communicate(), 30)
    assert process.returncode is not None
    return process.returncode, (out + err).decode()


def together(one: Row, other: Row) -> bool:
    return bool(one["started_at"] < other["finished_at"] and other["started_at"] < one["finished_at"])


async def test_shards_run_in_parallel_and_the_jobs_of_one_never_together(
    resources: Resources, rows: Rows, start: Start
) -> None:
    """Three processes, eight shards: in each shard one job after the other in the order of the timetable, and across
    shards several at the same moment."""
    shards = [f"t{number % 3}/b{number}" for number in range(8)]
    workers = [await start("tests.jobs.chores", "0.4", lost_after_seconds="60") for _ in range(3)]
    await until(lambda: len(rows("SELECT * FROM memory.procrastinate_workers")) == len(workers), 60)
    await settle(resources, *shards)
    done = "SELECT * FROM memory.job_runs WHERE outcome IS NOT NULL"
    await until(lambda: len(rows(done)) >= len(shards) * len(CHORES), 60)
    for worker in workers:
        assert await end(worker) == (0, "")
    runs = rows(RUNS)
    assert len(runs) == len(shards) * len(CHORES) and {run["outcome"] for run in runs} == {"succeeded"}
    for shard in shards:
        own = [run for run in runs if f"{run['tenant_id']}/{run['butler']}" == shard]
        assert [run["job"] for run in own] == list(CHORES)
        assert not any(together(one, next) for one, next in pairwise(own))
    assert max(sum(together(run, other) for other in runs) for run in runs) > 2
    assert len({run["butler"] for pair in combinations(runs, 2) if together(*pair) for run in pair}) == len(shards)
    assert rows(HELD) == []
    assert rows("SELECT * FROM memory.procrastinate_workers") == []


async def test_a_job_whose_worker_was_killed_is_picked_up(resources: Resources, rows: Rows, start: Start) -> None:
    """Killed in the middle, its run is closed as lost, another worker runs the job again, and its shard goes on."""
    await settle(resources, "one/home")
    doomed = await start("tests.jobs.chores", "600")
    (begun,) = await until(lambda: rows(RUNS), 60)
    doomed.send_signal(signal.SIGKILL)
    await doomed.wait()
    other = await start("tests.jobs.chores", "0")
    await until(lambda: len(rows("SELECT * FROM memory.job_runs WHERE outcome = 'succeeded'")) == len(CHORES), 60)
    assert await end(other) == (0, "orphaned jobs reclaimed: 1\n")
    lost, *after = rows(RUNS)
    assert (lost["id"], lost["outcome"], lost["report"]) == (
        begun["id"],
        "failed",
        {"error": "The worker was lost.", "cut_short": True},
    )
    assert [(run["job"], run["outcome"]) for run in after] == [(name, "succeeded") for name in CHORES]
    assert rows(HELD) == []


async def test_a_worker_that_only_sleeps_keeps_its_job(resources: Resources, rows: Rows, start: Start) -> None:
    """Silence alone is not death: one that is heard again before the others' patience ends is left alone."""
    await settle(resources, "one/home")
    slow = await start("tests.jobs.chores", "1.5", lost_after_seconds="8")
    await until(lambda: rows(RUNS), 60)
    other = await start("tests.jobs.chores", "0", lost_after_seconds="8")
    await until(lambda: len(rows("SELECT * FROM memory.procrastinate_workers")) == 2, 60)
    # As if both had been asleep: to each the other looks long silent.
    rows("UPDATE memory.procrastinate_workers SET last_heartbeat = now() - interval '1 hour'")
    await until(lambda: len(rows("SELECT * FROM memory.job_runs WHERE outcome = 'succeeded'")) == len(CHORES), 60)
    for worker in (slow, other):
        assert await end(worker) == (0, "")
    assert [(run["job"], run["outcome"]) for run in rows(RUNS)] == [(name, "succeeded") for name in CHORES]


async def test_work_once_does_what_is_due_and_says_so(resources: Resources, rows: Rows, start: Start) -> None:
    """The command ends by itself, with a line for each run; a second one has nothing to do."""
    await settle(resources, "one/home")
    words: list[Any] = []
    for _ in range(2):
        process = await start("memory_butler.adapters.cli.app", "work", "--once", "--concurrency", "3")
        out, err = await asyncio.wait_for(process.communicate(), 60)
        assert (process.returncode, err) == (0, b"")
        words.append(out.decode().splitlines())
    assert words[0][0].startswith("consolidation of one/home succeeded in ")
    assert words[0][-1] == "3 runs, 0 failed."
    assert words[1] == ["No job was due."]


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT], ids=str)
async def test_work_stops_when_it_is_asked_to(
    resources: Resources, rows: Rows, start: Start, how: signal.Signals
) -> None:
    """It says that it is there, works, and a signal ends it with 0 and without a trace in the queue."""
    await settle(resources, "one/home")
    process = await start("memory_butler.adapters.cli.app", "work")
    await until(lambda: len(rows("SELECT * FROM memory.job_runs WHERE outcome = 'succeeded'")) == 3, 60)
    code, words = await end(process, how)
    assert code == 0 and words.startswith("The worker is running.") and "sweep of one/home succeeded" in words
    assert rows("SELECT * FROM memory.procrastinate_workers") == []
