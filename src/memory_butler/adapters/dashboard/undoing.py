"""The bar at the bottom of a page that says what was just done and offers to take it back."""

from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

from nicegui import events, ui

from memory_butler.adapters.dashboard import acting
from memory_butler.adapters.dashboard.acting import Done
from memory_butler.adapters.dashboard.elements import text_of
from memory_butler.adapters.dashboard.handling import handled
from memory_butler.adapters.dashboard.visitor import Visitor, new_request_id

MOST = 50
SECONDS = 12
Redraw = Callable[[], Awaitable[None]]
Refocus = Callable[[Done], None]


class UndoBar:
    """One for a page. What is taken back is found by a number that was given out here, never by what a page says.

    `refocus` says where the keyboard goes on when the bar is gone.
    """

    def __init__(self, visitor: Visitor, redraw: Redraw, refocus: Refocus | None = None) -> None:
        self._visitor = visitor
        self._redraw = redraw
        self._refocus = refocus
        self._offers: dict[int, Done] = {}
        self._number = 0
        self._own: deque[str] = deque(maxlen=MOST)
        ui.on("memory-butler-undo", handled(self._take_back))

    def new_id(self) -> str:
        """Names a click on this page, so that what comes of it is known to be the page's own when it is heard of."""
        self._own.append(new_request_id())
        return self._own[-1]

    def is_own(self, request_id: str | None) -> bool:
        return request_id in self._own

    def offer(self, done: Done) -> None:
        """Say what was done; with a button, if it can be taken back."""
        actions: list[dict[str, Any]] = []
        if done.undo_id is not None:
            self._number += 1
            self._offers[self._number] = done
            while len(self._offers) > MOST:
                del self._offers[next(iter(self._offers))]
            handler = f"() => emitEvent('memory-butler-undo', {self._number})"
            actions.append({"label": "Undo", ":handler": handler, "color": "yellow-3", "noCaps": True})
        ui.notification(
            text_of(done.words),
            type="positive",
            position="bottom",
            timeout=SECONDS,
            close_button=False,
            actions=actions,
        )

    async def _take_back(self, event: events.GenericEventArguments) -> None:
        number = event.args
        done = self._offers.pop(number, None) if isinstance(number, int) else None
        if done is None or done.undo_id is None:
            ui.notify("That was taken back already.", position="bottom")
            return
        report = await acting.take_back(self._visitor, done.undo_id, request_id=self.new_id())
        ui.notify(
            f"Taken back: {text_of(done.words)}" if report.undone else "That was taken back already.",
            type="positive",
            position="bottom",
        )
        await self._redraw()
        if self._refocus:
            self._refocus(done)
