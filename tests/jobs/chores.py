"""A worker process with chores of its own, for the tests: `python -m tests.jobs.chores <seconds a chore takes>`."""

import asyncio
import signal
import sys
from datetime import timedelta
from typing import Any

from memory_butler.ai.embedding import FakeEmbedder
from memory_butler.jobs.schedule import ScheduledJob
from memory_butler.jobs.worker import Worker
from memory_butler.models import Caller
from memory_butler.resources import Resources, open_resources

CHORES = ("first", "second", "third")


def timetable(seconds: float) -> tuple[ScheduledJob, ...]:
    async def run(resources: Resources, shard: Caller) -> dict[str, Any]:
        await asyncio.sleep(seconds)
        return {"chore": "done"}

    return tuple(ScheduledJob(name, run, timedelta(days=1)) for name in CHORES)


async def main(seconds: float) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    async with open_resources(embedder=FakeEmbedder()) as resources:
        await Worker(resources, schedule=timetable(seconds)).run(stop)


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1])))
