"""Limits before a request exists: how long a client may take to send the head of a request, and how large it may be.

uvicorn waits for a head without a limit, so a client that sends one byte a minute would keep a connection for hours.
"""

import asyncio
from typing import TYPE_CHECKING, Any, Final

import h11

from memory_butler.adapters.http.peer import Peer

if TYPE_CHECKING:
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol as HttpProtocol
else:
    from uvicorn.protocols.http.auto import AutoHTTPProtocol as HttpProtocol

HEAD_SECONDS: Final = 10.0
HEAD_BYTES: Final = 65_536
_TOO_LATE: Final = (408, "Request Timeout", "The head of the request was not received in time.")
_TOO_LARGE: Final = (431, "Request Header Fields Too Large", "The head of the request is too large.")


class BoundedHead(HttpProtocol):
    """uvicorn's HTTP protocol with limits for the head. Guarded by tests/adapters/http/test_protocol.py."""

    head_seconds = HEAD_SECONDS

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        # Taken from the connection: no header can change it.
        self.app_state = {**self.app_state, "peer": Peer(transport.get_extra_info("socket"))}
        self._head_bytes = 0
        self._in_body = False
        self._head_timer: asyncio.TimerHandle | None = None
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_received()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        before = self.cycle
        # A response may be complete before the body of its request is.
        is_head = before is None or (before.response_complete and not self._expects_body())
        if is_head and self._head_timer is None:
            self._await_head()
        super().data_received(data)
        if not is_head:
            return
        if self.cycle is not before or self.transport.is_closing() or self.transport.get_protocol() is not self:
            return self._head_received()
        self._head_bytes += len(data)
        if self._head_bytes > HEAD_BYTES:
            self._refuse(*_TOO_LARGE)

    def _expects_body(self) -> bool:
        connection: h11.Connection | None = getattr(self, "conn", None)
        return self._in_body if connection is None else connection.their_state is h11.SEND_BODY

    # Only httptools calls these three; h11 knows its state, and trims the values.
    def on_header(self, name: bytes, value: bytes) -> None:
        """Whitespace around a value does not belong to it (RFC 9110, section 5.5)."""
        super().on_header(name, value.strip(b" \t"))

    def on_headers_complete(self) -> None:
        self._in_body = True
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._in_body = False
        super().on_message_complete()

    def handle_websocket_upgrade(self, *given: Any) -> None:
        self._head_received()
        super().handle_websocket_upgrade(*given)

    def _await_head(self) -> None:
        self._head_timer = asyncio.get_running_loop().call_later(self.head_seconds, self._refuse, *_TOO_LATE)

    def _head_received(self) -> None:
        self._head_bytes = 0
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _refuse(self, status: int, reason: str, message: str) -> None:
        self._head_received()
        if self.transport.is_closing():
            return
        body = message.encode()
        head = f"HTTP/1.1 {status} {reason}\r\ncontent-type: text/plain\r\ncontent-length: {len(body)}\r\n"
        self.transport.write(f"{head}connection: close\r\n\r\n".encode() + body)
        self.transport.close()
