"""What batches are worth, and what news of events costs: `python -m benchmarks.batches`.

Each comparison is taken in turns within one run, so that both sides meet the same machine: the ratios are the result.
"""

import argparse
import asyncio
import os
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psycopg
from fastmcp import Client
from rich.console import Console
from rich.table import Table

from benchmarks.support import machine
from benchmarks.support.load_store import BUTLER, Pool, Size, load_store
from benchmarks.support.sentences import questions, sentences
from memory_butler.adapters.mcp.server import build_server
from memory_butler.models import BriefRequest, Caller, NewEpisode, Principal, Role
from memory_butler.operations.briefing import brief_batch
from memory_butler.operations.briefing.brief import brief
from memory_butler.operations.writing import ingest, remember
from memory_butler.operations.writing.ingest import IncomingEpisode
from memory_butler.resources import Resources, open_resources
from memory_butler.settings import load_settings
from memory_butler.store.embedded.server import EmbeddedPostgres

SEED = 20_260_611
TENANT = "batches"
# As long as a short summary of a session.
EPISODE_SENTENCES = 3
LOADED = Size(1_000, 50, 200)
Work = Callable[[Sequence[str]], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Plan:
    """How many items a batch has, how often each side takes its turn, and how often the trigger is taken away."""

    items: int = 100
    rounds: int = 3
    pool: int = 500
    size: Size = LOADED
    trigger_writes: int = 100
    trigger_rounds: int = 6


QUICK = Plan(items=10, rounds=2, pool=60, size=Size(60, 5, 10), trigger_writes=10, trigger_rounds=2)


@dataclass(frozen=True, slots=True)
class Sides:
    """The same work in two ways: seconds of each turn."""

    one_by_one: list[float]
    together: list[float]

    def as_result(self, items: int) -> dict[str, float]:
        single, batch = statistics.median(self.one_by_one), statistics.median(self.together)
        return {
            "one_by_one_ms_an_item": round(1000 * single / items, 2),
            "batch_ms_an_item": round(1000 * batch / items, 2),
            "times_as_fast": round(
                statistics.median(a / b for a, b in zip(self.one_by_one, self.together, strict=True)), 2
            ),
        }


async def in_turns(one_by_one: Work, together: Work, texts: Sequence[Sequence[str]]) -> Sides:
    """Both sides with texts of their own, in turns; the first turn only warms up."""
    sides = Sides([], [])
    for turn in range(0, len(texts) - 1, 2):
        for work, kept, own in (
            (one_by_one, sides.one_by_one, texts[turn]),
            (together, sides.together, texts[turn + 1]),
        ):
            began = time.perf_counter()
            await work(own)
            kept.append(time.perf_counter() - began)
    return Sides(sides.one_by_one[1:], sides.together[1:])


def portions(texts: Sequence[str], plan: Plan) -> list[Sequence[str]]:
    """As many lots of texts as both sides need, none of them twice."""
    return [texts[at * plan.items : (at + 1) * plan.items] for at in range(2 * (plan.rounds + 1))]


def summaries(count: int, seed: int) -> list[str]:
    lines = sentences(count * EPISODE_SENTENCES, seed)
    return [" ".join(lines[at : at + EPISODE_SENTENCES]) for at in range(0, len(lines), EPISODE_SENTENCES)]


async def by_operation(resources: Resources, plan: Plan) -> dict[str, Sides]:
    """In the process, without a door."""
    caller = Caller(Principal(TENANT, BUTLER, Role.AGENT))

    async def store(texts: Sequence[str]) -> None:
        for text in texts:
            await remember.episode(resources, NewEpisode(content=text, butler=BUTLER), caller)

    async def store_batch(texts: Sequence[str]) -> None:
        done = await ingest.ingest(
            resources, [IncomingEpisode(NewEpisode(content=text, butler=BUTLER)) for text in texts], caller
        )
        assert all(one.stored for one in done), "not everything was stored"

    async def ask(texts: Sequence[str]) -> None:
        for text in texts:
            await brief(resources, BriefRequest(trigger_prompt=text, butler=BUTLER), caller)

    async def ask_batch(texts: Sequence[str]) -> None:
        done = await brief_batch.brief_batch(
            resources, [BriefRequest(trigger_prompt=text, butler=BUTLER) for text in texts], caller
        )
        assert all(one.briefing for one in done), "not every briefing was built"

    needed = 2 * (plan.rounds + 1) * plan.items
    return {
        "contexts, in the process": await in_turns(ask, ask_batch, portions(questions(needed, SEED), plan)),
        "episodes, in the process": await in_turns(store, store_batch, portions(summaries(needed, SEED), plan)),
    }


async def without_the_model(resources: Resources, plan: Plan) -> dict[str, Sides]:
    """Storing by itself: the same episodes again and again, whose vectors are at hand after the first turn."""
    caller = Caller(Principal(TENANT, BUTLER, Role.AGENT))
    new = [NewEpisode(content=text, butler=BUTLER) for text in summaries(plan.items, SEED + 3)]

    async def store(texts: Sequence[str]) -> None:
        for one in new:
            await remember.episode(resources, one, caller)

    async def store_batch(texts: Sequence[str]) -> None:
        await ingest.ingest(resources, [IncomingEpisode(one) for one in new], caller)

    return {"episodes, without the model": await in_turns(store, store_batch, [()] * 2 * (plan.rounds + 1))}


async def by_tool(resources: Resources, plan: Plan) -> dict[str, Sides]:
    """Through the tools, as an agent calls them."""
    async with Client(build_server(resources, Principal(TENANT, BUTLER, Role.AGENT))) as client:

        async def store(texts: Sequence[str]) -> None:
            for text in texts:
                await client.call_tool("memory_store_episode", {"content": text, "butler": BUTLER})

        async def store_batch(texts: Sequence[str]) -> None:
            items = [{"content": text, "butler": BUTLER} for text in texts]
            done = await client.call_tool("memory_ingest_batch", {"episodes": items})
            assert done.structured_content and done.structured_content["stored"] == len(texts)

        async def ask(texts: Sequence[str]) -> None:
            for text in texts:
                await client.call_tool("memory_context", {"trigger_prompt": text, "butler": BUTLER})

        async def ask_batch(texts: Sequence[str]) -> None:
            done = await client.call_tool("memory_context_batch", {"requests": [{"trigger_prompt": t} for t in texts]})
            assert done.structured_content and done.structured_content["built"] == len(texts)

        needed = 2 * (plan.rounds + 1) * plan.items
        return {
            "contexts, through the tools": await in_turns(ask, ask_batch, portions(questions(needed, SEED + 1), plan)),
            "episodes, through the tools": await in_turns(
                store, store_batch, portions(summaries(needed, SEED + 1), plan)
            ),
        }


async def cost_of_news(resources: Resources, server: EmbeddedPostgres, plan: Plan) -> dict[str, float]:
    """The rate of single episode writes with the trigger that tells of events and without it, in turns. Vectors are
    at hand, so that only the write is measured, and a listener hears what is told."""
    texts = sentences(plan.trigger_writes, SEED + 2)
    caller = Caller(Principal("news", BUTLER, Role.AGENT))
    seconds: dict[bool, list[float]] = {True: [], False: []}
    with psycopg.connect(server.dsn("postgres", "memory"), autocommit=True) as owner:
        owner.execute("LISTEN memory_events_memory")
        for turn in range(2 * plan.trigger_rounds + 2):
            told = turn % 2 == 0
            owner.execute(f"ALTER TABLE memory.memory_events {'ENABLE' if told else 'DISABLE'} TRIGGER tell".encode())
            began = time.perf_counter()
            for text in texts:
                await remember.episode(resources, NewEpisode(content=text, butler=BUTLER), caller)
            if turn > 1:
                seconds[told].append(time.perf_counter() - began)
        owner.execute("ALTER TABLE memory.memory_events ENABLE TRIGGER tell")
    pairs = list(zip(seconds[True], seconds[False], strict=True))
    return {
        "writes_a_second_with_news": round(len(texts) / statistics.median(seconds[True]), 1),
        "writes_a_second_without": round(len(texts) / statistics.median(seconds[False]), 1),
        "seconds_with_news_over_without": round(statistics.median(a / b for a, b in pairs), 3),
    }


class Remembered:
    """The embedder, except that vectors it made once are at hand."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self._kept: dict[tuple[str, ...], Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def embed(self, texts: Sequence[str]) -> Any:
        key = tuple(texts)
        if key not in self._kept:
            self._kept[key] = await self._inner.embed(texts)
        return self._kept[key]


async def run(resources: Resources, server: EmbeddedPostgres, plan: Plan, console: Console) -> dict[str, Any]:
    await resources.embedder.start()
    texts = sentences(plan.pool, SEED)
    await load_store(resources, {TENANT: plan.size}, Pool(texts, await resources.embedder.embed(texts)), SEED)
    console.print("One by one and together …")
    compared = {**await by_operation(resources, plan), **await by_tool(resources, plan)}
    console.print("With and without news of events …")
    at_hand: Any = Remembered(resources.embedder)
    ready = replace(resources, embedder=at_hand)
    compared |= await without_the_model(ready, plan)
    return {
        "items": plan.items,
        "batches": {name: sides.as_result(plan.items) for name, sides in compared.items()},
        "news": await cost_of_news(ready, server, plan),
    }


def measure(plan: Plan, console: Console) -> dict[str, Any]:
    with machine.scratch_store() as server:
        # Nothing here is to be given up because the machine is busy.
        settings = load_settings(home=server.home, deadline_seconds=120)

        async def inside() -> dict[str, Any]:
            async with open_resources(settings) as resources:
                return await run(resources, server, plan, console)

        load = os.getloadavg()[0]
        result = asyncio.run(inside())
        return {
            **machine.header(server, settings, SEED),
            "load": [round(load, 1), round(os.getloadavg()[0], 1)],
            **result,
        }


def show(result: dict[str, Any], console: Console) -> None:
    table = Table(
        f"{result['items']} at once", "one by one, ms each", "as a batch, ms each", "times as fast",
        title="Batches", title_justify="left",
    )  # fmt: skip
    for name, row in result["batches"].items():
        table.add_row(
            name, *(f"{row[key]:.2f}" for key in ("one_by_one_ms_an_item", "batch_ms_an_item", "times_as_fast"))
        )
    console.print(table)
    table = Table("what", "value", title="News of events", title_justify="left")
    for name, value in result["news"].items():
        table.add_row(name.replace("_", " "), f"{value:g}")
    console.print(table)
    before, after = result["load"]
    console.print(f"Load average: {before} before, {after} after.")


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.batches", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small batches and few turns, to see that it works")
    parser.add_argument("--json", type=Path, default=machine.RESULTS / "batches.json", help="where the result goes")
    arguments = parser.parse_args(given)
    console = machine.wide_console()
    result = measure(QUICK if arguments.quick else Plan(), console)
    show(result, console)
    machine.write_json(arguments.json, result)
    console.print(f"Written to {arguments.json}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
