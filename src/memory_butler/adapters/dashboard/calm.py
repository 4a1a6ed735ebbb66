"""Redrawing without hurry: however much is written, a page is drawn again at most every so often."""

import logging
import time
from collections.abc import Awaitable, Callable

from nicegui import ui

from memory_butler.adapters.dashboard.handling import log_in_again
from memory_butler.adapters.dashboard.visitor import LoginOver
from memory_butler.errors import MemoryButlerError
from memory_butler.models import Activity

SECONDS = 1.5
log = logging.getLogger(__name__)


class Calmly:
    """To be told of news: draws at once or, if it has just been drawn, in a moment, and then all of it together."""

    def __init__(self, draw: Callable[[], Awaitable[None]], seconds: float = SECONDS) -> None:
        self._draw = draw
        self._seconds = seconds
        self._drawn_at = 0.0
        self._is_waiting = False

    async def __call__(self, news: tuple[Activity, ...]) -> None:
        if self._is_waiting:
            return
        left = self._drawn_at + self._seconds - time.monotonic()
        if left > 0:
            self._is_waiting = True
            ui.timer(left, self._later, once=True)
        else:
            await self._now()

    async def _later(self) -> None:
        self._is_waiting = False
        try:
            await self._now()
        except LoginOver:
            log_in_again()
        except MemoryButlerError as problem:
            log.info("a page could not be brought up to date: %s", problem.message)

    async def _now(self) -> None:
        await self._draw()
        self._drawn_at = time.monotonic()
