"""Calls that were answered and are not in the call log yet. Storing them is no part of answering."""

import asyncio
import contextvars
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Final, Generic, TypeVar

One = TypeVar("One")
# Calls are stored together, a moment after the first of them.
PAUSE_SECONDS: Final = 0.5
CLOSE_SECONDS: Final = 2.0
# Calls that wait for a database that cannot be reached. The oldest are dropped first.
MOST_WAITING: Final = 1000


class WaitingCalls(Generic[One]):
    def __init__(self) -> None:
        self._waiting: deque[One] = deque(maxlen=MOST_WAITING)
        self._closing = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, call: One, store: Callable[[], Awaitable[None]]) -> None:
        """Add a call, and have all of them stored soon by `store`."""
        self._waiting.append(call)
        if self._task is None or self._task.done():
            # Not in the context of the call: its deadline, its caller and its log position do not apply.
            self._task = asyncio.create_task(self._store(store), context=contextvars.Context())

    async def _store(self, store: Callable[[], Awaitable[None]]) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._closing.wait(), PAUSE_SECONDS)
        await store()

    def take(self) -> list[One]:
        taken = list(self._waiting)
        self._waiting.clear()
        return taken

    def give_back(self, calls: Iterable[One]) -> None:
        """Keep calls that could not be stored for the next time."""
        newer = self.take()
        self._waiting.extend([*calls, *newer])

    async def close(self) -> None:
        """Store what waits, within a time limit."""
        self._closing.set()
        if self._task and not self._task.done():
            await asyncio.wait({self._task}, timeout=CLOSE_SECONDS)
            self._task.cancel()
