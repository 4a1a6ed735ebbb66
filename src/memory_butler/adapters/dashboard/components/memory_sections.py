"""The sections of a memory's page."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from nicegui import ui

from memory_butler.adapters.dashboard.actions.error_handling import handle_errors
from memory_butler.adapters.dashboard.components import charts
from memory_butler.adapters.dashboard.components.elements import Timestamp, card, tag, text_tag, visible_text
from memory_butler.adapters.dashboard.components.vue_components import EntryList, Group
from memory_butler.adapters.dashboard.server.page_context import PageContext
from memory_butler.adapters.dashboard.server.page_url import on_popstate, push_url, url_for
from memory_butler.adapters.dashboard.server.routes import SUBJECTS, memory_path
from memory_butler.adapters.dashboard.view_models import (
    decay_curve,
    history_entries,
    memory_details,
    playground_results,
)
from memory_butler.models import Episode, Fact, MemoryDetails, Question
from memory_butler.models.explanation import Explanation
from memory_butler.models.graph import MemoryLinks
from memory_butler.operations.retrieval import explain
from memory_butler.policy.lifecycle.confidence import DecayRules

CURVE_PIXELS = 230


class RetrievalTest:
    """Shows whether a question finds the memory, with its score."""

    def __init__(self, context: PageContext, portrait: MemoryDetails, query: str, *, in_address: bool) -> None:
        self._context = context
        self._in_address = in_address
        self._query = query
        self._aim(portrait)
        self.section = tag("section", "mb-card", id="scores")
        with self.section:
            tag("h2", text="Test retrieval")
            tag(
                "p",
                "mb-muted mb-small",
                text="Ask as an agent would, and see whether this memory is returned and how it scores.",
            )
            with tag("form", "mb-retrieval-form") as form:
                self._input = ui.input(placeholder="What should I know about …?", value=query)
                self._input.props('outlined dense aria-label="Question" maxlength=600')
                ui.button("Test", icon="travel_explore").props("unelevated no-caps type=submit")
            form.on("submit.prevent", handle_errors(self._on_submit))
            self._result = tag("div", "mb-retrieval-result", aria_live="polite")

    async def open(self) -> None:
        if self._in_address:
            on_popstate(self._on_popstate)
        if self._query:
            await self._show(self._query)

    def _aim(self, portrait: MemoryDetails) -> None:
        self._path = memory_path(portrait.memory.type, portrait.memory.ref)
        self._handle = f"{portrait.memory.type}:{portrait.memory.ref}"
        # Admins see the memories of all butlers; the test searches as the butler that owns this one.
        self._butler = memory_details.owner_of(portrait.memory) if self._context.principal.role.governs else None

    def follow(self, portrait: MemoryDetails) -> None:
        """Test another memory from now on."""
        self._aim(portrait)
        self._result.clear()

    async def _on_submit(self, _: object = None) -> None:
        query = str(self._input.value or "").strip()
        if self._in_address:
            push_url(self._path, {"q": query})
        await self._show(query)

    async def _on_popstate(self, query: dict[str, str]) -> None:
        self._input.value = memory_details.query_from(query)
        await self._show(self._input.value)

    async def _show(self, query: str) -> None:
        explanation = None
        if query:
            question = Question(query=query, butler=self._butler)
            explanation = await self._context.run("memory_explain", explain.explain, question, self._handle)
        self._result.clear()
        if explanation:
            with self._result:
                _draw_scores(explanation)


def draw_back_link(portrait: MemoryDetails) -> None:
    kind = portrait.memory.type
    with tag("nav", "mb-breadcrumb", aria_label="Breadcrumb"):
        tag("a", text=f"← All {kind}s", href=f"/{kind}s")


def draw_sources(portrait: MemoryDetails, beside: MemoryLinks) -> None:
    with card("Sources", id="sources"):
        groups = memory_details.evidence(beside, portrait)
        if groups:
            EntryList(groups=groups)
        elif not beside.hidden:
            is_episode = isinstance(portrait.memory, Episode)
            text = (
                "No facts or rules have been learned from it yet."
                if is_episode
                else "Stored directly, not learned from an episode."
            )
            tag("p", "mb-muted", text=text)
        if beside.more:
            tag("p", "mb-muted mb-small", text="Only the newest links are shown.")
        if beside.hidden:
            links = "1 more link" if beside.hidden == 1 else f"{beside.hidden} more links"
            tag("p", "mb-note mb-small", text=f"{links} to memories of other butlers.")


def draw_versions(portrait: MemoryDetails) -> None:
    with card("Versions", id="chain"):
        EntryList(groups=memory_details.versions(portrait), variant="line")


def link_runs(groups: Sequence[Group]) -> list[Group]:
    """Replace the ids of runs in the history by links."""
    return [{**group, "entries": [_link_run(entry) for entry in group["entries"]]} for group in groups]


def _link_run(entry: dict[str, Any]) -> dict[str, Any]:
    segments = [(mark, *history_entries.split_run(text)) for mark, text in entry["segments"]]
    links = [href for _, _, href in segments if href]
    return {**entry, "segments": [[mark, text] for mark, text, _ in segments], "run": links[0] if links else ""}


class ConfidenceCard:
    """Current confidence and its forecast. The chart element stays when the rest is redrawn: removing it while it
    still loads would break the page."""

    def __init__(self) -> None:
        with card("Confidence", id="decay"):
            with tag("div", "mb-confidence"):
                self._percent = text_tag("span", "mb-confidence-value mb-number")
                tag("span", "mb-muted", text="confidence")
            self._chart: ui.echart | None = None
            self._chart_box = tag("div")
            self._texts = tag("div")

    def draw(self, portrait: MemoryDetails, now: datetime, rules: DecayRules) -> None:
        self._percent.set_text(f"{portrait.effective_confidence:.0%}")
        no_decay = decay_curve.no_decay_reason(portrait.memory)
        curve = None if no_decay else decay_curve.curve(portrait, now, rules)
        self._draw_chart(curve)
        self._texts.clear()
        with self._texts:
            if curve is None:
                tag("p", "mb-muted", text=no_decay or "It decays too slowly to draw a forecast.")
                return
            with tag("dl", "mb-pairs"):
                for word, at in curve.marks:
                    tag("dt", text=word.capitalize())
                    with tag("dd"):
                        Timestamp(at, format="day", placeholder="–")

    def _draw_chart(self, curve: decay_curve.Curve | None) -> None:
        if curve and self._chart is None:
            with self._chart_box:
                label = "Confidence since the last confirmation, with forecast"
                self._chart = charts.chart(decay_curve.chart_options(curve), height=CURVE_PIXELS, label=label)
        elif curve and self._chart:
            charts.redraw(self._chart, decay_curve.chart_options(curve))
        self._chart_box.set_visibility(curve is not None)


def draw_details(portrait: MemoryDetails, in_review: str | None) -> None:
    with card("Details", id="details"):
        with tag("dl", "mb-pairs"):
            for detail in memory_details.details(portrait, in_review):
                tag("dt", text=detail.name)
                with tag("dd", "mb-text"):
                    if detail.at:
                        Timestamp(detail.at)
                    elif detail.href:
                        tag("a", text=detail.text, href=detail.href)
                    else:
                        tag("span", text=detail.text, dir="auto")
            if isinstance(portrait.memory, Fact):
                tag("dt", text="Subject")
                with tag("dd", "mb-text"):
                    tag(
                        "a",
                        text=visible_text(portrait.memory.subject_label),
                        href=url_for(SUBJECTS, {"name": portrait.memory.subject}),
                        dir="auto",
                    )
        metadata = memory_details.metadata_of(portrait.memory)
        if metadata:
            tag("h3", text="Metadata")
            tag("pre", "mb-code", text=metadata, tabindex="0")


def _draw_scores(explanation: Explanation) -> None:
    props = playground_results.explanation_props(explanation)
    tag("p", f"mb-note {'mb-note-good' if explanation.returned else 'mb-note-warn'}", text=props["verdict"])
    if explanation.scoring:
        _draw_bar(props["terms"], props["score"])
        names = [str(term["name"]) for term in props["terms"]]
        _table(
            ("Term", "Meaning", "Value", "Weight", "Contribution"), memory_details.score_rows(explanation), keys=names
        )
    with tag("ol", "mb-steps"):
        for step in props["steps"]:
            status = "" if step["ok"] is None else "mb-step-ok" if step["ok"] else "mb-step-failed"
            with tag("li", status):
                tag("strong", text=step["name"])
                tag("span", "mb-text", text=step["text"])
    signals = memory_details.signal_rows(explanation)
    if signals and explanation.second_look:
        with tag("details", "mb-details"):
            tag("summary", text=f"Reranker: {explanation.second_look.vote:+.3f} (signals)")
            _table(("Signal", "", "Value", "Weight", "Contribution"), signals)


def _draw_bar(terms: list[dict[str, object]], score: str) -> None:
    with tag("div", "mb-score"):
        with tag("div", "mb-score-bar", role="img", aria_label=f"Score {score}"):
            for term in terms:
                tag("span", f"mb-score-{term['name']}", title=f"{term['label']}: {term['sum']}").style(
                    f"width:{term['share']}%"
                )
        tag("strong", "mb-number", text=score)


def _table(heads: tuple[str, ...], rows: list[list[str]], *, keys: Sequence[str] = ()) -> None:
    """A table of texts and numbers; with `keys`, each row has the colour of its segment of the bar."""
    with tag("table", "mb-table mb-terms"):
        with tag("thead"), tag("tr"):
            for head in heads:
                tag("th", text=head, scope="col")
        with tag("tbody"):
            for index, (name, meaning, *numbers) in enumerate(rows):
                with tag("tr"):
                    with tag("td"):
                        if keys:
                            tag("span", f"mb-score-key mb-score-{keys[index]}", aria_hidden="true")
                        tag("span", text=name)
                    tag("td", text=meaning)
                    for number in numbers:
                        tag("td", "mb-number", text=number)
