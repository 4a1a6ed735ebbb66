"""The timeline of events, and the store as of any day."""

from collections.abc import Mapping
from datetime import UTC, date

from fastapi import Request
from nicegui import events, ui

from memory_butler.adapters.dashboard.actions.error_handling import handle_errors
from memory_butler.adapters.dashboard.actions.memory_actions import ActionResult, undo_change
from memory_butler.adapters.dashboard.actions.throttle import Throttle
from memory_butler.adapters.dashboard.components.confirm_dialog import ConfirmDialog
from memory_butler.adapters.dashboard.components.elements import tag, text_tag
from memory_butler.adapters.dashboard.components.empty_states import EXAMPLES, shell_command
from memory_butler.adapters.dashboard.components.page_frame import page, show_error, subscribe
from memory_butler.adapters.dashboard.components.undo_bar import ALREADY_UNDONE, UndoBar
from memory_butler.adapters.dashboard.components.vue_components import AsOfPanel, EventList, TimelineFilters
from memory_butler.adapters.dashboard.server.page_context import PageContext
from memory_butler.adapters.dashboard.server.page_url import ignored_text, on_popstate, push_url
from memory_butler.adapters.dashboard.view_models import history_entries, timeline_query
from memory_butler.adapters.dashboard.view_models.phrases import count_text
from memory_butler.adapters.mcp.tool_base import CallContext
from memory_butler.errors import MemoryButlerError
from memory_butler.models import MemoryType
from memory_butler.models.days import DaySnapshot
from memory_butler.models.history import Timeline, TimelineEntry
from memory_butler.operations.history import days, timeline

PATH = history_entries.TIMELINE
# Maximum number of entries on a page; filters lead to older ones.
MAX_ENTRIES = 600
_NOT_SEARCHED = {"rows": [], "notes": [], "searched": False, "busy": False}
_NO_DAY = {"first": "", "last": "", "day": "", "kinds": [], "changes": "", "query": "", **_NOT_SEARCHED}


@page(PATH, "Timeline")
async def timeline_page(context: PageContext, request: Request) -> None:
    await TimelinePage(context, request.query_params).open()


