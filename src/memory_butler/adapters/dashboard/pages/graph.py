"""The graph: subjects, facts, rules and episodes around a chosen one. A click walks."""

from uuid import UUID

from fastapi import Request
from nicegui import events, ui

from memory_butler.adapters.dashboard import charts, surroundings
from memory_butler.adapters.dashboard.address import address, move_to, on_travel
from memory_butler.adapters.dashboard.calm import Calmly
from memory_butler.adapters.dashboard.elements import Moment, chip, say, tag, text_of
from memory_butler.adapters.dashboard.entries import Entries, Group
from memory_butler.adapters.dashboard.focusing import Focus
from memory_butler.adapters.dashboard.handling import handled
from memory_butler.adapters.dashboard.places import memory_path
from memory_butler.adapters.dashboard.saying import state_of
from memory_butler.adapters.dashboard.shell import follow, page, trouble
from memory_butler.adapters.dashboard.teaching import EXAMPLES, command
from memory_butler.adapters.dashboard.visitor import Visitor
from memory_butler.errors import InvalidInput, MemoryButlerError, NotFound
from memory_butler.models import Activity, MemoryType
from memory_butler.models.neighbourhood import Neighbourhood, SpotKind
from memory_butler.operations import neighbourhood, recall

PIXELS = 560
STARTS = 18
FIRST = "() => document.querySelector('.mb-entries-found a.mb-entry-name')?.focus()"


@page(surroundings.PATH, "Graph")
async def graph(visitor: Visitor, request: Request) -> None:
    await View(visitor).open(surroundings.wanted_center(request.query_params))


class View:
    """What is in the middle is in the address; what a click names is looked up among what is shown."""

    def __init__(self, visitor: Visitor) -> None:
        self.visitor = visitor
        self._center: str | None = None
        self._shown: Neighbourhood | None = None
        self._offered: set[str] = set()
        self._searched = ""
        self._hits: list[str] = []
        self._turn = 0
        self._calmly = Calmly(self._draw_again)

    async def open(self, center: str | None) -> None:
        await follow(self.visitor, self._news)
        self._keyboard = Focus()
        self._draw_search()
        self._start = tag("div", "mb-stack")
        self._picture = tag("div")
        self._chart: ui.echart | None = None
        on_travel(self._travelled)
        await self._go(center)

    def _draw_search(self) -> None:
        with tag("section", "mb-card mb-graph-search"):
            box = ui.input(label="Look for a subject or a memory", placeholder="Ana, or: what must not be eaten?")
            box.props("outlined dense clearable debounce=300 maxlength=300 autocomplete=off type=search")
            box.on_value_change(handled(self._typed))
            box.on("keydown.enter", handled(self._entered), js_handler="event => emit(event.target.value)")
            box.on("keydown.down.prevent", js_handler=FIRST)
            self._found = tag("div", aria_live="polite")

    async def _typed(self, event: events.ValueChangeEventArguments[str | None]) -> None:
        words = str(event.value or "").strip()
        # Whoever pressed Enter has been answered before the box says what is in it.
        if words != self._searched:
            await self._search(words)

    async def _entered(self, event: events.GenericEventArguments) -> None:
        """Enter chooses what was found first."""
        words = event.args.strip()[:300] if isinstance(event.args, str) else ""
        if words != self._searched or not self._hits:
            await self._search(words)
        if words == self._searched and self._hits:
            await self._walk(self._hits[0])

    async def _search(self, words: str) -> None:
        self._searched, self._hits = words, []
        self._turn += 1
        mine = self._turn
        if not words:
            self._found.clear()
            return
        question = surroundings.question_of(words, governs=self.visitor.principal.role.governs)
        known = await self.visitor.ask(
            "list_memories",
            lambda visit: neighbourhood.subjects(visit.butler, visit.caller, words=words, limit=surroundings.FOUND),
        )
        answer = await self.visitor.ask(
            "memory_search",
            lambda visit: recall.search(visit.butler, question, visit.caller, bump=False),
        )
        if mine != self._turn:
            # Whoever types on or walks has asked for something else by now.
            return
        subjects = surroundings.subject_entries(known)
        memories = [surroundings.hit_entry(entry.hit) for entry in answer.results]
        groups: list[Group] = [
            {"title": title, "entries": entries}
            for title, entries in (("Subjects", subjects), ("Memories", memories))
            if entries
        ]
        self._hits = [entry["key"] for group in groups for entry in group["entries"] if entry["href"]]
        self._found.clear()
        with self._found:
            if groups:
                self._entries(groups, form="found")
            else:
                tag("p", "mb-muted", text="Nothing was found. Try other words.")

    def _entries(self, groups: list[Group], *, form: str = "") -> None:
        self._offered |= {entry["key"] for group in groups for entry in group["entries"]}
        Entries(groups, form=form).on("walk", handled(self._walked))

    async def _walked(self, event: events.GenericEventArguments) -> None:
        key = event.args if isinstance(event.args, str) else ""
        if key in self._offered:
            await self._walk(key)
            self._keyboard.put([".mb-graph-panel"])

    async def _clicked(self, event: events.GenericEventArguments) -> None:
        """A node was clicked; which one is found by the number it was given."""
        data = event.args.get("data") if event.args.get("dataType") == "node" else None
        number = str(data.get("id", "")) if isinstance(data, dict) else ""
        spots = self._shown.spots if self._shown else ()
        spot = spots[int(number)] if number.isdecimal() and int(number) < len(spots) else None
        if spot is None or spot.key == self._center:
            return
        if spot.is_gone:
            ui.notify("That episode was deleted; only its trace is kept.", position="bottom")
            return
        await self._walk(spot.key)

    async def _walk(self, key: str) -> None:
        self._turn += 1
        shown = await self._read(key)
        move_to(surroundings.PATH, surroundings.in_address(key))
        self._found.clear()
        self._draw(key, shown)

    async def _travelled(self, query: dict[str, str]) -> None:
        await self._go(surroundings.wanted_center(query))

    async def _go(self, center: str | None) -> None:
        if center is None:
            await self._draw_start()
            return
        try:
            shown = await self._read(center)
        except (NotFound, InvalidInput) as problem:
            await self._draw_start(problem)
            return
        self._draw(center, shown)

    async def _read(self, key: str) -> Neighbourhood:
        kind, _, rest = key.partition(":")
        if kind == SpotKind.SUBJECT:
            return await self.visitor.ask(
                "links", lambda visit: neighbourhood.of_subject(visit.butler, rest, visit.caller)
            )
        return await self.visitor.ask(
            "links", lambda visit: neighbourhood.of_memory(visit.butler, kind, rest, visit.caller)
        )

    async def _news(self, items: tuple[Activity, ...]) -> None:
        """Draw again what is shown if it changed, or if something new may belong to it."""
        if self._center is None or self._shown is None:
            return
        watched: set[UUID] = {spot.id for spot in self._shown.spots if spot.id}
        if not any(one.event.entity_id in watched or one.event.event_type.endswith(".created") for one in items):
            return
        await self._calmly()

    async def _draw_again(self) -> None:
        center = self._center
        if center is None:
            return
        shown = await self._read(center)
        # Meanwhile somebody may have walked on.
        if center == self._center and shown != self._shown:
            self._draw(center, shown)

    async def _draw_start(self, problem: MemoryButlerError | None = None) -> None:
        self._center = self._shown = None
        known = await self.visitor.ask(
            "list_memories", lambda visit: neighbourhood.subjects(visit.butler, visit.caller, limit=STARTS)
        )
        self._picture.set_visibility(False)
        self._start.clear()
        with self._start:
            if problem:
                trouble(problem)
            with tag("section", "mb-card"):
                if known:
                    tag("h2", text="Where to begin")
                    tag("p", "mb-muted", text="The subjects that most is known of. Choose one, and walk from there.")
                    entries = surroundings.subject_entries(known)
                    self._entries([{"title": "", "entries": entries}], form="tiles")
                else:
                    _draw_empty(self.visitor)

    def _draw(self, key: str, shown: Neighbourhood) -> None:
        self._center, self._shown = key, shown
        self._start.clear()
        self._picture.set_visibility(True)
        if self._chart is None:
            self._make_room(shown)
        else:
            charts.redraw(self._chart, surroundings.options(shown))
        say(self._remark, _remark(shown))
        self._panel.clear()
        with self._panel:
            _draw_panel(shown)
        self._lists.clear()
        with self._lists:
            tag("h2", text="The same in words")
            self._entries(surroundings.lists(shown))

    def _make_room(self, shown: Neighbourhood) -> None:
        """The picture with what stands beside it. It stays; only what it shows changes."""
        with self._picture, tag("div", "mb-graph"):
            with tag("section", "mb-card mb-graph-picture"):
                label = "What stands around the chosen one; the lists below say the same in words"
                self._chart = charts.chart(surroundings.options(shown), height=PIXELS, label=label)
                self._chart.on("componentClick", handled(self._clicked), ["dataType", "data"])
                self._remark = tag("p", "mb-muted mb-small")
            self._panel = tag(
                "aside", "mb-card mb-graph-panel", aria_label="The chosen one", aria_live="polite", tabindex="-1"
            )
            self._lists = tag("section", "mb-card mb-graph-lists", aria_label="The same in words")


