"""The calls of agents: each briefing and search with what it returned, and the way to repeat it as of then."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from fastapi import Request
from nicegui import events

from memory_butler.adapters.dashboard.actions.error_handling import handle_errors
from memory_butler.adapters.dashboard.components.elements import tag
from memory_butler.adapters.dashboard.components.page_frame import page, refresh_every
from memory_butler.adapters.dashboard.components.vue_components import CallFigures, CallList
from memory_butler.adapters.dashboard.server.page_context import PageContext, background_refresh
from memory_butler.adapters.dashboard.server.page_url import on_popstate, push_url
from memory_butler.adapters.dashboard.view_models import call_rows
from memory_butler.adapters.mcp.tool_base import CallContext
from memory_butler.models.calls import CallDay, CallFilter, CallingProgram, LoggedCall, ReturnedMemory
from memory_butler.models.listings import Page
from memory_butler.operations.system import call_log

REFRESH_SECONDS = 5.0
# Maximum number of calls on a page; filters lead to older ones.
MAX_CALLS = 500
_OFF = "Calls are not logged. Set call_log.enabled to log the briefings and searches of agents."
_NONE = "No calls yet. Each briefing and search of an agent appears here, with the memories it got."
_NO_MATCH = "No call matches the filters above."


@page(call_rows.PATH, "Calls")
async def calls_page(context: PageContext, request: Request) -> None:
    await CallsPage(context, request.query_params).open()


class CallsPage:
    def __init__(self, context: PageContext, query: Mapping[str, str]) -> None:
        self._context = context
        self._query = call_rows.parse(query)
        self._calls: list[LoggedCall] = []
        self._memories: dict[str, ReturnedMemory] = {}
        self._cursor: str | None = None
        self._request_number = 0

    async def open(self) -> None:
        with tag("div", "mb-stack"):
            self._figures = CallFigures(figures=[], days=[])
            self._list = CallList(query=self._query, rows=[], butlers=[], clients=[], older=False, empty="")
        self._list.on("filter", handle_errors(self._on_filter))
        self._list.on("older", handle_errors(self._on_older))
        on_popstate(self._on_popstate)
        await self._load()
        refresh_every(self._context, REFRESH_SECONDS, self._refresh)

    async def _on_filter(self, event: events.GenericEventArguments) -> None:
        query = call_rows.parse(event.args if isinstance(event.args, dict) else {})
        if query != self._query:
            self._query = query
            push_url(call_rows.PATH, {name: query.get(name) for name in call_rows.PARAMS})
            await self._load()

    async def _on_popstate(self, query: dict[str, str]) -> None:
        self._query = call_rows.parse(query)
        await self._load()

    async def _on_older(self) -> None:
        cursor = self._cursor
        if cursor is None:
            return
        older, memories = await self._read_page(cursor)
        # After a double click, or another query meanwhile, the page is not added twice.
        if cursor == self._cursor:
            self._calls += older.items
            self._memories |= memories
            self._cursor = older.cursor
            self._show()

    async def _refresh(self) -> None:
        """Show new calls at the top, unless the user has gone on to older ones."""
        if len(self._calls) > call_log.USUAL_PAGE:
            return
        with background_refresh():
            newest, _ = await self._read_page(None)
            if newest.items[:1] != tuple(self._calls[:1]):
                await self._load()

    async def _load(self) -> None:
        """Show the query; of several concurrent requests the last wins."""
        self._request_number += 1
        number = self._request_number
        result, memories = await self._read_page(None)
        days, clients, today = await self._context.call("list_memories", self._read_figures)
        if number != self._request_number:
            return
        self._calls, self._cursor, self._memories = list(result.items), result.cursor, memories
        self._figures.set_props(figures=call_rows.figures(days), days=call_rows.bars(days, today) if days else [])
        self._list.set_props(
            butlers=sorted({row.butler for row in clients}), clients=sorted({row.client for row in clients})
        )
        self._show()

    async def _read_page(self, cursor: str | None) -> tuple[Page[LoggedCall], dict[str, ReturnedMemory]]:
        async def read(call: CallContext) -> tuple[Page[LoggedCall], dict[str, ReturnedMemory]]:
            wanted = call_rows.filter_of(self._query)
            found = await call_log.logged_calls(call.resources, wanted, call.caller, cursor=cursor)
            return found, await call_log.returned_memories(call.resources, found.items, call.caller)

        return await self._context.call("list_memories", read)

    async def _read_figures(
        self, call: CallContext
    ) -> tuple[tuple[CallDay, ...], tuple[CallingProgram, ...], datetime]:
        now = call.resources.clock().astimezone(UTC)
        first = now.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=call_rows.DAYS - 1)
        days = await call_log.call_days(call.resources, CallFilter(time_from=first), call.caller)
        return days, await call_log.callers(call.resources, call.caller), now

    def _show(self) -> None:
        is_on = self._context.dashboard.settings.logs_calls
        self._list.set_props(
            query=self._query,
            rows=call_rows.rows(self._calls, self._memories),
            older=self._cursor is not None and len(self._calls) < MAX_CALLS,
            empty=_NO_MATCH if self._query else _NONE if is_on else _OFF,
        )
