"""A team's load on one server: `python -m benchmarks.load`.

`memory-butler serve` with one `memory-butler work` beside it, on the embedded database with 1,000 tenants of 100 facts
each, called over HTTP with their tokens by a client in another process of the same machine. Calls start at their time
whether or not the earlier ones have ended, and their latency counts from that time.

First more and more of the load until the p95 of contexts passes a quarter of a second; then the steady load of contexts
and episodes; then ten times what was sustained, to see that the rest is refused quickly, that memory stays bounded, and
how soon the service is back.
"""

import argparse
import asyncio
import itertools
import json
import os
import random
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx
import psutil
from rich.console import Console

from benchmarks.support import load_report, machine
from benchmarks.support.latency import percentile
from benchmarks.support.lean_http import BrokenConnection, LeanHttp, post, with_body
from benchmarks.support.load_store import BUTLER, Pool, Size, load_store
from benchmarks.support.sentences import questions, sentences
from benchmarks.support.served import Served, make_tokens, served
from memory_butler.resources import open_resources
from memory_butler.settings import load_settings
from memory_butler.store.embedded.server import EmbeddedPostgres

SEED = 20_260_101
MOST_SECONDS = 10.0
CONNECTIONS = 500
TEXTS = 20_000
PASSED = 0.250
FIRST, GROWTH, MOST_STEPS = 0.3, 1.25, 14
OVERLOAD = 10
KINDS = ("context", "store_episode")


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is asked of the server, and for how long."""

    tenants: int = 1_000
    facts: int = 100
    contexts: float = 50
    episodes: float = 40
    seconds: float = 300
    warm_seconds: float = 10
    step_seconds: float = 30
    overload_seconds: float = 60
    pool: int = 1_000
    steps: int = MOST_STEPS


QUICK = Plan(
    tenants=20,
    facts=20,
    contexts=12,
    episodes=10,
    seconds=3,
    warm_seconds=1,
    step_seconds=2,
    overload_seconds=3,
    pool=100,
    steps=2,
)


@dataclass
class Tally:
    """What became of the calls of one kind."""

    seconds: list[float] = field(default_factory=list)
    outcomes: Counter[str] = field(default_factory=Counter)
    refused: list[float] = field(default_factory=list)

    def count(self, outcome: str, seconds: float) -> None:
        self.outcomes[outcome] += 1
        (self.refused if outcome.startswith("429") else self.seconds).append(seconds)

    @property
    def all_served(self) -> bool:
        return set(self.outcomes) <= {"ok"}

    def row(self) -> dict[str, Any]:
        served, refused = (
            {f"p{share}": _ms(taken, share / 100) for share in (50, 95, 99)} for taken in (self.seconds, self.refused)
        )
        return {"ms": served, "outcomes": dict(self.outcomes), "refused_ms": refused}


def _ms(seconds: list[float], share: float) -> float | None:
    return round(1000 * percentile(sorted(seconds), share), 1) if seconds else None


Tallies = dict[str, Tally]


class Client:
    """Calls as many tenants, each with its token."""

    def __init__(self, server: Served, tokens: dict[str, str], http: LeanHttp) -> None:
        self._http = http
        host = f"127.0.0.1:{server.port}"
        self._heads = {kind: [post(f"/api/v1/{kind}", host, token) for token in tokens.values()] for kind in KINDS}
        self._random = random.Random(SEED)
        asked = [{"trigger_prompt": text, "butler": BUTLER} for text in questions(TEXTS, SEED)]
        told = [{"content": text, "butler": BUTLER} for text in sentences(TEXTS, SEED + 1)]
        self._bodies = {
            kind: itertools.cycle([json.dumps(body).encode() for body in bodies])
            for kind, bodies in zip(KINDS, (asked, told), strict=True)
        }
        # How late this client itself was; a figure that says whether the others can be believed.
        self.late: list[float] = []

    async def run(self, contexts: float, episodes: float, seconds: float) -> Tallies:
        """Both kinds of call at these rates for so long, and until the last has ended."""
        tallies = {kind: Tally() for kind in KINDS}
        self.late = []
        times = sorted(
            [(n / contexts, KINDS[0]) for n in range(round(contexts * seconds))]
            + [((n + 0.5) / episodes, KINDS[1]) for n in range(round(episodes * seconds))]
        )
        running: set[asyncio.Task[None]] = set()
        began = time.perf_counter()
        for due, kind in times:
            if (wait := began + due - time.perf_counter()) > 0:
                await asyncio.sleep(wait)
            self.late.append(time.perf_counter() - began - due)
            task = asyncio.create_task(self._one(kind, began + due, tallies[kind]))
            running.add(task)
            task.add_done_callback(running.discard)
        await asyncio.gather(*running)
        return tallies

    async def _one(self, kind: str, due: float, tally: Tally) -> None:
        request = with_body(self._random.choice(self._heads[kind]), next(self._bodies[kind]))
        try:
            status, body = await self._http.call(request)
            outcome = "ok" if status == 200 else f"{status} {_error(body)}"
        except (OSError, TimeoutError, BrokenConnection) as problem:
            outcome = type(problem).__name__
        tally.count(outcome, time.perf_counter() - due)


def _error(body: bytes) -> str:
    try:
        return str(json.loads(body).get("error", ""))
    except (ValueError, AttributeError):
        return ""


@dataclass
class Bench:
    """A server under load: what its calls took, and what it and the others used meanwhile."""

    plan: Plan
    server: Served
    database: EmbeddedPostgres
    client: Client

    async def run(self, factor: float, seconds: float) -> tuple[Tallies, dict[str, Any]]:
        """The plan's load times `factor` for so long: what became of it, and the same in figures."""
        load, began = os.getloadavg()[0], time.perf_counter()
        before = self._cpu_seconds()
        async with self._watched() as resident:
            tallies = await self.client.run(self.plan.contexts * factor, self.plan.episodes * factor, seconds)
        took = time.perf_counter() - began
        figures: dict[str, Any] = {kind: tally.row() for kind, tally in tallies.items()}
        figures |= {
            "factor": round(factor, 3),
            "load_before": round(load, 2),
            "cores": {name: round((now - before[name]) / took, 2) for name, now in self._cpu_seconds().items()},
            "client_late_p95_ms": _ms(self.client.late, 0.95),
            "resident_mb": {"first": round(resident[0]), "most": round(max(resident))},
        }
        return tallies, figures

    @asynccontextmanager
    async def _watched(self) -> AsyncIterator[list[float]]:
        seen = [self.server.resident_mb()]

        async def watch() -> None:
            while True:
                await asyncio.sleep(0.5)
                seen.append(self.server.resident_mb())

        watching = asyncio.create_task(watch())
        try:
            yield seen
        finally:
            watching.cancel()
            seen.append(self.server.resident_mb())

    def _cpu_seconds(self) -> dict[str, float]:
        server, worker = self.server.process, self.server.worker
        assert server and worker and self.database.pid
        pids = {"server": server.pid, "worker": worker.pid, "database": self.database.pid, "client": os.getpid()}
        return {name: _cpu_seconds(pid, family=name == "database") for name, pid in pids.items()}

    async def back(self) -> float | None:
        """How soon after the overload the steady load is served again without a refusal."""
        began = time.perf_counter()
        for _ in range(30):
            tallies = await self.client.run(self.plan.contexts, self.plan.episodes, 1)
            if all(tally.all_served for tally in tallies.values()):
                return round(time.perf_counter() - began, 1)
        return None


