"""The first call over stdio waits for a store that is still being created, and not for one that cannot open."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from fastmcp import Client

from memory_butler.adapters.lazy_resources import LazyResources
from memory_butler.adapters.mcp.first_call import WaitsForStore
from memory_butler.adapters.mcp.server import build_server
from memory_butler.errors import TargetUnavailable
from memory_butler.resources import Resources


async def test_the_first_call_waits_past_its_own_deadline(resources: Resources) -> None:
    """A store that opens after the deadline of a call: the call is answered, not refused."""
    may_open = asyncio.Event()

    @asynccontextmanager
    async def open_late() -> AsyncIterator[Resources]:
        await may_open.wait()
        yield resources

    settings = resources.settings.model_copy(update={"deadline_seconds": 0.2})
    lazy = LazyResources(settings, open_late)
    waited = asyncio.Event()

    async def wait() -> None:
        waited.set()
        await lazy.wait_until_warm(60)

    server = build_server(lazy)
    server.add_middleware(WaitsForStore(wait))
    async with Client(server) as client:
        call = asyncio.create_task(client.call_tool("memory_stats", {}))
        await waited.wait()
        done, _ = await asyncio.wait({call}, timeout=2 * settings.deadline_seconds)
        assert not done
        may_open.set()
        assert not (await call).is_error


async def test_a_store_that_cannot_open_is_not_waited_for(resources: Resources) -> None:
    @asynccontextmanager
    async def fail() -> AsyncIterator[Resources]:
        raise TargetUnavailable("The disk is full.")
        yield resources

    lazy = LazyResources(resources.settings, fail)
    await asyncio.wait_for(lazy.wait_until_warm(600), 60)
    with pytest.raises(TargetUnavailable, match="disk is full"):
        await lazy.get(1)
    await lazy.close()
