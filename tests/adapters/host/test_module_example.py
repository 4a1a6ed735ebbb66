"""The example host: two butlers of one household that remember, each for itself."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import psycopg
import pytest
from fastmcp import Client
from tests.adapters.conftest import caller_of

from memory_butler.ai.embedding import FakeEmbedder
from memory_butler.store.embedded.server import EmbeddedPostgres

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def roster(tmp_path_factory: pytest.TempPathFactory) -> Callable[[float], Path]:
    """The example's roster with another deadline of the hooks."""
    folder = tmp_path_factory.mktemp("roster")

    def within(seconds: float) -> Path:
        text = (ROOT / "examples" / "host_butler" / "roster.toml").read_text(encoding="utf-8")
        for name in ("health", "travel"):
            head = f"[butlers.{name}.modules.memory.session]\n"
            assert head in text
            text = text.replace(head, f"{head}deadline_seconds = {seconds}\n")
        path = folder / f"{seconds}.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return within


@pytest.fixture(scope="module")
async def butlers(example: ModuleType, host_dsn: str, roster: Callable[[float], Path]) -> AsyncIterator[dict[str, Any]]:
    async with example.household(host_dsn, roster(20), embedder=FakeEmbedder()) as started:
        yield started


async def test_both_butlers_remember_across_sessions(example: ModuleType, butlers: dict[str, Any]) -> None:
    """What one session told, by a tool or just in passing, is in the system prompt of the next; the other's is not."""
    told = await example.run_session(
        butlers["health"], "My blood group is A positive. I always take my pills after breakfast."
    )
    assert not told.degraded and told.episode and told.answer == "Noted: your blood group is A positive."
    planned = await example.run_session(butlers["travel"], "I decided to spend the summer in Lisbon, by train.")
    assert planned.episode and not planned.degraded
    asked = await example.run_session(butlers["health"], "Which blood group do I have, and when do I take my pills?")
    assert "A positive" in asked.system_prompt and "pills after breakfast" in asked.system_prompt
    assert "Lisbon" not in asked.system_prompt and asked.episode is None
    trip = await example.run_session(butlers["travel"], "Where will I spend the summer?")
    assert "Lisbon" in trip.answer and "blood" not in trip.system_prompt


async def test_the_rosters_tables_are_heeded(butlers: dict[str, Any]) -> None:
    """Each butler has the tools of its own groups beside the host's own, and its own budget."""
    tools = {name: {tool.name for tool in await butler.server.list_tools()} for name, butler in butlers.items()}
    assert "sessions_today" in tools["health"] & tools["travel"]
    assert tools["health"] < tools["travel"] and "memory_context_batch" in tools["travel"] - tools["health"]
    async with Client(butlers["health"].server) as client:
        reply = await caller_of(client)("memory_context", trigger_prompt="pills", butler="health")
    assert reply.body["receipt"]["token_budget"] == 1500


async def test_an_agent_that_crashes_leaves_no_episode(example: ModuleType, butlers: dict[str, Any]) -> None:
    """The host sees its own fault; the memory keeps nothing of a session that failed, nor of one of upkeep."""
    with pytest.raises(RuntimeError, match="crashed"):
        await example.run_session(butlers["travel"], "I decided to crash here.")
    assert not butlers["travel"].sessions[-1].success and butlers["travel"].sessions[-1].episode is None
    kept = await example.run_session(
        butlers["travel"], "I decided to consolidate.", trigger_source="schedule:memory_consolidation"
    )
    assert kept.success and kept.episode is None


@pytest.fixture
async def hasty_butlers(
    example: ModuleType, host_dsn: str, roster: Callable[[float], Path]
) -> AsyncIterator[dict[str, Any]]:
    """The same household in another process's place, with hooks that give up soon."""
    async with example.household(host_dsn, roster(0.5), embedder=FakeEmbedder()) as started:
        yield started


@contextmanager
def nobody_let_in(server: EmbeddedPostgres, database: str) -> Iterator[None]:
    """The database refuses everybody, and whoever is connected is cut off."""
    with psycopg.connect(server.dsn("postgres", "postgres"), autocommit=True) as superuser:
        superuser.execute(f"ALTER DATABASE {database} ALLOW_CONNECTIONS false")
        superuser.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (database,))
        try:
            yield
        finally:
            superuser.execute(f"ALTER DATABASE {database} ALLOW_CONNECTIONS true")


async def test_without_its_memory_a_session_still_runs_and_says_so(
    example: ModuleType,
    butlers: dict[str, Any],
    server: EmbeddedPostgres,
    host_dsn: str,
    hasty_butlers: dict[str, Any],
) -> None:
    """Memory goes away under a running host: sessions go on, degraded; it comes back, and so do the memories."""
    database = psycopg.conninfo.conninfo_to_dict(host_dsn)["dbname"]
    prompt = "I decided to spend the winter in Goa."
    with nobody_let_in(server, str(database)):
        lost = await example.run_session(hasty_butlers["travel"], prompt)
        assert lost.success and lost.degraded and lost.answer == "Done as you said."
        assert "does not mean that there are no memories" in lost.system_prompt and lost.episode is None
        assert (await hasty_butlers["travel"].memory.health())["travel"]["status"] == "down"
    again = await example.run_session(butlers["travel"], prompt)
    while again.degraded:
        again = await example.run_session(butlers["travel"], prompt)
    assert again.episode
    assert "Goa" in (await example.run_session(butlers["travel"], "Where will I spend the winter?")).answer


async def test_the_example_runs_as_it_stands(host_dsn: str, home: Path) -> None:
    """Started from the command line with a database, it tells its story and ends."""
    command = [sys.executable, str(ROOT / "examples" / "host_butler" / "host.py"), host_dsn]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "MEMORY_BUTLER_HOME": str(home)}
    ran = await asyncio.to_thread(
        subprocess.run, command, capture_output=True, text=True, env=environment, timeout=120, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert "health> Which blood group do I have?\n" in ran.stdout and "health: " in ran.stdout
    assert "travel> Which blood group do I have?\n    I do not know." in ran.stdout
