"""A team's load on one server: `python -m benchmarks.load`.

`memory-butler serve` in a process of its own on the embedded database, with 1,000 tenants of 100 facts each, called
over HTTP with their tokens by a client in another process of the same machine. Calls start at their time whether or
not the earlier ones have ended, and their latency counts from that time.

First the steady load of contexts and episodes; then more and more of it until the p95 of contexts passes a quarter of a
second; then ten times what was sustained, to see that the rest is refused quickly, that memory stays bounded, and how
soon the service is back.
"""

import argparse
import asyncio
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import httpx
from rich.console import Console
from rich.table import Table

from benchmarks import machine
from benchmarks.latency import percentile
from benchmarks.load_store import BUTLER, Pool, Size, load_store
from benchmarks.sentences import questions, sentences
from benchmarks.served import Served, make_tokens, served
from memory_butler.butler import open_butler
from memory_butler.settings import load_settings
from memory_butler.store.embedded import EmbeddedPostgres

SEED = 20_260_101
MOST_SECONDS = 10.0
PASSED = 0.250


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is asked of the server, and for how long."""

    tenants: int = 1_000
    facts: int = 100
    contexts: float = 50
    episodes: float = 40
    seconds: float = 300
    step_seconds: float = 30
    overload_seconds: float = 60
    pool: int = 1_000


QUICK = Plan(tenants=20, facts=20, contexts=5, episodes=4, seconds=5, step_seconds=3, overload_seconds=3, pool=100)


@dataclass
class Tally:
    """What became of the calls of one kind."""

    seconds: list[float] = field(default_factory=list)
    outcomes: Counter[str] = field(default_factory=Counter)
    refused: list[float] = field(default_factory=list)

    def row(self) -> dict[str, Any]:
        ordered = sorted(self.seconds)
        p50, p95, p99 = (
            round(1000 * percentile(ordered, share), 1) if ordered else None for share in (0.5, 0.95, 0.99)
        )
        quick = sorted(self.refused)
        refused_p95 = round(1000 * percentile(quick, 0.95), 1) if quick else None
        return {"ms": {"p50": p50, "p95": p95, "p99": p99}, "outcomes": dict(self.outcomes), "refused_p95": refused_p95}


class Client:
    """Calls as many tenants, each with its token."""

    def __init__(self, server: Served, tokens: dict[str, str], http: httpx.AsyncClient) -> None:
        self._server, self._http = server, http
        self._tenants = sorted(tokens)
        self._tokens = tokens
        self._random = random.Random(SEED)
        self._asked = iter(questions(200_000, SEED))
        self._told = iter(sentences(200_000, SEED + 1))

    async def run(self, contexts: float, episodes: float, seconds: float) -> dict[str, Tally]:
        """Both kinds of call at these rates for so long, and until the last has ended."""
        tallies = {"context": Tally(), "store_episode": Tally()}
        began = time.perf_counter()
        times = sorted(
            [(n / contexts, "context") for n in range(int(contexts * seconds))]
            + [((n + 0.5) / episodes, "store_episode") for n in range(int(episodes * seconds))]
        )
        running: set[asyncio.Task[None]] = set()
        for due, kind in times:
            if (wait := began + due - time.perf_counter()) > 0:
                await asyncio.sleep(wait)
            task = asyncio.create_task(self._one(kind, began + due, tallies[kind]))
            running.add(task)
            task.add_done_callback(running.discard)
        await asyncio.gather(*running)
        return tallies

    async def _one(self, kind: str, due: float, tally: Tally) -> None:
        tenant = self._random.choice(self._tenants)
        said = {"trigger_prompt": next(self._asked)} if kind == "context" else {"content": next(self._told)}
        try:
            answer = await self._http.post(
                f"{self._server.url}/api/v1/{kind}",
                json={**said, "butler": BUTLER},
                headers={"authorization": f"Bearer {self._tokens[tenant]}"},
            )
            outcome = "ok" if answer.status_code == 200 else f"{answer.status_code} {answer.json().get('error', '')}"
        except httpx.HTTPError as problem:
            outcome = type(problem).__name__
        took = time.perf_counter() - due
        tally.outcomes[outcome] += 1
        (tally.refused if outcome.startswith("429") else tally.seconds).append(took)


async def measure(plan: Plan, database: EmbeddedPostgres, console: Console) -> dict[str, Any]:
    settings = load_settings(home=database.home)
    async with open_butler(settings) as butler:
        texts = sentences(plan.pool, SEED)
        pool = Pool(texts, await butler.embedder.embed(texts))
        tenants = [f"team-{number:04d}" for number in range(plan.tenants)]
        await load_store(butler, {tenant: Size(plan.facts, 2, 5) for tenant in tenants}, pool, SEED)
        secrets = await make_tokens(butler, tenants)
    limits = httpx.Limits(max_connections=500, max_keepalive_connections=500)
    with served(database.home) as server:
        async with httpx.AsyncClient(timeout=MOST_SECONDS, limits=limits) as http:
            await server.ready(http)
            client = Client(server, secrets, http)
            await client.run(plan.contexts / 2, plan.episodes / 2, min(10, plan.seconds))
            found: dict[str, Any] = {}
            console.print(
                f"{plan.contexts:g} contexts and {plan.episodes:g} episodes a second for {plan.seconds:g} s …"
            )
            began = os.getloadavg()[0]
            steady = await client.run(plan.contexts, plan.episodes, plan.seconds)
            found["steady"] = _rows(steady) | {"load_before": began, "resident_mb": round(server.resident_mb())}
            found["steps"] = steps = []
            factor, sustained = 1.25, 1.0
            while factor <= 8:
                console.print(f"{factor:.2f} × for {plan.step_seconds:g} s …")
                step = await client.run(plan.contexts * factor, plan.episodes * factor, plan.step_seconds)
                steps.append({"factor": factor} | _rows(step))
                p95 = percentile(sorted(step["context"].seconds), 0.95) if step["context"].seconds else PASSED + 1
                if p95 > PASSED or set(step["context"].outcomes) != {"ok"}:
                    break
                sustained, factor = factor, factor * 1.25
            found["sustained_factor"] = sustained
            console.print(f"10 × what was sustained for {plan.overload_seconds:g} s …")
            before = server.resident_mb()
            over = await client.run(
                10 * sustained * plan.contexts, 10 * sustained * plan.episodes, plan.overload_seconds
            )
            found["overload"] = _rows(over) | {"resident_mb": [round(before), round(server.resident_mb())]}
            found["back_after_seconds"] = await _back(client, plan)
    return {**machine.header(database, settings, SEED), "plan": asdict(plan), **found}


async def _back(client: Client, plan: Plan) -> float | None:
    """How soon after the overload the steady load is served again without a refusal."""
    began = time.perf_counter()
    for _ in range(30):
        second = await client.run(plan.contexts, plan.episodes, 1)
        tallies = second.values()
        if all(set(tally.outcomes) <= {"ok"} for tally in tallies):
            return round(time.perf_counter() - began, 1)
    return None


def _rows(tallies: dict[str, Tally]) -> dict[str, Any]:
    return {kind: tally.row() for kind, tally in tallies.items()}


def show(result: dict[str, Any], console: Console) -> None:
    table = Table("load", "call", "p50 ms", "p95 ms", "p99 ms", "outcomes", "refused in (p95 ms)")
    parts = [("steady", result["steady"])]
    parts += [(f"{step['factor']:.2f} ×", step) for step in result["steps"]]
    for name, part in [*parts, ("overload", result["overload"])]:
        for kind in ("context", "store_episode"):
            row = part[kind]
            outcomes = ", ".join(f"{count:,} {what}" for what, count in sorted(row["outcomes"].items()))
            table.add_row(name, kind, *(str(value) for value in row["ms"].values()), outcomes, str(row["refused_p95"]))
    console.print(table)
    console.print(
        f"Sustained {result['sustained_factor']:.2f} × the load. Resident {result['steady']['resident_mb']} MB,"
        f" around the overload {result['overload']['resident_mb']}; back {result['back_after_seconds']} s after it."
    )


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small store and seconds, to see that it works")
    parser.add_argument("--seconds", type=float, help="length of the steady load")
    parser.add_argument("--json", type=Path, default=machine.RESULTS / "load.json", help="where the result goes")
    arguments = parser.parse_args(given)
    plan = QUICK if arguments.quick else Plan()
    if arguments.seconds:
        plan = Plan(**{**asdict(plan), "seconds": arguments.seconds})
    console = machine.wide_console()
    with machine.scratch_store() as database:
        result = asyncio.run(measure(plan, database, console))
    show(result, console)
    machine.write_json(arguments.json, result)
    console.print(f"Written to {arguments.json}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
