"""A real server on loopback for all tests of the client; each test has a tenant of its own behind it."""

from collections.abc import AsyncIterator

import pytest
from tests.support.service import Switch, on_loopback

from memory_butler.client import MemoryClient
from memory_butler.resources import Resources
from memory_butler.settings import Settings


@pytest.fixture(scope="module")
async def one_server(settings: Settings) -> AsyncIterator[tuple[Switch, str]]:
    switch = Switch(settings)
    async with on_loopback(switch) as door:
        yield switch, door.url


@pytest.fixture
def url(one_server: tuple[Switch, str], resources: Resources) -> str:
    """The address of a server with the test's butler behind it."""
    switch, address = one_server
    switch.resources = resources
    return address


@pytest.fixture
async def memory(url: str) -> AsyncIterator[MemoryClient]:
    async with MemoryClient(url, deadline_seconds=30) as client:
        yield client
