"""How much one server takes on: calls at a time, calls a second of one caller, open streams.

What is over is refused at once and told when to come again, so that a pile of calls never builds up which nobody waits
for any more. Health and figures are always answered.
"""

import asyncio
import math
import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from memory_butler.adapters.identity import OPEN_PATHS
from memory_butler.adapters.problems import Busy, problem_response, request_id_from
from memory_butler.adapters.rest.app import BASE
from memory_butler.adapters.streaming import PATH
from memory_butler.models import Principal
from memory_butler.settings import Limits

UNLIMITED = OPEN_PATHS | {"/metrics"}
ACTIVITY_PATH = BASE + PATH
# A caller may save up what it did not use of so many seconds.
WINDOW_SECONDS = 10
REMEMBERED = 10_000
# Of the time a call has, at most this share is spent waiting for its turn.
PATIENCE = 0.5
OVERLOADED = -32000


class Gate:
    """So many calls are worked on, so many more wait in line for a while, the rest is refused."""

    def __init__(self, places: int, waiting: int, patience_seconds: float) -> None:
        self._free = places
        self._most_waiting = waiting
        self._patience = patience_seconds
        self._line: deque[asyncio.Future[None]] = deque()

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
        if len(self._line) >= self._most_waiting:
            raise Busy("The server has as many calls as it can take; this one was not started.")
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


class Limited:
    """Lets through what the server takes on. It stands behind authentication, so that it knows who is calling."""

    def __init__(self, app: ASGIApp, limits: Limits, *, deadline_seconds: float, mcp_path: str) -> None:
        self._app = app
        self._mcp_path = mcp_path
        self._calls = Gate(limits.concurrency, limits.waiting, deadline_seconds * PATIENCE)
        self._streams = Gate(limits.streams, 0, 0)
        self._rates = Rates(limits.calls_a_second)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in UNLIMITED:
            return await self._app(scope, receive, send)
        try:
            self._rates.take(_caller(scope))
            async with self._turn(scope):
                return await self._app(scope, receive, send)
        except Busy as problem:
            return await self._refusal(problem, scope)(scope, receive, send)

    def _turn(self, scope: Scope) -> AbstractAsyncContextManager[None]:
        """Streams stay open for as long as their readers like, so they have places of their own."""
        is_stream = scope["method"] == "GET" and scope["path"] in (self._mcp_path, ACTIVITY_PATH)
        return self._streams.turn() if is_stream else self._calls.turn()

    def _refusal(self, problem: Busy, scope: Scope) -> Response:
        if scope["path"] != self._mcp_path:
            return problem_response(problem, request_id_from(scope))
        # Clients of MCP look for an error of their own protocol, whatever the status.
        error = {"code": OVERLOADED, "message": problem.message, "data": problem.as_dict()}
        body = {"jsonrpc": "2.0", "id": None, "error": error}
        return JSONResponse(body, status_code=429, headers={"retry-after": str(problem.retry_seconds)})


def _caller(scope: Scope) -> Hashable:
    """Whose calls are counted together: those of one token, or of one name at an identity provider."""
    principal = scope.get("state", {}).get("principal")
    if not isinstance(principal, Principal):
        return None
    return principal.token_id or (principal.home or principal.tenant, principal.butler, principal.name)
