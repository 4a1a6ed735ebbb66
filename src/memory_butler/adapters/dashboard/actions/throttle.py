"""Throttled redrawing: a page redraws at most once per interval, and less often if redrawing is slow."""

import time
from collections.abc import Awaitable, Callable

from nicegui import ui

from memory_butler.adapters.dashboard.actions.error_handling import page_update
from memory_butler.models import Activity

MIN_INTERVAL_SECONDS = 1.5
# After a redraw a page pauses at least this many times as long as the redraw took.
IDLE_FACTOR = 4


class Throttle:
    """Callback for new events: redraws at once, or after the pause if the page has just been redrawn."""

    def __init__(self, redraw: Callable[[], Awaitable[None]], seconds: float = MIN_INTERVAL_SECONDS) -> None:
        self._redraw_page = redraw
        self._seconds = seconds
        self._pause_until = 0.0
        self._is_waiting = self._is_redrawing = self._is_behind = False

    async def __call__(self, events: tuple[Activity, ...] = ()) -> None:
        if self._is_waiting:
            return
        left = self._pause_until - time.monotonic()
        if self._is_redrawing:
            self._is_behind = True
        elif left > 0:
            self._redraw_after(left)
        else:
            await self._redraw()

    def _redraw_after(self, seconds: float) -> None:
        self._is_waiting = True
        ui.timer(seconds, self._on_timer, once=True)

    async def _on_timer(self) -> None:
        self._is_waiting = False
        with page_update():
            await self._redraw()

    async def _redraw(self) -> None:
        started, self._is_redrawing, self._is_behind = time.monotonic(), True, False
        try:
            await self._redraw_page()
        finally:
            ended, self._is_redrawing = time.monotonic(), False
            pause = max(self._seconds, IDLE_FACTOR * (ended - started))
            self._pause_until = ended + pause
            if self._is_behind:
                # Also after a failed redraw: events that arrived meanwhile must not wait for the next one.
                self._redraw_after(pause)
