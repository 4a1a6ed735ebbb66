"""The list pages for facts, rules and episodes: search, filter, and act on rows in place."""

import asyncio
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any
from uuid import UUID

from fastapi import Request
from nicegui import events

from memory_butler.adapters.dashboard.actions import memory_actions
from memory_butler.adapters.dashboard.actions.action_dialogs import ActionRunner
from memory_butler.adapters.dashboard.actions.click_guard import ClickGuard
from memory_butler.adapters.dashboard.actions.error_handling import handle_errors
from memory_butler.adapters.dashboard.actions.throttle import Throttle
from memory_butler.adapters.dashboard.components.elements import tag, text_tag
from memory_butler.adapters.dashboard.components.empty_states import draw_empty_state
from memory_butler.adapters.dashboard.components.memory_list import FilterBar, MemoryTable
from memory_butler.adapters.dashboard.components.page_frame import page, refresh_every, subscribe
from memory_butler.adapters.dashboard.components.undo_bar import UndoBar
from memory_butler.adapters.dashboard.components.vue_components import KeyboardFocus, action_buttons
from memory_butler.adapters.dashboard.server.page_context import PageContext
from memory_butler.adapters.dashboard.server.page_url import ignored_text, on_popstate, push_url, url_for
from memory_butler.adapters.dashboard.view_models import consolidation_rows, list_query
from memory_butler.adapters.dashboard.view_models.list_rows import Row, columns_of, listed_from, memory_row
from memory_butler.errors import InvalidInput, MemoryButlerError
from memory_butler.models import Activity, Memory, MemoryType, Stored
from memory_butler.models.listings import ListedMemory, Page
from memory_butler.operations.browse import listings
from memory_butler.operations.consolidation import review
from memory_butler.operations.retrieval import get

CACHED_ROWS = 500
ANY = {"validity": list_query.EVERYTHING}
# A run that starts to wait for review writes no event of an episode, so the page polls.
REVIEW_SECONDS = 10.0


