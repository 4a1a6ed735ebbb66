"""Redrawing without hurry: however much is written, a page is drawn again at most every so often, and the longer that
takes the less often."""

import logging
import time
from collections.abc import Awaitable, Callable

from nicegui import ui

from memory_butler.adapters.dashboard.handling import log_in_again
from memory_butler.adapters.dashboard.visitor import LoginOver, by_itself
from memory_butler.errors import MemoryButlerError
from memory_butler.models import Activity

SECONDS = 1.5
# Of a page that is always behind, so many parts of its time are for others.
REST = 4
log = logging.getLogger(__name__)


class Calmly:
    """To be told of news: draws at once or, if it has just been drawn, in a moment, and then all of it together."""

    def __init__(self, draw: Callable[[], Awaitable[None]], seconds: float = SECONDS) -> None:
        self._draw = draw
        self._seconds = seconds
        self._drawn_until = 0.0
        self._is_waiting = self._is_drawing = self._is_behind = False

    async def __call__(self, news: tuple[Activity, ...] = ()) -> None:
        if self._is_waiting:
            return
        left = self._drawn_until - time.monotonic()
        if self._is_drawing:
            self._is_behind = True
        elif left > 0:
            self._wait(left)
        else:
            await self._now()

    def _wait(self, seconds: float) -> None:
        self._is_waiting = True
        ui.timer(seconds, self._later, once=True)

    async def _later(self) -> None:
        self._is_waiting = False
        try:
            with by_itself():
                await self._now()
        except LoginOver:
            log_in_again()
        except MemoryButlerError as problem:
            log.info("a page could not be brought up to date: %s", problem.message)

    async def _now(self) -> None:
        began, self._is_drawing, self._is_behind = time.monotonic(), True, False
        try:
            await self._draw()
        finally:
            ended, self._is_drawing = time.monotonic(), False
            pause = max(self._seconds, REST * (ended - began))
            self._drawn_until = ended + pause
            if self._is_behind:
                # Also when drawing failed: what came meanwhile is not to wait for the next news.
                self._wait(pause)
