"""One memory in full: text, fields to edit, sources, versions, confidence, history and retrieval test.

The page of a memory and the pane beside a list show the same view.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from uuid import UUID

from nicegui import events, ui

from memory_butler.adapters.dashboard.actions import memory_actions, purge_action
from memory_butler.adapters.dashboard.actions.action_dialogs import ActionRunner
from memory_butler.adapters.dashboard.actions.click_guard import ClickGuard, is_double_click
from memory_butler.adapters.dashboard.actions.error_handling import Handler, handle_errors
from memory_butler.adapters.dashboard.components import memory_sections
from memory_butler.adapters.dashboard.components.confirm_dialog import ConfirmDialog
from memory_butler.adapters.dashboard.components.elements import Timestamp, card, chip, tag, visible_text
from memory_butler.adapters.dashboard.components.undo_bar import ALREADY_UNDONE, UndoBar
from memory_butler.adapters.dashboard.components.vue_components import (
    EntryList,
    KeyboardFocus,
    MemoryEditor,
    action_buttons,
)
from memory_butler.adapters.dashboard.server.page_context import PageContext
from memory_butler.adapters.dashboard.server.page_url import url_for
from memory_butler.adapters.dashboard.server.routes import memory_path
from memory_butler.adapters.dashboard.view_models import consolidation_rows, editable_fields, memory_details
from memory_butler.adapters.mcp.tool_base import CallContext
from memory_butler.models import LIVE, Episode, Event, Fact, Memory, MemoryDetails, MemoryType, Stored
from memory_butler.models.graph import MemoryLinks
from memory_butler.operations.browse import graph
from memory_butler.operations.consolidation import review
from memory_butler.operations.history import undo
from memory_butler.operations.retrieval import get
from memory_butler.operations.trust import quarantine

# Larger groups of events, such as those of a sweep, are not undone from here: then the event is undone alone.
MAX_GROUP_SIZE = 10


@dataclass(frozen=True, slots=True)
class PageTools:
    """The parts that a page has once."""

    bar: UndoBar
    actions: ActionRunner
    confirm: ConfirmDialog
    keyboard: KeyboardFocus


class MemoryView:
    """Draws into the current container. The chart and the question of the retrieval test stay when the rest is
    redrawn.

    `on_moved` is called when a correction leads to another memory, `on_changed` after every change, without a result
    if the memory is gone, and `on_title` with the memory as a sentence.
    """

    def __init__(
        self,
        context: PageContext,
        tools: PageTools,
        *,
        on_moved: Callable[[str, str], Awaitable[None]],
        on_changed: Callable[[Stored | None], Awaitable[None]],
        on_title: Callable[[str], object],
        is_page: bool = True,
    ) -> None:
        self.context = context
        self._tools = tools
        self._on_moved, self._on_changed, self._on_title = on_moved, on_changed, on_title
        self._is_page = is_page
        self.kind, self.handle = "", ""
        self._shown_ids: set[UUID] = set()
        self._undoable: memory_details.Undoable | None = None
        self._in_review: str | None = None
        self._contested: tuple[str, str] | None = None
        # The fact that a correction here replaced: it is shown again when that is undone.
        self._replaced: str | None = None
        self._editor: MemoryEditor | None = None
        self._version = 0
        self._click_guard = ClickGuard()

    async def open(self, kind: str, handle: str, query: str = "") -> MemoryDetails:
        """Read the memory first, so that nothing is drawn of one that is not there."""
        self.kind, self.handle = kind, handle
        portrait, beside = await self._read()
        with tag("div", "mb-memory"):
            self._head = tag("div", "mb-memory-head")
            with tag("div", "mb-stack"):
                self._fields = None if self._is_page else tag("div", "mb-stack")
                self._sources = tag("div", "mb-stack")
                self._retrieval_test = memory_sections.RetrievalTest(
                    self.context, portrait, query, in_address=self._is_page
                )
                self._history = tag("div", "mb-stack")
            with tag("div", "mb-stack"):
                self._fields = self._fields or tag("div", "mb-stack")
                self._decay = memory_sections.ConfidenceCard()
                self._side = tag("div", "mb-stack")
        self._draw(portrait, beside)
        await self._retrieval_test.open()
        return portrait

    async def show(self, kind: str, handle: str) -> MemoryDetails:
        """Show another memory in the same place."""
        is_other = (kind, handle) != (self.kind, self.handle)
        self.kind, self.handle = kind, handle
        portrait, beside = await self._read()
        if is_other:
            self._replaced = None
            self._retrieval_test.follow(portrait)
        self._draw(portrait, beside)
        return portrait

    def concerns(self, event: Event) -> bool:
        """True if an event of another client changes what is shown."""
        return event.entity_id in self._shown_ids and not self._tools.bar.is_own(event.request_id)

    def edit(self) -> None:
        if self._editor:
            self._editor.run_method("edit")

    async def redraw(self) -> None:
        portrait, beside = await self._read()
        if self._replaced and portrait.memory.validity not in LIVE:
            replaced, self._replaced = self._replaced, None
            await self._move(replaced)
            portrait, beside = await self._read()
        self._draw(portrait, beside)

    async def _read(self) -> tuple[MemoryDetails, MemoryLinks]:
        async def load(call: CallContext) -> MemoryDetails:
            self._now = call.resources.clock()
            return await get.get(call.resources, self.kind, self.handle, call.caller, bump=False)

        portrait = await self.context.call("memory_get", load)
        beside = await self.context.run("links", graph.memory_links, self.kind, self.handle)
        self._undoable = await self._find_undoable(portrait) if self.context.may("memory_undo") else None
        self._in_review = await self._find_review(portrait) if isinstance(portrait.memory, Episode) else None
        self._contested = await self._find_contested(portrait.memory)
        self._shown_ids = {portrait.memory.id, *(fact.id for fact in portrait.chain)}
        self._shown_ids |= {one.other.id for one in beside.joined if one.other.id}
        return portrait, beside

    async def _find_review(self, portrait: MemoryDetails) -> str | None:
        """The URL of the run under review that an episode belongs to; empty for users who may not open it."""
        in_review = await self.context.run("list_memories", review.runs_awaiting_decision, [portrait.memory.id])
        if not in_review:
            return None
        run = in_review[portrait.memory.id]
        return url_for(consolidation_rows.PATH, {"run": str(run)}) if self.context.may("runs") else ""

    async def _find_contested(self, memory: Memory) -> tuple[str, str] | None:
        """The fact in use that this quarantined one would supersede."""
        if not (memory.quarantine_reason and isinstance(memory, Fact) and self.context.may("quarantine")):
            return None
        return await self.context.run("quarantine", quarantine.contested_value, memory.id)

    async def _find_undoable(self, portrait: MemoryDetails) -> memory_details.Undoable | None:
        """The newest event if it can be undone, with its group if that is small."""
        line = memory_details.newest_event(portrait.story)
        if line is None:
            return None
        for undo_id in filter(None, (line.event.group_id, line.event.id)):
            changes = await self.context.run("memory_undo", undo.would_undo, undo_id, most=MAX_GROUP_SIZE)
            if changes:
                return memory_details.Undoable(line.event.id, undo_id, changes)
        return None

    def _draw(self, portrait: MemoryDetails, beside: MemoryLinks) -> None:
        assert self._fields is not None
        for part in (self._head, self._fields, self._sources, self._history, self._side):
            part.clear()
        self._on_title(memory_details.heading_of(portrait.memory))
        with self._head:
            self._draw_head(portrait)
        with self._fields:
            self._draw_fields(portrait.memory)
        with self._sources:
            memory_sections.draw_sources(portrait, beside)
            if portrait.chain:
                memory_sections.draw_versions(portrait)
        with self._history:
            self._draw_history(portrait)
        self._decay.draw(portrait, self._now, memory_actions.decay_rules(self.context, portrait.memory))
        with self._side:
            memory_sections.draw_details(portrait, self._in_review)

    def _draw_head(self, portrait: MemoryDetails) -> None:
        memory = portrait.memory
        with tag("section", "mb-card mb-hero", aria_label="Memory"):
            with tag("div", "mb-line"):
                for label, colour in memory_details.chips(portrait):
                    chip(label, colour)
                for name in memory.tags:
                    chip(f"#{name}")
                tag("code", "mb-muted mb-ref", text=f"{memory.type}:{memory.ref}")
                if not self._is_page:
                    tag("a", "mb-small mb-open-page", text="Open page", href=memory_path(memory.type, memory.ref))
            if not memory_details.is_told(memory):
                tag("p", "mb-text mb-hero-text", text=visible_text(memory.content), dir="auto", tabindex="0")
            newer = memory_details.replacement(portrait)
            if newer:
                with tag("p", "mb-note mb-note-warn"):
                    tag("span", text="Replaced by ")
                    said = memory_details.heading_of(newer)
                    tag("a", text=f"“{said}”", href=memory_path(newer.type, newer.ref), dir="auto")
            if self._contested:
                ref, content = self._contested
                with tag("p", "mb-note mb-note-warn", dir="auto"):
                    tag("span", text=f"In use now, and replaced if you approve: {visible_text(content)} ")
                    tag("a", text=f"fact:{ref}", href=memory_path(MemoryType.FACT, ref))
            with tag("p", "mb-forecast"):
                ui.icon("hourglass_bottom" if portrait.expires_at else "all_inclusive").props('aria-hidden="true"')
                with tag("span"):
                    for text, at in memory_details.forecast(portrait):
                        if at:
                            Timestamp(at, format="day")
                        else:
                            tag("span", text=text)
            self._draw_actions(portrait)

    def _draw_actions(self, portrait: MemoryDetails) -> None:
        memory = portrait.memory
        with tag("div", "mb-line mb-actions", role="group", aria_label="Actions"):
            for action in memory_actions.available_actions(self.context, memory):
                button = ui.button(action.label, icon=action.icon, color=None)
                button.props("outline no-caps dense padding='4px 12px'")
                button.props["data-act"] = action.name
                button.on("click", handle_errors(self._action_handler(action.name, memory)), ["detail"])
            if self.context.may(purge_action.OPERATION):
                button = ui.button(purge_action.LABEL, icon="delete_forever", color=None)
                button.props("outline no-caps dense padding='4px 12px'")
                button.props["data-act"] = "purge"
                button.on("click", handle_errors(self._purge_handler(memory)), ["detail"])
            with tag("a", "mb-link-small", href=url_for("/graph", {"center": f"{memory.type}:{memory.ref}"})):
                ui.icon("hub").props('aria-hidden="true"')
                tag("span", text="Show on the map")

    def _action_handler(self, name: str, memory: Memory) -> Handler:
        async def start(event: events.GenericEventArguments) -> None:
            with self._click_guard.once(name, memory.id) as is_first:
                if not is_first or is_double_click(event):
                    return
                result = await self._tools.actions.run(name, memory)
                if result:
                    await self._after(result.stored)
                    self.focus(name)

        return start

    async def _after(self, stored: Stored | None) -> None:
        """After a change: a new version takes the place of the memory that it replaced."""
        if stored is not None and stored.ref != self.handle and str(stored.type) == self.kind:
            self._replaced = self.handle
            await self._move(stored.ref)
        await self.redraw()
        await self._on_changed(stored)

    async def _move(self, ref: str) -> None:
        self.handle = ref
        await self._on_moved(self.kind, ref)

    def _draw_fields(self, memory: Memory) -> None:
        fields = editable_fields.fields_of(
            memory, may_correct=self.context.may("memory_correct"), may_update=self.context.may("memory_update")
        )
        self._version += 1
        with card("Fields", id="fields"):
            self._editor = MemoryEditor(fields=fields, version=self._version)
            self._editor.on("save", handle_errors(self._save_handler(memory)))

    def _save_handler(self, memory: Memory) -> Handler:
        async def save(event: events.GenericEventArguments) -> None:
            if not isinstance(event.args, list) or len(event.args) != 2:
                return
            name, value = (str(one) for one in event.args)
            result = await memory_actions.change_field(
                self.context, memory, name, value, request_id=self._tools.bar.new_request_id()
            )
            self._tools.bar.show(result)
            await self._after(result.stored)
            self._tools.keyboard.focus_first([f"[data-field='{name}']", ".mb-actions button"])

        return save

    def _purge_handler(self, memory: Memory) -> Handler:
        async def start(event: events.GenericEventArguments) -> None:
            with self._click_guard.once("purge", memory.id) as is_first:
                if not is_first or is_double_click(event):
                    return
                done = await purge_action.purge_memory(self.context, self._tools.confirm, memory)
                if done:
                    ui.notify(f"Erased for good. Receipt: {done.receipt}", type="positive", position="bottom")
                    await self._on_changed(None)

        return start

    def _draw_history(self, portrait: MemoryDetails) -> None:
        with card("History"):
            groups = memory_sections.link_runs(memory_details.history(portrait.story, self._undoable))
            entries = EntryList(groups=groups, variant="line")
            entries.on("action", handle_errors(self._undo))

    async def _undo(self, event: events.GenericEventArguments) -> None:
        if (
            self._undoable is None
            or not isinstance(event.args, list)
            or event.args[1:] != [str(self._undoable.event_id)]
        ):
            return
        undo_id = self._undoable.undo_id
        with self._click_guard.once("undo", undo_id) as is_first:
            if not is_first:
                return
            report = await memory_actions.undo_change(
                self.context, undo_id, request_id=self._tools.bar.new_request_id()
            )
            message = "Undone" if report.undone else ALREADY_UNDONE
            ui.notify(message, type="positive", position="bottom")
            await self.redraw()
            self.focus("")

    def focus(self, action: str) -> None:
        """Focus an action button: they were redrawn with the rest."""
        self._tools.keyboard.focus_first(
            [*action_buttons(".mb-actions", action), ".mb-actions button", ".mb-actions a"]
        )
