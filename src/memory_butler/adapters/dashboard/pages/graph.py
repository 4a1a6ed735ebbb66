"""The map of the whole store, and the neighbourhood of a subject or memory. Clicking a node moves there."""

from uuid import UUID

from fastapi import Request
from nicegui import events, ui

from memory_butler.adapters.dashboard.actions.error_handling import handle_errors
from memory_butler.adapters.dashboard.actions.throttle import Throttle
from memory_butler.adapters.dashboard.components import charts
from memory_butler.adapters.dashboard.components.elements import Timestamp, chip, tag, text_tag, visible_text
from memory_butler.adapters.dashboard.components.empty_states import EXAMPLES, shell_command
from memory_butler.adapters.dashboard.components.page_frame import page, show_error, subscribe
from memory_butler.adapters.dashboard.components.vue_components import EntryList, Group, KeyboardFocus, MemoryMapCanvas
from memory_butler.adapters.dashboard.server.page_context import PageContext
from memory_butler.adapters.dashboard.server.page_url import on_popstate, push_url, url_for
from memory_butler.adapters.dashboard.server.routes import memory_path
from memory_butler.adapters.dashboard.view_models import graph_chart, map_rows
from memory_butler.adapters.dashboard.view_models.phrases import count_text, state_label
from memory_butler.errors import InvalidInput, MemoryButlerError, NotFound
from memory_butler.models import Activity, BriefRequest, MemoryType
from memory_butler.models.graph import MemoryGraph, NodeKind
from memory_butler.operations.briefing import brief
from memory_butler.operations.browse import graph as graph_operation
from memory_butler.operations.browse.memory_map import memory_map
from memory_butler.operations.retrieval import search
from memory_butler.policy.memories.sentence import fact_sentence

PIXELS = 560
START_SUBJECTS = 18
PROMPT_CHARACTERS = 500
FIRST = "() => document.querySelector('.mb-entries-found a.mb-entry-name')?.focus()"


@page(graph_chart.PATH, "Map")
async def graph(context: PageContext, request: Request) -> None:
    await GraphPage(context).open(graph_chart.center_from(request.query_params))


