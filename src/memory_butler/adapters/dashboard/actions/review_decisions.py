"""Decisions on entries of the inbox, from its page and from the home page."""

from collections.abc import Awaitable, Callable, Mapping

from nicegui import events

from memory_butler.adapters.dashboard.actions import memory_actions
from memory_butler.adapters.dashboard.actions.click_guard import ClickGuard
from memory_butler.adapters.dashboard.actions.memory_actions import ActionInput, ActionResult
from memory_butler.adapters.dashboard.components.undo_bar import UndoBar
from memory_butler.adapters.dashboard.server.page_context import PageContext
from memory_butler.errors import Conflict, InvalidInput
from memory_butler.operations.browse.inbox import Entry, EntryKind
from memory_butler.operations.consolidation import review


class Decider:
    """Approves and rejects entries, and offers the undo of what can be undone."""

    def __init__(self, context: PageContext, bar: UndoBar) -> None:
        self._context = context
        self._bar = bar
        self._click_guard = ClickGuard()

    async def on_decide(
        self, event: events.GenericEventArguments, entries: Mapping[str, Entry], refresh: Callable[[], Awaitable[None]]
    ) -> None:
        """The browser names an entry, a decision and the text to store."""
        if not isinstance(event.args, list) or len(event.args) != 3:
            raise InvalidInput("The page sent an unexpected event. Reload it.")
        key, decision, text = (str(one) for one in event.args)
        entry = entries.get(key)
        if entry is None or decision not in ("approve", "reject"):
            raise Conflict("This entry is decided already.", recovery="The inbox has been brought up to date.")
        with self._click_guard.once("decide", key) as is_first:
            if not is_first:
                return
            try:
                await self._decide(entry, decision, text.strip())
            finally:
                await refresh()

    async def _decide(self, entry: Entry, decision: str, text: str) -> None:
        request_id = self._bar.new_request_id()
        is_edited = decision == "approve" and entry.editable and text not in ("", entry.text)
        if entry.kind is EntryKind.PROPOSAL:
            await self._decide_item(entry, decision, text if is_edited else "", request_id)
            return
        assert entry.ref
        if entry.kind is EntryKind.DUPLICATE:
            result = await memory_actions.run_action(
                self._context,
                "forget",
                entry.type,
                entry.ref,
                ActionInput(reason=f"Says the same as {entry.other}."),
                request_id=request_id,
            )
        else:
            result = await memory_actions.run_action(
                self._context, decision, entry.type, entry.ref, request_id=request_id
            )
            if is_edited:
                result = await memory_actions.run_action(
                    self._context, "correct", entry.type, entry.ref, ActionInput(text=text), request_id=request_id
                )
        self._bar.show(result)

    async def _decide_item(self, entry: Entry, decision: str, text: str, request_id: str) -> None:
        assert entry.run and entry.place is not None
        if text:
            await self._context.run("review", review.edit, entry.run, entry.place, text)
        chosen = {"approve" if decision == "approve" else "reject": [entry.place]}
        reviewed = await self._context.run("review", review.decide, entry.run, request_id=request_id, **chosen)
        if reviewed.run.state == "applied":
            message = "All of this run is decided; what was approved is stored"
            self._bar.show(ActionResult(message, None, reviewed.run.id))
        elif reviewed.run.state == "rejected":
            self._bar.show(ActionResult("All of this run is rejected. You can requeue its episodes", None, None))