class TimelinePage:
    def __init__(self, context: PageContext, query: Mapping[str, str]) -> None:
        self._context = context
        self._query = timeline_query.parse(query)
        self._unknown = timeline_query.unknown(query)
        self._governs = context.principal.role.governs
        self._bar = UndoBar(context, self._reload)
        self._confirm = ConfirmDialog()
        self._entries: list[TimelineEntry] = []
        self._cursor: str | None = None
        self._request_number = 0

    async def open(self) -> None:
        await subscribe(self._context, Throttle(self._on_events))
        with tag("div", "mb-stack"):
            self._ignored = text_tag("p", "mb-note mb-note-warn", role="status")
            if self._governs:
                self._as_of_panel = AsOfPanel(**_NO_DAY)
                self._as_of_panel.on("day", handle_errors(self._on_day))
                self._as_of_panel.on("search", handle_errors(self._on_search))
            self._filters = TimelineFilters(
                query=self._filter_values(),
                actions=timeline_query.action_choices(),
                kinds=timeline_query.kind_choices(governs=self._governs),
            )
            self._filters.on("change", handle_errors(self._on_filter))
            with tag("div", "mb-events-room"):
                self._new_button = text_tag("button", "mb-new-button mb-events-new", type="button", aria_live="polite")
                self._new_button.on("click", handle_errors(self._on_new))
                self._new_button.set_visibility(False)
                self._error_box = tag("div")
                self._event_list = EventList(entries=[], compact=False)
                self._event_list.on("undo", handle_errors(self._on_undo))
                self._empty_state = tag("div", "mb-card mb-empty")
                with tag("div", "mb-pager"):
                    self._earlier_button = ui.button(
                        "Earlier", on_click=handle_errors(self._on_earlier), icon="expand_more"
                    )
                    self._earlier_button.props("flat no-caps")
        on_popstate(self._on_popstate)
        await self._draw()

    # --- events ---

    async def _on_filter(self, event: events.GenericEventArguments) -> None:
        args = event.args if isinstance(event.args, dict) else {}
        as_of_params: timeline_query.Query = {name: self._query[name] for name in ("day", "q") if name in self._query}
        await self._go(
            timeline_query.parse({**{name: args.get(name) for name in timeline_query.FILTERS}, **as_of_params})
        )

    async def _on_day(self, event: events.GenericEventArguments) -> None:
        await self._go(timeline_query.parse({**self._query, "day": event.args or None, "q": None}))

    async def _on_search(self, event: events.GenericEventArguments) -> None:
        await self._go(timeline_query.parse({**self._query, "q": event.args}))

    async def _on_popstate(self, query: dict[str, str]) -> None:
        self._query, self._unknown = timeline_query.parse(query), timeline_query.unknown(query)
        await self._draw()

    async def _go(self, query: timeline_query.Query) -> None:
        if query != self._query or self._unknown:
            self._query, self._unknown = query, ()
            push_url(PATH, {name: query.get(name) for name in timeline_query.PARAMS})
            await self._draw()

    async def _on_new(self) -> None:
        await self._load()
        ui.run_javascript("document.querySelector('.mb-events-room').scrollIntoView({block: 'start'})")

    async def _on_earlier(self) -> None:
        cursor = self._cursor
        result = await self._read(cursor)
        # After a double click, or another query meanwhile, the page is not added twice.
        if cursor == self._cursor:
            self._entries += result.entries
            self._cursor = result.cursor
            self._show()

    # --- undo ---

    async def _on_undo(self, event: events.GenericEventArguments) -> None:
        entry = next((one for one in self._entries if one.place == event.args), None)
        if entry is None or entry.undo_id is None:
            ui.notify(ALREADY_UNDONE, position="bottom")
            return
        if entry.together > 1:
            refused = "This can no longer be undone."
            report = await self._bar.undo_group(entry.undo_id, self._confirm, refused=refused)
        else:
            report = await undo_change(self._context, entry.undo_id, request_id=self._bar.new_request_id())
        if report:
            self._bar.show(ActionResult(f"Undone: {count_text(report.undone, 'change')}", None, report.undo_id))
            await self._reload()

    # --- drawing ---

    async def _draw(self) -> None:
        self._ignored.set_text(ignored_text(self._unknown))
        self._ignored.set_visibility(bool(self._unknown))
        """Show the query; of several concurrent requests the last wins. Errors are shown in place of the events."""
        self._request_number += 1
        request_number = self._request_number
        self._error_box.clear()
        self._filters.set_props(query=self._filter_values())
        try:
            await self._load()
            if self._governs and request_number == self._request_number:
                await self._load_as_of()
        except MemoryButlerError as problem:
            if request_number != self._request_number:
                return
            self._entries, self._cursor = [], None
            self._show()
            self._empty_state.set_visibility(False)
            with self._error_box:
                show_error(problem)

    async def _load(self, count: int = timeline.USUAL) -> None:
        request_number = self._request_number
        entries, cursor = await self._read_newest(count)
        if request_number == self._request_number:
            self._entries, self._cursor = entries, cursor
            self._show()

    async def _reload(self) -> None:
        """Reload as many entries as are shown, so that the user keeps their position after an undo."""
        await self._load(max(len(self._entries), timeline.USUAL))

    async def _read_newest(self, count: int) -> tuple[list[TimelineEntry], str | None]:
        """The newest `count` entries, with a bounded number of reads."""
        entries: list[TimelineEntry] = []
        cursor: str | None = None
        for _ in range(MAX_ENTRIES // timeline.USUAL):
            result = await self._read(cursor, min(count - len(entries), timeline.MOST))
            entries += result.entries
            cursor = result.cursor
            if cursor is None or len(entries) >= count:
                break
        return entries, cursor

    async def _read(self, cursor: str | None, limit: int = timeline.USUAL) -> Timeline:
        filters = timeline_query.filter_of(self._query)
        return await self._context.run("memory_activity_stream", timeline.timeline, filters, limit=limit, cursor=cursor)

    async def _on_events(self) -> None:
        """Show the number of new entries; the list itself does not move."""
        if "day" in self._query:
            return
        top = self._entries[0].place if self._entries else 0
        new_entries = [one for one in (await self._read(None)).entries if one.place > top]
        if not self._entries:
            await self._load()
        elif new_entries:
            more = "+" * (len(new_entries) == timeline.USUAL)
            self._new_button.set_text(f"{len(new_entries)}{more} new")
            self._new_button.set_visibility(True)

    def _show(self) -> None:
        self._event_list.set_props(entries=history_entries.event_entries(self._entries))
        self._new_button.set_visibility(False)
        self._earlier_button.set_visibility(self._cursor is not None and len(self._entries) < MAX_ENTRIES)
        self._empty_state.set_visibility(not self._entries)
        self._empty_state.clear()
        with self._empty_state:
            is_filtered = any(name in self._query for name in (*timeline_query.FILTERS, "day"))
            tag("h2", text="No matching events" if is_filtered else "No events yet")
            if self._cursor is not None:
                tag("p", text="None found so far. “Earlier” continues the search.")
            elif is_filtered:
                tag("p", text="No event matches the filters above.")
            else:
                tag("p", text="Every change of a memory appears here: stored, confirmed, corrected, forgotten, faded.")
                tag("pre", text=shell_command(self._context.dashboard.settings, *EXAMPLES[MemoryType.FACT]))

    def _filter_values(self) -> dict[str, str]:
        return {name: self._query.get(name, "") for name in timeline_query.FILTERS}

    async def _load_as_of(self) -> None:
        request_number, query = self._request_number, self._query.get("day")

        async def load(call: CallContext) -> tuple[date, DaySnapshot]:
            today = call.resources.clock().astimezone(UTC).date()
            day = days.parse_day(query) if query else today
            return today, await days.standing(call.resources, day, call.caller)

        today, result = await self._context.call("memory_stats", load)
        if request_number != self._request_number:
            return
        is_today = result.day == today
        self._as_of_panel.set_props(
            first=result.first_day.isoformat(),
            last=today.isoformat(),
            day="" if is_today else result.day.isoformat(),
            kinds=timeline_query.type_counts(result),
            changes=timeline_query.changes_since(result),
            query=self._query.get("q", ""),
            **_NOT_SEARCHED,
        )
        question = self._query.get("q")
        if not question or is_today:
            return
        self._as_of_panel.set_props(busy=True)
        try:
            results = await self._context.run("memory_search", days.search_then, question, result.moment)
            if request_number == self._request_number:
                self._as_of_panel.set_props(
                    rows=timeline_query.result_rows(results),
                    notes=list(results.degraded),
                    searched=True,
                )
        finally:
            if request_number == self._request_number:
                self._as_of_panel.set_props(busy=False)
