"""The first page: how memory stands, at a glance."""

import asyncio
from dataclasses import dataclass
from typing import Any

from fastapi import Request
from nicegui import events, ui

from memory_butler.adapters.dashboard import acting, glance, telling
from memory_butler.adapters.dashboard.calm import Calmly
from memory_butler.adapters.dashboard.charts import chart, redraw
from memory_butler.adapters.dashboard.clicking import Clicks
from memory_butler.adapters.dashboard.elements import props_of, say, tag
from memory_butler.adapters.dashboard.glance_parts import AttentionList, Bars, Figures, Story
from memory_butler.adapters.dashboard.handling import handled
from memory_butler.adapters.dashboard.shell import follow, page
from memory_butler.adapters.dashboard.teaching import EXAMPLES, command
from memory_butler.adapters.dashboard.undoing import UndoBar
from memory_butler.adapters.dashboard.visitor import Visitor
from memory_butler.adapters.http import connection_lines
from memory_butler.models import Fact, MemoryType
from memory_butler.models.days import Growth
from memory_butler.models.history import Timeline, TimelineFilter
from memory_butler.operations import attention, days, report, timeline
from memory_butler.operations.attention import Attention
from memory_butler.operations.undo import KINDS
from memory_butler.policy.confidence import FADING_BELOW

RECENT = 6
_CONFIDENCE = "Facts in use by how certain they are by now, in ten steps"
_GROWTH = "What was stored, confirmed, superseded, faded, expired and forgotten on each of the last 90 days"


@dataclass(frozen=True, slots=True)
class Seen:
    """Everything that the page shows, as it stands."""

    report: dict[str, Any]
    growth: Growth
    attention: Attention
    recent: Timeline


@page("/", "Overview")
async def overview(visitor: Visitor, request: Request) -> None:
    await Overview(visitor).open()


class Overview:
    def __init__(self, visitor: Visitor) -> None:
        self._visitor = visitor
        self._bar = UndoBar(visitor, self._redraw)
        self._room = tag("div", "mb-stack")
        self._is_empty: bool | None = None
        self._confirmable: dict[str, Fact] = {}
        self._clicks = Clicks()

    async def open(self) -> None:
        await follow(self._visitor, Calmly(self._redraw))
        await self._redraw()

    async def _read(self) -> Seen:
        ask = self._visitor.ask
        changes = TimelineFilter(kinds=tuple(str(kind) for kind in KINDS))
        found = await asyncio.gather(
            ask("memory_stats", lambda visit: report.report(visit.butler, caller=visit.caller)),
            ask("memory_stats", lambda visit: days.growth(visit.butler, visit.caller)),
            ask("memory_stats", lambda visit: attention.attention(visit.butler, visit.caller)),
            ask(
                "memory_activity_stream",
                lambda visit: timeline.timeline(visit.butler, changes, visit.caller, limit=RECENT),
            ),
        )
        return Seen(*found)

    async def _redraw(self) -> None:
        seen = await self._read()
        is_empty = glance.is_empty(seen.report)
        if is_empty != self._is_empty:
            self._is_empty = is_empty
            self._room.clear()
            with self._room:
                if is_empty:
                    _teach(self._visitor)
                else:
                    self._lay_out()
        if not is_empty:
            self._show(seen)

    def _lay_out(self) -> None:
        """The places for everything, each of its own height: nothing moves when the figures come."""
        self._figures = Figures([])
        with tag("div", "mb-glance"):
            with tag("section", "mb-card mb-glance-attention", aria_label="Needs attention"):
                tag("h2", text="Needs attention")
                self._attention = AttentionList([])
                self._attention.on("act", handled(self._confirm))
                self._calm = tag("p", "mb-muted mb-calm", text="Nothing does. All is as it should be.")
            with tag("section", "mb-card mb-glance-recent", aria_label="Lately"):
                tag("h2", text="Lately")
                self._recent = Story([], compact=True)
                tag("a", "mb-small", text="The whole timeline", href=telling.TIMELINE)
        with tag("section", "mb-card"):
            tag("h2", text="Growth and decay")
            self._counting = tag("p", "mb-note mb-small", text="The log is still being counted.")
            self._growth = chart({}, height=330, label=_GROWTH)
            tag(
                "p",
                "mb-muted mb-small",
                text="Day by day (UTC), 90 days at most. What was added stands up, what went hangs down.",
            )
        with tag("div", "mb-grid"):
            with tag("section", "mb-card"):
                tag("h2", text="How certain facts are")
                self._confidence = chart({}, height=200, label=_CONFIDENCE)
                said = f"Confidence as it is by now. What is below {FADING_BELOW:g} is fading."
                tag("p", "mb-muted mb-small", text=said)
            with tag("section", "mb-card"):
                tag("h2", text="Tiers")
                self._tiers = Bars([])
            with tag("section", "mb-card"):
                tag("h2", text="Do rules help?")
                self._judged = tag("p", "mb-small")
                self._marks = Bars([])
                tag("h2", "mb-second", text="Waiting to be distilled")
                self._waiting = tag("p", "mb-figure-count mb-number")
                self._waited = tag("p", "mb-muted mb-small")
                tag("a", "mb-small", text="Consolidation", href="/consolidation")

    def _show(self, seen: Seen) -> None:
        may_confirm = self._visitor.may("memory_confirm")
        items = glance.attention_list(seen.attention, may_confirm=may_confirm)
        self._confirmable = {str(one.fact.id): one.fact for one in seen.attention.fading} if may_confirm else {}
        governs = self._visitor.principal.role.governs
        props_of(self._figures, cards=glance.figures(seen.report, seen.attention.line, governs=governs))
        props_of(self._attention, items=items)
        self._calm.set_visibility(not items)
        props_of(self._recent, entries=telling.story(seen.recent.entries, with_undo=False))
        self._counting.set_visibility(not seen.growth.is_complete)
        redraw(self._growth, glance.growth_chart(seen.growth))
        redraw(self._confidence, glance.confidence_chart(seen.report))
        props_of(self._tiers, bars=glance.tiers(seen.report))
        judged, marks = glance.effectiveness(seen.report)
        say(self._judged, judged)
        props_of(self._marks, bars=marks)
        count, waited = glance.backlog(seen.report, seen.attention.line, seen.attention.at)
        say(self._waiting, count)
        say(self._waited, waited)

    async def _confirm(self, event: events.GenericEventArguments) -> None:
        fact = self._confirmable.get(str(event.args))
        if fact is None:
            ui.notify("That has been seen to already.", position="bottom")
            return
        with self._clicks.once("confirm", fact.ref) as is_first:
            if is_first:
                done = await acting.act(self._visitor, "confirm", "fact", fact.ref, request_id=self._bar.new_id())
                self._bar.offer(acting.with_words(done, fact.content))
                await self._redraw()


def _teach(visitor: Visitor) -> None:
    """How to have something to look at."""
    with tag("section", "mb-card mb-empty mb-teach"):
        tag("h2", text="Nothing is remembered yet")
        tag("p", text="Memories appear here as soon as somebody stores one. This page follows along by itself.")
        tag("h3", text="Store the first one")
        tag("pre", text=command(visitor.desk.settings, *EXAMPLES[MemoryType.FACT]))
        tag("h3", text="Connect an agent")
        tag("p", text="Claude Code, with one of these:")
        tag("pre", text="\n".join(connection_lines(visitor.desk.settings)))
        tag("h3", text="Or look around in a made-up life first")
        tag("p", text="This fills a store of its own with eight weeks of somebody's memories, and says how to open it:")
        tag("pre", text=command(visitor.desk.settings, "demo", "--keep", on_this_store=False))
