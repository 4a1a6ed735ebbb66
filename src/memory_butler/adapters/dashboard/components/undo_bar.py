"""Notification at the bottom of a page that names the last action and offers to undo it."""

from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

from nicegui import events, ui

from memory_butler.adapters.dashboard.actions import memory_actions
from memory_butler.adapters.dashboard.actions.error_handling import handle_errors
from memory_butler.adapters.dashboard.components.confirm_dialog import ConfirmDialog
from memory_butler.adapters.dashboard.components.elements import visible_text
from memory_butler.adapters.dashboard.server.page_context import PageContext, new_request_id
from memory_butler.adapters.dashboard.view_models.consolidation_rows import undo_lines
from memory_butler.adapters.dashboard.view_models.phrases import count_text
from memory_butler.models import UndoReport
from memory_butler.operations.history import undo

# The browser's event of the key that undoes the last change.
UNDO_LAST = "memory-butler-undo-last"
MAX_OFFERS = 50
SECONDS = 12
ALREADY_UNDONE = "Already undone."
Redraw = Callable[[], Awaitable[None]]
Refocus = Callable[[memory_actions.ActionResult], None]


class UndoBar:
    """One per page. The browser names an offer by a number issued here; it cannot name anything else to undo.

    `refocus` moves the keyboard focus after an undo.
    """

    def __init__(self, context: PageContext, redraw: Redraw, refocus: Refocus | None = None) -> None:
        self._context = context
        self._redraw = redraw
        self._refocus = refocus
        self._offers: dict[int, memory_actions.ActionResult] = {}
        self._number = 0
        self._own: deque[str] = deque(maxlen=MAX_OFFERS)
        ui.on("memory-butler-undo", handle_errors(self._undo))
        ui.on(UNDO_LAST, handle_errors(self._undo_last))

    def new_request_id(self) -> str:
        """A request id for a click on this page, so that the page recognises its own events in live updates."""
        self._own.append(new_request_id())
        return self._own[-1]

    def is_own(self, request_id: str | None) -> bool:
        return request_id in self._own

    def show(self, result: memory_actions.ActionResult) -> None:
        """Show what was done, with an Undo button if it can be undone."""
        buttons: list[dict[str, Any]] = []
        if result.undo_id is not None:
            self._number += 1
            self._offers[self._number] = result
            while len(self._offers) > MAX_OFFERS:
                del self._offers[next(iter(self._offers))]
            handler = f"() => emitEvent('memory-butler-undo', {self._number})"
            buttons.append({"label": "Undo", ":handler": handler, "color": "yellow-3", "noCaps": True})
        ui.notification(
            visible_text(result.message),
            type="positive",
            position="bottom",
            timeout=SECONDS,
            close_button=False,
            actions=buttons,
        )

    def warn(self, text: str) -> None:
        ui.notify(text, type="warning", position="bottom")

    async def undo_group(self, undo_id: UUID | str, confirm: ConfirmDialog, *, refused: str) -> UndoReport | None:
        """Show the effects of an undo and, if the user confirms them, undo. Returns None if nothing was undone."""
        plan = await self._run_undo(undo_id, dry_run=True)
        if not plan.undone:
            ui.notify(refused, type="warning", position="bottom")
            return None
        title, (effects, skipped) = f"Undo {count_text(plan.undone, 'change')}?", undo_lines(plan)
        if not await confirm(title, effects, skipped, button="Undo"):
            return None
        return await self._run_undo(undo_id, skip_changed=bool(plan.skipped))

    async def _run_undo(self, undo_id: UUID | str, **options: bool) -> UndoReport:
        return await self._context.run("memory_undo", undo.undo, undo_id, request_id=self.new_request_id(), **options)

    async def _undo_last(self, _: events.GenericEventArguments) -> None:
        """The key `u`: also when the bar is gone from the screen."""
        await self._undo_offer(max(self._offers, default=None))

    async def _undo(self, event: events.GenericEventArguments) -> None:
        await self._undo_offer(event.args)

    async def _undo_offer(self, number: object) -> None:
        offer = self._offers.pop(number, None) if isinstance(number, int) else None
        if offer is None or offer.undo_id is None:
            ui.notify(ALREADY_UNDONE, position="bottom")
            return
        report = await memory_actions.undo_change(self._context, offer.undo_id, request_id=self.new_request_id())
        ui.notify(
            f"Undone: {visible_text(offer.message)}" if report.undone else ALREADY_UNDONE,
            type="positive",
            position="bottom",
        )
        await self._redraw()
        if self._refocus:
            self._refocus(offer)
