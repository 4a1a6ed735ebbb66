"""A worker process with chores of its own, for the tests: `python -m tests.jobs.chores <seconds a chore takes>`."""

import asyncio
import signal
import sys
from datetime import timedelta
from typing import Any

from memory_butler.ai.embedding import FakeEmbedder
from memory_butler.butler import Butler, open_butler
from memory_butler.jobs.timetable import Entry
from memory_butler.jobs.work import Upkeep
from memory_butler.models import Caller

CHORES = ("first", "second", "third")


def timetable(seconds: float) -> tuple[Entry, ...]:
    async def run(butler: Butler, shard: Caller) -> dict[str, Any]:
        await asyncio.sleep(seconds)
        return {"chore": "done"}

    return tuple(Entry(name, run, timedelta(days=1)) for name in CHORES)


async def main(seconds: float) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    async with open_butler(embedder=FakeEmbedder()) as butler:
        await Upkeep(butler, timetable=timetable(seconds)).run(stop)


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1])))