class ListPage:
    def __init__(self, context: PageContext, kind: MemoryType, request: Request) -> None:
        self._context = context
        self._kind = kind
        self._request = request
        self._path = f"/{kind}s"
        self._query: list_query.Query = list_query.parse(kind, request.query_params)
        self._unknown = list_query.unknown(kind, request.query_params)
        self._page: Page[ListedMemory] = Page(items=(), cursor=None)
        # The browser may still show rows of an earlier page.
        self._rows: OrderedDict[str, ListedMemory] = OrderedDict()
        self._in_review: dict[UUID, UUID] = {}
        self._read_lock = asyncio.Lock()
        self._throttled = Throttle(partial(self._show, "live"))
        self._click_guard = ClickGuard()
        self._request_number = 0

    async def build(self) -> None:
        await subscribe(self._context, self._on_events)
        self._bar = UndoBar(self._context, self._show, self._focus)
        self._keyboard = KeyboardFocus()
        self._actions = ActionRunner(self._context, self._bar)
        noun = f"{self._kind}s"
        self._filter_bar = FilterBar(
            fields=list_query.filter_fields(self._kind), sorts=list_query.sort_options(self._kind), noun=noun
        )
        self._ignored = text_tag("p", "mb-note mb-note-warn", role="status")
        self._table = MemoryTable(columns_of(self._kind), noun=noun)
        self._empty_state = tag("div")
        for name, work in {"change": self._on_change, "add": self._on_add, "remove": self._on_remove}.items():
            self._filter_bar.on(name, handle_errors(work))
        for component in (self._filter_bar, self._table):
            component.on("clear", handle_errors(self._on_clear))
            component.on("sort", handle_errors(self._on_sort))
        self._table.on("add", handle_errors(self._on_add))
        self._table.on("page", handle_errors(self._on_page))
        self._table.on("action", handle_errors(self._on_action))
        on_popstate(self._on_popstate)
        await self._show()
        if self._kind is MemoryType.EPISODE:
            refresh_every(self._context, REVIEW_SECONDS, self._poll_reviews)

    async def _show(self, mode: str = "request") -> None:
        """Read the listing and show it; of several concurrent requests the last wins."""
        self._request_number += mode == "request"
        request_number = self._request_number
        self._ignored.set_text(ignored_text(self._unknown))
        self._ignored.set_visibility(bool(self._unknown))
        self._filter_bar.set_props(query=self._query, active=list_query.active_filters(self._kind, self._query))
        async with self._read_lock:
            try:
                page = await self._read(self._query)
                in_review = await self._read_in_review(page.items)
                is_empty = not page.items and not (await self._read(ANY, limit=1)).items
            except MemoryButlerError as problem:
                self._table.show_error(problem)
                return
        if request_number != self._request_number:
            return
        self._page, self._in_review = page, in_review
        self._remember(page.items)
        self._draw(mode)
        self._empty_state.clear()
        self._table.visible = self._filter_bar.visible = not is_empty
        if is_empty:
            with self._empty_state:
                draw_empty_state(self._context, self._kind, self._request)

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
            has_previous=page.back is not None,
            has_next=page.cursor is not None,
            sort=query.get("sort", "created"),
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
        )

    async def _read_in_review(self, items: Sequence[ListedMemory]) -> dict[UUID, UUID]:
        if self._kind is not MemoryType.EPISODE or not items:
            return {}
        shown = [one.memory.id for one in items]
        return await self._context.run("list_memories", review.runs_awaiting_decision, shown)

    async def _poll_reviews(self) -> None:
        if await self._read_in_review(self._page.items) != self._in_review:
            await self._throttled()

    async def _read(self, query: list_query.Query, limit: int = listings.DEFAULT_LIMIT) -> Page[ListedMemory]:
        listing = list_query.listing_of(self._kind, query, governs=self._context.principal.role.governs)
        return await self._context.run(
            "list_memories", listings.memories, listing, limit=limit, cursor=query.get("cursor")
        )

    async def _go(self, query: list_query.Query) -> None:
        """Show another query and update the URL."""
        if query == self._query and not self._unknown:
            self._table.stop_loading()
            return
        is_typing = "q" in self._query and "q" in query and {**self._query, "q": ""} == {**query, "q": ""}
        self._query, self._unknown = query, ()
        push_url(self._path, query, replace=is_typing)
        self._table.start_loading()
        await self._show()

    async def _on_popstate(self, query: dict[str, str]) -> None:
        self._query, self._unknown = list_query.parse(self._kind, query), list_query.unknown(self._kind, query)
        self._table.start_loading()
        await self._show()

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

    async def _on_action(self, event: events.GenericEventArguments) -> None:
        name, row = _texts(event.args, 2)
        listed = self._rows.get(row)
        if listed is None:
            raise InvalidInput("This memory is not on the page any more.")
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
            for id in self._replaced_rows(result.stored, row):
                await self._refresh(id, id)
            self._focus(result)

    def _replaced_rows(self, stored: Stored, row: str) -> list[str]:
        """The ids of other rows that the action superseded."""
        known = [(id, one.memory.ref) for id, one in self._rows.items() if id != row]
        return [id for id, ref in known if ref == stored.superseded_ref]

    def _focus(self, result: memory_actions.ActionResult) -> None:
        """Focus the row; if it is gone, the first row or the search box."""
        refs = (result.stored.ref, result.stored.superseded_ref) if result.stored else ()
        rows = [f'tr[data-ref="{self._kind}:{ref}"]' for ref in refs if ref]
        places = [place for row in rows for place in (*action_buttons(row, result.action), f"{row} .mb-row-text")]
        self._keyboard.focus_first([*places, ".mb-row-text", ".mb-filters input[type=search]"])

    async def _refresh(self, old: str, now: str) -> None:
        """Replace a memory's row by its current state."""
        new = listed_from(await self._context.run("memory_get", get.get, self._kind, now, bump=False))
        self._remember([new])
        self._table.replace(old, self._row(new, is_changed=True))

    async def _on_events(self, items: tuple[Activity, ...]) -> None:
        events_here = (item.event for item in items if item.event.entity_type == self._kind)
        if any(not self._bar.is_own(event.request_id) for event in events_here):
            await self._throttled()


def _texts(args: Any, count: int) -> Sequence[str]:
    """The arguments of a browser event, checked to be `count` strings."""
    if not isinstance(args, list) or len(args) != count or not all(isinstance(one, str) for one in args):
        raise InvalidInput("The page sent an unexpected event. Reload it.")
    return args


async def list_page(kind: MemoryType, context: PageContext, request: Request) -> None:
    await ListPage(context, kind, request).build()


for _kind in MemoryType:
    page(f"/{_kind}s", f"{_kind.capitalize()}s")(partial(list_page, _kind))
