"""The main process of the embedded server, watched through a pidfd where the system has them."""

import os
import select
from contextlib import suppress

from memory_butler.store.embedded.account import is_postmaster
from memory_butler.store.embedded.server import EmbeddedPostgres


class Postmaster:
    """Tells at once, without a round trip, that the main process of the server has ended."""

    def __init__(self) -> None:
        self._descriptor: int | None = None

    def watch(self, server: EmbeddedPostgres) -> None:
        """Watch the process that runs now."""
        self.close()
        pid = server.pid
        if pid and hasattr(os, "pidfd_open") and is_postmaster(pid, server.data_dir):
            with suppress(OSError):
                self._descriptor = os.pidfd_open(pid)

    @property
    def lives(self) -> bool:
        """True if the process is watched and has not ended."""
        if self._descriptor is None:
            return False
        poll = select.poll()
        self.register(poll)
        return not poll.poll(0)

    def register(self, poll: "select.poll") -> None:
        """Have `poll` report the end of the process, if it is watched."""
        if self._descriptor is not None:
            poll.register(self._descriptor, select.POLLIN)

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
