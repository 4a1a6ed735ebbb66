"""The home folder of an embedded server: paths, log, and the folder of its socket."""

import os
import shutil
import sys
import weakref
from pathlib import Path
from typing import Final

from memory_butler.errors import TargetUnavailable

PORT: Final = 5432
LOG_LIMIT_BYTES: Final = 10_000_000
_LOG_TAIL_BYTES: Final = 1_500
_SOCKET_PATH_LIMIT_BYTES: Final = 103


class Home:
    """The home folder: paths, log, and socket folders, also below a very long path."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.log_file = path / "logs" / "postgres.log"
        self._descriptor: int | None = None

    def socket_folder(self, name: str) -> str:
        plain = self.path / name
        if len(os.fsencode(plain / f".s.PGSQL.{PORT}")) <= _SOCKET_PATH_LIMIT_BYTES:
            return str(plain)
        if not sys.platform.startswith("linux") or not Path("/proc/self/fd").is_dir():
            raise TargetUnavailable(
                f"The path of the home folder is too long for a socket: {self.path}",
                recovery="Set MEMORY_BUTLER_HOME to a shorter path.",
            )
        if self._descriptor is None:
            self._descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
            weakref.finalize(self, os.close, self._descriptor)
        return f"/proc/self/fd/{self._descriptor}/{name}"

    @property
    def inherited_fds(self) -> tuple[int, ...]:
        """File descriptors that a child process needs to use a socket folder below /proc/self/fd."""
        return () if self._descriptor is None else (self._descriptor,)

    def open_log(self) -> int:
        self.log_file.parent.mkdir(mode=0o700, exist_ok=True)
        return os.open(self.log_file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def log_size(self) -> int:
        return self.log_file.stat().st_size if self.log_file.exists() else 0

    def log_since(self, offset: int) -> str:
        with self.log_file.open("rb") as log:
            log.seek(max(offset, self.log_size() - _LOG_TAIL_BYTES))
            return log.read().decode(errors="replace").strip()

    def trim_log(self) -> None:
        # The server appends through its own descriptor, so the file is emptied in place, not replaced.
        if self.log_size() > LOG_LIMIT_BYTES:
            previous = self.log_file.with_name("postgres.log.1")
            previous.unlink(missing_ok=True)
            with self.log_file.open("rb") as log, open(previous, "xb", opener=private_opener) as copy:
                shutil.copyfileobj(log, copy)
            os.truncate(self.log_file, 0)


def private_opener(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
