"""How fast it is: `python -m benchmarks.speed`."""

import argparse
import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks import cold
from benchmarks.support import machine, speed_report
from benchmarks.support.latency import Latency, Rate, floor_read, rate, timed
from benchmarks.support.load_store import BUTLER, Pool, Size, load_store
from benchmarks.support.sentences import FEW, USUAL, Vocabulary, questions, sentences
from memory_butler.models import BriefRequest, Caller, NewEpisode, NewFact, Principal, Question
from memory_butler.operations.briefing import brief
from memory_butler.operations.retrieval import search as search_operation
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources, open_resources
from memory_butler.settings import load_settings

SEED = 20_260_101
SMALL, LARGE = Size(100, 10, 40), Size(10_000, 200, 1_000)
FIRST_TENANTS = 10
LARGE_TENANT = "large"
CLIENTS = 8
WARM_UP = 10
QUESTION = "When was it that the landlord cancelled the wooden ferry ticket?"


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is loaded and how often everything is measured."""

    tenants: int = 999
    large: Size = LARGE
    pool: int = 2_000
    reads: int = 150
    writes: int = 200
    cold_starts: int = 3
    words: Vocabulary = USUAL


QUICK = Plan(tenants=40, large=Size(1_000, 50, 200), pool=300, reads=40, writes=40, cold_starts=1)


@dataclass(slots=True)
class Bench:
    """A run: what is open, which questions are left, and what was measured."""

    resources: Resources
    plan: Plan
    fresh: list[str]
    latencies: dict[str, Latency] = field(default_factory=dict)
    rates: dict[str, Rate] = field(default_factory=dict)
    other: dict[str, float] = field(default_factory=dict)

    def ask(self, count: int) -> list[str]:
        """Questions nobody has asked before."""
        taken, self.fresh = self.fresh[:count], self.fresh[count:]
        assert len(taken) == count, "the benchmark has run out of questions"
        return taken


def small_tenants() -> list[str]:
    return [f"small-{number:04d}" for number in range(FIRST_TENANTS)]


def caller_of(tenant: str) -> Caller:
    return Caller(Principal(tenant, BUTLER))


async def read_latencies(bench: Bench, clients: int, **places: tuple[Resources, Sequence[str]]) -> None:
    """Context, search and their floor at each place, taken in turns so that all of them meet the same weather."""
    count, rounds = bench.plan.reads, 5
    calls = {
        f"{name}, {place.replace('_', ' ')}, {clients} client{'s' * (clients > 1)}": call
        for place, (butler, tenants) in places.items()
        for name, call in (await _calls(butler, tenants)).items()
    }
    for call in calls.values():
        await timed(call, bench.ask(WARM_UP), clients)
    found: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            found[name] += await timed(call, bench.ask(count // rounds), clients)
    bench.latencies |= {name: Latency.of(seconds) for name, seconds in found.items()}


async def _calls(resources: Resources, tenants: Sequence[str]) -> dict[str, Callable[[int, str], Awaitable[None]]]:
    """What is measured of one store, its tenants in turns."""

    async def context(number: int, text: str) -> None:
        request = BriefRequest(trigger_prompt=text, butler=BUTLER)
        await brief.brief(resources, request, caller_of(tenants[number % len(tenants)]))

    async def search(number: int, text: str) -> None:
        await search_operation.search(resources, Question(query=text), caller_of(tenants[number % len(tenants)]))

    rows = await _rows_fetched(resources, tenants[0])

    async def floor(number: int, text: str) -> None:
        await floor_read(resources, tenants[number % len(tenants)], text, rows)

    return {"context": context, "search": search, "floor": floor}


async def _rows_fetched(resources: Resources, tenant: str) -> int:
    """How many rows a context fetches for this tenant: the floor fetches as many."""
    request = BriefRequest(trigger_prompt=QUESTION, butler=BUTLER)
    found, _ = await brief.find_candidates(resources, request, caller_of(tenant))
    return len(found.candidates.hits) + sum(found.hidden.values())


async def cached_latencies(bench: Bench) -> None:
    """The same question again and again: the vector comes from the cache."""
    for label, tenant in (("small", small_tenants()[0]), ("large", LARGE_TENANT)):

        async def context(number: int, text: str, tenant: str = tenant) -> None:
            await brief.brief(bench.resources, BriefRequest(trigger_prompt=text, butler=BUTLER), caller_of(tenant))

        texts = bench.ask(1) * (bench.plan.reads // 2)
        bench.latencies[f"context, {label}, known question"] = Latency.of((await timed(context, texts, 1))[1:])


async def write_rates(bench: Bench) -> None:
    """Storing, as committed to disk; with eight clients each writes to a tenant of its own."""
    resources = bench.resources
    texts = sentences(6 * bench.plan.writes, SEED + 9, bench.plan.words)

    async def episode(number: int, text: str) -> None:
        new = NewEpisode(content=text, butler=BUTLER)
        await remember.episode(resources, new, caller_of(f"writer-{number % CLIENTS}"))

    async def fact(number: int, text: str) -> None:
        new = NewFact(subject="user", predicate=f"said:{number}:{len(text)}:{text[:40]}", content=text)
        await remember.fact(resources, new, caller_of(f"writer-{number % CLIENTS}"))

    await timed(episode, texts[:CLIENTS], 1)
    for clients in (1, CLIENTS):
        for name, call in (("episodes", episode), ("facts", fact)):
            batch, texts = texts[: bench.plan.writes], texts[bench.plan.writes :]
            label = f"{name} stored, {clients} client{'s' * (clients > 1)}"
            bench.rates[label] = await rate(call, batch, clients)


async def run(resources: Resources, alone: Resources, plan: Plan, console: Console) -> Bench:
    """Everything that one open process can measure. `alone` is another store, in which the first tenants are all."""
    bench = Bench(resources, plan, questions(plan.reads * 24 + 500, SEED, plan.words))
    texts = sentences(plan.pool, SEED, plan.words)
    await resources.embedder.start()
    started = time.perf_counter()
    pool = Pool(texts, await resources.embedder.embed(texts))
    bench.rates["sentences embedded in bulk"] = Rate(len(texts), time.perf_counter() - started)

    console.print(f"Loading {FIRST_TENANTS} tenants …")
    small = small_tenants()
    for store in (alone, resources):
        await load_store(store, dict.fromkeys(small, SMALL), pool, SEED)
    rest = {f"small-{number:04d}": SMALL for number in range(FIRST_TENANTS, plan.tenants)}
    console.print(f"Loading {len(rest)} more and a large one …")
    started = time.perf_counter()
    await load_store(resources, {**rest, LARGE_TENANT: plan.large}, pool, SEED + 1)
    bench.other["load_seconds"] = round(time.perf_counter() - started, 1)
    bench.other["facts"] = plan.tenants * SMALL.facts + plan.large.facts

    console.print("Reading with 1 client …")
    for _ in range(2):  # the first time only warms up: caches and plans would otherwise favour what comes later
        await read_latencies(bench, 1, small_tenant_alone=(alone, small), small_tenant=(resources, small))
    await read_latencies(bench, 1, large_tenant=(resources, [LARGE_TENANT]))
    console.print(f"Reading with {CLIENTS} clients …")
    await read_latencies(bench, CLIENTS, small_tenant=(resources, small))
    await read_latencies(bench, CLIENTS, large_tenant=(resources, [LARGE_TENANT]))
    await cached_latencies(bench)
    console.print("Writing …")
    await write_rates(bench)
    return bench


def measure(plan: Plan, console: Console) -> dict[str, Any]:
    with machine.scratch_store() as other, machine.scratch_store() as server:
        settings = load_settings(home=server.home)

        async def inside() -> Bench:
            async with open_resources(settings) as resources, open_resources(load_settings(home=other.home)) as alone:
                # One model for both: two would have to share the processor's cache.
                bench = await run(resources, replace(alone, embedder=resources.embedder), plan, console)
                bench.other["resident_mb_of_this_process"] = cold.resident_mb()
                bench.other["resident_mb_of_the_database"] = cold.server_mb(server)
                return bench

        bench = asyncio.run(inside())
        head = machine.header(server, settings, SEED)
        console.print("Starting cold processes …")
        bench.other |= cold.first_answers(server, plan.cold_starts, small_tenants()[0])
    result = {
        **head,
        "words": "few" if plan.words is FEW else "usual",
        "latency_ms": {name: latency.as_ms() for name, latency in bench.latencies.items()},
        "rates_per_second": {name: round(one.per_second, 1) for name, one in bench.rates.items()},
        "other": bench.other,
    }
    return {**result, "goals": speed_report.goals(result["latency_ms"])}


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small store and few repetitions, to see that it works")
    parser.add_argument("--few-words", action="store_true", help="a store that speaks of little, where words cost most")
    parser.add_argument("--json", type=Path, default=machine.RESULTS / "speed.json", help="where the result goes")
    arguments = parser.parse_args(given)
    console = machine.wide_console()
    plan = QUICK if arguments.quick else Plan()
    result = measure(replace(plan, words=FEW) if arguments.few_words else plan, console)
    speed_report.show(result, console)
    machine.write_json(arguments.json, result)
    console.print(f"Written to {arguments.json}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
