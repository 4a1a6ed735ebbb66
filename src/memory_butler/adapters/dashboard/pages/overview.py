"""Overview: counts, attention items, recent events and charts."""

import asyncio
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fastapi import Request
from nicegui import events, ui

from memory_butler.adapters.dashboard.actions import memory_actions
from memory_butler.adapters.dashboard.actions.click_guard import ClickGuard
from memory_butler.adapters.dashboard.actions.error_handling import handle_errors
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
    ShareBars,
    VisitNote,
)
from memory_butler.adapters.dashboard.server.page_context import PageContext
from memory_butler.adapters.dashboard.view_models import history_entries, home_summary, overview_figures
from memory_butler.adapters.http.app import connection_lines
from memory_butler.models import Fact, MemoryType
from memory_butler.models.days import Growth
from memory_butler.models.history import Timeline, TimelineFilter
from memory_butler.operations.browse import graph, inbox
from memory_butler.operations.history import days, timeline
from memory_butler.operations.history.undo import KINDS
from memory_butler.operations.system import alerts as attention
from memory_butler.operations.system import stats as report

RECENT = 6
_CONFIDENCE = "Histogram of the confidence of facts in use"
_GROWTH = "Memories stored, confirmed, superseded, faded, expired and forgotten per day, last 90 days"


@dataclass(frozen=True, slots=True)
class OverviewData:
    report: dict[str, Any]
    growth: Growth
    attention: attention.Alerts
    recent: Timeline
    subjects: int
    to_review: int


@page("/", "Overview")
async def overview(context: PageContext, request: Request) -> None:
    await Overview(context).open()


class Overview:
    def __init__(self, context: PageContext) -> None:
        self._context = context
        self._bar = UndoBar(context, self._redraw)
        self._content = tag("div", "mb-stack")
        self._is_empty: bool | None = None
        self._confirmable: dict[str, Fact] = {}
        self._click_guard = ClickGuard()

    async def open(self) -> None:
        await subscribe(self._context, Throttle(self._redraw))
        await self._redraw()

    async def _read(self) -> OverviewData:
        run = self._context.run
        changes = TimelineFilter(kinds=tuple(str(kind) for kind in KINDS))
        results = await asyncio.gather(
            run("memory_stats", report.stats),
            run("memory_stats", days.growth),
            run("memory_stats", attention.alerts),
            run("memory_activity_stream", timeline.timeline, changes, limit=RECENT),
            run("list_memories", graph.subjects, limit=graph.MAX_SUBJECTS),
        )
        to_review = await run("review", inbox.waiting) if self._context.may("review") else 0
        stats, growth, alerts, recent, subjects = results
        return OverviewData(stats, growth, alerts, recent, len(subjects), to_review)

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
        self._sentence = text_tag("p", "mb-home-sentence")
        self._visit = VisitNote(text="")
        self._visit.on("since", handle_errors(self._on_since))
        self._figures = CountCards(cards=[])
        with tag("div", "mb-overview-columns"):
            with card("Needs attention", "mb-overview-attention", aria_label="Needs attention"):
                self._attention = AttentionList(items=[])
                self._attention.on("action", handle_errors(self._confirm))
                self._no_attention = tag("p", "mb-muted mb-no-attention", text="Nothing needs attention.")
            with card("Recent activity", "mb-overview-recent", aria_label="Recent activity"):
                self._recent = EventList(entries=[], compact=True)
                tag("a", "mb-small", text="View all", href=history_entries.TIMELINE)
        with card("Growth and decay"):
            self._incomplete = tag("p", "mb-note mb-small", text="Still counting older events.")
            self._growth = chart({}, height=330, label=_GROWTH)
            tag(
                "p",
                "mb-muted mb-small",
                text="Per day (UTC), up to 90 days. Additions point up, removals down.",
            )
        with tag("div", "mb-grid"):
            with card("Confidence of facts"):
                self._confidence = chart({}, height=200, label=_CONFIDENCE)
                note = f"Current confidence. Facts below {self._fading_below():g} are fading."
                tag("p", "mb-muted mb-small", text=note)
            with card("Tiers"):
                self._tiers = ShareBars(bars=[])
            with card("Rule effectiveness"):
                self._effectiveness = text_tag("p", "mb-small")
                self._feedback_bars = ShareBars(bars=[])
                tag("h2", "mb-subheading", text="Waiting for consolidation")
                self._backlog_count = text_tag("p", "mb-figure-count mb-number")
                self._backlog_text = text_tag("p", "mb-muted mb-small")
                tag("a", "mb-small", text="Consolidation", href="/consolidation")

    def _show(self, data: OverviewData) -> None:
        may_confirm = self._context.may("memory_confirm")
        items = overview_figures.attention_list(data.attention, may_confirm=may_confirm)
        self._confirmable = {str(one.fact.id): one.fact for one in data.attention.fading} if may_confirm else {}
        governs = self._context.principal.role.governs
        sparks = home_summary.sparks(data.growth)
        cards = overview_figures.count_cards(data.report, data.attention.line, governs=governs)
        cards = [{**one, "spark": sparks.get(one["name"], [])} for one in cards]
        self._figures.set_props(cards=[*cards, home_summary.change_card(data.growth)])
        self._sentence.set_text(
            home_summary.sentence(data.report, data.growth, data.subjects, graph.MAX_SUBJECTS, data.to_review)
        )
        self._attention.set_props(items=items)
        self._no_attention.set_visibility(not items)
        self._recent.set_props(entries=history_entries.event_entries(data.recent.entries, with_undo=False))
        self._incomplete.set_visibility(not data.growth.is_complete)
        redraw(self._growth, overview_figures.growth_chart(data.growth))
        redraw(self._confidence, overview_figures.confidence_chart(data.report, self._fading_below()))
        self._tiers.set_props(bars=overview_figures.tiers(data.report))
        effectiveness, marks = overview_figures.effectiveness(data.report)
        self._effectiveness.set_text(effectiveness)
        self._feedback_bars.set_props(bars=marks)
        count, backlog_text = overview_figures.backlog(data.report, data.attention.line, data.attention.at)
        self._backlog_count.set_text(count)
        self._backlog_text.set_text(backlog_text)

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
                self._bar.show(memory_actions.with_content(done, fact.content))
                await self._redraw()


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
