"""The list of memories, of all types or of one: search, filter, open beside the list, edit, act on one or many."""

import asyncio
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any
from uuid import UUID

from fastapi import Request
from nicegui import events, ui

from memory_butler.adapters.dashboard.actions import bulk_actions, list_export, memory_actions
from memory_butler.adapters.dashboard.actions.action_dialogs import ActionRunner
from memory_butler.adapters.dashboard.actions.click_guard import ClickGuard
from memory_butler.adapters.dashboard.actions.create_dialog import CreateDialog
from memory_butler.adapters.dashboard.actions.error_handling import handle_errors
from memory_butler.adapters.dashboard.actions.throttle import Throttle
from memory_butler.adapters.dashboard.components.confirm_dialog import ConfirmDialog
from memory_butler.adapters.dashboard.components.elements import tag, text_tag
from memory_butler.adapters.dashboard.components.empty_states import draw_empty_state
from memory_butler.adapters.dashboard.components.memory_list import FilterBar, MemoryTable
from memory_butler.adapters.dashboard.components.memory_view import PageTools
from memory_butler.adapters.dashboard.components.page_frame import page, refresh_every, subscribe
from memory_butler.adapters.dashboard.components.side_pane import MemoryPane
from memory_butler.adapters.dashboard.components.undo_bar import UndoBar
from memory_butler.adapters.dashboard.components.vue_components import KeyboardFocus, action_buttons
from memory_butler.adapters.dashboard.server.page_context import PageContext
from memory_butler.adapters.dashboard.server.page_url import ignored_text, on_popstate, push_url, url_for
from memory_butler.adapters.dashboard.view_models import consolidation_rows, list_query
from memory_butler.adapters.dashboard.view_models.list_rows import Row, columns_of, listed_from, memory_row
from memory_butler.errors import InvalidInput, MemoryButlerError
from memory_butler.models import Activity, Memory, MemoryType, Stored
from memory_butler.models.listings import ListedMemory, Listing, Page
from memory_butler.operations.browse import facets, find, listings
from memory_butler.operations.consolidation import review
from memory_butler.operations.retrieval import get

CACHED_ROWS = 500
ANY = {"validity": list_query.EVERYTHING}
# A run that starts to wait for review writes no event of an episode, so the page polls.
REVIEW_SECONDS = 10.0


