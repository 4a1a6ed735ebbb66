"""Asking the store who somebody is, where anybody may make it ask by showing something invented."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Hashable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Generic, TypeVar

from memory_butler.errors import OverloadRejected

# Whoever shows invented tokens or keys must not be able to take all of the database's attention.
ASKED_AT_ONCE, MOST_ASKING = 4, 200

Answer = TypeVar("Answer")


class Enquiries(Generic[Answer]):
    """Of many who ask the same at once one asks, and only so many ask at a time."""

    def __init__(self) -> None:
        self._turns = asyncio.Semaphore(ASKED_AT_ONCE)
        self._in_line = 0
        self._asked: dict[Hashable, asyncio.Task[Answer]] = {}

    async def shared(self, about: Hashable, ask: Callable[[], Coroutine[Any, Any, Answer]]) -> Answer:
        """What `ask` answers, or what it answers whoever asked about the same before and is still waiting."""
        asking = self._asked.get(about)
        if asking is None:
            asking = self._asked[about] = asyncio.create_task(ask())
            asking.add_done_callback(partial(self._answered, about))
        # Whoever gives up waiting does not take the answer from the others.
        return await asyncio.shield(asking)

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Around each question to the store; refused if too many wait to ask theirs."""
        if self._in_line >= MOST_ASKING:
            raise OverloadRejected()
        self._in_line += 1
        try:
            async with self._turns:
                yield
        finally:
            self._in_line -= 1

    @property
    def is_idle(self) -> bool:
        return not self._asked and not self._in_line

    def _answered(self, about: Hashable, asking: "asyncio.Task[Answer]") -> None:
        del self._asked[about]
        if not asking.cancelled():
            asking.exception()  # all who waited may have given up, and that is no fault
