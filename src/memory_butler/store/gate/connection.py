"""A connection whose pipeline sends related statements in one write.

This overrides private methods of psycopg: its public pipeline has no switch for when to write. The version is pinned to
one minor release in pyproject.toml, and tests/store/gate/test_connection.py fails if the methods change.
"""

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import psycopg
from psycopg import AsyncConnection, AsyncPipeline
from psycopg.abc import PQGen
from psycopg.generators import send

Row = dict[str, Any]


class Pipeline(AsyncPipeline):
    """A pipeline that writes nothing before a result is awaited.

    psycopg writes each statement on its own, after a turn of the event loop. BEGIN, the tenant, the query and COMMIT
    were four writes, and the server woke up for each.
    """

    def _communicate_gen(self) -> PQGen[None]:
        yield from ()

    def _fetch_gen(self, *, flush: bool) -> PQGen[None]:
        ends_with_sync = bool(self.command_queue) and self.command_queue[-1] == self.pgconn.pipeline_sync
        while self.command_queue:
            self.command_queue.popleft()()
        if not flush or ends_with_sync:
            yield from send(self.pgconn)
        yield from super()._fetch_gen(flush=flush and not ends_with_sync)


class Connection(AsyncConnection[Row]):
    """An AsyncConnection that uses this Pipeline."""

    @asynccontextmanager
    async def pipeline(self) -> AsyncIterator[AsyncPipeline]:
        async with self.lock:
            self._check_connection_ok()
            if self._pipeline is None:
                self._pipeline = Pipeline(self)
        async with super().pipeline() as pipeline:
            yield pipeline


@asynccontextmanager
async def closed_after(seconds: float, connection: AsyncConnection[Any]) -> AsyncIterator[None]:
    """Shut down a connection whose server does not answer, so that its caller fails instead of hanging."""
    timer = asyncio.get_running_loop().call_later(seconds, _shut_down, connection)
    try:
        yield
    finally:
        timer.cancel()


def _shut_down(connection: AsyncConnection[Any]) -> None:
    with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(connection.fileno())) as line:
        line.shutdown(socket.SHUT_RDWR)