def _remark(shown: Neighbourhood) -> str:
    said = ["Click to walk, drag to move, scroll to zoom."]
    if shown.more:
        said.append("There is more than fits here: walk on to see it.")
    if shown.hidden:
        said.append(f"{shown.hidden} more {'link leads' if shown.hidden == 1 else 'links lead'} to another butler's.")
    return " ".join(said)


def _draw_panel(shown: Neighbourhood) -> None:
    spot = shown.center
    with tag("div", "mb-line"):
        chip(str(spot.kind), "info" if spot.kind is SpotKind.SUBJECT else str(spot.kind))
        if spot.validity:
            chip(state_of(spot.validity), spot.validity)
        if spot.ref:
            tag("code", "mb-muted", text=f"{spot.kind}:{spot.ref}")
    if spot.kind is SpotKind.SUBJECT:
        tag("h2", "mb-words", text=text_of(spot.subject_label or ""), dir="auto")
        facts = sum(tie.target == spot.key for tie in shown.ties)
        tag("p", "mb-muted", text="1 fact about it is shown." if facts == 1 else f"{facts} facts about it are shown.")
        tag("a", "mb-graph-open", text="All facts about it", href=address("/facts", {"subject": spot.subject}))
        return
    entry = surroundings.walkable(spot)
    if entry["label"]:
        tag("h2", "mb-words", text=entry["label"], dir="auto")
    tag("p", "mb-words mb-graph-words", text=text_of(spot.content or ""), dir="auto", tabindex="0")
    if spot.at:
        with tag("p", "mb-muted mb-small"):
            Moment(spot.at)
    tag("a", "mb-graph-open", text="Open its page", href=memory_path(spot.kind, spot.ref or str(spot.id)))


def _draw_empty(visitor: Visitor) -> None:
    with tag("div", "mb-empty"):
        tag("h2", text="There is nothing to draw yet")
        tag("p", text="The graph begins with the first fact. Store one, or let an agent do it:")
        tag("pre", text=command(visitor.desk.settings, *EXAMPLES[MemoryType.FACT]))
