"""The account at the other end of a connection on this machine, as the kernel knows it.

Linux lists both ends of a loopback connection with their owners. Other systems do not: there a caller shows the local
token. Only the standard library is imported: hooks use this, too.
"""

import os
import socket
import sys
from typing import Any

ESTABLISHED, LISTENING = "01", "0A"
ROOT = 0
_TABLES: dict[int, str] = {socket.AF_INET: "/proc/net/tcp", socket.AF_INET6: "/proc/net/tcp6"}
KNOWS_ACCOUNTS = os.path.exists(_TABLES[socket.AF_INET])  # noqa: PTH110


class Peer:
    """The client of one connection. The kernel is asked once, for the first request that needs it."""

    def __init__(self, connection: socket.socket | None) -> None:
        self._connection = connection
        self._is_own: bool | None = None

    @property
    def is_unix(self) -> bool:
        """True for the Unix socket, which only its owner can open."""
        return self._connection is not None and self._connection.family == socket.AF_UNIX

    @property
    def is_own_account(self) -> bool:
        """True if the client runs as the account of this process, or as root."""
        if self._is_own is None:
            self._is_own = self._connection is not None and _is_own(self._connection)
        return self._is_own


def _is_own(connection: socket.socket) -> bool:
    try:
        here, there = connection.getsockname(), connection.getpeername()
    except OSError:
        return False
    for line in _lines(connection.family):
        if line[1:3] == [_address(connection.family, there), _address(connection.family, here)]:
            return _is_trusted(line)
    return False


def is_foreign_server(host: str, port: int) -> bool:
    """True if another account listens there. False without a listener, and where the kernel does not tell."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    wanted = {_address(family, (one, port)) for one in (host, "::" if ":" in host else "0.0.0.0")}
    listeners = [line for line in _lines(family) if line[3] == LISTENING and line[1] in wanted]
    return any(int(line[7]) not in (os.geteuid(), ROOT) for line in listeners)


def _is_trusted(line: list[str]) -> bool:
    """The kernel shows user 0 for a connection that its process has closed, so root counts only while it is open."""
    owner = int(line[7])
    return owner == os.geteuid() != ROOT or (owner == ROOT and line[3] == ESTABLISHED)


def _lines(family: int) -> list[list[str]]:
    """The fields of each connection: number, local address, remote address, state, …, user id."""
    try:
        with open(_TABLES[family]) as table:  # noqa: PTH123 (pathlib is slow to import for a hook)
            return [line.split() for line in table.readlines()[1:]]
    except (OSError, KeyError):
        return []


def _address(family: int, address: Any) -> str:
    """An address as the kernel prints it: words of 32 bits in the byte order of the machine, and the port."""
    packed = socket.inet_pton(family, address[0].partition("%")[0])
    words = (int.from_bytes(packed[at : at + 4], sys.byteorder) for at in range(0, len(packed), 4))
    return "".join(f"{word:08X}" for word in words) + f":{address[1]:04X}"
