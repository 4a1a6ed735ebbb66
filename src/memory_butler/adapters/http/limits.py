"""Limits of one server: concurrent calls, waiting calls and open streams.

A request over a limit is refused at once with the time after which to retry, so that no backlog builds up whose callers
have given up already. Health checks and metrics are always answered.

A full server refuses before it authenticates and before it reads the body: refusing a call must cost next to nothing.
With authentication no caller and no tenant can have all slots, all places in the line or all streams.
"""

import asyncio
import os
from collections import Counter, deque
from collections.abc import AsyncIterator, Hashable, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from typing import Self

from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from memory_butler.adapters.http.activity_stream import PATH
from memory_butler.adapters.http.identity import OPEN_PATHS
from memory_butler.adapters.http.problems import (
    HEAD_TOO_LARGE,
    RETRY_SECONDS,
    Busy,
    caller_key,
    problem_response,
    request_id_from,
)
from memory_butler.adapters.http.protocol import HEAD_BYTES
from memory_butler.adapters.rest.tools import BASE
from memory_butler.errors import InvalidInput
from memory_butler.jobs.yield_to_calls import ActiveCalls
from memory_butler.metrics import calls
from memory_butler.models import Principal
from memory_butler.settings import Limits, Settings

UNLIMITED = OPEN_PATHS | {"/metrics"}
ACTIVITY_PATH = BASE + PATH
# Largest share of a call's deadline that it may spend waiting for a slot.
WAITING_SHARE = 0.5
SLOTS_PER_CORE, MIN_SLOTS = 4, 8
JSONRPC_OVERLOADED = -32000


# One share of a gate: whose it is, and how much of the gate it may use.
Share = tuple[Hashable, float]


class Gate:
    """Admits a number of concurrent calls, queues some more for a while and refuses the rest."""

    def __init__(self, slots: int, max_waiting: int, timeout_seconds: float) -> None:
        self.slots = slots
        self._max_waiting = max_waiting
        self._timeout_seconds = timeout_seconds
        self._inside = 0
        self._line: deque[_Waiting] = deque()
        self._inside_of: Counter[Hashable] = Counter()
        self._waiting_of: Counter[Hashable] = Counter()

    @asynccontextmanager
    async def slot(self, shares: Sequence[Share] = ()) -> AsyncIterator[None]:
        await self._enter(shares)
        try:
            yield
        finally:
            self._leave(shares)

    def check(self) -> None:
        """Raise Busy if there is neither a free slot nor a place in the line."""
        if self._inside >= self.slots and len(self._line) >= self._max_waiting:
            raise Busy("The server is at its limit of concurrent calls; this call was not started.")

    async def _enter(self, shares: Sequence[Share]) -> None:
        # Those in the line may all be over their share; one that is not does not wait for them.
        if self._may_enter(shares) and not any(self._may_enter(place.shares) for place in self._line):
            return self._take(shares)
        self.check()
        for owner, share in shares:
            if self._waiting_of[owner] >= int(share * self._max_waiting):
                raise Busy("You have too many calls at once, so that others get their turn; this call was not started.")
        place = _Waiting(shares, asyncio.get_running_loop().create_future())
        self._line.append(place)
        self._waiting_of.update(owner for owner, _ in shares)
        self._admit()
        try:
            async with asyncio.timeout(self._timeout_seconds):
                await place.turn
        except TimeoutError:
            self._give_up(place)
            raise Busy(
                f"The call waited {self._timeout_seconds:g} seconds for a busy server and was given up;"
                " it was not started."
            ) from None
        except asyncio.CancelledError:
            self._give_up(place)
            raise

    def _may_enter(self, shares: Sequence[Share]) -> bool:
        return self._inside < self.slots and all(
            self._inside_of[owner] < max(1, int(share * self.slots)) for owner, share in shares
        )

    def _take(self, shares: Sequence[Share]) -> None:
        self._inside += 1
        self._inside_of.update(owner for owner, _ in shares)

    def _leave(self, shares: Sequence[Share]) -> None:
        self._inside -= 1
        _forget(self._inside_of, shares)
        self._admit()

    def _admit(self) -> None:
        """Give the free slots to the first in the line whose share is not used up."""
        for place in list(self._line):
            # A caller that has given up leaves the line itself.
            if not place.turn.done() and self._may_enter(place.shares):
                self._line.remove(place)
                _forget(self._waiting_of, place.shares)
                self._take(place.shares)
                place.turn.set_result(None)
            if self._inside >= self.slots:
                return

    def _give_up(self, place: "_Waiting") -> None:
        if place in self._line:
            self._line.remove(place)
            _forget(self._waiting_of, place.shares)
        elif not place.turn.cancelled():
            # Its turn came at the same moment.
            self._leave(place.shares)


