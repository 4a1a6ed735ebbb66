"""A real server on loopback for all tests of the client; each test has a tenant of its own behind it."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import uvicorn

from memory_butler.adapters.http import Server, build_app
from memory_butler.adapters.opening import LateButler
from memory_butler.butler import Butler
from memory_butler.client import MemoryClient
from memory_butler.settings import Settings


class Switch(LateButler):
    """One server serves test after test."""

    butler: Butler

    async def get(self, patience_seconds: float) -> Butler:
        return self.butler

    def begin(self) -> None:
        """It is open already."""


@asynccontextmanager
async def serving(late: LateButler) -> AsyncIterator[str]:
    """The real application under a real server; gives its address."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = Server(uvicorn.Config(build_app(late), log_config=None, lifespan="on", timeout_graceful_shutdown=1))
    running = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        await running


@pytest.fixture(scope="module")
async def one_server(settings: Settings) -> AsyncIterator[tuple[Switch, str]]:
    switch = Switch(settings)
    async with serving(switch) as url:
        yield switch, url


@pytest.fixture
def url(one_server: tuple[Switch, str], butler: Butler) -> str:
    """The address of a server with the test's butler behind it."""
    switch, address = one_server
    switch.butler = butler
    return address


@pytest.fixture
async def memory(url: str) -> AsyncIterator[MemoryClient]:
    async with MemoryClient(url, deadline_seconds=30) as client:
        yield client
