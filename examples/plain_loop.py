"""Memory around a plain loop, without an agent framework: a briefing before each task, an episode after it.

Start a server with `memory-butler serve`, then run `python examples/plain_loop.py "Water the plants" "Call Ana"`.
MEMORY_BUTLER_URL and MEMORY_BUTLER_TOKEN set the server and the API token. On the second run it remembers.
"""

import asyncio
import os
import sys

from memory_butler import AsyncMemory

TASKS = ["Water the plants in the office", "Water the plants at home"]


async def work(task: str, context: str) -> str:
    """Your agent. This one has no model: it only counts the lines of its briefing."""
    memories = sum(line.startswith("- ") for line in context.splitlines())
    print(f"working on {task!r}, knowing {memories} things")
    return f"Done: {task}."


async def main() -> None:
    url, token = os.environ.get("MEMORY_BUTLER_URL", "http://127.0.0.1:8150"), os.environ.get("MEMORY_BUTLER_TOKEN")
    async with AsyncMemory(url, token=token) as memory:
        for task in sys.argv[1:] or TASKS:
            async with memory.session(task) as s:
                if s.degraded:
                    print(f"continuing without memory: {s.degraded}")
                # Store the outcome, not the conversation. If this raises, nothing is stored.
                s.finish(await work(task, s.context), tags=["chores"])
            print(f"stored as episode:{s.stored.ref}" if s.stored else "not stored")


if __name__ == "__main__":
    asyncio.run(main())
