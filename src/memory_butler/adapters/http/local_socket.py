"""A Unix socket beside the port of the local shape, in the home folder. Other accounts cannot open it, and cannot take
its place while the server is down, as they could with a port."""

import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from memory_butler.settings import Settings

SOCKET_FILE = "server.sock"
PATH_LIMIT_BYTES = 103
PROBE_SECONDS = 1.0

log = logging.getLogger(__name__)


@contextmanager
def local_socket(settings: Settings) -> Iterator[socket.socket | None]:
    """Listen on the Unix socket of the home folder. None for a service, for a path that is too long, and while another
    server of the same store has it."""
    path = settings.home / SOCKET_FILE
    opened = _opened(path) if settings.service.auth == "off" and hasattr(socket, "AF_UNIX") else None
    if opened is None:
        yield None
        return
    with opened:
        made = path.stat().st_ino
        try:
            yield opened
        finally:
            with suppress(OSError):
                if path.stat().st_ino == made:
                    path.unlink()


def _opened(path: Path) -> socket.socket | None:
    if len(os.fsencode(path)) > PATH_LIMIT_BYTES or _answers(path):
        return None
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        path.unlink(missing_ok=True)
        listener.bind(str(path))
        path.chmod(0o600)
        listener.listen(128)
    except OSError as problem:
        # The port serves all the same.
        log.warning("the Unix socket %s cannot be opened: %s", path, problem.strerror)
        listener.close()
        return None
    return listener


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(PROBE_SECONDS)
        try:
            client.connect(str(path))
        except OSError:
            return False
    return True
