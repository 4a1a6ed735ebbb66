"""Hooks without a server that somebody keeps running: real processes on a store of their own."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.hooks.conftest import BUTLER, SECRET, SESSION, Hook, context_in, ended, prompted, silence, started
from tests.adapters.mcp.test_stdio import agent

from memory_butler.adapters.hooks.turn import TURN_FILE, taken_turn

FACT = {"subject": "shop", "predicate": "test_command", "content": "Tests run with make check.", "scope": BUTLER}


@pytest.fixture
def here(home: Path, tenant: str) -> dict[str, str]:
    """The environment of hooks on the store of the test."""
    return {
        "MEMORY_BUTLER_HOME": str(home),
        "MEMORY_BUTLER_TENANT": tenant,
        "MEMORY_BUTLER_DEADLINE_SECONDS": "30",
        "MEMORY_BUTLER_HOOK_SECONDS": "60",
    }


@pytest.fixture
async def nobody(home: Path) -> AsyncIterator[None]:
    """No process answers hooks before and after a test."""
    await until_free(home)
    yield
    await until_free(home)


async def until_free(home: Path) -> None:
    async with asyncio.timeout(60):
        while True:
            with taken_turn(str(home)) as is_free:
                if is_free:
                    return
            await asyncio.sleep(0.2)


async def test_the_mcp_server_of_a_client_answers_the_hooks(
    *, home: Path, tenant: str, here: dict[str, str], hook: Hook, project: Path, nobody: None
) -> None:
    """As long as it runs; a second one takes its place when it ends."""
    async with agent(home, tenant) as second:
        async with agent(home, tenant) as first:
            await first.greet()
            await first.call("memory_store_fact", **FACT)
            assert "make check" in context_in((await answered(hook, project, here)).stdout)
        await second.greet()
        assert "make check" in context_in((await answered(hook, project, here)).stdout)
    assert silence(await hook("session-start", 1, started(project), **here)) == "no server is running"


async def answered(hook: Hook, project: Path, here: dict[str, str]) -> Any:
    """The hook's answer, once a server has taken its turn."""
    async with asyncio.timeout(60):
        while True:
            done = await hook("session-start", 1, started(project), **here)
            if "systemMessage" not in done.stdout:
                return done
            await asyncio.sleep(0.2)


async def test_a_hook_starts_what_it_needs(
    *, home: Path, tenant: str, here: dict[str, str], hook: Hook, project: Path, transcript: Path, nobody: None
) -> None:
    """At the start of a session within its deadline, at the end without making anybody wait; the program ends when no
    hook comes any more."""
    async with agent(home, tenant) as client:
        await client.greet()
        await client.call("memory_store_fact", **FACT)
    here |= {"MEMORY_BUTLER_HOOKS__START_SERVER": "true", "MEMORY_BUTLER_HOOKS__IDLE_MINUTES": "0.1"}
    await until_free(home)
    begun = await hook("session-start", 1, started(project), **here)
    assert "make check" in context_in(begun.stdout)
    assert (
        await hook("user-prompt", 1, prompted(project, "What is the capital of Peru?", session=SESSION), **here)
    ).stdout == ""
    await until_free(home)
    assert not (home / "server.sock").exists() and (home / TURN_FILE).exists()
    done = await hook("session-end", 1, ended(project, transcript), **here)
    assert done.stdout == ""
    asked = {"query": "invoices", "types": ["episode"], "butler": BUTLER, "min_relevance": 0}
    async with agent(home, tenant) as client, asyncio.timeout(60):
        await client.greet()
        while True:
            kept = (await client.call("memory_search", **asked))["results"]
            if kept:
                break
            await asyncio.sleep(0.2)
    assert "Invoices now use Stripe" in kept[0]["content"] and "src/invoices.py" in kept[0]["content"]
    assert SECRET not in kept[0]["content"]
