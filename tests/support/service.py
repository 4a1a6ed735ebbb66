"""The application under a real server on loopback, with and without authentication."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import httpx
from fastmcp import Client
from starlette.types import ASGIApp

from memory_butler.adapters.http.app import build_app, listening
from memory_butler.adapters.http.uvicorn_server import Server, uvicorn_config
from memory_butler.adapters.lazy_resources import LazyResources
from memory_butler.models import NewToken, Role
from memory_butler.operations.access import tokens
from memory_butler.resources import Resources, system_clock
from memory_butler.settings import load_settings
from memory_butler.store.gate.ids import id_maker

Reply = dict[str, Any]


class Switch(LazyResources):
    """One server for all tests, because building the tool descriptions takes most of the start."""

    resources: Resources

    async def get(self, timeout_seconds: float) -> Resources:
        return self.resources

    def begin(self) -> None:
        """Already open."""


@dataclass(frozen=True)
class Door:
    """A running server and its address."""

    server: Server
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@asynccontextmanager
async def on_loopback(
    lazy: LazyResources, listener: socket.socket | None = None, build: Callable[[LazyResources], ASGIApp] = build_app
) -> AsyncIterator[Door]:
    """Runs the real application under a real server on a free port."""
    listener = listener or listening(load_settings(host="127.0.0.1", port=0))
    server = Server(uvicorn_config(build(lazy)))
    running = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield Door(server, listener.getsockname()[1])
    finally:
        server.should_exit = True
        await running


@dataclass(frozen=True)
class Service:
    """A running service and the store behind it."""

    url: str
    resources: Resources

    async def token(self, tenant: str, role: str = "agent", butler: str = "chef", **more: Any) -> str:
        wanted = NewToken(tenant=tenant, butler=butler, role=role, **more)
        _, secret = await tokens.create(self.resources, wanted, self.resources.local_operator())
        return secret

    def web(self, token: str | None = None, **headers: str) -> httpx.AsyncClient:
        """Returns an HTTP client, with or without a token."""
        sent = {**({"authorization": f"Bearer {token}"} if token else {}), **headers}
        return httpx.AsyncClient(base_url=self.url, headers=sent, timeout=30, verify=False)

    def mcp(self, token: str) -> Client[Any]:
        """Returns an MCP client with a token."""
        return Client(f"{self.url}/mcp", auth=token)


async def called(client: Client[Any], tool: str, /, **arguments: Any) -> Reply:
    """Returns the answer of a tool, including errors."""
    result = await client.call_tool(tool, arguments, raise_on_error=False)
    assert result.structured_content is not None
    return result.structured_content


def with_service(resources: Resources, **service: Any) -> Resources:
    """Returns the resources of a service with authentication and a real clock."""
    changed = resources.settings.service.model_copy(update={"auth": "required", **service})
    settings = resources.settings.model_copy(update={"service": changed})
    return replace(resources, settings=settings, clock=system_clock, make_id=id_maker())


@asynccontextmanager
async def serving(resources: Resources, **service: Any) -> AsyncIterator[Service]:
    """Serves the resources on loopback with authentication."""
    ours = with_service(resources, **service)
    async with on_loopback(LazyResources.already_open(ours)) as door:
        yield Service(door.url, ours)


ROLES = tuple(Role)
