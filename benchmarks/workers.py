"""Server processes behind one port: `python -m benchmarks.workers`.

`serve` with one process and with two, in turns on one store of 50 tenants; clients ask for contexts without a pause. It
says
how many are answered a second, and what a context costs in processor time. On two cores the clients and the database
need a part of them too.
"""

import argparse
import asyncio
import itertools
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from rich.table import Table

from benchmarks.support import machine
from benchmarks.support.latency import Latency
from benchmarks.support.lean_http import LeanHttp, post, with_body
from benchmarks.support.load_store import BUTLER, Pool, Size, load_store
from benchmarks.support.sentences import questions, sentences
from benchmarks.support.served import make_tokens, served
from benchmarks.upkeep import family_seconds
from memory_butler.resources import open_resources
from memory_butler.settings import load_settings
from memory_butler.store.embedded.server import EmbeddedPostgres

SEED = 20_261_121
TENANTS, SIZE, POOL = 50, Size(100, 5, 10), 500


@dataclass(frozen=True, slots=True)
class Plan:
    processes: tuple[int, ...] = (1, 2)
    rounds: int = 3
    seconds: float = 15
    clients: int = 8


async def load(database: EmbeddedPostgres) -> list[str]:
    async with open_resources(load_settings(home=database.home)) as resources:
        texts = sentences(POOL, SEED)
        await resources.embedder.start()
        pool = Pool(texts, await resources.embedder.embed(texts))
        names = [f"team-{number:02d}" for number in range(TENANTS)]
        await load_store(resources, dict.fromkeys(names, SIZE), pool, SEED)
        return list((await make_tokens(resources, names)).values())


async def turn(
    database: EmbeddedPostgres, plan: Plan, processes: int, tokens: Sequence[str], asked: Any
) -> dict[str, Any]:
    """One server with so many processes: contexts a second, and processor milliseconds of each."""
    taken: list[float] = []
    with served(database.home, SERVICE__WORKERS=str(processes)) as server:
        async with httpx.AsyncClient(timeout=30) as web:
            await server.ready(web)
        assert server.process
        heads = [post("/api/v1/context", f"127.0.0.1:{server.port}", token) for token in tokens]
        async with LeanHttp(server.port, connections=plan.clients, seconds=30) as http:

            async def client(number: int, end: float) -> None:
                for head in itertools.cycle(heads[number:] + heads[:number]):
                    if (began := time.perf_counter()) > end:
                        return
                    status, _ = await http.call(with_body(head, next(asked)))
                    assert status == 200, status
                    taken.append(time.perf_counter() - began)

            async def run(seconds: float) -> None:
                end = time.perf_counter() + seconds
                await asyncio.gather(*(client(number, end) for number in range(plan.clients)))

            await run(3)
            taken.clear()
            pids = (server.process.pid, database.pid or 0)
            before, began = [family_seconds(pid) for pid in pids], time.perf_counter()
            await run(plan.seconds)
            seconds = time.perf_counter() - began
            used = [family_seconds(pid) - old for pid, old in zip(pids, before, strict=True)]
    cpu = [round(1000 * one / len(taken), 1) for one in used]
    return {
        "processes": processes,
        "per_second": round(len(taken) / seconds, 1),
        "ms": Latency.of(taken).as_ms(),
        "server_cpu_ms": cpu[0],
        "database_cpu_ms": cpu[1],
        "load": round(os.getloadavg()[0], 1),
    }


async def measure(database: EmbeddedPostgres, plan: Plan) -> list[dict[str, Any]]:
    tokens = await load(database)
    bodies = (f'{{"trigger_prompt": "{text}", "butler": "{BUTLER}"}}'.encode() for text in questions(20_000, SEED))
    asked = itertools.cycle(bodies)
    order = [processes for _ in range(plan.rounds) for processes in plan.processes]
    return [await turn(database, plan, processes, tokens, asked) for processes in order]


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.workers", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=15, help="length of a turn")
    parser.add_argument("--json", type=Path, default=machine.RESULTS / "workers.json", help="where the result goes")
    arguments = parser.parse_args(given)
    plan, console = Plan(rounds=arguments.rounds, seconds=arguments.seconds), machine.wide_console()
    with machine.scratch_store() as database:
        found = asyncio.run(measure(database, plan))
        result = {**machine.header(database, load_settings(home=database.home), SEED), "turns": found}
    table = Table("processes", "contexts/s", "p50 ms", "p95 ms", "server CPU ms", "database CPU ms", "load")
    for one in found:
        figures = (one["processes"], one["per_second"], one["ms"]["p50"], one["ms"]["p95"])
        table.add_row(*map(str, (*figures, one["server_cpu_ms"], one["database_cpu_ms"], one["load"])))
    console.print(table)
    machine.write_json(arguments.json, result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