def _cpu_seconds(pid: int, *, family: bool) -> float:
    """Of a process; of a whole family, those that have ended included."""
    process = psutil.Process(pid)
    used = process.cpu_times()
    total = used.user + used.system
    if family:
        total += used.children_user + used.children_system
        for child in process.children(recursive=True):
            try:
                of_child = child.cpu_times()
            except psutil.NoSuchProcess:
                continue
            total += of_child.user + of_child.system
    return float(total)


async def measure(plan: Plan, database: EmbeddedPostgres, console: Console) -> dict[str, Any]:
    settings = load_settings(home=database.home)
    console.print(f"{plan.tenants:,} tenants of {plan.facts} facts are loaded …")
    async with open_resources(settings) as resources:
        texts = sentences(plan.pool, SEED)
        pool = Pool(texts, await resources.embedder.embed(texts))
        tenants = [f"team-{number:04d}" for number in range(plan.tenants)]
        await load_store(resources, {tenant: Size(plan.facts, 2, 5) for tenant in tenants}, pool, SEED)
        tokens = await make_tokens(resources, tenants)
    with served(database.home, with_worker=True) as server:
        async with httpx.AsyncClient(timeout=MOST_SECONDS) as web:
            await server.ready(web)
        async with LeanHttp(server.port, connections=CONNECTIONS, seconds=MOST_SECONDS) as http:
            bench = Bench(plan, server, database, Client(server, tokens, http))
            found = await under_load(bench, console)
    found["goals"] = load_report.goals(found)
    return {**machine.header(database, settings, SEED), "plan": asdict(plan), **found}


async def under_load(bench: Bench, console: Console) -> dict[str, Any]:
    """Step by step to what is sustained, the steady load, ten times what was sustained, and back."""
    plan = bench.plan
    await bench.run(0.5, plan.warm_seconds)
    steps: list[dict[str, Any]] = []
    sustained = FIRST
    for number in range(plan.steps):
        factor = FIRST * GROWTH**number
        console.print(f"{factor:.2f} × for {plan.step_seconds:g} s …")
        tallies, figures = await bench.run(factor, plan.step_seconds)
        steps.append(figures)
        if not _is_sustained(tallies):
            break
        sustained = factor
    console.print(f"{plan.contexts:g} contexts and {plan.episodes:g} episodes a second for {plan.seconds:g} s …")
    _, steady = await bench.run(1, plan.seconds)
    console.print(f"{OVERLOAD} × what was sustained for {plan.overload_seconds:g} s …")
    _, overload = await bench.run(OVERLOAD * sustained, plan.overload_seconds)
    back = await bench.back()
    return {
        "steady": steady,
        "steps": steps,
        "sustained_factor": round(sustained, 3),
        "overload": overload,
        "back_after_seconds": back,
    }


def _is_sustained(tallies: Tallies) -> bool:
    contexts = sorted(tallies["context"].seconds)
    return all(tally.all_served for tally in tallies.values()) and percentile(contexts, 0.95) <= PASSED


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small store and seconds, to see that it works")
    parser.add_argument("--seconds", type=float, help="length of the steady load")
    parser.add_argument("--json", type=Path, default=machine.RESULTS / "load.json", help="where the result goes")
    arguments = parser.parse_args(given)
    plan = QUICK if arguments.quick else Plan()
    if arguments.seconds:
        plan = replace(plan, seconds=arguments.seconds)
    console = machine.wide_console()
    with machine.scratch_store() as database:
        result = asyncio.run(measure(plan, database, console))
    load_report.show(result, console)
    machine.write_json(arguments.json, result)
    console.print(f"Written to {arguments.json}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
