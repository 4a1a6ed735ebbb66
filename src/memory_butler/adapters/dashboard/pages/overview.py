"""Home: what is known as a picture, what waits, how agents use it, and what changed."""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from fastapi import Request
from nicegui import events, ui

from memory_butler.adapters.dashboard.actions import memory_actions
from memory_butler.adapters.dashboard.actions.click_guard import ClickGuard
from memory_butler.adapters.dashboard.actions.error_handling import handle_errors
from memory_butler.adapters.dashboard.actions.review_decisions import Decider
from memory_butler.adapters.dashboard.actions.throttle import Throttle
from memory_butler.adapters.dashboard.components.charts import chart, redraw
from memory_butler.adapters.dashboard.components.elements import card, tag, text_tag
from memory_butler.adapters.dashboard.components.empty_states import EXAMPLES, shell_command
from memory_butler.adapters.dashboard.components.page_frame import page, subscribe
from memory_butler.adapters.dashboard.components.undo_bar import UndoBar
from memory_butler.adapters.dashboard.components.vue_components import (
    AttentionList,
    CountCards,
    EventList,
    MemoryMapCanvas,
    ReviewDigest,
    ShareBars,
    VisitNote,
)
from memory_butler.adapters.dashboard.server.page_context import PageContext
from memory_butler.adapters.dashboard.server.routes import memory_path
from memory_butler.adapters.dashboard.view_models import (
    history_entries,
    home_summary,
    inbox_rows,
    map_rows,
    overview_figures,
    subject_rows,
)
from memory_butler.adapters.http.app import connection_lines
from memory_butler.adapters.mcp.tool_base import CallContext
from memory_butler.models import Fact, MemoryType
from memory_butler.models.calls import CallDay, CallFilter
from memory_butler.models.days import Growth
from memory_butler.models.graph import MemoryMap, NodeKind
from memory_butler.models.history import Timeline, TimelineFilter
from memory_butler.operations.browse import graph, inbox, memory_map
from memory_butler.operations.history import days, timeline
from memory_butler.operations.history.undo import KINDS
from memory_butler.operations.system import alerts as attention
from memory_butler.operations.system import call_log
from memory_butler.operations.system import stats as report

RECENT = 8
TO_REVIEW = 3
_CONFIDENCE = "Histogram of the confidence of facts in use"
_GROWTH = "Memories stored, confirmed, superseded, faded, expired and forgotten per day, last 90 days"


@dataclass(frozen=True, slots=True)
class OverviewData:
    report: dict[str, Any]
    growth: Growth
    attention: attention.Alerts
    recent: Timeline
    subjects: int
    map: MemoryMap
    calls: tuple[CallDay, ...]
    now: datetime
    to_review: int
    first: list[inbox.Entry]


@page("/", "Home")
async def overview(context: PageContext, request: Request) -> None:
    await Overview(context).open()


