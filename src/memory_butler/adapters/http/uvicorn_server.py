"""uvicorn as all servers of this program use it."""

import asyncio
import contextlib
import signal
import socket
import threading
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from memory_butler.adapters.http.protocol import BoundedHead

# Client streams stay open as long as the clients live, so a shutdown does not wait for them.
SHUTDOWN_SECONDS = 1
MAX_MESSAGE_BYTES = 1_000_000


def uvicorn_config(app: ASGIApp) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=BoundedHead,
        log_config=None,
        access_log=False,
        lifespan="on",
        # For the dashboard's open pages.
        ws="websockets-sansio",
        ws_max_size=MAX_MESSAGE_BYTES,
        server_header=False,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )


class Server(uvicorn.Server):
    """uvicorn, except that a signal makes `serve` return normally: uvicorn raises it again afterwards, which would end
    the process before the store is closed. Guarded by tests/adapters/http/test_app.py."""

    def __init__(self, config: uvicorn.Config, when_started: Callable[[], Coroutine[Any, Any, None]] | None = None):
        super().__init__(config)
        self._when_started = when_started
        self._starting: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started and self._when_started:
            self._starting = asyncio.create_task(self._when_started())

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            _on_signal(loop, number, self.handle_exit)
        try:
            yield
        finally:
            for number in (signal.SIGINT, signal.SIGTERM):
                with contextlib.suppress(NotImplementedError):
                    loop.remove_signal_handler(number)


class ServerWithin(uvicorn.Server):
    """uvicorn inside a program that handles signals itself."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _on_signal(loop: asyncio.AbstractEventLoop, number: int, handle: Callable[[int, Any], None]) -> None:
    try:
        loop.add_signal_handler(number, handle, number, None)
    except NotImplementedError:  # Windows
        signal.signal(number, handle)
