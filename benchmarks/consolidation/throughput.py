"""How fast episodes become facts and rules: `python -m benchmarks.consolidation.throughput`.

Whole runs with the built-in distiller and the real embedding model, from the claim to the commit, while other tenants
hold 1,000, 10,000 and 100,000 facts. First one butler's backlog by itself, then those of four butlers of as many
tenants, two at a time as a worker does it. Beside the rate stand the processor time of the program and of the database,
which the neighbours of a busy machine change less, and how long the program waited for the database.
"""

import argparse
import asyncio
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import psutil
import psycopg
from rich.console import Console
from rich.table import Table

from benchmarks.consolidation.episodes import episodes
from benchmarks.support import machine
from benchmarks.support.load_store import Pool, Size, load_store
from benchmarks.support.sentences import sentences
from memory_butler.ai.embedding import FakeEmbedder
from memory_butler.english.extraction import distil
from memory_butler.models import Caller, NewEpisode, RunReport
from memory_butler.operations.consolidation.consolidate import consolidate
from memory_butler.operations.lifecycle.job_status import shard_of
from memory_butler.operations.writing import remember
from memory_butler.policy.retrieval.passages import cut_passages, passage_head
from memory_butler.resources import Resources, open_resources
from memory_butler.settings import load_settings
from memory_butler.store.embedded.server import EmbeddedPostgres

