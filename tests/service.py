"""The application under a real server on loopback; as a service its callers must say who they are."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import httpx
from fastmcp import Client
from starlette.types import ASGIApp

from memory_butler.adapters.http import Server, build_app, listening, under
from memory_butler.adapters.opening import LateButler
from memory_butler.butler import Butler, system_clock
from memory_butler.models import NewToken, Role
from memory_butler.operations import tokens
from memory_butler.settings import load_settings
from memory_butler.store.ids import id_maker

Reply = dict[str, Any]


class Switch(LateButler):
    """One server serves test after test: to describe all the tools again for each would take most of its time."""

    butler: Butler

    async def get(self, patience_seconds: float) -> Butler:
        return self.butler

    def begin(self) -> None:
        """It is open already."""


@dataclass(frozen=True)
class Door:
    """A server that runs, and where."""

    server: Server
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@asynccontextmanager
async def on_loopback(
    late: LateButler, listener: socket.socket | None = None, build: Callable[[LateButler], ASGIApp] = build_app
) -> AsyncIterator[Door]:
    """The real application under a real server, on a port that is free."""
    listener = listener or listening(load_settings(host="127.0.0.1", port=0))
    server = Server(under(build(late)))
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
    butler: Butler

    async def token(self, tenant: str, role: str = "agent", butler: str = "chef", **more: Any) -> str:
        wanted = NewToken(tenant=tenant, butler=butler, role=role, **more)
        _, secret = await tokens.create(self.butler, wanted, self.butler.local_operator())
        return secret

    def web(self, token: str | None = None, **headers: str) -> httpx.AsyncClient:
        """A plain HTTP client, with a token or without."""
        sent = {**({"authorization": f"Bearer {token}"} if token else {}), **headers}
        return httpx.AsyncClient(base_url=self.url, headers=sent, timeout=30, verify=False)

    def mcp(self, token: str) -> Client[Any]:
        """An MCP client with a token."""
        return Client(f"{self.url}/mcp", auth=token)


async def called(client: Client[Any], tool: str, /, **arguments: Any) -> Reply:
    """What a tool answers, also if that is an error."""
    result = await client.call_tool(tool, arguments, raise_on_error=False)
    return json.loads(result.content[0].text)  # type: ignore[no-any-return]


def with_service(butler: Butler, **service: Any) -> Butler:
    """The butler as it is in a service: callers say who they are, and time passes."""
    changed = butler.settings.service.model_copy(update={"auth": "required", **service})
    settings = butler.settings.model_copy(update={"service": changed})
    return replace(butler, settings=settings, clock=system_clock, make_id=id_maker())


@asynccontextmanager
async def serving(butler: Butler, **service: Any) -> AsyncIterator[Service]:
    """The same with authentication."""
    ours = with_service(butler, **service)
    async with on_loopback(LateButler.already_open(ours)) as door:
        yield Service(door.url, ours)


ROLES = tuple(Role)
