"""The review inbox: proposals, quarantined memories and possible duplicates, decided on one after the other."""

from fastapi import Request
from nicegui import events

from memory_butler.adapters.dashboard.actions import memory_actions
from memory_butler.adapters.dashboard.actions.click_guard import ClickGuard
from memory_butler.adapters.dashboard.actions.error_handling import handle_errors
from memory_butler.adapters.dashboard.actions.memory_actions import ActionInput, ActionResult
from memory_butler.adapters.dashboard.actions.throttle import Throttle
from memory_butler.adapters.dashboard.components.elements import card, tag
from memory_butler.adapters.dashboard.components.page_frame import page, refresh_every, subscribe
from memory_butler.adapters.dashboard.components.undo_bar import UndoBar
from memory_butler.adapters.dashboard.components.vue_components import ReviewInbox
from memory_butler.adapters.dashboard.server import routes
from memory_butler.adapters.dashboard.server.page_context import PageContext
from memory_butler.adapters.dashboard.view_models import inbox_rows
from memory_butler.errors import Conflict, InvalidInput
from memory_butler.models import Activity
from memory_butler.operations.browse import inbox
from memory_butler.operations.browse.inbox import Entry, EntryKind
from memory_butler.operations.consolidation import review

# A run that starts to wait for review writes no event, so the page polls.
REFRESH_SECONDS = 15.0


@page(routes.REVIEW, "Review")
async def review_page(context: PageContext, request: Request) -> None:
    if not context.may("review"):
        with card("Review is for administrators", "mb-empty"):
            tag("p", text="To decide on proposals and quarantined memories, log in with an administrator's token.")
        return
    await ReviewPage(context).build()


class ReviewPage:
    def __init__(self, context: PageContext) -> None:
        self._context = context
        self._entries: dict[str, Entry] = {}
        self._click_guard = ClickGuard()
        self._throttled = Throttle(self._refresh)

    async def build(self) -> None:
        await subscribe(self._context, self._on_events)
        self._bar = UndoBar(self._context, self._refresh)
        self._inbox = ReviewInbox(rows=[])
        self._inbox.on("decide", handle_errors(self._on_decide))
        await self._refresh()
        refresh_every(self._context, REFRESH_SECONDS, self._refresh)

    async def _refresh(self) -> None:
        entries = await self._context.run("review", inbox.inbox)
        self._entries = {one.key: one for one in entries}
        self._inbox.set_props(rows=[inbox_rows.inbox_row(one) for one in entries])

    async def _on_events(self, items: tuple[Activity, ...]) -> None:
        if any(not self._bar.is_own(item.event.request_id) for item in items):
            await self._throttled()

    async def _on_decide(self, event: events.GenericEventArguments) -> None:
        if not isinstance(event.args, list) or len(event.args) != 3:
            raise InvalidInput("The page sent an unexpected event. Reload it.")
        key, decision, text = (str(one) for one in event.args)
        entry = self._entries.get(key)
        if entry is None or decision not in ("approve", "reject"):
            raise Conflict("This entry is decided already.", recovery="The inbox has been brought up to date.")
        with self._click_guard.once("decide", key) as is_first:
            if not is_first:
                return
            try:
                await self._decide(entry, decision, text.strip())
            finally:
                await self._refresh()

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
        self._bar.show(memory_actions.with_content(result, text or entry.text))

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
