"""Calls come first: upkeep inside a server waits for a moment in which nobody is being served.

Not for long, though. A server that is never idle is looked after all the same, only more slowly.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress

# So long every transaction of upkeep waits at most. A day has room for three hundred thousand of such waits, and a
# shard's upkeep takes a few dozen.
PATIENCE_SECONDS = 0.25


class Calls:
    """The calls that a server has in hand."""

    def __init__(self, patience_seconds: float = PATIENCE_SECONDS) -> None:
        self._patience = patience_seconds
        self._none = asyncio.Event()
        self._none.set()
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
                self._none.set()

    async def give_way(self) -> None:
        """Wait until there is none, or until this has waited long enough."""
        if not self.in_hand:
            return
        self.kept_waiting += 1
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._patience):
                    await self._none.wait()
        finally:
            self.kept_waiting -= 1
