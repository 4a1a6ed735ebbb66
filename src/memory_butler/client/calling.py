"""One call to a server: within its deadline, repeated where that is safe, with errors of the closed set."""

import asyncio
import json
import random
from asyncio import sleep
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

import httpx

from memory_butler.client.reading import Unreadable
from memory_butler.client.shaping import problem_of
from memory_butler.errors import (
    DeadlinePassed,
    InternalError,
    InvalidInput,
    MemoryButlerError,
    TargetUnavailable,
)

API = "/api/v1"
TENANT_HEADER = "Memory-Butler-Tenant"
REQUEST_HEADER = "X-Request-Id"
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
# A server that is busy or on its way back: what it says may be otherwise in a moment.
PASSING = frozenset({429, 502, 503, 504})
NOT_STARTED = 429
ATTEMPTS = 4
FIRST_PAUSE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 2.0
# Longer than that nobody waits because a server says so.
LONGEST_WAIT_SECONDS = 60.0
LONGEST_ANSWER_BYTES = 32 * 1024 * 1024
# Shorter than servers wait for a connection's next request, so that ours is not the one that crosses its closing.
LIMITS = httpx.Limits(max_connections=50, max_keepalive_connections=20, keepalive_expiry=4.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What is asked. `repeatable` says that a second time does no harm, even if the first was heard."""

    method: str
    path: str
    body: Mapping[str, Any] | None = None
    params: Mapping[str, str | list[str]] | None = None
    headers: Mapping[str, str] | None = None
    repeatable: bool = True


class Failed(Exception):
    """One attempt failed; whether another may be made, and how long to wait for it at least."""

    def __init__(self, problem: MemoryButlerError, *, again: bool, wait_seconds: float = 0.0) -> None:
        super().__init__(problem.message)
        self.problem = problem
        self.again = again
        self.wait_seconds = wait_seconds


class Connection:
    """The connections to one server, kept open between calls."""

    def __init__(self, base_url: str, token: str | None, tenant: str | None, deadline_seconds: float) -> None:
        self.url = _address(base_url)
        self.deadline_seconds = deadline_seconds
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        if tenant:
            headers[TENANT_HEADER] = tenant
        if not all(value.isascii() and value.isprintable() for value in headers.values()):
            raise InvalidInput("token and tenant may hold printable ASCII characters only.")
        self._http = httpx.AsyncClient(
            base_url=self.url + API,
            headers=headers,
            limits=LIMITS,
            # A call has one deadline for everything, see below.
            timeout=None,
            # What is on this machine is not asked for through a proxy.
            trust_env=urlsplit(self.url).hostname not in LOOPBACK,
        )

    async def close(self) -> None:
        await self._http.aclose()

    async def ask(self, call: Call, deadline_seconds: float | None = None) -> dict[str, Any]:
        """The answer, a JSON object; or the error that the server named, or what kept it from answering."""
        limit = self.deadline_seconds if deadline_seconds is None else deadline_seconds
        content = _written(call.body)
        ends = asyncio.get_running_loop().time() + limit
        try:
            async with asyncio.timeout_at(ends):
                return await self._insist(call, content, ends)
        except TimeoutError:
            raise self._too_late(limit) from None

    async def _insist(self, call: Call, content: bytes | None, ends: float) -> dict[str, Any]:
        pause = FIRST_PAUSE_SECONDS
        for left in reversed(range(ATTEMPTS)):
            try:
                return await self._once(call, content)
            except Failed as failed:
                wait = max(failed.wait_seconds, jittered(pause))
                if not (failed.again and left) or asyncio.get_running_loop().time() + wait >= ends:
                    raise failed.problem from failed.__cause__
            await sleep(wait)
            pause = min(pause * 2, LONGEST_PAUSE_SECONDS)
        raise InternalError("The attempts of a call ended without an outcome.")

    async def _once(self, call: Call, content: bytes | None) -> dict[str, Any]:
        with self._told(repeatable=call.repeatable):
            async with self._opened(call, content) as response:
                body = await self._read(response)
        if not response.is_success:
            raise self._refused(call, response, body)
        found = _object(body)
        if found is None:
            raise Failed(self.garbage("something that is not a JSON object"), again=False)
        return found

    @asynccontextmanager
    async def stream(self, call: Call, deadline_seconds: float | None) -> AsyncIterator[httpx.Response]:
        """A response that goes on and on, from when it has begun; whatever ends it is `Failed`."""
        limit = self.deadline_seconds if deadline_seconds is None else deadline_seconds
        with self._told(repeatable=True):
            async with AsyncExitStack() as stack:
                try:
                    async with asyncio.timeout(limit):
                        response = await stack.enter_async_context(self._opened(call, None))
                        body = b"" if response.is_success else await self._read(response)
                except TimeoutError:
                    raise Failed(self._too_late(limit), again=True) from None
                if not response.is_success:
                    raise self._refused(call, response, body)
                yield response

    @contextmanager
    def _told(self, *, repeatable: bool) -> Iterator[None]:
        """What the library raises, as what it means to the call."""
        try:
            yield
        except (httpx.ConnectError, httpx.ConnectTimeout) as problem:
            raise Failed(self._unreachable(problem), again=True) from problem
        except httpx.DecodingError as problem:
            raise Failed(self.garbage("an answer that cannot be unpacked"), again=False) from problem
        except (httpx.HTTPError, httpx.InvalidURL) as problem:
            raise Failed(self._unreachable(problem), again=repeatable) from problem

    @asynccontextmanager
    async def _opened(self, call: Call, content: bytes | None = None) -> AsyncIterator[httpx.Response]:
        """The response as it begins; its body is still to be read."""
        headers = {"Accept": "application/json", **(call.headers or {})}
        if content is not None:
            headers["Content-Type"] = "application/json"
        async with self._http.stream(
            call.method, call.path, content=content, params=call.params, headers=headers
        ) as response:
            yield response

    async def _read(self, response: httpx.Response) -> bytes:
        read = bytearray()
        async for chunk in response.aiter_bytes():
            read += chunk
            if len(read) > LONGEST_ANSWER_BYTES:
                raise Failed(self.garbage(f"more than {LONGEST_ANSWER_BYTES >> 20} MiB"), again=False)
        return bytes(read)

    def _refused(self, call: Call, response: httpx.Response, body: bytes) -> Failed:
        """The error that the server named, as what it was."""
        try:
            problem = problem_of(_object(body) or {})
        except Unreadable:
            problem = self.garbage(f"status {response.status_code} without saying why")
        if request := response.headers.get(REQUEST_HEADER):
            problem.add_note(f"request {request[:200]}")
        again = response.status_code == NOT_STARTED or (response.status_code in PASSING and call.repeatable)
        return Failed(problem, again=again, wait_seconds=_retry_after(response))

    def garbage(self, what: str) -> MemoryButlerError:
        return TargetUnavailable(
            f"{self.url} answered with {what}. This does not mean that there are no memories.",
            recovery="Check that a Memory Butler server is at this address, no older than the client.",
        )

    def _too_late(self, limit_seconds: float) -> MemoryButlerError:
        return DeadlinePassed(f"{self.url} did not answer within {limit_seconds:g} seconds.")

    def _unreachable(self, problem: Exception) -> TargetUnavailable:
        said = str(problem) or type(problem).__name__
        return TargetUnavailable(
            f"{self.url} cannot be reached: {said}. This does not mean that there are no memories.",
            recovery="Go on without memory and try again later; check that `memory-butler serve` runs there.",
        )


def jittered(seconds: float) -> float:
    """Somewhat less, so that those who were cut off together do not come back together."""
    return seconds * random.uniform(0.5, 1.0)


def _address(base_url: str) -> str:
    """The server's address, whichever of its doors was named."""
    address = base_url.strip().rstrip("/").removesuffix("/mcp").removesuffix(API).rstrip("/")
    try:
        parts = urlsplit(address)
        # A password in it would end up in messages and logs.
        known = (
            parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and "@" not in parts.netloc
        )
    except ValueError:
        known = False
    # A password in it would end up in messages and logs.
    if not known or "@" in address:
        raise InvalidInput(
            f"base_url {base_url.rpartition('@')[2]!r} is no address of a server.",
            recovery="Pass the address it printed when it started, such as http://127.0.0.1:8150, and a token apart.",
        )
    return address


def _written(body: Mapping[str, Any] | None) -> bytes | None:
    if body is None:
        return None
    try:
        return json.dumps(body, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as problem:
        raise InvalidInput(f"The request cannot be written as JSON: {problem}.") from None


def _object(body: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _retry_after(response: httpx.Response) -> float:
    """How long the server wants us to wait, in seconds and within reason; 0 if it does not say."""
    said = response.headers.get("Retry-After", "").strip()
    if not said:
        return 0.0
    try:
        seconds = float(said)
    except ValueError:
        try:
            seconds = (parsedate_to_datetime(said) - datetime.now(UTC)).total_seconds()
        except (TypeError, ValueError):
            return 0.0
    # Neither a time in the past nor something that is no number.
    return min(seconds, LONGEST_WAIT_SECONDS) if seconds > 0 else 0.0
