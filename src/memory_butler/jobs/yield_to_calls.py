"""Lets the worker inside a server yield to calls: its transactions wait until the server has been idle for a moment.

The wait is bounded, so that a server that is never idle is maintained too, only more slowly.
"""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

# Longest wait of one maintenance transaction. A day has room for 300,000 such waits; a shard needs a few dozen.
MAX_WAIT_SECONDS = 0.25
# Idle time before maintenance starts. Under load, shorter gaps occur between any two calls.
IDLE_SECONDS = 0.05


class ActiveCalls:
    """Counts the calls that a server is working on."""

    def __init__(self, max_wait_seconds: float = MAX_WAIT_SECONDS, idle_seconds: float = IDLE_SECONDS) -> None:
        self._max_wait_seconds = max_wait_seconds
        self._idle_seconds = idle_seconds
        self._none_active = asyncio.Event()
        self._none_active.set()
        self._ended_at = -idle_seconds
        self.active = 0
        # Maintenance tasks that wait for the calls to end.
        self.waiting = 0

    @contextmanager
    def track(self) -> Iterator[None]:
        """Count one call while the context is open."""
        self.active += 1
        self._none_active.clear()
        try:
            yield
        finally:
            self.active -= 1
            if not self.active:
                self._ended_at = time.monotonic()
                self._none_active.set()

    async def wait_until_idle(self) -> None:
        """Wait until no call has been active for `idle_seconds`, at most `max_wait_seconds`."""
        if self._seconds_left() <= 0:
            return
        self.waiting += 1
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._max_wait_seconds):
                    while (seconds := self._seconds_left()) > 0:
                        await (self._none_active.wait() if self.active else asyncio.sleep(seconds))
        finally:
            self.waiting -= 1

    def _seconds_left(self) -> float:
        return self._idle_seconds if self.active else self._ended_at + self._idle_seconds - time.monotonic()