class GraphPage:
    """The URL holds the centre. Keys from the browser are only accepted if the page has offered them."""

    def __init__(self, context: PageContext) -> None:
        self.context = context
        self._center: str | None = None
        self._shown: MemoryGraph | None = None
        self._offered_keys: set[str] = set()
        self._last_search = ""
        self._result_keys: list[str] = []
        self._request_number = 0
        self._throttled = Throttle(self._redraw)

    async def open(self, center: str | None) -> None:
        await subscribe(self.context, self._on_events)
        self._keyboard = KeyboardFocus()
        self._draw_search()
        self._start_area = tag("div", "mb-stack")
        self._chart_area = tag("div")
        self._chart: ui.echart | None = None
        on_popstate(self._on_popstate)
        await self._go(center)

    def _draw_search(self) -> None:
        with tag("section", "mb-card mb-graph-search"):
            box = ui.input(placeholder="Search for a subject or a memory")
            box.props("outlined dense clearable debounce=300 maxlength=300 autocomplete=off type=search")
            box.props["aria-label"] = "Search for a subject or a memory"
            box.on_value_change(handle_errors(self._on_type))
            box.on("keydown.enter", handle_errors(self._on_enter), js_handler="event => emit(event.target.value)")
            box.on("keydown.down.prevent", js_handler=FIRST)
            self._results = tag("div", aria_live="polite")

    async def _on_type(self, event: events.ValueChangeEventArguments[str | None]) -> None:
        text = str(event.value or "").strip()
        # After Enter the search has run already when the debounced value arrives.
        if text != self._last_search:
            await self._search(text)

    async def _on_enter(self, event: events.GenericEventArguments) -> None:
        """Enter opens the first result."""
        text = event.args.strip()[:300] if isinstance(event.args, str) else ""
        if text != self._last_search or not self._result_keys:
            await self._search(text)
        if text == self._last_search and self._result_keys:
            await self._move_to(self._result_keys[0])

    async def _search(self, text: str) -> None:
        self._last_search, self._result_keys = text, []
        self._request_number += 1
        request_number = self._request_number
        if not text:
            self._results.clear()
            return
        question = graph_chart.question_of(text, governs=self.context.principal.role.governs)
        subjects = await self.context.run(
            "list_memories", graph_operation.subjects, words=text, limit=graph_chart.MAX_RESULTS
        )
        answer = await self.context.run("memory_search", search.search, question, bump=False)
        if request_number != self._request_number:
            # The user has typed on or moved meanwhile.
            return
        subject_entries = graph_chart.subject_entries(subjects)
        memories = [graph_chart.hit_entry(entry.hit) for entry in answer.results]
        groups: list[Group] = [
            {"title": title, "entries": entries}
            for title, entries in (("Subjects", subject_entries), ("Memories", memories))
            if entries
        ]
        self._result_keys = [entry["key"] for group in groups for entry in group["entries"] if entry["href"]]
        self._results.clear()
        with self._results:
            if groups:
                self._draw_entries(groups, variant="found")
            else:
                tag("p", "mb-muted", text="No results. Try other words.")

    def _draw_entries(self, groups: list[Group], *, variant: str = "") -> None:
        self._offered_keys |= {entry["key"] for group in groups for entry in group["entries"]}
        EntryList(groups=groups, variant=variant).on("navigate", handle_errors(self._on_navigate))

    async def _on_navigate(self, event: events.GenericEventArguments) -> None:
        key = event.args if isinstance(event.args, str) else ""
        if key in self._offered_keys:
            await self._move_to(key)
            self._keyboard.focus_first([".mb-graph-panel"])

    async def _on_node_click(self, event: events.GenericEventArguments) -> None:
        """Handle a click on a node, which the browser names by its number."""
        data = event.args.get("data") if event.args.get("dataType") == "node" else None
        number = str(data.get("id", "")) if isinstance(data, dict) else ""
        spots = self._shown.nodes if self._shown else ()
        spot = spots[int(number)] if number.isdecimal() and int(number) < len(spots) else None
        if spot is None or spot.key == self._center:
            return
        if spot.is_gone:
            ui.notify("This episode was deleted.", position="bottom")
            return
        await self._move_to(spot.key)

    async def _move_to(self, key: str) -> None:
        self._request_number += 1
        neighbourhood = await self._read(key)
        push_url(graph_chart.PATH, graph_chart.url_params(key))
        self._results.clear()
        self._draw(key, neighbourhood)

    async def _on_popstate(self, query: dict[str, str]) -> None:
        await self._go(graph_chart.center_from(query))

    async def _go(self, center: str | None) -> None:
        if center is None:
            await self._draw_start()
            return
        try:
            neighbourhood = await self._read(center)
        except (NotFound, InvalidInput) as problem:
            await self._draw_start(problem)
            return
        self._draw(center, neighbourhood)

    async def _read(self, key: str) -> MemoryGraph:
        kind, _, rest = key.partition(":")
        if kind == NodeKind.SUBJECT:
            return await self.context.run("links", graph_operation.subject_graph, rest)
        return await self.context.run("links", graph_operation.memory_graph, kind, rest)

    async def _on_events(self, items: tuple[Activity, ...]) -> None:
        """Redraw if a shown memory has changed or a new one may belong here."""
        if self._center is None or self._shown is None:
            return
        shown_ids: set[UUID] = {spot.id for spot in self._shown.nodes if spot.id}
        if not any(one.event.entity_id in shown_ids or one.event.event_type.endswith(".created") for one in items):
            return
        await self._throttled()

    async def _redraw(self) -> None:
        center = self._center
        if center is None:
            return
        neighbourhood = await self._read(center)
        # The user may have moved meanwhile.
        if center == self._center and neighbourhood != self._shown:
            self._draw(center, neighbourhood)

    async def _draw_start(self, problem: MemoryButlerError | None = None) -> None:
        self._center = self._shown = None
        found = await self.context.run("links", memory_map)
        self._chart_area.set_visibility(False)
        self._start_area.clear()
        with self._start_area:
            if problem:
                show_error(problem)
            if not found.memories:
                with tag("section", "mb-card"):
                    _draw_empty(self.context)
                return
            props = map_rows.map_props(found)
            self._offered_keys |= {one["key"] for one in props["memories"]}
            self._offered_keys |= {f"{NodeKind.SUBJECT}:{one.subject}" for one in found.subjects}
            self._map = MemoryMapCanvas(**props, lit=[], note=map_rows.totals_text(found))
            self._map.on("open", handle_errors(self._on_navigate))
            self._map.on("recall", handle_errors(self._on_recall))
            with tag("section", "mb-card"):
                tag("h2", text="Top subjects")
                tag("p", "mb-muted", text="The subjects with the most facts. Choose one to see its neighbourhood.")
                entries = graph_chart.subject_entries(found.subjects[:START_SUBJECTS])
                self._draw_entries([{"title": "", "entries": entries}], variant="tiles")
            if found.relations:
                with tag("section", "mb-card"):
                    tag("h2", text="Relations")
                    with tag("ul", "mb-map-relations"):
                        for line in map_rows.relation_lines(found):
                            tag("li", text=line, dir="auto")

    async def _on_recall(self, event: events.GenericEventArguments) -> None:
        """Light up what a briefing for this prompt holds."""
        prompt = event.args.strip()[:PROMPT_CHARACTERS] if isinstance(event.args, str) else ""
        if not prompt:
            self._map.set_props(lit=[], note="")
            return
        request = BriefRequest(trigger_prompt=prompt, butler=self.context.principal.butler)
        briefing = await self.context.run("memory_context", brief.brief, request)
        lit = [line.ref for line in briefing.receipt.lines]
        words = count_text(len(lit), "memory", "memories")
        self._map.set_props(lit=lit, note=f"This prompt recalls {words}." if lit else "This prompt recalls nothing.")

    def _draw(self, key: str, neighbourhood: MemoryGraph) -> None:
        self._center, self._shown = key, neighbourhood
        self._start_area.clear()
        self._chart_area.set_visibility(True)
        if self._chart is None:
            self._draw_chart_area(neighbourhood)
        else:
            charts.redraw(self._chart, graph_chart.chart_options(neighbourhood))
        self._hint.set_text(_hint_text(neighbourhood))
        self._panel.clear()
        with self._panel:
            _draw_panel(neighbourhood)
        self._lists.clear()
        with self._lists:
            tag("h2", text="As a list")
            self._draw_entries(graph_chart.text_lists(neighbourhood))

    def _draw_chart_area(self, neighbourhood: MemoryGraph) -> None:
        """Create the chart and its side panel. They stay; only their content changes."""
        with self._chart_area, tag("div", "mb-graph"):
            with tag("section", "mb-card mb-graph-chart"):
                label = "The selected node and its neighbours; the lists below have the same content"
                self._chart = charts.chart(graph_chart.chart_options(neighbourhood), height=PIXELS, label=label)
                self._chart.on("componentClick", handle_errors(self._on_node_click), ["dataType", "data"])
                self._hint = text_tag("p", "mb-muted mb-small")
            self._panel = tag(
                "aside", "mb-card mb-graph-panel", aria_label="Selected node", aria_live="polite", tabindex="-1"
            )
            self._lists = tag("section", "mb-card mb-graph-lists", aria_label="As a list")


