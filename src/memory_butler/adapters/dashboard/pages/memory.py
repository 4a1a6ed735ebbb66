"""The page of one memory."""

from fastapi import Request

from memory_butler.adapters.dashboard.actions.action_dialogs import ActionRunner
from memory_butler.adapters.dashboard.actions.throttle import Throttle
from memory_butler.adapters.dashboard.components import memory_sections
from memory_butler.adapters.dashboard.components.confirm_dialog import ConfirmDialog
from memory_butler.adapters.dashboard.components.elements import tag
from memory_butler.adapters.dashboard.components.memory_view import MemoryView, PageTools
from memory_butler.adapters.dashboard.components.page_frame import page, show_error, subscribe, title_setter
from memory_butler.adapters.dashboard.components.undo_bar import UndoBar
from memory_butler.adapters.dashboard.components.vue_components import KeyboardFocus
from memory_butler.adapters.dashboard.server.page_context import PageContext
from memory_butler.adapters.dashboard.server.page_url import push_url
from memory_butler.adapters.dashboard.server.routes import memory_path
from memory_butler.adapters.dashboard.view_models import memory_details
from memory_butler.errors import NotFound
from memory_butler.models import Activity, MemoryType, Stored


async def memory_page(context: PageContext, request: Request) -> None:
    _, _, kind, handle = request.url.path.split("/", 3)
    view = MemoryPage(context, kind, request.path_params.get("handle", handle))
    await view.open(memory_details.query_from(request.query_params))


for _kind in MemoryType:
    page(f"/memory/{_kind}/{{handle}}", _kind.capitalize())(memory_page)
page("/memory/{kind}/{handle}", "Memory")(memory_page)


@page("/memory/{rest:path}", "Memory")
async def unknown_address(context: PageContext, request: Request) -> None:
    raise NotFound("There is no memory at this address.", recovery="Search for it in the lists or in the graph.")


class MemoryPage:
    def __init__(self, context: PageContext, kind: str, handle: str) -> None:
        self._context = context
        self._kind, self._handle = kind, handle
        self._throttled = Throttle(self._redraw)
        self._show_title = title_setter()

    async def open(self, query: str) -> None:
        await subscribe(self._context, self._on_events)
        bar = UndoBar(self._context, self._redraw, lambda done: self._view.focus(done.action))
        tools = PageTools(bar, ActionRunner(self._context, bar), ConfirmDialog(), KeyboardFocus())
        self._view = MemoryView(
            self._context, tools, on_moved=self._on_moved, on_changed=self._on_changed, on_title=self._show_title
        )
        self._breadcrumb = tag("div")
        with tag("div") as self._root:
            portrait = await self._view.open(self._kind, self._handle, query)
        with self._breadcrumb:
            memory_sections.draw_back_link(portrait)

    async def _on_moved(self, kind: str, ref: str) -> None:
        push_url(memory_path(kind, ref), {}, replace=True)

    async def _on_changed(self, stored: Stored | None) -> None:
        if stored is None:
            await self._redraw()

    async def _on_events(self, items: tuple[Activity, ...]) -> None:
        if any(self._view.concerns(item.event) for item in items):
            await self._throttled()

    async def _redraw(self) -> None:
        try:
            await self._view.redraw()
        except NotFound as problem:
            # An episode that expired, or a memory that was purged, while its page was open.
            self._show_title("Memory")
            self._root.clear()
            with self._root, tag("div", "mb-memory"):
                show_error(problem)