SEED = 20_260_101
BUTLER = "main"
A_SECOND = 200.0
FLAT_WITHIN = 0.25
FACTS_A_TENANT = 5_000
AT_ONCE = 2


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured: facts of other tenants, episodes of one run, and how often each size is measured."""

    stored: tuple[int, ...] = (1_000, 10_000, 100_000)
    episodes: int = 800
    rounds: int = 3
    pool: int = 1_000


QUICK = Plan(stored=(500, 2_000), episodes=100, rounds=1, pool=100)


class Waiting:
    """How long the program waits for the database, in all its connections together."""

    seconds = 0.0

    @contextmanager
    def watched(self) -> Iterator[None]:
        original = psycopg.AsyncConnection.wait
        waiting = self

        async def wait(connection: Any, *given: Any, **more: Any) -> Any:
            began = time.perf_counter()
            try:
                return await original(connection, *given, **more)
            finally:
                waiting.seconds += time.perf_counter() - began

        with patch.object(psycopg.AsyncConnection, "wait", wait):
            yield


def processor_seconds(server: EmbeddedPostgres) -> tuple[float, float]:
    """Of this process, and of the database with all its processes so far."""
    assert server.pid
    postmaster = psutil.Process(server.pid)
    own = postmaster.cpu_times()
    database = own.user + own.system + own.children_user + own.children_system
    for process in postmaster.children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            database += times.user + times.system
    return time.process_time(), database


async def observe(resources: Resources, tenant: str, count: int, seed: int) -> None:
    """Store episodes of one butler. Nothing that is measured looks at their vectors, so a fake makes them."""
    quick = replace(
        resources,
        embedder=FakeEmbedder(),
        settings=resources.settings.model_copy(update={"tenant": tenant}),
    )
    for content in episodes(count, seed):
        await remember.episode(quick, NewEpisode(content=content, butler=BUTLER), shard_of(tenant, BUTLER))


async def consolidated(
    resources: Resources, server: EmbeddedPostgres, shards: Sequence[Caller], *, at_once: int
) -> dict[str, Any]:
    """Work through the backlogs of some shards; what it took."""
    gate, reports = asyncio.Semaphore(at_once), list[RunReport]()

    async def one(shard: Caller) -> None:
        async with gate:
            reports.extend(await consolidate(resources, shard))

    waiting = Waiting()
    program, database = processor_seconds(server)
    with waiting.watched():
        began = time.perf_counter()
        await asyncio.gather(*map(one, shards))
        seconds = time.perf_counter() - began
    program_after, database_after = processor_seconds(server)
    done = sum(len(report.episodes) for report in reports if report.state == "applied")
    lines = Counter(line.outcome for report in reports for line in report.lines)
    return {
        "episodes": done,
        "items": dict(sorted(lines.items())),
        "seconds": round(seconds, 3),
        "episodes_a_second": round(done / seconds, 1),
        "waiting_for_database_share": round(waiting.seconds / seconds, 3),
        "program_processor_ms_an_episode": round(1000 * (program_after - program) / done, 2),
        "database_processor_ms_an_episode": round(1000 * (database_after - database) / done, 2),
        "load": round(os.getloadavg()[0], 2),
    }


async def measure_at(resources: Resources, server: EmbeddedPostgres, plan: Plan, size: int) -> list[dict[str, Any]]:
    found = []
    for number in range(plan.rounds):
        for what, tenants, at_once in (("one shard", 1, 1), ("four shards, two at a time", 4, AT_ONCE)):
            names = [f"own-{size}-{number}-{tenants}-{one}" for one in range(tenants)]
            seed = SEED + 100 * number + 10 * tenants
            stored = (observe(resources, name, plan.episodes // tenants, seed + at) for at, name in enumerate(names))
            await asyncio.gather(*stored)
            with psycopg.connect(server.dsn("postgres", "memory"), autocommit=True) as connection:
                connection.execute("CHECKPOINT")
            shards = [shard_of(name, BUTLER) for name in names]
            row = await consolidated(resources, server, shards, at_once=at_once)
            found.append({"what": what, "stored_elsewhere": size, "round": number + 1, **row})
    return found


async def embedded_alone(resources: Resources, count: int) -> dict[str, Any]:
    """The same without anything but the model: what a run could not be faster than."""
    told = [distil(content, resources.clock()) for content in episodes(count, SEED)]
    passages = [
        passage
        for each in told
        for found in each
        for passage in cut_passages(
            found.content, head=passage_head(found.subject or None, found.predicate or None, found.content)
        )
    ]
    began, spent = time.perf_counter(), time.process_time()
    for start in range(0, len(passages), resources.settings.consolidation.most):
        await resources.embedder.embed(passages[start : start + resources.settings.consolidation.most])
    seconds, spent = time.perf_counter() - began, time.process_time() - spent
    return {
        "passages_an_episode": round(len(passages) / count, 2),
        "episodes_a_second": round(count / seconds, 1),
        "processor_ms_an_episode": round(1000 * spent / count, 2),
        "load": round(os.getloadavg()[0], 2),
    }


async def run(resources: Resources, server: EmbeddedPostgres, plan: Plan, console: Console) -> dict[str, Any]:
    texts = sentences(plan.pool, SEED)
    pool = Pool(texts, await resources.embedder.embed(texts))
    await observe(resources, "warm-up", min(100, plan.episodes), SEED)
    await consolidated(resources, server, [shard_of("warm-up", BUTLER)], at_once=1)
    rows: list[dict[str, Any]] = []
    alone: list[dict[str, Any]] = []
    loaded = 0
    for size in plan.stored:
        console.print(f"{size:,} facts in other tenants …")
        more = {
            f"other-{start}": Size(min(FACTS_A_TENANT, size - start), 0, 0)
            for start in range(loaded, size, FACTS_A_TENANT)
        }
        await load_store(resources, more, pool, SEED + size)
        loaded = size
        rows += await measure_at(resources, server, plan, size)
        alone.append(await embedded_alone(resources, plan.episodes))
    best = {
        what: {str(size): best_of(rows, what, size) for size in plan.stored} for what in dict.fromkeys(_whats(rows))
    }
    floor = max(alone, key=lambda row: float(row["episodes_a_second"]))
    return {"plan": asdict(plan), "runs": rows, "embedding_alone": floor, "best": best, "goals": goals(best, plan)}


def _whats(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    return (row["what"] for row in rows)


def best_of(rows: Sequence[dict[str, Any]], what: str, size: int) -> dict[str, Any]:
    """The quickest round: other work on the machine only ever slows one down."""
    mine = [row for row in rows if row["what"] == what and row["stored_elsewhere"] == size]
    return max(mine, key=lambda row: float(row["episodes_a_second"]))


def goals(best: dict[str, dict[str, dict[str, Any]]], plan: Plan) -> list[dict[str, Any]]:
    found = []
    for what, sizes in best.items():
        rates = [sizes[str(size)]["episodes_a_second"] for size in plan.stored]
        cost = [
            row["program_processor_ms_an_episode"] + row["database_processor_ms_an_episode"]
            for row in (sizes[str(size)] for size in plan.stored)
        ]
        growth = cost[-1] / cost[0] - 1
        found.append(_goal(f"{what}: episodes a second at any size", min(rates), at_least=A_SECOND))
        found.append(_goal(f"{what}: growth of processor time as others grow", growth, at_most=FLAT_WITHIN))
    return found


def _goal(goal: str, measured: float, *, at_least: float | None = None, at_most: float | None = None) -> dict[str, Any]:
    holds = measured >= at_least if at_least is not None else measured <= (at_most or 0)
    bound = {"at_least": at_least} if at_least is not None else {"at_most": at_most}
    return {"goal": goal, "measured": round(measured, 2), **bound, "holds": holds}


def measure(plan: Plan, console: Console) -> dict[str, Any]:
    with machine.scratch_store() as server:
        settings = load_settings(home=server.home)

        async def inside() -> dict[str, Any]:
            async with open_resources(settings) as resources:
                return await run(resources, server, plan, console)

        result = asyncio.run(inside())
        return {**machine.header(server, settings, SEED), **result}


def show(result: dict[str, Any], console: Console) -> None:
    table = Table(
        "what", "facts elsewhere", "episodes/s", "waiting for the database", "program ms", "database ms", "load",
        title="Consolidation, the quickest of each; processor time an episode", title_justify="left",
    )  # fmt: skip
    for what, sizes in result["best"].items():
        for size, row in sizes.items():
            table.add_row(
                what,
                f"{int(size):,}",
                f"{row['episodes_a_second']:.0f}",
                f"{row['waiting_for_database_share']:.0%}",
                f"{row['program_processor_ms_an_episode']:.1f}",
                f"{row['database_processor_ms_an_episode']:.1f}",
                f"{row['load']:.1f}",
            )
    console.print(table)
    alone = result["embedding_alone"]
    console.print(
        f"Embedding alone: {alone['episodes_a_second']:.0f} episodes a second,"
        f" {alone['processor_ms_an_episode']:.1f} ms of processor time an episode"
    )
    for goal in result["goals"]:
        verdict = "[green]pass[/]" if goal["holds"] else "[red]fail[/]"
        bound = f"at least {goal['at_least']:g}" if "at_least" in goal else f"at most {goal['at_most']:g}"
        console.print(f"{goal['goal']}: {goal['measured']} ({bound}) {verdict}")


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.consolidation.throughput", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small store, to see that it works")
    parser.add_argument(
        "--json", type=Path, default=machine.RESULTS / "consolidation_throughput.json", help="where the result goes"
    )
    arguments = parser.parse_args(given)
    console = machine.wide_console()
    result = measure(QUICK if arguments.quick else Plan(), console)
    show(result, console)
    machine.write_json(arguments.json, result)
    console.print(f"Written to {arguments.json}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
