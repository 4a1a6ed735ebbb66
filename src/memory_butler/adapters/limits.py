"""How much one server takes on: calls at a time, calls a second of one caller, open streams.

What is over is refused at once and told when to come again, so that a pile of calls never builds up which nobody waits
for any more. Health and figures are always answered.

A full server says so before it asks who is calling: to turn a call away must cost next to nothing.
"""

import asyncio
import math
import os
import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import asynccontextmanager, nullcontext
from typing import Self

from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from memory_butler.adapters import metrics
from memory_butler.adapters.identity import OPEN_PATHS
from memory_butler.adapters.problems import Busy, problem_response, request_id_from
from memory_butler.adapters.rest.app import BASE
from memory_butler.adapters.streaming import PATH
from memory_butler.jobs.courtesy import Calls
from memory_butler.models import Principal
from memory_butler.settings import Limits, Settings

UNLIMITED = OPEN_PATHS | {"/metrics"}
ACTIVITY_PATH = BASE + PATH
# A caller may save up what it did not use of so many seconds.
WINDOW_SECONDS = 10
REMEMBERED = 10_000
# Of the time a call has, at most this share is spent waiting for its turn.
PATIENCE = 0.5
PLACES_A_CORE, LEAST_PLACES = 4, 8
OVERLOADED = -32000


class Gate:
    """So many calls are worked on, so many more wait in line for a while, the rest is refused."""

    def __init__(self, places: int, waiting: int, patience_seconds: float) -> None:
        self._free = places
        self._most_waiting = waiting
        self._patience = patience_seconds
        self._line: deque[asyncio.Future[None]] = deque()

    @property
    def is_full(self) -> bool:
        """Whether whoever comes now is refused."""
        return self._free <= 0 and len(self._line) >= self._most_waiting

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        await self._enter()
        try:
            yield
        finally:
            self._leave()

    async def _enter(self) -> None:
        if self._free > 0:
            self._free -= 1
            return
        if self.is_full:
            raise full()
        place = asyncio.get_running_loop().create_future()
        self._line.append(place)
        try:
            await asyncio.wait({place}, timeout=self._patience)
        except asyncio.CancelledError:
            self._give_up(place)
            raise
        if not place.done():
            self._give_up(place)
            raise Busy("The server is busy, and the call has waited long enough; it was not started.")

    def _give_up(self, place: "asyncio.Future[None]") -> None:
        """Out of the line; if it was this one's turn already, it is the next one's."""
        if place.done():
            self._leave()
        else:
            self._line.remove(place)

    def _leave(self) -> None:
        if self._line:
            self._line.popleft().set_result(None)
        else:
            self._free += 1


class Rates:
    """How many calls each caller has left: as many as ten seconds bring, and no more."""

    def __init__(self, calls_a_second: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = calls_a_second
        self._most = max(1.0, calls_a_second * WINDOW_SECONDS)
        self._clock = clock
        self._left: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()

    def take(self, caller: Hashable) -> None:
        if not self._rate:
            return
        now = self._clock()
        left, since = self._left.pop(caller, (self._most, now))
        left = min(self._most, left + (now - since) * self._rate)
        self._left[caller] = (left - 1 if left >= 1 else left, now)
        while len(self._left) > REMEMBERED:
            self._left.popitem(last=False)
        if left < 1:
            seconds = math.ceil((1 - left) / self._rate)
            raise Busy(f"More than {self._rate:g} calls a second, over {WINDOW_SECONDS} seconds.", max(1, seconds))


class Gates:
    """The places of one server. Streams stay open for as long as their readers like, so they have their own."""

    def __init__(self, limits: Limits, *, deadline_seconds: float, mcp_path: str) -> None:
        self.mcp_path = mcp_path
        self._calls = Gate(limits.concurrency or usual_concurrency(), limits.waiting, deadline_seconds * PATIENCE)
        self._streams = Gate(limits.streams, 0, 0)

    @classmethod
    def from_settings(cls, settings: Settings, mcp_path: str) -> Self:
        return cls(settings.service.limits, deadline_seconds=settings.deadline_seconds, mcp_path=mcp_path)

    def of(self, scope: Scope) -> Gate | None:
        """The gate that a request has to pass, if any."""
        if scope["type"] != "http" or scope["path"] in UNLIMITED:
            return None
        return self._streams if self.is_stream(scope) else self._calls

    def is_stream(self, scope: Scope) -> bool:
        return scope["method"] == "GET" and scope["path"] in (self.mcp_path, ACTIVITY_PATH)

    def refusal(self, problem: Busy, scope: Scope) -> Response:
        metrics.REFUSED.inc()
        if scope["path"] != self.mcp_path:
            return problem_response(problem, request_id_from(scope))
        # Clients of MCP look for an error of their own protocol, whatever the status.
        error = {"code": OVERLOADED, "message": problem.message, "data": problem.as_dict()}
        body = {"jsonrpc": "2.0", "id": None, "error": error}
        return JSONResponse(body, status_code=429, headers={"retry-after": str(problem.retry_seconds)})


class Doorkeeper:
    """Lets in as many as there are places for, without asking who it is: asking costs a look into the database, and a
    crowd that waits for that is a pile of calls, too."""

    def __init__(self, app: ASGIApp, gates: Gates, calls: Calls) -> None:
        self._app = app
        self._gates = gates
        self._calls = calls

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        gate = self._gates.of(scope)
        if gate is None:
            return await self._app(scope, receive, send)
        try:
            # Upkeep gives way to calls, also to those that wait; a stream hardly does anything, for hours.
            with nullcontext() if self._gates.is_stream(scope) else self._calls.one():
                async with gate.turn():
                    return await self._app(scope, receive, send)
        except Busy as problem:
            return await self._gates.refusal(problem, scope)(scope, receive, send)


class Limited:
    """Counts the calls of each caller. It stands behind authentication, so that it knows who is calling."""

    def __init__(self, app: ASGIApp, gates: Gates, *, calls_a_second: float = 0) -> None:
        self._app = app
        self._gates = gates
        self._rates = Rates(calls_a_second)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._gates.of(scope) is None:
            return await self._app(scope, receive, send)
        try:
            self._rates.take(_caller(scope))
        except Busy as problem:
            return await self._gates.refusal(problem, scope)(scope, receive, send)
        return await self._app(scope, receive, send)


def usual_concurrency() -> int:
    """Enough that no core waits for the database, and few enough that each call ends soon."""
    return max(LEAST_PLACES, PLACES_A_CORE * (os.cpu_count() or 1))


def full() -> Busy:
    return Busy("The server has as many calls as it can take; this one was not started.")


def _caller(scope: Scope) -> Hashable:
    """Whose calls are counted together: those of one token, or of one name at an identity provider."""
    principal = scope.get("state", {}).get("principal")
    if not isinstance(principal, Principal):
        return None
    return principal.token_id or (principal.home or principal.tenant, principal.butler, principal.name)
