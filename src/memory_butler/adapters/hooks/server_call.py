"""One HTTP request to a running server, with a deadline, over a plain socket.

Importing an HTTP library would take longer than the whole request. The Unix socket in the home folder is preferred to
the port: nobody else can listen there.
"""

import json
import os
import socket
import time
from typing import Any

from memory_butler.adapters.http.peer import is_foreign_server

LONGEST_ANSWER_BYTES = 2_000_000
CHUNK_BYTES = 65_536
LOCAL, PORT = "127.0.0.1", 8150
SOCKET_FILE, TOKEN_FILE = "server.sock", "token"


class NoAnswer(Exception):
    """No server answered in time, or not with a usable response."""


class NotRunning(NoAnswer):
    """No server of this account listens."""


class NotReady(NoAnswer):
    """The server is starting."""


class Refused(NoAnswer):
    """The server answered with an error."""


class Server:
    """Address and token of the server, from the environment, else from the config file in the home folder."""

    def __init__(self, home: str | None, port: str | None = None) -> None:
        given = home or os.environ.get("MEMORY_BUTLER_HOME") or "~/.memory-butler"
        folder = os.path.expanduser(given)  # noqa: PTH111
        config = config_of(os.path.join(folder, "config.toml"))  # noqa: PTH118
        host = os.environ.get("MEMORY_BUTLER_HOST") or config.get("host") or LOCAL
        number = os.environ.get("MEMORY_BUTLER_PORT") or port or config.get("port") or PORT
        # A transcript is never sent to another machine; a server for other machines also listens locally.
        self.host = host if str(host).startswith("127.") or host == "::1" else LOCAL
        self.port = int(number)
        self.folder = folder
        self.token = os.environ.get("MEMORY_BUTLER_TOKEN", "")
        # Without a token of a service it is the server of this account.
        self.is_own = not self.token
        self.path = os.path.join(folder, SOCKET_FILE)  # noqa: PTH118
        if self.is_own:
            self.token = _token(os.path.join(folder, TOKEN_FILE))  # noqa: PTH118
        self.butler = os.environ.get("MEMORY_BUTLER_BUTLER", "")
        hooks = config.get("hooks")
        self.may_start = _is_on(
            os.environ.get("MEMORY_BUTLER_HOOKS__START_SERVER"),
            hooks.get("start_server", True) if isinstance(hooks, dict) else True,
        )

    def ask(self, path: str, arguments: dict[str, Any], until: float) -> dict[str, Any]:
        """Call one route; `until` is a deadline of time.monotonic()."""
        body = json.dumps(arguments).encode()
        name = f"[{self.host}]" if ":" in self.host else self.host
        lines = [
            f"POST {path} HTTP/1.0",
            f"Host: {name}:{self.port}",
            "Content-Type: application/json",
            f"Content-Length: {len(body)}",
        ]
        if self.token:
            lines.append(f"Authorization: Bearer {self.token}")
        head = "\r\n".join([*lines, "", ""]).encode()
        try:
            return _answer_in(self._exchanged(head + body, until))
        except (OSError, ValueError) as problem:
            raise NoAnswer(f"the server did not answer ({type(problem).__name__})") from problem

    def _exchanged(self, request: bytes, until: float) -> bytes:
        with self._connected(until) as line:
            line.settimeout(_left(until))
            line.sendall(request)
            read = bytearray()
            while True:
                line.settimeout(_left(until))
                chunk = line.recv(CHUNK_BYTES)
                if not chunk:
                    return bytes(read)
                read += chunk
                if len(read) > LONGEST_ANSWER_BYTES:
                    raise NoAnswer("the server did not give a usable answer")

    def _connected(self, until: float) -> socket.socket:
        if self.is_own and os.path.exists(self.path):  # noqa: PTH110
            line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            line.settimeout(_left(until))
            try:
                line.connect(self.path)
            except (ConnectionRefusedError, FileNotFoundError):
                # Left by a server that was killed.
                line.close()
            else:
                return line
        if self.is_own and is_foreign_server(self.host, self.port):
            raise NotRunning(f"another account of this machine listens on port {self.port}")
        try:
            return socket.create_connection((self.host, self.port), timeout=_left(until))
        except ConnectionRefusedError as problem:
            raise NotRunning("no server is running") from problem


def _left(until: float) -> float:
    left = until - time.monotonic()
    if left <= 0:
        raise NoAnswer("the server did not answer in time")
    return left


def _answer_in(response: bytes) -> dict[str, Any]:
    head, _, body = response.partition(b"\r\n\r\n")
    status = head.split(b"\r\n", 1)[0].split(b" ")
    if len(status) > 1 and status[1].startswith(b"4"):
        raise Refused(f"the server refused the request ({status[1].decode('ascii', 'replace')})")
    if len(status) > 1 and status[1] in (b"503", b"504"):
        raise NotReady("the server is still starting")
    if len(status) < 2 or status[1] != b"200":
        raise NoAnswer("the server did not give a usable answer")
    found = json.loads(body)
    if not isinstance(found, dict):
        raise NoAnswer("the server did not give a usable answer")
    return found


def _is_on(given: str | None, configured: object) -> bool:
    return configured is not False if given is None else given.strip().lower() not in ("0", "false", "no", "off")


def _token(path: str) -> str:
    try:
        with open(path, encoding="ascii") as file:  # noqa: PTH123
            return file.read(1000).strip()
    except (OSError, UnicodeDecodeError):
        return ""


def config_of(path: str) -> dict[str, Any]:
    if not os.path.exists(path):  # noqa: PTH110
        return {}
    import tomllib  # noqa: PLC0415 (slow to import, and most homes have no such file)

    try:
        with open(path, "rb") as file:  # noqa: PTH123
            return tomllib.load(file)
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError):
        return {}
