"""What a tenant costs while it grows: `python -m benchmarks.growth`.

Tenants of 1,000, 10,000, 100,000 facts and, with `--million`, 1,000,000, with small tenants beside them in one store.
Questions are asked of all tenants in turns, so that every tenant meets the same weather. Answers of exact search are
kept and compared with those by index.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import psycopg
from rich.console import Console
from rich.table import Table

from benchmarks.support import machine
from benchmarks.support.latency import Latency, rate
from benchmarks.support.load_store import BUTLER, Pool, Size, load_store
from benchmarks.support.sentences import questions, sentences
from memory_butler.models import BriefRequest, Caller, NewFact, Principal, Question
from memory_butler.operations.briefing import brief
from memory_butler.operations.retrieval import search as search_operation
from memory_butler.operations.retrieval import vector_indexes
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources, open_resources
from memory_butler.settings import load_settings

SEED = 20_261_119
SIZES, MILLION = (1_000, 10_000, 100_000), 1_000_000
SMALL, SMALL_TENANTS = Size(100, 10, 40), 10
WARM_UP, TOP = 5, 10
# Seconds in which a question may be answered here: an exact search of a million facts takes some.
DEADLINE_SECONDS = 30
KINDS = ("context", "search")


@dataclass(frozen=True, slots=True)
class Plan:
    """The sizes of the large tenants, and how often everything is measured."""

    sizes: tuple[int, ...] = SIZES
    pool: int = 2_000
    reads: int = 100
    exact_reads: int = 40
    writes: int = 100


QUICK = Plan(sizes=(200, 1_000), pool=200, reads=10, exact_reads=10, writes=10)


@dataclass(slots=True)
class Bench:
    """A run: the store, opened twice (`exact` uses no index), and what was found."""

    resources: Resources
    exact: Resources
    plan: Plan
    superuser: str
    fresh: list[str]
    found: dict[str, Any] = field(default_factory=dict)

    def ask(self, count: int) -> list[str]:
        taken, self.fresh = self.fresh[:count], self.fresh[count:]
        assert len(taken) == count, "the benchmark has run out of questions"
        return taken

    def tenants(self) -> dict[str, list[str]]:
        """The measured tenants by name; the small ones take turns."""
        small = {"small": [f"small-{number}" for number in range(SMALL_TENANTS)]}
        return small | {f"{size:,}": [f"large-{size}"] for size in self.plan.sizes}


def caller_of(tenant: str) -> Caller:
    return Caller(Principal(tenant, BUTLER))


def size_of(facts: int) -> Size:
    return Size(facts, facts // 50, facts // 10)


async def read(resources: Resources, kind: str, tenant: str, text: str) -> None:
    if kind == "context":
        await brief.brief(resources, BriefRequest(trigger_prompt=text, butler=BUTLER), caller_of(tenant))
    else:
        await search_operation.search(resources, Question(query=text), caller_of(tenant))


async def latencies(
    bench: Bench, resources: Resources, places: dict[str, list[str]], count: int
) -> dict[str, dict[str, float]]:
    """Milliseconds of each kind of read at each place, in turns."""
    seconds: dict[str, list[float]] = {f"{kind}, {place}": [] for kind in KINDS for place in places}
    for number, text in enumerate(bench.ask(WARM_UP + count)):
        for place, tenants in places.items():
            for kind in KINDS:
                began = time.perf_counter()
                await read(resources, kind, tenants[number % len(tenants)], f"{text} {kind[0]}")
                if number >= WARM_UP:
                    seconds[f"{kind}, {place}"].append(time.perf_counter() - began)
    return {name: Latency.of(taken).as_ms() for name, taken in seconds.items()}


async def answers(resources: Resources, tenant: str, texts: Sequence[str]) -> list[list[str]]:
    """The ids of the best results; nothing counts as referenced, so that the store stays as it is."""
    found = []
    for text in texts:
        question = Question(query=text, limit=TOP)
        answer = await search_operation.search(resources, question, caller_of(tenant), bump=False)
        found.append([str(result.hit.id) for result in answer.results])
    return found


def overlap(exact: Sequence[Sequence[str]], others: Sequence[Sequence[str]]) -> float:
    """The share of exact search's results that the others have, over all questions with any."""
    shares = [len(set(one) & set(other)) / len(one) for one, other in zip(exact, others, strict=True) if one]
    return round(sum(shares) / len(shares), 4) if shares else 1.0


async def insert_rate(bench: Bench, tenant: str, name: str) -> float:
    texts = sentences(bench.plan.writes, SEED + len(bench.found))

    async def fact(number: int, text: str) -> None:
        new = NewFact(subject="user", predicate=f"{name}:{number}:{text[:30]}", content=text)
        await remember.fact(bench.resources, new, caller_of(tenant))

    return round((await rate(fact, texts, 1)).per_second, 1)