@dataclass(frozen=True, eq=False)
class _Waiting:
    shares: Sequence[Share]
    turn: "asyncio.Future[None]"


def _forget(counts: Counter[Hashable], shares: Sequence[Share]) -> None:
    for owner, _ in shares:
        counts[owner] -= 1
        if counts[owner] <= 0:
            del counts[owner]


class Gates:
    """The gates of one server. Streams stay open for hours, so they have their own."""

    def __init__(self, limits: Limits, *, deadline_seconds: float, mcp_path: str, processes: int = 1) -> None:
        """`processes` share the limits: each has its part."""
        self.mcp_path = mcp_path
        slots = limits.concurrency or default_concurrency()
        slots = max(min(1, slots), slots // processes)
        self._calls = Gate(slots, limits.waiting // processes, deadline_seconds * WAITING_SHARE)
        self._streams = Gate(max(1, limits.streams // processes), 0, 0)
        self._caller_share, self._tenant_share = limits.caller_share, limits.tenant_share

    @classmethod
    def from_settings(cls, settings: Settings, mcp_path: str) -> Self:
        return cls(
            settings.service.limits,
            deadline_seconds=settings.deadline_seconds,
            mcp_path=mcp_path,
            processes=settings.service.workers,
        )

    def gate_for(self, scope: Scope) -> Gate | None:
        """Return the gate that the request has to pass; None for unlimited paths."""
        if scope["type"] != "http" or scope["path"] in UNLIMITED:
            return None
        return self._streams if self.is_stream(scope) else self._calls

    def is_stream(self, scope: Scope) -> bool:
        return scope["method"] == "GET" and scope["path"] in (self.mcp_path, ACTIVITY_PATH)

    def shares(self, scope: Scope) -> list[Share]:
        """Return the shares that the request uses: those of its caller and of its tenant, if they are known."""
        principal = scope.get("state", {}).get("principal")
        if not isinstance(principal, Principal):
            return []
        return [(caller_key(scope), self._caller_share), (principal.tenant, self._tenant_share)]

    def refusal(self, problem: Busy, scope: Scope) -> Response:
        calls.REFUSED.inc()
        if scope["path"] != self.mcp_path:
            return problem_response(problem, request_id_from(scope))
        # MCP clients expect a JSON-RPC error, whatever the status.
        error = {"code": JSONRPC_OVERLOADED, "message": problem.message, "data": problem.as_dict()}
        body = {"jsonrpc": "2.0", "id": None, "error": error}
        return JSONResponse(body, status_code=429, headers={"retry-after": str(RETRY_SECONDS)})


class EarlyRefusal:
    """Middleware in front of everything that costs something: refuses while the server is full, and large heads."""

    def __init__(self, app: ASGIApp, gates: Gates) -> None:
        self._app = app
        self._gates = gates

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        if sum(len(name) + len(value) for name, value in scope["headers"]) > HEAD_BYTES:
            problem = InvalidInput(f"The headers are larger than {HEAD_BYTES:,} bytes.", recovery="Send fewer headers.")
            return await problem_response(problem, status=HEAD_TOO_LARGE)(scope, receive, send)
        gate = self._gates.gate_for(scope)
        try:
            if gate is not None:
                gate.check()
        except Busy as problem:
            return await self._gates.refusal(problem, scope)(scope, receive, send)
        return await self._app(scope, receive, send)


class ConcurrencyLimit:
    """Middleware behind authentication: waits for a slot, within the shares of the caller and of the tenant."""

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
                async with gate.slot(self._gates.shares(scope)):
                    return await self._app(scope, receive, send)
        except Busy as problem:
            return await self._gates.refusal(problem, scope)(scope, receive, send)


def default_concurrency() -> int:
    """Return 4 slots per core, at least 8: no core waits for the database, and each call still ends soon."""
    return max(MIN_SLOTS, SLOTS_PER_CORE * (os.cpu_count() or 1))
