"""What the page of a memory is made of: each piece drawn from what operations said."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from nicegui import ui

from memory_butler.adapters.dashboard import asking, charts, decay, portrait, telling
from memory_butler.adapters.dashboard.address import address, move_to, on_travel
from memory_butler.adapters.dashboard.elements import Moment, say, tag, text_of
from memory_butler.adapters.dashboard.entries import Entries, Group
from memory_butler.adapters.dashboard.handling import handled
from memory_butler.adapters.dashboard.places import PLACES, memory_path
from memory_butler.adapters.dashboard.visitor import Visitor
from memory_butler.models import Episode, Fact, Portrait, Question
from memory_butler.models.explanation import Explanation
from memory_butler.models.neighbourhood import Beside
from memory_butler.operations import explain

CURVE_PIXELS = 230


class Scores:
    """What a question would make of the memory: typed in here, answered by the search itself."""

    def __init__(self, visitor: Visitor, found: Portrait, query: str) -> None:
        self._visitor = visitor
        self._path = memory_path(found.memory.type, found.memory.ref)
        self._handle = f"{found.memory.type}:{found.memory.ref}"
        # Whoever governs sees every butler's memories; what an agent would find is asked as the one whose it is.
        self._butler = portrait.owner_of(found.memory) if visitor.principal.role.governs else None
        self._query = query
        self.place = tag("section", "mb-card", id="scores")
        with self.place:
            tag("h2", text="Would it be found?")
            tag("p", "mb-muted mb-small", text="Type a question as an agent would ask it, and see every score it gets.")
            with tag("form", "mb-try") as form:
                self._input = ui.input(placeholder="What should I know about …?", value=query)
                self._input.props('outlined dense aria-label="A question" maxlength=600')
                ui.button("Score it", icon="travel_explore").props("unelevated no-caps type=submit")
            form.on("submit.prevent", handled(self._asked))
            self._answer = tag("div", "mb-tried", aria_live="polite")

    async def open(self) -> None:
        on_travel(self._travelled)
        if self._query:
            await self._show(self._query)

    async def _asked(self, _: object = None) -> None:
        query = str(self._input.value or "").strip()
        move_to(self._path, {"q": query})
        await self._show(query)

    async def _travelled(self, query: dict[str, str]) -> None:
        self._input.value = portrait.wanted_query(query)
        await self._show(self._input.value)

    def _question(self, query: str) -> Question:
        return Question(query=query, butler=self._butler)

    async def _show(self, query: str) -> None:
        told = None
        if query:
            told = await self._visitor.ask(
                "memory_explain",
                lambda visit: explain.explain(visit.butler, self._question(query), self._handle, visit.caller),
            )
        self._answer.clear()
        if told:
            with self._answer:
                _draw_scores(told)


def way_back(found: Portrait) -> None:
    listed = next(place for place in PLACES if place.path == f"/{found.memory.type}s")
    with tag("nav", "mb-way-back", aria_label="Where you are"):
        tag("a", text=f"← All {listed.title.lower()}", href=listed.path)


def draw_sources(found: Portrait, beside: Beside) -> None:
    with tag("section", "mb-card", id="sources"):
        tag("h2", text="Where it came from, and what it led to")
        groups = portrait.evidence(beside, found)
        if groups:
            Entries(groups)
        elif not beside.hidden:
            is_episode = isinstance(found.memory, Episode)
            words = (
                "Nothing has been learned from it yet. When episodes are distilled, facts and rules from it stand here."
                if is_episode
                else "It was stored directly, not learned from an episode."
            )
            tag("p", "mb-muted", text=words)
        if beside.more:
            tag("p", "mb-muted mb-small", text="There are more links; these are the newest.")
        if beside.hidden:
            links = "1 more link leads" if beside.hidden == 1 else f"{beside.hidden} more links lead"
            tag("p", "mb-note mb-small", text=f"{links} to what belongs to another butler.")


def draw_chain(found: Portrait) -> None:
    with tag("section", "mb-card", id="chain"):
        tag("h2", text="How it changed")
        Entries(portrait.chain(found), form="line")


def with_runs(groups: Sequence[Group]) -> list[Group]:
    """What happened, with a way to each run in place of its id."""
    return [{**group, "entries": [_with_run(entry) for entry in group["entries"]]} for group in groups]


def _with_run(entry: dict[str, Any]) -> dict[str, Any]:
    told = [(mark, *telling.without_run(words)) for mark, words in entry["segments"]]
    ways = [href for _, _, href in told if href]
    return {**entry, "segments": [[mark, words] for mark, words, _ in told], "run": ways[0] if ways else ""}


class DecayCard:
    """How certain it is, and how that goes on. The chart stays when the rest is redrawn, as it takes a while to come
    and must not be gone before it has."""

    def __init__(self) -> None:
        with tag("section", "mb-card", id="decay"):
            tag("h2", text="Confidence")
            with tag("div", "mb-worth"):
                self._worth = tag("span", "mb-worth-number mb-number")
                tag("span", "mb-muted", text="certain by now")
            self._chart: ui.echart | None = None
            self._place = tag("div")
            self._words = tag("div")

    def draw(self, found: Portrait, now: datetime) -> None:
        say(self._worth, f"{found.effective_confidence:.0%}")
        why = decay.why_flat(found.memory)
        line = None if why else decay.curve(found, now)
        self._draw_chart(line)
        self._words.clear()
        with self._words:
            if line is None:
                tag("p", "mb-muted", text=why or "It does not fade within any time worth drawing.")
                return
            with tag("dl", "mb-pairs"):
                for word, at in line.marks:
                    tag("dt", text=word.capitalize())
                    with tag("dd"):
                        Moment(at, form="day", otherwise="–")

    def _draw_chart(self, line: decay.Curve | None) -> None:
        if line and self._chart is None:
            with self._place:
                label = "Its confidence from the last confirmation on"
                self._chart = charts.chart(decay.options(line), height=CURVE_PIXELS, label=label)
        elif line and self._chart:
            charts.redraw(self._chart, decay.options(line))
        self._place.set_visibility(line is not None)


def draw_glance(found: Portrait, in_review: str | None) -> None:
    with tag("section", "mb-card", id="glance"):
        tag("h2", text="At a glance")
        with tag("dl", "mb-pairs"):
            for line in portrait.glance(found, in_review):
                tag("dt", text=line.name)
                with tag("dd", "mb-words"):
                    if line.at:
                        Moment(line.at)
                    elif line.href:
                        tag("a", text=line.words, href=line.href)
                    else:
                        tag("span", text=line.words, dir="auto")
            if isinstance(found.memory, Fact):
                tag("dt", text="Subject")
                with tag("dd", "mb-words"):
                    tag(
                        "a",
                        text=text_of(found.memory.subject_label),
                        href=address("/graph", {"subject": found.memory.subject}),
                        dir="auto",
                    )
        extra = portrait.metadata_of(found.memory)
        if extra:
            tag("h3", text="Metadata")
            tag("pre", "mb-code", text=extra, tabindex="0")


def _draw_scores(told: Explanation) -> None:
    shape = asking.why_shape(told)
    tag("p", f"mb-note {'mb-note-good' if told.returned else 'mb-note-warn'}", text=shape["verdict"])
    if told.scoring:
        _draw_bar(shape["terms"], shape["score"])
        names = [str(term["name"]) for term in shape["terms"]]
        _table(("Part", "What it says", "Value", "Weight", "Adds"), portrait.score_rows(told), keys=names)
    with tag("ol", "mb-way"):
        for step in shape["steps"]:
            mark = "" if step["ok"] is None else "mb-way-ok" if step["ok"] else "mb-way-no"
            with tag("li", mark):
                tag("strong", text=step["name"])
                tag("span", "mb-words", text=step["words"])
    signals = portrait.signal_rows(told)
    if signals and told.second_look:
        with tag("details", "mb-details"):
            tag("summary", text=f"The second look voted {told.second_look.vote:+.3f}: every signal it went by")
            _table(("Signal", "", "Value", "Weight", "Adds"), signals)


def _draw_bar(terms: list[dict[str, object]], score: str) -> None:
    with tag("div", "mb-sum"):
        with tag("div", "mb-sum-bar", role="img", aria_label=f"Score {score}"):
            for term in terms:
                tag("span", f"mb-sum-{term['name']}", title=f"{term['label']}: {term['sum']}").style(
                    f"width:{term['share']}%"
                )
        tag("strong", "mb-number", text=score)


def _table(heads: tuple[str, ...], rows: list[list[str]], *, keys: Sequence[str] = ()) -> None:
    """Rows of words and numbers; with keys, each has the colour of its part of the bar."""
    with tag("table", "mb-table mb-terms"):
        with tag("thead"), tag("tr"):
            for head in heads:
                tag("th", text=head, scope="col")
        with tag("tbody"):
            for line, (name, words, *numbers) in enumerate(rows):
                with tag("tr"):
                    with tag("td"):
                        if keys:
                            tag("span", f"mb-sum-key mb-sum-{keys[line]}", aria_hidden="true")
                        tag("span", text=name)
                    tag("td", text=words)
                    for number in numbers:
                        tag("td", "mb-number", text=number)
