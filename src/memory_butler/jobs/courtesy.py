"""Calls come first: upkeep inside a server waits until nobody has been served for a moment.

Not for long, though. A server that is never idle is looked after all the same, only more slowly.
"""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

# So long every transaction of upkeep waits at most. A day has room for three hundred thousand of such waits, and a
# shard's upkeep takes a few dozen.
PATIENCE_SECONDS = 0.25
# A server under load has such moments all the time, each between two calls; what begins in one meets the next call.
QUIET_SECONDS = 0.05


class Calls:
    """The calls that a server has in hand."""

    def __init__(self, patience_seconds: float = PATIENCE_SECONDS, quiet_seconds: float = QUIET_SECONDS) -> None:
        self._patience = patience_seconds
        self._quiet = quiet_seconds
        self._none = asyncio.Event()
        self._none.set()
        self._ended_at = -quiet_seconds
        self.in_hand = 0
        # How much of upkeep waits for them.
        self.kept_waiting = 0

    @contextmanager
    def one(self) -> Iterator[None]:
        """Around each call."""
        self.in_hand += 1
        self._none.clear()
        try:
            yield
        finally:
            self.in_hand -= 1
            if not self.in_hand:
                self._ended_at = time.monotonic()
                self._none.set()

    async def give_way(self) -> None:
        """Wait until there has been none for a moment, or until this has waited long enough."""
        if self._left() <= 0:
            return
        self.kept_waiting += 1
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._patience):
                    while (seconds := self._left()) > 0:
                        await (self._none.wait() if self.in_hand else asyncio.sleep(seconds))
        finally:
            self.kept_waiting -= 1

    def _left(self) -> float:
        """How long it has to stay quiet until it has been for long enough."""
        return self._quiet if self.in_hand else self._ended_at + self._quiet - time.monotonic()
