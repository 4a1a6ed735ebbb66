"""pg_receivewal: receives the log of a server as it is written, and writes it to disk before it says so."""

import signal
import subprocess
import tempfile
from pathlib import Path
from typing import IO, Final

from memory_butler.store.archive.source import Source

_STOP_SECONDS: Final = 15.0
_STATUS_SECONDS: Final = 1
_NO_SPACE: Final = "No space left on device"
_REMOVED: Final = "has already been removed"


class Receiver:
    """One run of the program. It ends by itself on the first error, and says why."""

    def __init__(self, source: Source, slot: str, wal: Path) -> None:
        self.wal = wal
        self._said: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (closed by `stop`)
        command = ["pg_receivewal", "-D", str(wal), "-S", slot, "--synchronous", "--no-loop"]
        command += ["-s", str(_STATUS_SECONDS)]
        self._process = source.spawn(command, stdout=subprocess.DEVNULL, stderr=self._said)

    @property
    def runs(self) -> bool:
        return self._process.poll() is None

    @property
    def said(self) -> str:
        """What the program reported, in one line."""
        self._said.seek(0)
        lines = self._said.read().decode(errors="replace").splitlines()
        return " ".join(line.strip().removeprefix("pg_receivewal: error: ") for line in lines if line.strip())

    @property
    def found_disk_full(self) -> bool:
        return _NO_SPACE in self.said

    @property
    def found_gap(self) -> bool:
        """True if the server no longer has what comes after the archive's last segment."""
        return _REMOVED in self.said

    def wait(self, seconds: float) -> bool:
        """Wait until the program has ended; False if it still runs."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def kill(self) -> None:
        """End the program at once, without waiting for it."""
        self._process.kill()

    def stop(self) -> None:
        """End the program; it writes to disk what it has received."""
        if self.runs:
            self._process.send_signal(signal.SIGINT)
            if not self.wait(_STOP_SECONDS):
                self._process.kill()
                self._process.wait()
        self._said.close()
