"""Processor time of reads: `python -m benchmarks.cpu`. It says more than latency on a machine that is not idle.

The store is measured as it was just filled, before the database has counted its tables, and again after ANALYZE.
"""

import argparse
import asyncio
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil
import psycopg
from rich.table import Table

from benchmarks.speed import LARGE, LARGE_TENANT, QUICK, SEED, SMALL, caller_of, small_tenants
from benchmarks.support import machine
from benchmarks.support.load_store import BUTLER, Pool, load_store
from benchmarks.support.sentences import questions, sentences
from memory_butler.adapters.lazy_resources import freeze_loaded_objects
from memory_butler.models import BriefRequest, Question
from memory_butler.operations.briefing import brief
from memory_butler.operations.retrieval import search
from memory_butler.resources import Resources, open_resources
from memory_butler.settings import load_settings
from memory_butler.store.embedded.server import EmbeddedPostgres

ROUNDS = 5
# No other process of the server may count the tables.
OPTIONS = {"autovacuum": "off"}

Figures = dict[str, dict[str, float]]


async def measure(server: EmbeddedPostgres, asked: list[str], count: int) -> Figures:
    """Milliseconds of each call by a new process: in the program, in the database, and waited in all (median)."""
    found: Figures = {}
    async with open_resources(load_settings(home=server.home)) as resources:
        await resources.embedder.start()
        await resources.domains.start()
        turns = [(name, size) for size in ("small", "large") for name in ("search", "context")]
        rows: dict[tuple[str, str], list[tuple[float, float, float]]] = {turn: [] for turn in turns}
        freeze_loaded_objects()
        for _ in range(ROUNDS):
            for name, size in turns:
                texts = [asked.pop() for _ in range(count)]
                rows[name, size].append(await _turn(resources, server, name, size, texts))
        for (name, size), values in rows.items():
            medians = [statistics.median(column) for column in zip(*values, strict=True)]
            keys = ("program", "database", "wall")
            found[f"{name}, {size} tenant"] = {key: round(ms, 2) for key, ms in zip(keys, medians, strict=True)}
    return found


async def _turn(
    resources: Resources, server: EmbeddedPostgres, name: str, size: str, texts: Sequence[str]
) -> tuple[float, float, float]:
    tenants = small_tenants() if size == "small" else [LARGE_TENANT]
    program, database, waited = time.process_time(), _database_seconds(server), []
    for number, text in enumerate(texts):
        caller, started = caller_of(tenants[number % len(tenants)]), time.perf_counter()
        if name == "search":
            await search.search(resources, Question(query=text), caller)
        else:
            await brief.brief(resources, BriefRequest(trigger_prompt=text, butler=BUTLER), caller)
        waited.append(time.perf_counter() - started)
    program, database = time.process_time() - program, _database_seconds(server) - database
    per_call = 1000 / len(texts)
    return program * per_call, database * per_call, 1000 * statistics.median(waited)


def _database_seconds(server: EmbeddedPostgres) -> float:
    """Processor time of the connections so far."""
    assert server.pid is not None
    spent = 0.0
    for process in psutil.Process(server.pid).children():
        times = process.cpu_times()
        spent += times.user + times.system
    return spent


async def fill(server: EmbeddedPostgres, *, is_quick: bool) -> None:
    async with open_resources(load_settings(home=server.home)) as resources:
        await resources.embedder.start()
        texts = sentences(QUICK.pool if is_quick else 2_000, SEED)
        pool = Pool(texts, await resources.embedder.embed(texts))
        sizes = dict.fromkeys(small_tenants(), SMALL)
        sizes[LARGE_TENANT] = QUICK.large if is_quick else LARGE
        await load_store(resources, sizes, pool, SEED, is_counted=False)


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cpu", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small store and few repetitions, to see that it works")
    parser.add_argument("--json", type=Path, default=machine.RESULTS / "cpu.json", help="where the result goes")
    arguments = parser.parse_args(given)
    console, count = machine.wide_console(), 4 if arguments.quick else 40
    asked = questions(2 * ROUNDS * 4 * count, SEED)
    figures: dict[str, Figures] = {}
    with machine.scratch_store(OPTIONS) as server:
        asyncio.run(fill(server, is_quick=arguments.quick))
        figures["just filled"] = asyncio.run(measure(server, asked, count))
        with psycopg.connect(server.dsn("postgres", "memory"), autocommit=True) as connection:
            connection.execute("ANALYZE")
        figures["after ANALYZE"] = asyncio.run(measure(server, asked, count))
        result: dict[str, Any] = {**machine.header(server, load_settings(home=server.home), SEED), "cpu_ms": figures}
    table = Table("store", "call", "program ms", "database ms", "sum ms", "median wall ms")
    for store, rows in figures.items():
        for call, row in rows.items():
            values = (row["program"], row["database"], row["program"] + row["database"], row["wall"])
            table.add_row(store, call, *(f"{value:.1f}" for value in values))
    console.print(table)
    machine.write_json(arguments.json, result)
    console.print(f"Written to {arguments.json}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
