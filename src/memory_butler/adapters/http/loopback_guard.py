"""Protection of the local HTTP server: programs of this machine may call it, web pages of other sites may not."""

import asyncio
from collections import Counter, deque
from collections.abc import MutableMapping
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memory_butler.adapters.http.problems import (
    MISDIRECTED,
    TOO_LARGE,
    Busy,
    caller_key,
    problem_response,
    request_id_from,
)
from memory_butler.errors import DeadlinePassed, InvalidInput, MemoryButlerError, PermissionDenied

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
BODY_BYTES = 4 * 1024 * 1024
# Bodies of this many times the limit may be in memory at once, and a quarter of them of one caller.
BODIES, BODIES_OF_CALLER = 64, 16


def host_name(host: str) -> str:
    """Return the name in a Host header without port and brackets; empty if it is not valid."""
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port
    except ValueError:
        return ""
    is_bare = not (parts.path or parts.query or parts.fragment or "@" in host)
    return (parts.hostname or "") if is_bare else ""


def origin_name(origin: str) -> str:
    """Return the host name of an Origin header; empty for `null` and for anything that is no web origin."""
    scheme, separator, rest = origin.partition("://")
    return host_name(rest) if separator and scheme.lower() in ("http", "https") else ""


class LoopbackOnly:
    """Middleware: refuses requests for another host name (DNS rebinding) and from pages of other sites."""

    def __init__(self, app: ASGIApp, configured: str) -> None:
        self._app = app
        self._names = LOOPBACK | {configured.lower()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            hosts = headers.getlist("host")
            if len(hosts) != 1 or host_name(hosts[0]) not in self._names:
                problem = PermissionDenied(
                    "This server accepts requests for localhost only.",
                    recovery="Use the address it printed when it started, for example http://127.0.0.1:8150/mcp.",
                )
                return await _refuse(problem, MISDIRECTED, scope, receive, send)
            if any(origin_name(origin) not in self._names for origin in headers.getlist("origin")):
                problem = PermissionDenied(
                    "Web pages of other sites are not allowed to call this server.",
                    recovery="Connect with an MCP client on this machine, or from a page that this machine serves.",
                )
                return await _refuse(problem, 403, scope, receive, send)
        return await self._app(scope, receive, send)


class BodyLimit:
    """Middleware: refuses a request body that is too large, or that takes too long: a slow client would hold a slot."""

    def __init__(self, app: ASGIApp, limit_bytes: int = BODY_BYTES, deadline_seconds: float = 5) -> None:
        self._app = app
        self._limit = limit_bytes
        self._deadline = deadline_seconds
        self._held = 0
        self._held_of: Counter[tuple[str, ...]] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        holder = _Holder(self, caller_key(scope))
        try:
            await self._handle(holder, scope, receive, send)
        except Busy as problem:
            await problem_response(problem, request_id_from(scope))(scope, receive, send)
        finally:
            holder.release()

    async def _handle(self, holder: "_Holder", scope: Scope, receive: Receive, send: Send) -> None:
        announced = Headers(scope=scope).get("content-length", "")
        if announced.isdecimal() and int(announced[:20]) > self._limit:
            return await self._refuse(scope, receive, send)
        try:
            async with asyncio.timeout(self._deadline):
                messages = await self._read(holder, receive)
        except TimeoutError:
            problem = DeadlinePassed(f"The request was not received completely within {self._deadline:g} seconds.")
            return await problem_response(problem, request_id_from(scope))(scope, receive, send)
        if messages is None:
            return await self._refuse(scope, receive, send)

        async def replay() -> MutableMapping[str, Any]:
            return messages.popleft() if messages else await receive()

        return await self._app(scope, replay, send)

    def hold(self, caller: tuple[str, ...], size: int) -> None:
        """Count bytes that are in memory. Raises Busy if it is too much at once."""
        of_caller = BODIES if caller == () else BODIES_OF_CALLER
        if self._held + size > BODIES * self._limit or self._held_of[caller] + size > of_caller * self._limit:
            raise Busy("The server is receiving too much at once; this call was not started.")
        self._held += size
        self._held_of[caller] += size

    def release(self, caller: tuple[str, ...], size: int) -> None:
        self._held -= size
        self._held_of[caller] -= size
        if not self._held_of[caller]:
            del self._held_of[caller]

    async def _read(self, holder: "_Holder", receive: Receive) -> deque[Message] | None:
        """Return the messages of the whole body; None if it is too large."""
        messages, size = deque[Message](), 0
        while True:
            message = await receive()
            messages.append(message)
            more = len(message.get("body", b""))
            size += more
            if size > self._limit:
                return None
            holder.hold(more)
            if not message.get("more_body", False):
                return messages

    async def _refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        problem = InvalidInput(
            f"The request is larger than {self._limit:,} bytes.",
            recovery="Send less at once; an episode may have at most 20,000 characters.",
        )
        await _refuse(problem, TOO_LARGE, scope, receive, send)


class _Holder:
    """The bytes of one request that are in memory."""

    def __init__(self, limit: BodyLimit, caller: tuple[str, ...]) -> None:
        self._limit = limit
        self._caller = caller
        self._size = 0

    def hold(self, size: int) -> None:
        self._limit.hold(self._caller, size)
        self._size += size

    def release(self) -> None:
        self._limit.release(self._caller, self._size)


async def _refuse(problem: MemoryButlerError, status: int, scope: Scope, receive: Receive, send: Send) -> None:
    await problem_response(problem, request_id_from(scope), status=status)(scope, receive, send)
