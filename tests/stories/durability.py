"""Nothing acknowledged is lost, nothing is stored twice, at length: `make test-durability`.

Clients write episodes over HTTP while the server is killed (SIGKILL) at random moments and started again; then its
database is, and the server has to recover by itself. A client that got no answer tries again with the same idempotency
key. In the end the store is compared with the clients' own log. It stops by itself and leaves neither a process nor a
file.
"""

import argparse
import asyncio
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import httpx
import psycopg
from benchmarks.support.machine import scratch_store
from benchmarks.support.served import Served, make_tokens, served
from rich.console import Console

from memory_butler.resources import open_resources
from memory_butler.settings import load_settings
from memory_butler.store.embedded.server import EmbeddedPostgres

TENANTS = ("ada", "bob", "cleo")
WRITERS = 6
PAUSE_SECONDS = 0.05
PATIENCE_SECONDS = 10.0


@dataclass
class Ledger:
    """What the clients were told."""

    acknowledged: dict[str, tuple[str, str]] = field(default_factory=dict)
    refusals: Counter[str] = field(default_factory=Counter)
    stopping: bool = False


async def write(server: Served, http: httpx.AsyncClient, tokens: dict[str, str], ledger: Ledger, number: int) -> None:
    """One client: an episode at a time, each until it is acknowledged."""
    chance, told = random.Random(number), 0
    while not ledger.stopping:
        told += 1
        tenant, content = chance.choice(TENANTS), f"Writer {number} noted thing number {told}"
        body = {"content": content, "butler": "main", "idempotency_key": f"w{number}-{told}"}
        while True:
            try:
                answer = await http.post(
                    f"{server.url}/api/v1/store_episode",
                    json=body,
                    headers={"authorization": f"Bearer {tokens[tenant]}"},
                )
            except httpx.HTTPError as problem:
                ledger.refusals[type(problem).__name__] += 1
            else:
                if answer.status_code == 200:
                    ledger.acknowledged[content] = (tenant, answer.json()["ref"])
                    break
                ledger.refusals[answer.json()["error"]] += 1
            await asyncio.sleep(PAUSE_SECONDS)


async def under_fire(
    server: Served, database: EmbeddedPostgres, ledger: Ledger, kills: tuple[int, int], chance: random.Random
) -> None:
    """Kill the server so many times, then its database so many times."""
    for _ in range(kills[0]):
        await _some_progress(ledger)
        await asyncio.sleep(chance.uniform(0, 0.3))
        server.kill()
        server.start()
    running = server.process
    for _ in range(kills[1]):
        await _some_progress(ledger)
        await asyncio.sleep(chance.uniform(0, 0.3))
        assert database.pid
        with suppress(ProcessLookupError):
            os.kill(database.pid, signal.SIGKILL)
    await _some_progress(ledger)
    assert server.process is running and running and running.poll() is None, "the server did not live through it"


async def _some_progress(ledger: Ledger) -> None:
    """Wait until something more was acknowledged: each death hits a server that works."""
    before, ends = len(ledger.acknowledged), time.monotonic() + 60
    while len(ledger.acknowledged) < before + WRITERS:
        assert time.monotonic() < ends, f"nothing is stored any more: {dict(ledger.refusals)}"
        await asyncio.sleep(0.02)


def check(database: EmbeddedPostgres, ledger: Ledger) -> int:
    """Every acknowledged episode is there once, under its reference; and what is there was written by a client."""
    with psycopg.connect(database.dsn("postgres", "memory")) as connection:
        rows = connection.execute("SELECT content, tenant_id, ref FROM memory.episodes").fetchall()
    stored = {content: (tenant, f"episode:{ref}") for content, tenant, ref in rows}
    assert len(stored) == len(rows), "something was stored twice"
    wrong = {content: at for content, at in ledger.acknowledged.items() if stored.get(content) not in (at, _bare(at))}
    assert not wrong, f"{len(wrong)} acknowledged episodes are missing or elsewhere"
    assert len(stored) - len(ledger.acknowledged) <= WRITERS, "more is stored than was written"
    return len(stored)


def _bare(at: tuple[str, str]) -> tuple[str, str]:
    return at[0], f"episode:{at[1]}"


async def campaign(database: EmbeddedPostgres, kills: tuple[int, int], seed: int) -> Ledger:
    async with open_resources(load_settings(home=database.home)) as resources:
        tokens = await make_tokens(resources, TENANTS)
    ledger, chance = Ledger(), random.Random(seed)
    with served(database.home, UPKEEP__WORKER="false") as server:
        async with httpx.AsyncClient(timeout=PATIENCE_SECONDS) as http:
            await server.ready(http)
            writers = [asyncio.create_task(write(server, http, tokens, ledger, n)) for n in range(WRITERS)]
            try:
                await under_fire(server, database, ledger, kills, chance)
            finally:
                ledger.stopping = True
                await asyncio.wait(writers, timeout=60)
            for writer in writers:
                writer.result()
    return ledger


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--servers", type=int, default=30, help="how often the server is killed")
    parser.add_argument("--databases", type=int, default=15, help="how often the database is killed")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args(given)
    began = time.monotonic()
    with scratch_store() as database:
        ledger = asyncio.run(campaign(database, (arguments.servers, arguments.databases), arguments.seed))
        stored = check(database, ledger)
    Console().print(
        f"{arguments.servers} servers and {arguments.databases} databases killed in {time.monotonic() - began:.0f} s;"
        f" {len(ledger.acknowledged)} episodes acknowledged, {stored} stored, none missing, none twice."
        f" What clients were told meanwhile: {dict(ledger.refusals)}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
