"""Limits of one server: concurrent calls, waiting calls and open streams.

A request over a limit is refused at once with the time after which to retry, so that no backlog builds up whose callers
have given up already. Health checks and metrics are always answered.

A full server refuses before it authenticates: refusing a call must cost next to nothing.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from typing import Self

from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from memory_butler.adapters.http.activity_stream import PATH
from memory_butler.adapters.http.identity import OPEN_PATHS
from memory_butler.adapters.http.problems import RETRY_SECONDS, Busy, problem_response, request_id_from
from memory_butler.adapters.rest.tools import BASE
from memory_butler.adapters.telemetry import metrics
from memory_butler.jobs.yield_to_calls import ActiveCalls
from memory_butler.settings import Limits, Settings

UNLIMITED = OPEN_PATHS | {"/metrics"}
ACTIVITY_PATH = BASE + PATH
# Largest share of a call's deadline that it may spend waiting for a slot.
WAITING_SHARE = 0.5
SLOTS_PER_CORE, MIN_SLOTS = 4, 8
JSONRPC_OVERLOADED = -32000


class Gate:
    """Admits a number of concurrent calls, queues some more for a while and refuses the rest."""

    def __init__(self, slots: int, max_waiting: int, timeout_seconds: float) -> None:
        self._slots = asyncio.Semaphore(slots)
        self._max_waiting = max_waiting
        self._timeout_seconds = timeout_seconds
        self._waiting = 0

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        await self._enter()
        try:
            yield
        finally:
            self._slots.release()

    async def _enter(self) -> None:
        if self._slots.locked() and self._waiting >= self._max_waiting:
            raise Busy("The server is at its limit of concurrent calls; this call was not started.")
        self._waiting += 1
        try:
            async with asyncio.timeout(self._timeout_seconds):
                await self._slots.acquire()
        except TimeoutError:
            raise Busy(
                f"The call waited {self._timeout_seconds:g} seconds for a busy server and was given up;"
                " it was not started."
            ) from None
        finally:
            self._waiting -= 1


class Gates:
    """The gates of one server. Streams stay open for hours, so they have their own."""

    def __init__(self, limits: Limits, *, deadline_seconds: float, mcp_path: str) -> None:
        self.mcp_path = mcp_path
        slots = limits.concurrency or default_concurrency()
        self._calls = Gate(slots, limits.waiting, deadline_seconds * WAITING_SHARE)
        self._streams = Gate(limits.streams, 0, 0)

    @classmethod
    def from_settings(cls, settings: Settings, mcp_path: str) -> Self:
        return cls(settings.service.limits, deadline_seconds=settings.deadline_seconds, mcp_path=mcp_path)

    def gate_for(self, scope: Scope) -> Gate | None:
        """Return the gate that the request has to pass; None for unlimited paths."""
        if scope["type"] != "http" or scope["path"] in UNLIMITED:
            return None
        return self._streams if self.is_stream(scope) else self._calls

    def is_stream(self, scope: Scope) -> bool:
        return scope["method"] == "GET" and scope["path"] in (self.mcp_path, ACTIVITY_PATH)

    def refusal(self, problem: Busy, scope: Scope) -> Response:
        metrics.REFUSED.inc()
        if scope["path"] != self.mcp_path:
            return problem_response(problem, request_id_from(scope))
        # MCP clients expect a JSON-RPC error, whatever the status.
        error = {"code": JSONRPC_OVERLOADED, "message": problem.message, "data": problem.as_dict()}
        body = {"jsonrpc": "2.0", "id": None, "error": error}
        return JSONResponse(body, status_code=429, headers={"retry-after": str(RETRY_SECONDS)})


class ConcurrencyLimit:
    """Middleware in front of authentication, which costs a database lookup."""

    def __init__(self, app: ASGIApp, gates: Gates, calls: ActiveCalls) -> None:
        self._app = app
        self._gates = gates
        self._calls = calls

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        gate = self._gates.gate_for(scope)
        if gate is None:
            return await self._app(scope, receive, send)
        try:
            # The worker yields to calls, including waiting ones. A stream is idle for hours and does not count.
            with nullcontext() if self._gates.is_stream(scope) else self._calls.track():
                async with gate.slot():
                    return await self._app(scope, receive, send)
        except Busy as problem:
            return await self._gates.refusal(problem, scope)(scope, receive, send)


def default_concurrency() -> int:
    """Return 4 slots per core, at least 8: no core waits for the database, and each call still ends soon."""
    return max(MIN_SLOTS, SLOTS_PER_CORE * (os.cpu_count() or 1))
