"""Stops the embedded server when no program has used it for a while.

The process that starts the server also starts this one, which outlives it: commands end at once, and several
processes share a server. It never stops a server to which a program is connected, and ends with the server.
"""

import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from memory_butler.errors import MemoryButlerError
from memory_butler.store.embedded.server import EmbeddedPostgres

CHECK_SECONDS: Final = 2.0
ASK_SECONDS: Final = 30.0


def start(home: Path, pid: int, idle_seconds: float) -> None:
    """Start the watching process for the server with this process id. It belongs to nobody: this one may end first."""
    command = [sys.executable, "-m", __name__, str(home), str(pid), str(idle_seconds)]
    if sys.platform == "win32":
        # The object must not wait for its process.
        subprocess.Popen(command, cwd=home, creationflags=subprocess.CREATE_NO_WINDOW).returncode = 0
        return
    subprocess.run(
        ["/bin/sh", "-c", '"$@" &', "sh", *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        start_new_session=True,
        check=True,
    )


def watch(server: EmbeddedPostgres, pid: int, idle_seconds: float) -> bool:
    """Wait until the server is idle, then stop it; False if it ended or was replaced before."""
    used_at, sessions = time.monotonic(), None
    while True:
        ask_at = time.monotonic() + min(ASK_SECONDS, idle_seconds / 4)
        while (left := ask_at - time.monotonic()) > 0:
            if server.pid != pid:
                return False
            time.sleep(min(left, CHECK_SECONDS))
        clients, so_far = server.activity()
        if clients or so_far != sessions:
            used_at, sessions = time.monotonic(), so_far
        elif time.monotonic() - used_at >= idle_seconds and server.stop_unused(pid):
            return True


def main(home: str, pid: str, idle_seconds: str) -> None:
    try:
        watch(EmbeddedPostgres(Path(home)), int(pid), float(idle_seconds))
    except MemoryButlerError:
        # The server ended in between, or its folder is gone.
        return


if __name__ == "__main__":
    main(*sys.argv[1:])
