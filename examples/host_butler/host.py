"""A small host: a roster of butlers, an MCP server for each, and a spawner that runs their agent sessions.

    python examples/host_butler/host.py postgresql://user@localhost/household

The agent is a stand-in without a model: it stores "My … is …" as a fact through the butler's tools, and answers
questions from the system prompt. Everything else is what a real host does.
"""

import asyncio
import os
import re
import sys
import tomllib
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fastmcp import Client, FastMCP

from memory_butler.adapters.host import Embedder, Exchange, MemoryModule, shared_embedder

ROSTER = Path(__file__).with_name("roster.toml")


@dataclass(frozen=True)
class HouseholdDatabase:
    """The host's database handle: its DSN, and the schema with the tables of one butler."""

    dsn: str
    schema: str


@dataclass
class HostedButler:
    name: str
    greeting: str
    server: FastMCP[None]
    memory: MemoryModule
    sessions: list["SessionReport"] = field(default_factory=list)


@dataclass(frozen=True)
class Transcript:
    """The result of an agent session."""

    answer: str
    summary: str
    exchanges: tuple[Exchange, ...]


@dataclass(frozen=True)
class SessionReport:
    session_id: str
    system_prompt: str
    answer: str
    success: bool
    # The memory was unavailable at the start or at the end of the session.
    degraded: bool
    episode: str | None


def read_roster(roster: Path) -> dict[str, dict[str, Any]]:
    butlers: dict[str, dict[str, Any]] = tomllib.loads(roster.read_text(encoding="utf-8"))["butlers"]
    return butlers


@asynccontextmanager
async def household(
    dsn: str, roster: Path = ROSTER, *, home: Path | None = None, embedder: Embedder | None = None
) -> AsyncIterator[dict[str, HostedButler]]:
    """Start every butler of the roster; stop them at the end. All share one embedding model."""
    shared = embedder or shared_embedder(home)
    tables = await asyncio.to_thread(read_roster, roster)
    butlers = {}
    try:
        for name, table in tables.items():
            butlers[name] = await start(name, table, HouseholdDatabase(dsn, schema=name), MemoryModule(embedder=shared))
        yield butlers
    finally:
        for butler in butlers.values():
            await butler.memory.on_shutdown()
        if embedder is None:
            await shared.close()


async def start(name: str, table: dict[str, Any], db: HouseholdDatabase, memory: MemoryModule) -> HostedButler:
    """Start one butler: its server, one tool of its own, and the memory module."""
    server: FastMCP[None] = FastMCP(name)
    config = table["modules"][memory.name]
    butler = HostedButler(name, table["greeting"], server, memory)

    @server.tool
    def sessions_today() -> int:
        """Number of agent sessions since the butler was started."""
        return len(butler.sessions)

    await memory.on_startup(config, db)
    await memory.register_tools(server, config, db, name)
    return butler


async def run_session(butler: HostedButler, prompt: str, *, trigger_source: str = "chat") -> SessionReport:
    """Run one agent session: briefing into the system prompt, agent, episode into the memory."""
    session_id = str(uuid.uuid4())
    request = {"request_id": f"{butler.name}-{len(butler.sessions) + 1}", "session_id": session_id}
    briefed = await butler.memory.before_session(prompt, request)
    system_prompt = f"{butler.greeting}\n\n{briefed.text}".strip()
    transcript, success = Transcript("", "", ()), False
    try:
        transcript = await agent(butler.server, system_prompt, prompt)
        success = True
    finally:
        ended = await butler.memory.after_session(
            session_id,
            transcript.summary,
            success,
            exchanges=transcript.exchanges,
            trigger_source=trigger_source,
            request_context=request,
        )
        report = SessionReport(
            session_id, system_prompt, transcript.answer, success, briefed.degraded or ended.degraded, ended.ref
        )
        butler.sessions.append(report)
    return report


async def agent(server: FastMCP[None], system_prompt: str, prompt: str) -> Transcript:
    """A stand-in for an agent: one turn, at most one tool call."""
    tools: tuple[str, ...] = ()
    if "crash" in prompt:
        raise RuntimeError("the agent crashed")
    if match := re.search(r"\bMy ([\w ]+?) is ([^.!?]+)", prompt):
        fact = {"subject": "user", "predicate": match[1], "content": match[2], "scope": server.name}
        async with Client(server) as client:
            stored = await client.call_tool("memory_store_fact", fact, raise_on_error=False)
        tools = ("memory_store_fact",)
        answer = "I could not store that." if stored.is_error else f"Noted: your {match[1]} is {match[2]}."
    elif prompt.rstrip().endswith("?"):
        words = set(re.findall(r"\w{4,}", prompt.lower()))
        lines = [line for line in system_prompt.splitlines() if line.startswith("- ")]
        shared = {line: len(words & set(re.findall(r"\w{4,}", line.lower()))) for line in lines}
        best = max(lines, key=shared.__getitem__, default="")
        answer = best if shared.get(best) else "I do not know."
    else:
        answer = "Done as you said."
    # An answered question is not worth an episode.
    summary = "" if prompt.rstrip().endswith("?") else f"The user said: {prompt}"
    return Transcript(answer, summary, (Exchange("user", prompt), Exchange("assistant", answer, tools)))


async def main(dsn: str, home: Path | None) -> None:
    async with household(dsn, home=home) as butlers:
        for name, prompt in [
            ("health", "My blood group is A positive. I always take my pills after breakfast."),
            ("travel", "I decided to spend the summer in Lisbon, by train."),
            ("health", "Which blood group do I have?"),
            ("travel", "Where will I spend the summer?"),
            ("travel", "Which blood group do I have?"),
        ]:
            report = await run_session(butlers[name], prompt)
            print(f"{name}> {prompt}\n    {report.answer}{'  (degraded)' if report.degraded else ''}")
        for butler in butlers.values():
            for state in (await butler.memory.health()).values():
                print(f"{state['butler']}: {state['status']}, {len(await butler.server.list_tools())} tools")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = os.environ.get("MEMORY_BUTLER_HOME")
    asyncio.run(main(sys.argv[1], Path(folder) if folder else None))
