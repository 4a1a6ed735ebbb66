"""One memory: what it says, where it came from, what becomes of it, and everything that happened to it."""

from uuid import UUID

from fastapi import Request
from nicegui import events, ui

from memory_butler.adapters.answering import Visit
from memory_butler.adapters.dashboard import acting, distilling, portrait
from memory_butler.adapters.dashboard.address import address
from memory_butler.adapters.dashboard.calm import Calmly
from memory_butler.adapters.dashboard.clicking import Clicks, is_second_of_two
from memory_butler.adapters.dashboard.doing import Doing
from memory_butler.adapters.dashboard.elements import chip, tag, text_of
from memory_butler.adapters.dashboard.entries import Entries
from memory_butler.adapters.dashboard.focusing import Focus, buttons
from memory_butler.adapters.dashboard.handling import Handler, handled
from memory_butler.adapters.dashboard.memory_parts import (
    DecayCard,
    Scores,
    draw_chain,
    draw_glance,
    draw_sources,
    way_back,
    with_runs,
)
from memory_butler.adapters.dashboard.places import memory_path
from memory_butler.adapters.dashboard.shell import follow, page, trouble
from memory_butler.adapters.dashboard.undoing import UndoBar
from memory_butler.adapters.dashboard.visitor import Visitor
from memory_butler.errors import NotFound
from memory_butler.models import Activity, Episode, Memory, MemoryType, Portrait
from memory_butler.models.neighbourhood import Beside
from memory_butler.operations import look, neighbourhood, review, undo

# An event may be one of very many that belong together, such as those of a sweep: then it is taken back alone.
TOGETHER = 10


async def shown(visitor: Visitor, request: Request) -> None:
    _, _, kind, handle = request.url.path.split("/", 3)
    view = View(visitor, kind, request.path_params.get("handle", handle))
    await view.open(portrait.wanted_query(request.query_params))


for _kind in MemoryType:
    page(f"/memory/{_kind}/{{handle}}", _kind.capitalize())(shown)
page("/memory/{kind}/{handle}", "Memory")(shown)


@page("/memory/{rest:path}", "Memory")
async def nowhere(visitor: Visitor, request: Request) -> None:
    raise NotFound("This address names no memory.", recovery="Choose one from the lists, or look for it in the graph.")


