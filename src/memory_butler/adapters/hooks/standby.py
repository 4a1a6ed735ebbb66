"""Answers hooks on the Unix socket of the home folder where no server runs.

An MCP server over stdio does so as long as its client runs it. Where there is none, a hook starts a program for it,
which ends when no hook has asked for a while.
"""

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Receive, Scope, Send

from memory_butler.adapters.hooks.endpoint import BASE, build_door
from memory_butler.adapters.hooks.turn import taken_turn
from memory_butler.adapters.http.local_access import LocalAccess, OwnerOnly
from memory_butler.adapters.http.local_socket import local_socket
from memory_butler.adapters.http.uvicorn_server import ServerWithin, uvicorn_config
from memory_butler.adapters.lazy_resources import LazyResources, freeze_loaded_objects
from memory_butler.adapters.mcp.catalog import build_tools
from memory_butler.adapters.mcp.tool_base import MemoryTool
from memory_butler.adapters.telemetry.logs import configure_logging
from memory_butler.settings import Settings

# How soon another process takes the place of one that has ended.
RETRY_SECONDS = 5.0
LOOK_SECONDS = 1.0


class LastUse:
    """Middleware: when the last request came."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self.at = time.monotonic()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.at = time.monotonic()
        await self._app(scope, receive, send)
        self.at = time.monotonic()


@asynccontextmanager
async def answering_hooks(lazy: LazyResources, tools: Sequence[MemoryTool]) -> AsyncIterator[None]:
    """Answer hooks for as long as the block runs, whenever no other process does."""
    if lazy.settings.service.auth != "off":
        yield
        return
    task = asyncio.create_task(_stand_by(lazy.settings, _app(lazy, tools)), name="memory-butler-hooks")
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def answer_until_idle(settings: Settings, idle_seconds: float) -> None:
    """Answer hooks until none has come for a while. Ends at once if another process answers them."""
    configure_logging(settings)
    lazy = LazyResources(settings, on_ready=freeze_loaded_objects)
    app = LastUse(_app(lazy, build_tools(lazy)))
    async with lazy.lifespan(None):
        serving = asyncio.create_task(_serve(settings, app))
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, serving.cancel)
        while not serving.done() and time.monotonic() - app.at < idle_seconds:
            await asyncio.wait({serving}, timeout=LOOK_SECONDS)
        serving.cancel()
        with suppress(asyncio.CancelledError):
            await serving


def _app(lazy: LazyResources, tools: Sequence[MemoryTool]) -> ASGIApp:
    access = LocalAccess(lazy.settings)
    app = Starlette(middleware=[Middleware(OwnerOnly, access=access)])
    app.mount(BASE, build_door(lazy, tools))
    return app


async def _stand_by(settings: Settings, app: ASGIApp) -> None:
    while True:
        with taken_turn(str(settings.home)) as has_turn:
            if has_turn:
                await _serve(settings, app)
        await asyncio.sleep(RETRY_SECONDS)


async def _serve(settings: Settings, app: ASGIApp) -> None:
    """Serve on the socket until cancelled. Returns at once if a server answers there."""
    with local_socket(settings) as listener:
        if listener is None:
            return
        server = ServerWithin(uvicorn_config(app))
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            await asyncio.shield(serving)
        finally:
            server.should_exit = True
            await serving
