"""The timetable over many tenants, while callers are served: `python -m benchmarks.upkeep`.

A store of 10,000 tenants of which every job of the timetable is due at once: consolidation, sweep and cleanup of each.
One worker runs all of them (`memory-butler work --once`) beside a server that answers contexts at a steady rate. The
processor time of worker and database says what it costs; the wall time depends on what else the machine does.
"""

import argparse
import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil
import psycopg
from rich.console import Console
from rich.table import Table

from benchmarks.support import machine
from benchmarks.support.latency import Latency
from benchmarks.support.load_store import BUTLER, Pool, Size, load_store
from benchmarks.support.sentences import questions, sentences
from benchmarks.support.served import Served, make_tokens, served
from memory_butler.resources import open_resources
from memory_butler.settings import load_settings
from memory_butler.store.embedded.server import EmbeddedPostgres

SEED = 20_261_120
# Tenants that callers ask, and the share of all that are loaded in one go.
ASKED, LOADED_AT_ONCE = 50, 1_000
GOAL_SECONDS = 30 * 60
TENANTS, SIZE = 10_000, Size(10, 1, 2)


@dataclass(frozen=True, slots=True)
class Plan:
    tenants: int = TENANTS
    size: Size = SIZE
    pool: int = 500
    calls_per_second: float = 5
    calm_seconds: float = 20


async def load(database: EmbeddedPostgres, plan: Plan) -> dict[str, str]:
    async with open_resources(load_settings(home=database.home)) as resources:
        texts = sentences(plan.pool, SEED)
        await resources.embedder.start()
        pool = Pool(texts, await resources.embedder.embed(texts))
        names = [f"team-{number:05d}" for number in range(plan.tenants)]
        for start in range(0, len(names), LOADED_AT_ONCE):
            part = dict.fromkeys(names[start : start + LOADED_AT_ONCE], plan.size)
            await load_store(resources, part, pool, SEED + start, is_counted=start + LOADED_AT_ONCE >= len(names))
        return await make_tokens(resources, names[:: max(1, len(names) // ASKED)])


async def ask(web: httpx.AsyncClient, server: Served, tokens: Sequence[str], rate: float, until: Any) -> list[float]:
    """Ask for contexts at a steady rate until `until()` is true; the seconds of each, from the moment it was due."""
    asked, taken, running = questions(20_000, SEED), list[float](), set[asyncio.Task[None]]()
    began = time.perf_counter()

    async def one(number: int, due: float) -> None:
        body = {"trigger_prompt": asked[number % len(asked)], "butler": BUTLER}
        head = {"Authorization": f"Bearer {tokens[number % len(tokens)]}"}
        answer = await web.post(f"{server.url}/api/v1/context", json=body, headers=head)
        answer.raise_for_status()
        taken.append(time.perf_counter() - due)

    number = 0
    while not until():
        due = began + number / rate
        await asyncio.sleep(max(0, due - time.perf_counter()))
        running.add(asyncio.create_task(one(number, due)))
        number += 1
    await asyncio.gather(*running)
    return taken


def job_states(database: EmbeddedPostgres) -> dict[str, dict[str, Any]]:
    """By job: shards that ran, those that failed, and the seconds that all runs took together."""
    with psycopg.connect(database.dsn("postgres", "memory")) as connection:
        rows = connection.execute(
            "SELECT job, count(*), count(*) FILTER (WHERE outcome IS DISTINCT FROM 'succeeded'),"
            " round(sum(extract(epoch FROM finished_at - started_at))::numeric, 1)"
            " FROM memory.job_runs GROUP BY job ORDER BY job"
        ).fetchall()
    return {str(job): {"runs": runs, "not done": failed, "seconds": float(took)} for job, runs, failed, took in rows}


async def measure(plan: Plan, database: EmbeddedPostgres, console: Console) -> dict[str, Any]:
    console.print(f"{plan.tenants:,} tenants are loaded …")
    tokens = list((await load(database, plan)).values())
    with served(database.home) as server:
        async with httpx.AsyncClient(timeout=30) as web:
            await server.ready(web)
            await ask(web, server, tokens, plan.calls_per_second, _after(5))
            calm = await ask(web, server, tokens, plan.calls_per_second, _after(plan.calm_seconds))
            console.print("Every job of every tenant is due …")
            work = [sys.executable, "-m", "memory_butler.adapters.cli.app", "work", "--once"]
            env = os.environ | {"MEMORY_BUTLER_HOME": str(database.home)}
            before, began = _cpu(database), time.perf_counter()
            worker = await asyncio.create_subprocess_exec(*work, env=env, stdout=subprocess.DEVNULL)
            of_worker = [0.0]

            def done() -> bool:
                over = worker.returncode is not None
                of_worker[0] = of_worker[0] if over else family_seconds(worker.pid)
                return over

            busy = await ask(web, server, tokens, plan.calls_per_second, done)
            seconds = time.perf_counter() - began
            used = _cpu(database) - before
    return {
        "seconds": round(seconds, 1),
        "worker_exit": worker.returncode,
        "cpu_seconds": {"worker": round(of_worker[0], 1), "database, with the calls": round(used, 1)},
        "jobs": job_states(database),
        "calm_ms": Latency.of(calm).as_ms(),
        "busy_ms": Latency.of(busy).as_ms(),
        "goal_seconds": GOAL_SECONDS,
    }


def _after(seconds: float) -> Any:
    end = time.perf_counter() + seconds
    return lambda: time.perf_counter() > end


def _cpu(database: EmbeddedPostgres) -> float:
    assert database.pid
    return family_seconds(database.pid)


def family_seconds(pid: int) -> float:
    """Processor seconds of a process, its children, and those of them that have ended."""
    total = 0.0
    try:
        whole = psutil.Process(pid)
        family = [whole, *whole.children(recursive=True)]
        ended = whole.cpu_times()
        total += ended.children_user + ended.children_system
    except psutil.NoSuchProcess:
        return total
    for one in family:
        try:
            used = one.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += used.user + used.system
    return total


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.upkeep", description=__doc__)
    parser.add_argument("--tenants", type=int, default=TENANTS)
    parser.add_argument("--json", type=Path, default=machine.RESULTS / "upkeep.json", help="where the result goes")
    arguments = parser.parse_args(given)
    plan, console = Plan(tenants=arguments.tenants), machine.wide_console()
    with machine.scratch_store() as database:
        settings = load_settings(home=database.home)
        found = asyncio.run(measure(plan, database, console))
        result = {**machine.header(database, settings, SEED), "plan": asdict(plan), **found}
    table = Table("measurement", "value")
    for name in ("seconds", "cpu_seconds", "jobs", "calm_ms", "busy_ms"):
        table.add_row(name, str(found[name]))
    console.print(table)
    machine.write_json(arguments.json, result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