def _hint_text(neighbourhood: MemoryGraph) -> str:
    hints = ["Click a node to go there, drag to move, scroll to zoom."]
    if neighbourhood.more:
        hints.append("Not all neighbours are shown; click a node to see more.")
    if neighbourhood.hidden:
        hints.append(f"{count_text(neighbourhood.hidden, 'more link', 'more links')} to memories of other butlers.")
    return " ".join(hints)


def _draw_panel(neighbourhood: MemoryGraph) -> None:
    spot = neighbourhood.center
    with tag("div", "mb-line"):
        chip(str(spot.kind), "info" if spot.kind is NodeKind.SUBJECT else str(spot.kind))
        if spot.validity:
            chip(state_label(spot.validity), spot.validity)
        if spot.ref:
            tag("code", "mb-muted", text=f"{spot.kind}:{spot.ref}")
    if spot.kind is NodeKind.SUBJECT:
        tag("h2", "mb-text", text=visible_text(spot.subject_label or ""), dir="auto")
        facts = sum(tie.target == spot.key for tie in neighbourhood.edges)
        tag("p", "mb-muted", text=count_text(facts, "fact"))
        tag("a", "mb-graph-open", text="Show in the list", href=url_for("/facts", {"subject": spot.subject}))
        return
    said = fact_sentence(spot.subject_label, spot.predicate_label, spot.content or "")
    tag("p", "mb-text mb-graph-text", text=visible_text(said), dir="auto", tabindex="0")
    if spot.at:
        with tag("p", "mb-muted mb-small"):
            Timestamp(spot.at)
    tag("a", "mb-graph-open", text="Open", href=memory_path(spot.kind, spot.ref or str(spot.id)))


def _draw_empty(context: PageContext) -> None:
    with tag("div", "mb-empty"):
        tag("h2", text="Nothing to show yet")
        tag("p", text="The graph starts with the first fact. Store one, or let an agent do it:")
        tag("pre", text=shell_command(context.dashboard.settings, *EXAMPLES[MemoryType.FACT]))
