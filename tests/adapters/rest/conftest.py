"""The REST door on a real loopback port: one server for test after test, each on a tenant of its own."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from tests.support.service import Switch, on_loopback

from memory_butler.resources import Resources
from memory_butler.settings import Settings

BASE = "/api/v1"


@dataclass(frozen=True)
class Door:
    """A server, and which butler it serves."""

    switch: Switch
    address: str


@pytest.fixture(scope="session")
async def door(settings: Settings) -> AsyncIterator[Door]:
    """A server that asks nobody who they are."""
    switch = Switch(settings)
    async with on_loopback(switch) as door:
        yield Door(switch, door.url)


@pytest.fixture(scope="session")
async def guarded(settings: Settings) -> AsyncIterator[Door]:
    """A server that serves those who show a token."""
    service = settings.service.model_copy(update={"auth": "required", "token_cache_seconds": 0})
    switch = Switch(settings.model_copy(update={"service": service}))
    async with on_loopback(switch) as door:
        yield Door(switch, door.url)


@pytest.fixture
async def web(door: Door, resources: Resources) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the open server, on the test's own tenant."""
    door.switch.resources = resources
    async with httpx.AsyncClient(base_url=door.address + BASE) as client:
        yield client


Post = Callable[..., Awaitable[dict[str, Any]]]


@pytest.fixture
def post(web: httpx.AsyncClient) -> Post:
    """Call a tool that is expected to do what it is asked."""

    async def call(tool: str, **arguments: Any) -> dict[str, Any]:
        reply = await web.post(f"/{tool}", json=arguments)
        assert reply.status_code == 200, reply.text
        found: dict[str, Any] = reply.json()
        return found

    return call


async def pages(web: httpx.AsyncClient, path: str, **more: Any) -> AsyncIterator[dict[str, Any]]:
    """The answers of a list, page by page to its end."""
    cursor: dict[str, str] = {}
    while True:
        reply = await web.get(path, params={**more, **cursor})
        assert reply.status_code == 200, reply.text
        yield reply.json()
        if reply.json()["cursor"] is None:
            return
        cursor = {"cursor": reply.json()["cursor"]}


def problem_of(reply: httpx.Response) -> tuple[int, str]:
    """The status and the class of an error, which has the form that all errors have."""
    body = reply.json()
    assert reply.headers["content-type"] == "application/problem+json"
    assert set(body) >= {"type", "title", "status", "detail", "error", "message", "retryable", "recovery"}
    assert body["status"] == reply.status_code
    assert body["recovery"] and body["detail"] == body["message"]
    return reply.status_code, body["error"]
