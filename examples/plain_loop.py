"""Memory around a plain loop, without any agent framework: what matters before each task, what came of it afterwards.

Start a server with `memory-butler serve`, then run `python examples/plain_loop.py "Water the plants" "Call Ana"`.
MEMORY_BUTLER_URL and MEMORY_BUTLER_TOKEN say where the server is and who is calling. Run it again, and it remembers.
"""

import asyncio
import os
import sys

from memory_butler.client import MemoryClient, session

TASKS = ["Water the plants in the office", "Water the plants at home"]


async def work(task: str, context: str) -> str:
    """Your agent. This one has no model behind it: it only counts what it was told."""
    known = sum(line.startswith("- ") for line in context.splitlines())
    print(f"working on {task!r}, knowing {known} things")
    return f"Done: {task}."


async def main() -> None:
    url, token = os.environ.get("MEMORY_BUTLER_URL", "http://127.0.0.1:8150"), os.environ.get("MEMORY_BUTLER_TOKEN")
    async with MemoryClient(url, token=token) as memory:
        for task in sys.argv[1:] or TASKS:
            async with session(memory, prompt=task, butler="main") as s:
                if s.degraded:
                    print(f"going on without memory: {s.degraded}")
                # Keep what came of it, not the whole conversation. If this raises, nothing is kept.
                s.finish(await work(task, s.context), tags=["chores"])
            print(f"kept as episode:{s.stored.ref}" if s.stored else "not kept")


if __name__ == "__main__":
    asyncio.run(main())
