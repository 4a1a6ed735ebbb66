"""The pane beside a list: one memory in full, without leaving the list."""

from collections.abc import Awaitable, Callable

from memory_butler.adapters.dashboard.actions.error_handling import handle_errors
from memory_butler.adapters.dashboard.components.elements import tag, text_tag
from memory_butler.adapters.dashboard.components.memory_view import MemoryView, PageTools
from memory_butler.adapters.dashboard.server.page_context import PageContext
from memory_butler.errors import InvalidInput, NotFound
from memory_butler.models import Event, MemoryType, Stored


class MemoryPane:
    """`on_moved` is called with another memory's type and reference, or with none when the pane is closed."""

    def __init__(
        self,
        context: PageContext,
        tools: PageTools,
        *,
        on_moved: Callable[[str, str], Awaitable[None]],
        on_changed: Callable[[Stored | None], Awaitable[None]],
    ) -> None:
        self._on_moved = on_moved
        self._is_drawn = False
        with tag("aside", "mb-pane", aria_label="Memory") as self._box:
            with tag("div", "mb-pane-head"):
                title = text_tag("h2", "mb-pane-title mb-text", dir="auto")
                close = tag("button", "mb-tool", type="button", aria_label="Close", title="Close (Esc)")
                with close:
                    tag("i", "q-icon notranslate material-icons", text="close", aria_hidden="true")
                close.on("click", handle_errors(self._on_close))
            self._body = tag("div", "mb-pane-body")
        self._view = MemoryView(
            context, tools, on_moved=on_moved, on_changed=on_changed, on_title=title.set_text, is_page=False
        )
        self._box.on("keydown.esc", handle_errors(self._on_close))
        self._box.set_visibility(False)

    async def show(self, kind: str, handle: str) -> None:
        """Show a memory; without a reference, close."""
        self._box.set_visibility(bool(handle))
        if not handle:
            self._view.handle = ""
            return
        if kind not in set(MemoryType):
            raise InvalidInput(f"There is no type {kind[:40]!r}.", recovery="Choose a memory of the list.")
        if self._is_drawn:
            await self._view.show(kind, handle)
        else:
            with self._body:
                await self._view.open(kind, handle)
            self._is_drawn = True

    def edit(self) -> None:
        self._view.edit()

    def concerns(self, event: Event) -> bool:
        return bool(self._view.handle) and self._view.concerns(event)

    async def redraw(self) -> None:
        if not self._view.handle:
            return
        try:
            await self._view.redraw()
        except NotFound:
            await self._on_moved("", "")

    async def _on_close(self, _: object = None) -> None:
        await self._on_moved("", "")