class ListPage:
    def __init__(self, context: PageContext, kind: MemoryType | None, request: Request) -> None:
        self._context = context
        self._governs = context.principal.role.governs
        self._kind = kind
        self._request = request
        self._noun = f"{kind}s" if kind else "memories"
        self._path = f"/{self._noun}"
        self._query: list_query.Query = list_query.parse(kind, request.query_params)
        self._unknown = list_query.unknown(kind, request.query_params)
        self._page: Page[ListedMemory] = Page(items=(), cursor=None)
        self._note = ""
        # The browser may still show rows of an earlier page.
        self._rows: OrderedDict[str, ListedMemory] = OrderedDict()
        self._in_review: dict[UUID, UUID] = {}
        self._read_lock = asyncio.Lock()
        self._throttled = Throttle(partial(self._show, "live"))
        self._click_guard = ClickGuard()
        self._request_number = 0

    async def build(self) -> None:
        await subscribe(self._context, self._on_events)
        self._bar = UndoBar(self._context, self._on_undone, self._focus)
        self._keyboard = KeyboardFocus()
        self._actions = ActionRunner(self._context, self._bar)
        self._create = CreateDialog(self._context)
        tools = PageTools(self._bar, self._actions, ConfirmDialog(), self._keyboard)
        with tag("div", "mb-split") as self._split:
            with tag("div", "mb-split-list"):
                self._draw_list()
            self._pane = MemoryPane(self._context, tools, on_moved=self._on_pane, on_changed=self._on_pane_changed)
        self._connect()
        on_popstate(self._on_popstate)
        await self._show()
        await self._open_pane(self._query.get("open", ""))
        if self._kind in (MemoryType.EPISODE, None):
            refresh_every(self._context, REVIEW_SECONDS, self._poll_reviews)

    def _draw_list(self) -> None:
        self._filter_bar = FilterBar(
            fields=list_query.filter_fields(self._kind),
            sorts=list_query.sort_options(self._kind),
            noun=self._noun,
            types=[],
            views=list_query.views(self._kind),
            can_create=any(self._context.may(f"memory_store_{kind}") for kind in MemoryType),
        )
        self._ignored = text_tag("p", "mb-note mb-note-warn", role="status")
        bulk = bulk_actions.available(self._context)
        self._table = MemoryTable(columns_of(self._kind), noun=self._noun, bulk=bulk)
        self._empty_state = tag("div")

    def _connect(self) -> None:
        on_bar = {"change": self._on_change, "remove": self._on_remove, "view": self._on_view,
                  "create": self._on_create, "suggest": self._on_suggest}  # fmt: skip
        on_table = {"page": self._on_page, "action": self._on_action, "open": self._on_open, "edit": self._on_edit,
                    "bulk": self._on_bulk, "export": self._on_export}  # fmt: skip
        on_both = {"add": self._on_add, "clear": self._on_clear, "sort": self._on_sort}
        for component, works in ((self._filter_bar, on_bar | on_both), (self._table, on_table | on_both)):
            for name, work in works.items():
                component.on(name, handle_errors(work))

    async def _show(self, mode: str = "request") -> None:
        """Read the listing and show it; of several concurrent requests the last wins."""
        self._request_number += mode == "request"
        request_number = self._request_number
        self._ignored.set_text(ignored_text(self._unknown))
        self._ignored.set_visibility(bool(self._unknown))
        self._filter_bar.set_props(
            query=self._query,
            active=list_query.active_filters(self._kind, self._query),
            sorts=list_query.sort_options(self._kind, with_words=list_query.has_words(self._query)),
        )
        async with self._read_lock:
            try:
                page = await self._read(self._query)
                in_review = await self._read_in_review(page.items)
                is_empty = not page.items and not (await self._read(ANY, limit=1)).items
                types = await self._read_types()
            except MemoryButlerError as problem:
                self._table.show_error(problem)
                return
        if request_number != self._request_number:
            return
        self._page, self._in_review = page, in_review
        self._filter_bar.set_props(types=types)
        self._remember(page.items)
        self._draw(mode)
        self._empty_state.clear()
        self._table.visible = not is_empty
        if is_empty:
            with self._empty_state:
                draw_empty_state(self._context, self._kind or MemoryType.FACT, self._request)

    def _remember(self, items: Iterable[ListedMemory]) -> None:
        for one in items:
            self._rows[str(one.memory.id)] = one
            self._rows.move_to_end(str(one.memory.id))
        while len(self._rows) > CACHED_ROWS:
            self._rows.popitem(last=False)

    def _draw(self, mode: str) -> None:
        page, query = self._page, self._query
        rows = [self._row(one) for one in page.items]
        self._table.show(
            rows,
            mode,
            position=list_query.page_position(page),
            note=self._note,
            has_previous=page.back is not None,
            has_next=page.cursor is not None,
            sort=query.get("sort", "" if list_query.is_best_match(query) else "created"),
            descending=query.get("order") != "asc",
            hold_updates=not list_query.is_default(query),
            empty="" if rows else "filtered" if list_query.is_filtered(self._kind, query) else "idle",
        )

    def _row(self, listed: ListedMemory, *, is_changed: bool = False) -> Row:
        run = self._in_review.get(listed.memory.id)
        in_review = url_for(consolidation_rows.PATH, {"run": str(run)}) if run and self._context.may("runs") else ""
        offered = memory_actions.available_actions(self._context, listed.memory)
        return memory_row(
            listed,
            offered,
            fading_below=memory_actions.decay_rules(self._context, listed.memory).fading_below,
            is_changed=is_changed,
            in_review=in_review if run else None,
            query=" ".join(filter(None, list_query.split_search(self._query.get("q", "")))),
        )

    async def _read_in_review(self, items: Sequence[ListedMemory]) -> dict[UUID, UUID]:
        shown = [one.memory.id for one in items if one.memory.type is MemoryType.EPISODE]
        if not shown:
            return {}
        return await self._context.run("list_memories", review.runs_awaiting_decision, shown)

    async def _poll_reviews(self) -> None:
        if await self._read_in_review(self._page.items) != self._in_review:
            await self._throttled()

    async def _read(self, query: list_query.Query, limit: int = listings.DEFAULT_LIMIT) -> Page[ListedMemory]:
        listing = self._listing(query)
        if list_query.is_best_match(query):
            found = await self._context.run("list_memories", find.find, listing)
            self._note = list_query.found_note(found)
            return Page(items=found.items, cursor=None, total=len(found.items))
        self._note = ""
        return await self._context.run(
            "list_memories", listings.memories, listing, limit=limit, cursor=query.get("cursor")
        )

    def _listing(self, query: list_query.Query) -> Listing:
        return list_query.listing_of(self._kind, query, governs=self._governs)

    async def _read_types(self) -> list[dict[str, Any]]:
        """The types as links that keep the filters, with the number of memories of each. A search is not counted."""
        counts: dict[MemoryType, int] = {}
        if not list_query.is_best_match(self._query):
            listing = list_query.listing_of(None, list_query.in_type(None, self._query), governs=self._governs)
            counts = await self._context.run("list_memories", listings.counts, listing)
        return list_query.type_links(self._kind, self._query, counts)

    async def _go(self, query: list_query.Query) -> None:
        """Show another query and update the URL."""
        if query == self._query and not self._unknown:
            self._table.stop_loading()
            return
        if "open" in self._query:
            query = {**query, "open": self._query["open"]}
        is_typing = "q" in self._query and "q" in query and {**self._query, "q": ""} == {**query, "q": ""}
        self._query, self._unknown = query, ()
        push_url(self._path, query, replace=is_typing)
        self._table.start_loading()
        await self._show()

    async def _on_popstate(self, query: dict[str, str]) -> None:
        self._query, self._unknown = list_query.parse(self._kind, query), list_query.unknown(self._kind, query)
        self._table.start_loading()
        await self._show()
        await self._open_pane(self._query.get("open", ""))

    async def _on_change(self, event: events.GenericEventArguments) -> None:
        changes = event.args if isinstance(event.args, dict) else {}
        await self._go(list_query.with_changes(self._kind, self._query, changes))

    async def _on_add(self, event: events.GenericEventArguments) -> None:
        name, value = _texts(event.args, 2)
        await self._go(list_query.with_value(self._kind, self._query, name, value))

    async def _on_remove(self, event: events.GenericEventArguments) -> None:
        name, value = _texts(event.args, 2)
        await self._go(list_query.without(self._kind, self._query, name, value))

    async def _on_clear(self, event: events.GenericEventArguments) -> None:
        await self._go({name: value for name, value in self._query.items() if name in ("sort", "order")})

    async def _on_sort(self, event: events.GenericEventArguments) -> None:
        [name] = _texts([event.args], 1)
        await self._go(list_query.sorted_by(self._kind, self._query, name))

    async def _on_page(self, event: events.GenericEventArguments) -> None:
        [direction] = _texts([event.args], 1)
        cursor = self._page.back if direction == "previous" else self._page.cursor
        is_first = direction == "previous" and self._page.start <= listings.DEFAULT_LIMIT
        first = {name: value for name, value in self._query.items() if name != "cursor"}
        await self._go({**first, "cursor": cursor} if cursor and not is_first else first)

    async def _on_view(self, event: events.GenericEventArguments) -> None:
        """A saved view replaces all filters."""
        await self._go(list_query.parse(self._kind, event.args if isinstance(event.args, dict) else {}))

    async def _on_suggest(self, event: events.GenericEventArguments) -> None:
        name, words = _texts(event.args, 2)
        if name in list_query.SUGGESTED:
            found = await self._context.run("list_memories", facets.values, facets.Facet(name), words=words)
            self._filter_bar.run_method("showValues", name, [{"value": one.value, "count": one.count} for one in found])

    async def _on_create(self, _: events.GenericEventArguments) -> None:
        result = await self._create.ask(self._kind, self._bar.new_request_id())
        if result and result.stored:
            self._bar.show(result)
            await self._show()
            await self._go_open(f"{result.stored.type}:{result.stored.ref}")

    # --- one memory ---

    async def _on_open(self, event: events.GenericEventArguments) -> None:
        memory = self._listed(_texts([event.args], 1)[0]).memory
        await self._go_open(f"{memory.type}:{memory.ref}")

    async def _on_edit(self, event: events.GenericEventArguments) -> None:
        await self._on_open(event)
        self._pane.edit()

    def _listed(self, row: str) -> ListedMemory:
        listed = self._rows.get(row)
        if listed is None:
            raise InvalidInput("This memory is not on the page any more.")
        return listed

    async def _go_open(self, ref: str) -> None:
        self._query = {name: value for name, value in {**self._query, "open": ref}.items() if value}
        push_url(self._path, self._query, replace=True)
        await self._open_pane(ref)

    async def _open_pane(self, ref: str) -> None:
        kind, _, handle = ref.partition(":")
        await self._pane.show(kind, handle)
        self._split.classes(**({"add": "mb-split-open"} if ref else {"remove": "mb-split-open"}))
        opened = next((id for id, one in self._rows.items() if f"{one.memory.type}:{one.memory.ref}" == ref), "")
        self._table.set_props(opened=opened)

    async def _on_pane(self, kind: str, ref: str) -> None:
        """The pane was closed, or shows another memory."""
        await self._go_open(f"{kind}:{ref}" if ref else "")
        if not ref:
            self._keyboard.focus_first([".mb-list .mb-row-text[tabindex='0']"])

    async def _on_pane_changed(self, stored: Stored | None) -> None:
        await self._show("live")
        if stored is None:
            await self._pane.redraw()

    async def _on_undone(self) -> None:
        await self._show()
        await self._pane.redraw()

    async def _on_action(self, event: events.GenericEventArguments) -> None:
        name, row = _texts(event.args, 2)
        listed = self._listed(row)
        with self._click_guard.once(name, row) as is_first:
            if is_first:
                await self._run_action(name, row, listed.memory)

    async def _run_action(self, name: str, row: str, memory: Memory) -> None:
        try:
            result = await self._actions.run(name, memory)
        except MemoryButlerError:
            # The memory has changed since it was shown: show its current state together with the error.
            await self._refresh(row, row)
            raise
        if result is not None and result.stored is not None:
            await self._refresh(row, str(result.stored.id))
            replaced = result.stored.superseded_ref
            for id in [id for id, one in self._rows.items() if id != row and one.memory.ref == replaced]:
                await self._refresh(id, id)
            await self._pane.redraw()
            self._focus(result)

    def _focus(self, result: memory_actions.ActionResult) -> None:
        """Focus the row; if it is gone, the first row or the search box."""
        stored = result.stored
        refs = (stored.ref, stored.superseded_ref) if stored else ()
        rows = [f'tr[data-ref="{stored.type}:{ref}"]' for ref in refs if ref and stored]
        places = [place for row in rows for place in (*action_buttons(row, result.action), f"{row} .mb-row-text")]
        self._keyboard.focus_first([*places, ".mb-row-text", ".mb-filters input[type=search]"])

    # --- many memories ---

    async def _on_bulk(self, event: events.GenericEventArguments) -> None:
        name, ids, value = event.args if isinstance(event.args, list) and len(event.args) == 3 else ("", [], "")
        memories = [self._listed(str(id)).memory for id in ids]
        with self._click_guard.once(str(name), "bulk") as is_first:
            if not is_first:
                return
            result, problems = await bulk_actions.run(
                self._context, str(name), memories, str(value), request_id=self._bar.new_request_id()
            )
        self._bar.show(result)
        if problems:
            self._bar.warn(bulk_actions.problem_text(problems))
        self._table.run_method("clearSelection")
        await self._show()
        await self._pane.redraw()

    async def _on_export(self, event: events.GenericEventArguments) -> None:
        form, ids = event.args if isinstance(event.args, list) and len(event.args) == 2 else ("", [])
        listed = [self._listed(str(id)) for id in ids]
        if not listed and list_query.is_best_match(self._query):
            listed = list(self._page.items)
        listed = listed or await list_export.read_all(self._context, self._listing(self._query))
        name, content = list_export.exported(str(form), listed, self._noun)
        ui.download.content(content, name)

    async def _refresh(self, old: str, now: str) -> None:
        """Replace a memory's row by its current state."""
        kind = self._listed(old).memory.type
        new = listed_from(await self._context.run("memory_get", get.get, kind, now, bump=False))
        self._remember([new])
        self._table.replace(old, self._row(new, is_changed=True))

    async def _on_events(self, items: tuple[Activity, ...]) -> None:
        events_here = (item.event for item in items if self._kind in (None, item.event.entity_type))
        if any(not self._bar.is_own(event.request_id) for event in events_here):
            await self._throttled()
        if any(self._pane.concerns(item.event) for item in items):
            await self._pane.redraw()


def _texts(args: Any, count: int) -> Sequence[str]:
    """The arguments of a browser event, checked to be `count` strings."""
    if not isinstance(args, list) or len(args) != count or not all(isinstance(one, str) for one in args):
        raise InvalidInput("The page sent an unexpected event. Reload it.")
    return args


async def list_page(kind: MemoryType | None, context: PageContext, request: Request) -> None:
    await ListPage(context, kind, request).build()


page("/memories", "Memories")(partial(list_page, None))
for _kind in MemoryType:
    page(f"/{_kind}s", "Memories")(partial(list_page, _kind))
