"""Time from starting `memory-butler mcp` in an empty home to the first answer: `python -m benchmarks.first_start`.

`--program` names another installation, for example one from wheels. The client's own libraries are loaded before.
"""

import argparse
import asyncio
import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path

from fastmcp import Client
from fastmcp.client.transports import StdioTransport

from memory_butler.store.embedded.server import EmbeddedPostgres

FACT = {"subject": "user", "predicate": "allergic_to", "content": "peanuts"}


async def first_answer(program: str, home: Path) -> tuple[float, float]:
    """Seconds until the client is connected, and until its first call is answered."""
    began = time.perf_counter()
    environment = {**os.environ, "MEMORY_BUTLER_HOME": str(home)}
    async with Client(StdioTransport(program, ["mcp"], env=environment)) as client:
        connected = time.perf_counter() - began
        await client.call_tool("memory_store_fact", FACT)
        return connected, time.perf_counter() - began


def measure(program: str, runs: int) -> list[tuple[float, float]]:
    found = []
    for _ in range(runs):
        home = Path(tempfile.mkdtemp(prefix="mb-first-start-"))
        try:
            found.append(asyncio.run(first_answer(program, home / "home")))
        finally:
            EmbeddedPostgres(home / "home").stop()
            shutil.rmtree(home)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Time of the first MCP call in an empty home.")
    parser.add_argument("--program", default=shutil.which("memory-butler") or "memory-butler")
    parser.add_argument("--runs", type=int, default=7)
    given = parser.parse_args()
    found = measure(given.program, given.runs)
    for title, times in zip(("connected", "first call answered"), zip(*found, strict=True), strict=True):
        print(f"{title}: p50 {statistics.median(times):.1f} s, {min(times):.1f} to {max(times):.1f} s")


if __name__ == "__main__":
    main()