async def build(bench: Bench) -> tuple[float, list[dict[str, Any]]]:
    """Build the indexes that the posture wants; the seconds, and each index with its size and recall."""
    began = time.perf_counter()
    await vector_indexes.migrate(bench.resources)
    seconds = round(time.perf_counter() - began, 1)
    status = await vector_indexes.status(bench.resources, queries=bench.plan.exact_reads)
    return seconds, [asdict(standing) for standing in status.standings if standing.in_force != "exact"]


def sizes_on_disk(bench: Bench) -> dict[str, int]:
    """Megabytes of the tables that grow most, with their indexes."""
    with psycopg.connect(bench.superuser) as connection:
        rows = connection.execute(
            "SELECT c.relname, pg_total_relation_size(c.oid) / 1000000 FROM pg_class c"
            " WHERE c.relnamespace = 'memory'::regnamespace AND c.relkind = 'r' ORDER BY 2 DESC LIMIT 6"
        ).fetchall()
    return {str(name): int(size) for name, size in rows}


async def run(bench: Bench, console: Console) -> dict[str, Any]:
    plan, resources, found = bench.plan, bench.resources, bench.found
    texts = sentences(plan.pool, SEED)
    await resources.embedder.start()
    pool = Pool(texts, await resources.embedder.embed(texts))
    places = bench.tenants()
    await load_store(resources, dict.fromkeys(places["small"], SMALL), pool, SEED)
    found["alone_ms"] = await latencies(bench, resources, {"small": places["small"]}, plan.reads)
    for size in plan.sizes:
        began = time.perf_counter()
        await load_store(resources, {f"large-{size}": size_of(size)}, pool, SEED + size)
        console.print(f"{size:,} facts loaded in {time.perf_counter() - began:.0f} s")
    found["megabytes"] = sizes_on_disk(bench)
    found["inserts_before"] = {
        place: await insert_rate(bench, tenants[0], "before") for place, tenants in places.items()
    }
    console.print("Building the indexes …")
    found["build_seconds"], found["indexes"] = await build(bench)
    console.print("Comparing with exact search …")
    asked, found["overlap"] = bench.ask(plan.exact_reads), {}
    for place, (tenant, *_) in places.items():
        kept = [await answers(one, tenant, asked) for one in (bench.exact, resources)]
        found["overlap"][place] = overlap(*kept)
    found["exact_ms"] = await latencies(bench, bench.exact, places, plan.exact_reads)
    found["indexed_ms"] = await latencies(bench, resources, places, plan.reads)
    found["inserts_after"] = {place: await insert_rate(bench, tenants[0], "after") for place, tenants in places.items()}
    return found


def show(found: dict[str, Any], console: Console) -> None:
    table = Table("ms", "exact p50", "p95", "by index p50", "p95", "top 10 as exact", "facts/s before", "after")
    for name, indexed in found["indexed_ms"].items():
        place = name.split(", ")[1]
        exact = found["exact_ms"][name]
        figures = (exact["p50"], exact["p95"], indexed["p50"], indexed["p95"], found["overlap"][place])
        rates = (found["inserts_before"][place], found["inserts_after"][place])
        table.add_row(name, *(f"{figure:g}" for figure in (*figures, *rates)))
    console.print(table)
    for name, alone in found["alone_ms"].items():
        console.print(f"{name} alone: {alone['p50']:g} / {alone['p95']:g} ms")
    console.print(f"indexes built in {found['build_seconds']} s; tables in MB: {found['megabytes']}")
    for index in found["indexes"]:
        console.print({key: index[key] for key in ("tenant", "memory_type", "rows", "in_force", "bytes", "recall")})


def measure(plan: Plan, console: Console) -> dict[str, Any]:
    with machine.scratch_store() as server:
        settings = load_settings(home=server.home, deadline_seconds=DEADLINE_SECONDS)
        without = load_settings(home=server.home, deadline_seconds=DEADLINE_SECONDS, vector_index={"posture": "exact"})

        async def inside() -> dict[str, Any]:
            async with open_resources(settings) as resources, open_resources(without) as exact:
                # One model for both.
                unindexed = replace(exact, embedder=resources.embedder)
                asked = questions(2 * plan.reads + 2 * plan.exact_reads + 10 * WARM_UP, SEED)
                return await run(Bench(resources, unindexed, plan, server.dsn("postgres", "memory"), asked), console)

        found = asyncio.run(inside())
        return {**machine.header(server, settings, SEED), "plan": asdict(plan), **found}


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small tenants and few calls, to see that it works")
    parser.add_argument("--million", action="store_true", help="a tenant of a million facts as well (12 GB of disk)")
    parser.add_argument("--json", type=Path, default=machine.RESULTS / "growth.json", help="where the result goes")
    arguments = parser.parse_args(given)
    plan = QUICK if arguments.quick else Plan(sizes=(*SIZES, MILLION)) if arguments.million else Plan()
    console = machine.wide_console()
    found = measure(plan, console)
    show(found, console)
    machine.write_json(arguments.json, found)
    console.print(f"Written to {arguments.json}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
