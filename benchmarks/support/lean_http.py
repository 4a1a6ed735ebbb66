"""A client that costs little: HTTP/1.1 over connections that are kept, just enough to put a server under load.

A client for everyday use spends more on a call than the server does, and measures itself when many are under way. This
one sends bytes that were made before, and reads of an answer its status, its length and its body.
"""

import asyncio
import socket
import time
from collections import deque
from types import TracebackType
from typing import Self

HEAD_END = b"\r\n\r\n"
LENGTH = b"\r\ncontent-length:"
LONGEST_HEAD = 65_536
# A server closes connections that are idle for some seconds; a call must not meet one that is being closed.
LONGEST_IDLE_SECONDS = 2.0


class BrokenConnection(Exception):
    """The server closed the connection, or answered what this client does not understand."""


def post(path: str, host: str, token: str) -> bytes:
    """The head of a request with a JSON body, without its last lines: `with_body` adds them."""
    return (
        f"POST {path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\n"
        "content-type: application/json\r\ncontent-length: "
    ).encode("ascii")


def with_body(head: bytes, body: bytes) -> bytes:
    return b"%b%d\r\n\r\n%b" % (head, len(body), body)


class Connection(asyncio.Protocol):
    """One call at a time."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[tuple[int, bytes]] | None = None
        self._got = bytearray()
        self._body_at, self._end, self._status = 0, 0, 0
        self.is_open = True
        self.idle_since = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._transport = transport

    def call(self, request: bytes) -> "asyncio.Future[tuple[int, bytes]]":
        assert self._transport
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return self._answer

    def data_received(self, data: bytes) -> None:
        self._got += data
        if not self._end and not self._read_head():
            return
        if len(self._got) >= self._end:
            answer, body = self._answer, bytes(self._got[self._body_at : self._end])
            self._got.clear()
            self._end, self._answer = 0, None
            if answer and not answer.done():
                answer.set_result((self._status, body))

    def _read_head(self) -> bool:
        """Status and length, once the head is there; every answer that is expected here says its length."""
        at = self._got.find(HEAD_END)
        if at < 0 and len(self._got) <= LONGEST_HEAD:
            return False
        head = bytes(self._got[: max(at, 0)]).lower()
        _, found, rest = head.partition(LENGTH)
        length, status = rest.split(b"\r\n", 1)[0].strip(), head[9:12]
        if not (found and length.isdigit() and status.isdigit() and head.startswith(b"http/1.1 ")):
            self.close()
            return False
        self._status, self._body_at = int(status), at + len(HEAD_END)
        self._end = self._body_at + int(length)
        self.is_open = b"\r\nconnection: close" not in head
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_open = False
        if self._answer and not self._answer.done():
            self._answer.set_exception(BrokenConnection())

    def close(self) -> None:
        self.is_open = False
        if self._transport:
            self._transport.abort()


class LeanHttp:
    """A pool of connections to one server of this machine; whoever comes when all are busy waits for one."""

    def __init__(self, port: int, *, connections: int, seconds: float) -> None:
        self._port, self._seconds = port, seconds
        self._free = asyncio.Semaphore(connections)
        self._idle: deque[Connection] = deque()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for connection in self._idle:
            connection.close()
        self._idle.clear()

    async def call(self, request: bytes) -> tuple[int, bytes]:
        """Status and body; `TimeoutError` if it takes too long, `OSError` or `BrokenConnection` if it fails."""
        async with asyncio.timeout(self._seconds), self._free:
            connection = await self._connection()
            try:
                answer = await connection.call(request)
            except BaseException:
                # Its answer may still come, and must not be taken for that of the next call.
                connection.close()
                raise
            if connection.is_open:
                connection.idle_since = time.monotonic()
                self._idle.append(connection)
            else:
                connection.close()
            return answer

    async def _connection(self) -> Connection:
        """The one that was used last, so that no more of them are kept warm than are needed."""
        oldest = time.monotonic() - LONGEST_IDLE_SECONDS
        while self._idle and self._idle[0].idle_since < oldest:
            self._idle.popleft().close()
        while self._idle:
            if (connection := self._idle.pop()).is_open:
                return connection
        loop = asyncio.get_running_loop()
        return (await loop.create_connection(Connection, "127.0.0.1", self._port))[1]
