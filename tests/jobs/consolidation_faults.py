"""Consolidation under fire, at length: `python -m tests.jobs.consolidation_faults` (`make test-faults`).

Four worker processes over twenty shards, hundreds of SIGKILLs, at every step of a run and at random moments, while
episodes go on coming in. Then the workers are left alone until nothing waits, and the store is checked. It stops by
itself and leaves neither a process nor a file.
"""

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path

from benchmarks.support.machine import scratch_store
from rich.console import Console
from tests.jobs.consolidators import (
    STEPS,
    Crew,
    QuickClock,
    Story,
    settings_for,
)

from memory_butler.ai.embedding import FakeEmbedder
from memory_butler.operations.consolidation import dead_letters
from memory_butler.operations.lifecycle.job_status import shard_of
from memory_butler.resources import open_resources
from memory_butler.settings import load_settings
from memory_butler.store.embedded.server import EmbeddedPostgres

WORKERS = 4
SHARDS = [(f"t{number % 5}", f"b{number}") for number in range(20)]
# A shard tells nothing twice.
MOST_TOLD = 1_200
LAST_SECONDS = 300
TOLD_EVERY_SECONDS = 5


async def fire(story: Story, crew: Crew, kills: int, seconds: float, chance: random.Random) -> None:
    """Have episodes come in and workers die until enough have died, or time is up."""
    steps = cycle(STEPS)
    console, ends, told = Console(), time.monotonic() + seconds, time.monotonic()
    while crew.killed < kills and time.monotonic() < ends:
        shard = chance.choice(SHARDS)
        if len(story.told[shard]) < MOST_TOLD:
            await story.tell(*shard)
        # Some runs get through in between: what was consolidated must stay so while others die.
        if not crew.orders and chance.random() < 0.1:
            crew.order(next(steps))
        if chance.random() < 0.02:
            crew.kill_one(chance)
        crew.muster()
        await asyncio.sleep(chance.uniform(0, 0.05))
        if time.monotonic() - told > TOLD_EVERY_SECONDS:
            told = time.monotonic()
            console.print(f"{crew.killed} of {kills} killed, {story.count('consolidated')} episodes consolidated")


async def finish(story: Story, crew: Crew) -> int:
    """Leave the workers alone until nothing waits; says how many episodes had run out of tries and got new ones."""
    requeued = 0
    ends = time.monotonic() + LAST_SECONDS
    while story.count("pending", "dead_letter"):
        assert time.monotonic() < ends, f"{story.count('pending')} episodes still wait"
        crew.muster()
        for tenant in {tenant for tenant, _ in SHARDS}:
            caller = shard_of(tenant, "main")
            dead = [one.ref for one in await dead_letters.dead_letters(story.resources, caller)]
            requeued += len((await dead_letters.requeue(story.resources, dead, caller)).again) if dead else 0
        await asyncio.sleep(0.1)
    return requeued


async def run(server: EmbeddedPostgres, orders: Path, kills: int, seconds: float, seed: int) -> None:
    async with open_resources(load_settings(home=server.home), embedder=FakeEmbedder()):
        pass  # the store is there now
    clock, given = QuickClock(), settings_for(server, "memory", batch=16)
    console = Console()
    async with open_resources(load_settings(**given), embedder=FakeEmbedder(), clock=clock) as resources:
        story = Story(resources, server.dsn("postgres", "memory"))
        crew = Crew(given, clock, orders, WORKERS)
        try:
            await fire(story, crew, kills, seconds, random.Random(seed))
            for order in orders.iterdir():
                order.unlink(missing_ok=True)
            requeued = await finish(story, crew)
        finally:
            crew.dismiss()
        await story.check()
    told = sum(map(len, story.told.values()))
    runs = story.rows("SELECT state, count(*) AS n FROM memory.consolidation_runs GROUP BY state ORDER BY state")
    console.print(f"{crew.killed} workers killed, {told} episodes in {len(story.told)} shards, {requeued} requeued")
    console.print("runs: " + ", ".join(f"{row['n']} {row['state']}" for row in runs))
    console.print("every episode consolidated once, nothing twice, nothing lost, in order; the replay is equal")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.jobs.consolidation_faults", description=__doc__)
    parser.add_argument("--kills", type=int, default=300, help="how many workers are killed")
    parser.add_argument("--seconds", type=float, default=420, help="how long at most they are")
    parser.add_argument("--seed", type=int, default=1, help="of what happens at random")
    given = parser.parse_args(arguments)
    quick = {"fsync": "off", "full_page_writes": "off"}
    with scratch_store(quick) as server, tempfile.TemporaryDirectory(prefix="memory-butler-faults-") as orders:
        asyncio.run(run(server, Path(orders), given.kills, given.seconds, given.seed))
    return 0


if __name__ == "__main__":
    sys.exit(main())