class View:
    """The page of one memory as one person sees it. The question that is tried out stays when the rest is redrawn."""

    def __init__(self, visitor: Visitor, kind: str, handle: str) -> None:
        self.visitor = visitor
        self.kind, self.handle = kind, handle
        self._watched: set[UUID] = set()
        self._undoable: portrait.Undoable | None = None
        self._in_review: str | None = None
        self._clicks = Clicks()
        self._calmly = Calmly(self._redraw)

    async def open(self, query: str) -> None:
        await follow(self.visitor, self._news)
        found, beside = await self._read()
        ui.page_title(f"{found.memory.type}:{found.memory.ref} · Memory Butler")
        self._bar = UndoBar(self.visitor, self._redraw, lambda done: self._focus(done.action))
        self._keyboard = Focus()
        self._doing = Doing(self.visitor, self._bar)
        way_back(found)
        with tag("div", "mb-memory") as self._all:
            self._head = tag("div", "mb-memory-head")
            with tag("div", "mb-stack"):
                self._sources = tag("div", "mb-stack")
                self._scores = Scores(self.visitor, found, query)
                self._history = tag("div", "mb-stack")
            with tag("div", "mb-stack"):
                self._decay = DecayCard()
                self._side = tag("div", "mb-stack")
        self._draw(found, beside)
        await self._scores.open()

    async def _read(self) -> tuple[Portrait, Beside]:
        async def looked(visit: Visit) -> Portrait:
            self._now = visit.butler.clock()
            return await look.look(visit.butler, self.kind, self.handle, visit.caller, bump=False)

        found = await self.visitor.ask("memory_get", looked)
        beside = await self.visitor.ask(
            "links", lambda visit: neighbourhood.beside(visit.butler, self.kind, self.handle, visit.caller)
        )
        self._undoable = await self._find_undoable(found) if self.visitor.may("memory_undo") else None
        self._in_review = await self._find_review(found) if isinstance(found.memory, Episode) else None
        self._watched = {found.memory.id, *(fact.id for fact in found.chain)}
        self._watched |= {one.other.id for one in beside.joined if one.other.id}
        return found, beside

    async def _find_review(self, found: Portrait) -> str | None:
        """Where the proposal is decided on that an episode is part of; empty for whoever may not."""
        wanted = found.memory.id
        deciding = await self.visitor.ask(
            "list_memories", lambda visit: review.deciding(visit.butler, [wanted], visit.caller)
        )
        if wanted not in deciding:
            return None
        return address(distilling.PATH, {"run": str(deciding[wanted])}) if self.visitor.may("runs") else ""

    async def _find_undoable(self, found: Portrait) -> portrait.Undoable | None:
        """The newest event, if the operation says that it can be taken back: with its group if that is small."""
        line = portrait.candidate(found.story)
        if line is None:
            return None
        for wanted in filter(None, (line.event.group_id, line.event.id)):
            changes = await self._would_undo(wanted)
            if changes:
                return portrait.Undoable(line.event.id, wanted, changes)
        return None

    async def _would_undo(self, wanted: UUID) -> int:
        return await self.visitor.ask(
            "memory_undo", lambda visit: undo.would_undo(visit.butler, wanted, visit.caller, most=TOGETHER)
        )

    async def _news(self, items: tuple[Activity, ...]) -> None:
        heard = (item.event for item in items if item.event.entity_id in self._watched)
        if any(not self._bar.is_own(event.request_id) for event in heard):
            await self._calmly()

    async def _redraw(self) -> None:
        try:
            found, beside = await self._read()
        except NotFound as problem:
            # An episode whose time was over while somebody looked at it.
            self._watched = set()
            self._all.clear()
            with self._all, tag("div", "mb-memory-head"):
                trouble(problem)
        else:
            self._draw(found, beside)

    def _draw(self, found: Portrait, beside: Beside) -> None:
        for part in (self._head, self._sources, self._history, self._side):
            part.clear()
        with self._head:
            self._draw_head(found)
        with self._sources:
            draw_sources(found, beside)
            if found.chain:
                draw_chain(found)
        with self._history:
            self._draw_story(found)
        self._decay.draw(found, self._now)
        with self._side:
            draw_glance(found, self._in_review)

    def _draw_head(self, found: Portrait) -> None:
        memory = found.memory
        with tag("section", "mb-card mb-hero", aria_label="The memory"):
            with tag("div", "mb-line"):
                for words, colour in portrait.chips(found):
                    chip(words, colour)
                tag("code", "mb-muted", text=f"{memory.type}:{memory.ref}")
            tag("h2", "mb-words", text=portrait.title_of(memory), dir="auto")
            tag("p", "mb-words mb-hero-words", text=text_of(memory.content), dir="auto", tabindex="0")
            if memory.tags:
                with tag("div", "mb-line"):
                    for one in memory.tags:
                        chip(f"#{one}")
            newer = portrait.replacement(found)
            if newer:
                with tag("p", "mb-note mb-note-warn"):
                    tag("span", text="There is a newer one: ")
                    tag("a", text=f"fact:{newer.ref}", href=memory_path(newer.type, newer.ref))
            with tag("p", "mb-outlook"):
                ui.icon("hourglass_bottom" if found.expires_at else "all_inclusive").props('aria-hidden="true"')
                tag("span", text=text_of(found.outlook))
            self._draw_actions(found)

    def _draw_actions(self, found: Portrait) -> None:
        memory = found.memory
        with tag("div", "mb-line mb-actions", role="group", aria_label="What you can do"):
            for action in acting.offered(self.visitor, memory):
                button = ui.button(action.label, icon=action.icon, color=None)
                button.props("outline no-caps dense padding='4px 12px'")
                button.props["data-act"] = action.name
                button.on("click", handled(self._started(action.name, memory)), ["detail"])
            with tag("a", "mb-quiet-link", href=address("/graph", {"center": f"{memory.type}:{memory.ref}"})):
                ui.icon("hub").props('aria-hidden="true"')
                tag("span", text="See it in the graph")

    def _started(self, name: str, memory: Memory) -> Handler:
        async def start(event: events.GenericEventArguments) -> None:
            with self._clicks.once(name, memory.id) as is_first:
                if is_first and not is_second_of_two(event) and await self._doing.do(name, memory):
                    await self._redraw()
                    self._focus(name)

        return start

    def _draw_story(self, found: Portrait) -> None:
        with tag("section", "mb-card"):
            tag("h2", text="What happened to it")
            listed = Entries(with_runs(portrait.story(found.story, self._undoable)), form="line")
            listed.on("act", handled(self._take_back))

    async def _take_back(self, event: events.GenericEventArguments) -> None:
        if (
            self._undoable is None
            or not isinstance(event.args, list)
            or event.args[1:] != [str(self._undoable.event_id)]
        ):
            return
        undo_id = self._undoable.undo_id
        with self._clicks.once("undo", undo_id) as is_first:
            if not is_first:
                return
            report = await acting.take_back(self.visitor, undo_id, request_id=self._bar.new_id())
            words = "Taken back" if report.undone else "That was taken back already."
            ui.notify(words, type="positive", position="bottom")
            await self._redraw()
            self._focus("")

    def _focus(self, action: str) -> None:
        """Back to what can be done, which is drawn anew with the rest."""
        self._keyboard.put([*buttons(".mb-actions", action), ".mb-actions button", ".mb-actions a"])
