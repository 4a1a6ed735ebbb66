"""Deduplication and bounding of identity lookups, which any client can trigger with made-up tokens."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Hashable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Generic, TypeVar

from memory_butler.errors import OverloadRejected

# Made-up tokens must not be able to occupy the database.
MAX_CONCURRENT, MAX_WAITING = 4, 200

Result = TypeVar("Result")


class SingleFlight(Generic[Result]):
    """Runs one lookup for all concurrent callers with the same key, and a bounded number of lookups at a time."""

    def __init__(self) -> None:
        self._slots = asyncio.Semaphore(MAX_CONCURRENT)
        self._waiting = 0
        self._running: dict[Hashable, asyncio.Task[Result]] = {}

    async def shared(self, key: Hashable, look_up: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
        """Run `look_up`, or wait for the one that is already running for this key."""
        task = self._running.get(key)
        if task is None:
            task = self._running[key] = asyncio.create_task(look_up())
            task.add_done_callback(partial(self._finished, key))
        # A caller that is cancelled does not cancel the lookup for the others.
        return await asyncio.shield(task)

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Wait for a free slot; refused if too many lookups wait."""
        if self._waiting >= MAX_WAITING:
            raise OverloadRejected()
        self._waiting += 1
        try:
            async with self._slots:
                yield
        finally:
            self._waiting -= 1

    def _finished(self, key: Hashable, task: "asyncio.Task[Result]") -> None:
        del self._running[key]
        if not task.cancelled():
            task.exception()  # marks it as retrieved: all callers may have been cancelled