class Overview:
    def __init__(self, context: PageContext) -> None:
        self._context = context
        self._bar = UndoBar(context, self._redraw)
        self._content = tag("div", "mb-stack")
        self._is_empty: bool | None = None
        self._confirmable: dict[str, Fact] = {}
        self._entries: dict[str, inbox.Entry] = {}
        self._decider = Decider(context, self._bar)
        self._known: MemoryMap | None = None
        self._click_guard = ClickGuard()

    async def open(self) -> None:
        await subscribe(self._context, Throttle(self._redraw))
        await self._redraw()

    async def _read(self) -> OverviewData:
        run = self._context.run
        changes = TimelineFilter(kinds=tuple(str(kind) for kind in KINDS))
        stats, growth, alerts, recent = await asyncio.gather(
            run("memory_stats", report.stats),
            run("memory_stats", days.growth),
            run("memory_stats", attention.alerts),
            run("memory_activity_stream", timeline.timeline, changes, limit=RECENT),
        )
        subjects, known, (calls, now) = await asyncio.gather(
            run("list_memories", graph.subjects, limit=graph.MAX_SUBJECTS),
            run("links", memory_map.memory_map, size=memory_map.DIGEST),
            self._context.call("list_memories", _read_calls),
        )
        to_review, first = 0, list[inbox.Entry]()
        if self._context.may("review"):
            to_review = await run("review", inbox.waiting)
            first = await run("review", inbox.first_entries, limit=TO_REVIEW) if to_review else []
        return OverviewData(stats, growth, alerts, recent, len(subjects), known, calls, now, to_review, first)

    def _fading_below(self) -> float:
        return self._context.dashboard.settings.lifecycle.decay.fading_below

    async def _redraw(self) -> None:
        data = await self._read()
        is_empty = overview_figures.is_empty(data.report)
        if is_empty != self._is_empty:
            self._is_empty = is_empty
            self._content.clear()
            with self._content:
                if is_empty:
                    _draw_getting_started(self._context)
                else:
                    self._draw_layout()
        if not is_empty:
            self._show(data)

    def _draw_layout(self) -> None:
        """Create all sections with fixed heights, so that the layout does not shift when the data arrives."""
        with tag("div", "mb-home-head"):
            self._sentence = text_tag("p", "mb-home-sentence")
            self._visit = VisitNote(text="")
            self._visit.on("since", handle_errors(self._on_since))
        with tag("div", "mb-home-top"):
            self._map = MemoryMapCanvas(subjects=[], memories=[], relations=[], lit=[], note="", compact=True)
            self._map.on("open", handle_errors(self._on_open))
            with tag("div", "mb-home-waiting"):
                with card("To review", "mb-home-review", aria_label="To review") as self._review:
                    self._digest = ReviewDigest(rows=[], count=0)
                    self._digest.on("decide", handle_errors(self._on_decide))
                with card("Needs attention", "mb-overview-attention", aria_label="Needs attention"):
                    self._attention = AttentionList(items=[])
                    self._attention.on("action", handle_errors(self._confirm))
                    self._no_attention = tag("p", "mb-muted mb-no-attention", text="Nothing needs attention.")
        self._use = CountCards(cards=[])
        with tag("div", "mb-overview-columns"):
            with card("Recent activity", "mb-overview-recent", aria_label="Recent activity"):
                self._recent = EventList(entries=[], compact=True)
                tag("a", "mb-small", text="View all", href=history_entries.TIMELINE)
            with card("Growth and decay"):
                self._incomplete = tag("p", "mb-note mb-small", text="Still counting older events.")
                self._growth = chart({}, height=330, label=_GROWTH)
                tag("p", "mb-muted mb-small", text="Per day (UTC). Added above the line, removed below.")
        self._figures = CountCards(cards=[])
        self._draw_quality()

    def _draw_quality(self) -> None:
        with tag("div", "mb-grid"):
            with card("Confidence of facts"):
                self._confidence = chart({}, height=200, label=_CONFIDENCE)
                note = f"Current confidence. Facts below {self._fading_below():g} are fading."
                tag("p", "mb-muted mb-small", text=note)
            with card("Rule effectiveness"):
                self._effectiveness = text_tag("p", "mb-small")
                self._feedback_bars = ShareBars(bars=[])
            with card("Waiting for consolidation"):
                self._backlog_count = text_tag("p", "mb-figure-count mb-number")
                self._backlog_text = text_tag("p", "mb-muted mb-small")
                tag("a", "mb-small", text="Consolidation", href="/consolidation")

    def _show(self, data: OverviewData) -> None:
        may_confirm = self._context.may("memory_confirm")
        has_inbox = bool(data.first)
        items = overview_figures.attention_list(data.attention, may_confirm=may_confirm, has_inbox=has_inbox)
        self._confirmable = {str(one.fact.id): one.fact for one in data.attention.fading} if may_confirm else {}
        self._sentence.set_text(
            home_summary.sentence(data.report, data.growth, data.subjects, graph.MAX_SUBJECTS, data.to_review)
        )
        if data.map != self._known:
            self._known = data.map
            self._map.set_props(**map_rows.digest_props(data.map))
        self._entries = {one.key: one for one in data.first}
        self._review.set_visibility(has_inbox)
        self._digest.set_props(rows=[inbox_rows.digest_row(one) for one in data.first], count=data.to_review)
        self._attention.set_props(items=items)
        self._no_attention.set_visibility(not items)
        self._show_figures(data)
        self._recent.set_props(entries=history_entries.event_entries(data.recent.entries, with_undo=False))
        self._incomplete.set_visibility(not data.growth.is_complete)
        redraw(self._growth, overview_figures.growth_chart(data.growth))

    def _show_figures(self, data: OverviewData) -> None:
        briefings, answered, latency = home_summary.call_cards(data.calls, data.now.date())
        self._use.set_props(cards=[briefings, answered, home_summary.change_card(data.growth), latency])
        sparks = home_summary.sparks(data.growth)
        governs = self._context.principal.role.governs
        cards = overview_figures.count_cards(data.report, data.attention.line, governs=governs)
        self._figures.set_props(cards=[{**one, "spark": sparks.get(one["name"], [])} for one in cards])
        redraw(self._confidence, overview_figures.confidence_chart(data.report, self._fading_below()))
        effectiveness, marks = overview_figures.effectiveness(data.report)
        self._effectiveness.set_text(effectiveness)
        self._feedback_bars.set_props(bars=marks)
        count, backlog_text = overview_figures.backlog(data.report, data.attention.line, data.attention.at)
        self._backlog_count.set_text(count)
        self._backlog_text.set_text(backlog_text)

    async def _on_decide(self, event: events.GenericEventArguments) -> None:
        await self._decider.on_decide(event, self._entries, self._redraw)

    async def _on_open(self, event: events.GenericEventArguments) -> None:
        """Open the page of the subject or memory that was clicked in the map."""
        kind, _, rest = str(event.args).partition(":")
        known = {f"{one.kind}:{one.ref}" for one in self._known.memories} if self._known else set()
        if kind == NodeKind.SUBJECT:
            ui.navigate.to(subject_rows.subject_href(rest))
        elif event.args in known:
            ui.navigate.to(memory_path(kind, rest))

    async def _on_since(self, event: events.GenericEventArguments) -> None:
        try:
            since = datetime.fromisoformat(str(event.args))
        except ValueError:
            return
        changes = TimelineFilter(kinds=tuple(str(kind) for kind in KINDS))
        found = await self._context.run("memory_activity_stream", timeline.timeline, changes, limit=timeline.MOST)
        oldest = found.entries[-1].lines[-1].activity.event.occurred_at if found.entries else since
        self._visit.set_props(text=home_summary.since_text(found.entries, since, is_cut=oldest > since))

    async def _confirm(self, event: events.GenericEventArguments) -> None:
        fact = self._confirmable.get(str(event.args))
        if fact is None:
            ui.notify("Already confirmed.", position="bottom")
            return
        with self._click_guard.once("confirm", fact.ref) as is_first:
            if is_first:
                done = await memory_actions.run_action(
                    self._context, "confirm", "fact", fact.ref, request_id=self._bar.new_request_id()
                )
                self._bar.show(done)
                await self._redraw()


async def _read_calls(call: CallContext) -> tuple[tuple[CallDay, ...], datetime]:
    now = call.resources.clock().astimezone(UTC)
    first = now.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=home_summary.SPARK_DAYS - 1)
    return await call_log.call_days(call.resources, CallFilter(time_from=first), call.caller), now


def _draw_getting_started(context: PageContext) -> None:
    """Shown while the store is empty."""
    with card("No memories yet", "mb-empty mb-getting-started"):
        tag("p", text="Memories appear here as soon as one is stored. This page updates itself.")
        tag("h3", text="Store a fact")
        tag("pre", text=shell_command(context.dashboard.settings, *EXAMPLES[MemoryType.FACT]))
        tag("h3", text="Connect an agent")
        tag("p", text="Claude Code, with one of these commands:")
        tag("pre", text="\n".join(connection_lines(context.dashboard.settings)))
        tag("h3", text="Or try the demo store")
        tag("p", text="This creates a separate store with eight weeks of sample memories, and prints how to open it:")
        tag("pre", text=shell_command(context.dashboard.settings, "demo", "--keep", on_this_store=False))
