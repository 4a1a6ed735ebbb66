"""A connection that sends what belongs together in one go."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from psycopg import AsyncConnection, AsyncPipeline
from psycopg.abc import PQGen
from psycopg.generators import send

Row = dict[str, Any]


class Pipeline(AsyncPipeline):
    """psycopg's, except that nothing is sent before somebody waits for an answer.

    The driver writes each statement by itself, and asks the event loop before each whether it may. BEGIN, who is
    asking, the question and COMMIT were four writes with a turn of the loop between them, and the server woke up for
    each.
    """

    def _communicate_gen(self) -> PQGen[None]:
        yield from ()

    def _fetch_gen(self, *, flush: bool) -> PQGen[None]:
        ends = bool(self.command_queue) and self.command_queue[-1] == self.pgconn.pipeline_sync
        while self.command_queue:
            self.command_queue.popleft()()
        if not flush or ends:
            yield from send(self.pgconn)
        yield from super()._fetch_gen(flush=flush and not ends)


class Connection(AsyncConnection[Row]):
    """psycopg's, with that pipeline."""

    @asynccontextmanager
    async def pipeline(self) -> AsyncIterator[AsyncPipeline]:
        async with self.lock:
            self._check_connection_ok()
            if self._pipeline is None:
                self._pipeline = Pipeline(self)
        async with super().pipeline() as pipeline:
            yield pipeline
