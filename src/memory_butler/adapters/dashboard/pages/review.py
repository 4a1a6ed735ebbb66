"""The review inbox: proposals, quarantined memories and possible duplicates, decided on one after the other."""

from fastapi import Request
from nicegui import events

from memory_butler.adapters.dashboard.actions.error_handling import handle_errors
from memory_butler.adapters.dashboard.actions.review_decisions import Decider
from memory_butler.adapters.dashboard.actions.throttle import Throttle
from memory_butler.adapters.dashboard.components.elements import card, tag
from memory_butler.adapters.dashboard.components.page_frame import page, refresh_every, subscribe
from memory_butler.adapters.dashboard.components.undo_bar import UndoBar
from memory_butler.adapters.dashboard.components.vue_components import ReviewInbox
from memory_butler.adapters.dashboard.server import routes
from memory_butler.adapters.dashboard.server.page_context import PageContext
from memory_butler.adapters.dashboard.view_models import inbox_rows
from memory_butler.models import Activity
from memory_butler.operations.browse import inbox
from memory_butler.operations.browse.inbox import Entry

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
        self._throttled = Throttle(self._refresh)

    async def build(self) -> None:
        await subscribe(self._context, self._on_events)
        self._bar = UndoBar(self._context, self._refresh)
        self._decider = Decider(self._context, self._bar)
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
        await self._decider.on_decide(event, self._entries, self._refresh)
