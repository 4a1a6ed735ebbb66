"""HTTP requests to one server: deadline, safe retries, errors of the closed set."""

import asyncio
import json
import random
from asyncio import sleep
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

import httpx

from memory_butler import errors
from memory_butler.client.answers import error_of
from memory_butler.models.log_position import POSITION_HEADER, format_position, parse_position
from memory_butler.models.wire.codec import Unreadable

API = "/api/v1"
TENANT_HEADER = "Memory-Butler-Tenant"
REQUEST_HEADER = "X-Request-Id"
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
# Statuses of a server that is busy or restarting; a retry can help.
TRANSIENT = frozenset({429, 502, 503, 504})
NOT_STARTED = 429
ATTEMPTS = 4
FIRST_PAUSE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 2.0
# Longer Retry-After values are cut to this.
LONGEST_WAIT_SECONDS = 60.0
LONGEST_ANSWER_BYTES = 32 * 1024 * 1024
# Shorter than the keep-alive timeout of servers, so that a request does not meet a connection that is being closed.
LIMITS = httpx.Limits(max_connections=50, max_keepalive_connections=20, keepalive_expiry=4.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A request. `repeatable` requests may be sent again even if the server may have received the first one."""

    method: str
    path: str
    body: Mapping[str, Any] | None = None
    params: Mapping[str, str | list[str]] | None = None
    headers: Mapping[str, str] | None = None
    repeatable: bool = True


class AttemptFailed(Exception):
    """One attempt failed. `retry` allows another one after at least `wait_seconds`."""

    def __init__(self, problem: errors.MemoryButlerError, *, retry: bool, wait_seconds: float = 0.0) -> None:
        super().__init__(problem.message)
        self.problem = problem
        self.retry = retry
        self.wait_seconds = wait_seconds


class Connection:
    """A connection pool to one server."""

    def __init__(
        self,
        base_url: str,
        token: str | None,
        tenant: str | None,
        deadline_seconds: float,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.url = _address(base_url)
        self.deadline_seconds = deadline_seconds
        # Position after the last write of this client; later reads see at least that.
        self._position = 0
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        if tenant:
            headers[TENANT_HEADER] = tenant
        if not all(value.isascii() and value.isprintable() for value in headers.values()):
            raise errors.InvalidInput("token and tenant may hold printable ASCII characters only.")
        self._http = httpx.AsyncClient(
            base_url=self.url + API,
            headers=headers,
            transport=transport,
            limits=LIMITS,
            # A call has one deadline for everything, see below.
            timeout=None,
            # No proxy for a server on this machine.
            trust_env=urlsplit(self.url).hostname not in LOOPBACK,
        )

    async def close(self) -> None:
        await self._http.aclose()

    async def send(self, call: Call, deadline_seconds: float | None = None) -> dict[str, Any]:
        """The JSON object of the response. Raises the server's error, `TargetUnavailable` or `DeadlinePassed`."""
        limit = self.deadline_seconds if deadline_seconds is None else deadline_seconds
        content = _written(call.body)
        ends = asyncio.get_running_loop().time() + limit
        try:
            async with asyncio.timeout_at(ends):
                return await self._with_retries(call, content, ends)
        except TimeoutError:
            raise self._too_late(limit) from None

    async def _with_retries(self, call: Call, content: bytes | None, ends: float) -> dict[str, Any]:
        pause = FIRST_PAUSE_SECONDS
        for left in reversed(range(ATTEMPTS)):
            try:
                return await self._once(call, content)
            except AttemptFailed as failed:
                wait = max(failed.wait_seconds, jittered(pause))
                if not (failed.retry and left) or asyncio.get_running_loop().time() + wait >= ends:
                    raise failed.problem from failed.__cause__
            await sleep(wait)
            pause = min(pause * 2, LONGEST_PAUSE_SECONDS)
        raise errors.InternalError("All attempts ended without a result.")

    async def _once(self, call: Call, content: bytes | None) -> dict[str, Any]:
        with self._translated(repeatable=call.repeatable):
            async with self._opened(call, content) as response:
                body = await self._read(response)
        if not response.is_success:
            raise self._refused(call, response, body)
        answer = _object(body)
        if answer is None:
            raise AttemptFailed(self.unexpected("something other than a JSON object"), retry=False)
        return answer

    @asynccontextmanager
    async def stream(self, call: Call, deadline_seconds: float | None) -> AsyncIterator[httpx.Response]:
        """A streaming response, once it has started. Raises `AttemptFailed` when it ends."""
        limit = self.deadline_seconds if deadline_seconds is None else deadline_seconds
        with self._translated(repeatable=True):
            async with AsyncExitStack() as stack:
                try:
                    async with asyncio.timeout(limit):
                        response = await stack.enter_async_context(self._opened(call, None))
                        body = b"" if response.is_success else await self._read(response)
                except TimeoutError:
                    raise AttemptFailed(self._too_late(limit), retry=True) from None
                if not response.is_success:
                    raise self._refused(call, response, body)
                yield response

    @contextmanager
    def _translated(self, *, repeatable: bool) -> Iterator[None]:
        """Translate exceptions of httpx."""
        try:
            yield
        except (httpx.ConnectError, httpx.ConnectTimeout) as problem:
            raise AttemptFailed(self._unreachable(problem), retry=True) from problem
        except httpx.DecodingError as problem:
            raise AttemptFailed(self.unexpected("an undecodable response"), retry=False) from problem
        except (httpx.HTTPError, httpx.InvalidURL) as problem:
            raise AttemptFailed(self._unreachable(problem), retry=repeatable) from problem

    @asynccontextmanager
    async def _opened(self, call: Call, content: bytes | None = None) -> AsyncIterator[httpx.Response]:
        """The response before its body is read."""
        headers = {"Accept": "application/json", **(call.headers or {})}
        if content is not None:
            headers["Content-Type"] = "application/json"
        if self._position:
            headers[POSITION_HEADER] = format_position(self._position)
        async with self._http.stream(
            call.method, call.path, content=content, params=call.params, headers=headers
        ) as response:
            self._note_position(response)
            yield response

    def _note_position(self, response: httpx.Response) -> None:
        """Keep the position of a write, so that the reads of this client see it. Other servers send none."""
        with suppress(errors.InvalidInput):
            self._position = max(self._position, parse_position(response.headers.get(POSITION_HEADER, "")))

    async def _read(self, response: httpx.Response) -> bytes:
        read = bytearray()
        async for chunk in response.aiter_bytes():
            read += chunk
            if len(read) > LONGEST_ANSWER_BYTES:
                raise AttemptFailed(self.unexpected(f"more than {LONGEST_ANSWER_BYTES >> 20} MiB"), retry=False)
        return bytes(read)

    def _refused(self, call: Call, response: httpx.Response, body: bytes) -> AttemptFailed:
        """The failure that an error response reports."""
        try:
            problem = error_of(_object(body) or {})
        except Unreadable:
            problem = self.unexpected(f"status {response.status_code} without an error")
        if request := response.headers.get(REQUEST_HEADER):
            problem.add_note(f"request {request[:200]}")
        retry = response.status_code == NOT_STARTED or (response.status_code in TRANSIENT and call.repeatable)
        return AttemptFailed(problem, retry=retry, wait_seconds=_retry_after(response))

    def unexpected(self, what: str) -> errors.MemoryButlerError:
        return errors.TargetUnavailable(
            f"{self.url} answered with {what}. This does not mean that there are no memories.",
            recovery="Check that the address is that of a Memory Butler server that is not older than the client.",
        )

    def _too_late(self, limit_seconds: float) -> errors.MemoryButlerError:
        return errors.DeadlinePassed(f"{self.url} did not answer within {limit_seconds:g} seconds.")

    def _unreachable(self, problem: Exception) -> errors.TargetUnavailable:
        reason = str(problem) or type(problem).__name__
        return errors.TargetUnavailable(
            f"{self.url} cannot be reached: {reason}. This does not mean that there are no memories.",
            recovery="Continue without memory and retry later; check that `memory-butler serve` runs there.",
        )


def jittered(seconds: float) -> float:
    """Between half and all of it, so that clients that were disconnected together do not reconnect together."""
    return seconds * random.uniform(0.5, 1.0)


def _address(base_url: str) -> str:
    """The base URL of the server, also from the URL of its MCP or REST endpoint."""
    address = base_url.strip().rstrip("/").removesuffix("/mcp").removesuffix(API).rstrip("/")
    try:
        parts = urlsplit(address)
        known = (
            parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and "@" not in parts.netloc
        )
    except ValueError:
        known = False
    # A password in the URL would end up in messages and logs.
    if not known or "@" in address:
        raise errors.InvalidInput(
            f"base_url {base_url.rpartition('@')[2]!r} is not the URL of a server.",
            recovery="Pass the URL that the server prints at its start, such as http://127.0.0.1:8150; pass the token "
            "separately.",
        )
    return address


def _written(body: Mapping[str, Any] | None) -> bytes | None:
    if body is None:
        return None
    try:
        return json.dumps(body, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as problem:
        raise errors.InvalidInput(f"The request cannot be encoded as JSON: {problem}.") from None


def _object(body: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _retry_after(response: httpx.Response) -> float:
    """Seconds of the Retry-After header, at most 60; 0 without one."""
    value = response.headers.get("Retry-After", "").strip()
    if not value:
        return 0.0
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds()
        except (TypeError, ValueError):
            return 0.0
    # Not for a time in the past, and not for NaN.
    return min(seconds, LONGEST_WAIT_SECONDS) if seconds > 0 else 0.0
