"""What happened, as a story; and how memory stood on any day of it."""

from collections.abc import Mapping
from datetime import UTC, date

from fastapi import Request
from nicegui import events, ui

from memory_butler.adapters.answering import Visit
from memory_butler.adapters.dashboard import tale, telling
from memory_butler.adapters.dashboard.acting import Done
from memory_butler.adapters.dashboard.address import move_to, on_travel, refuse_unknown
from memory_butler.adapters.dashboard.calm import Calmly
from memory_butler.adapters.dashboard.distilling import undo_lines
from memory_butler.adapters.dashboard.elements import props_of, say, tag
from memory_butler.adapters.dashboard.glance_parts import LookBack, Story, Tale
from memory_butler.adapters.dashboard.handling import handled
from memory_butler.adapters.dashboard.making_sure import MakingSure
from memory_butler.adapters.dashboard.saying import counted
from memory_butler.adapters.dashboard.shell import follow, page, trouble
from memory_butler.adapters.dashboard.teaching import EXAMPLES, command
from memory_butler.adapters.dashboard.undoing import UndoBar
from memory_butler.adapters.dashboard.visitor import LoginOver, Visitor
from memory_butler.errors import MemoryButlerError
from memory_butler.models import MemoryType, UndoReport
from memory_butler.models.days import DayStanding
from memory_butler.models.history import Entry, Timeline
from memory_butler.operations import days, timeline, undo

PATH = telling.TIMELINE
# So many entries a page holds; who wants to see more is helped by narrowing it down.
MOST = 600


@page(PATH, "Timeline")
async def shown(visitor: Visitor, request: Request) -> None:
    await TimelinePage(visitor, request.query_params).open()


class TimelinePage:
    def __init__(self, visitor: Visitor, query: Mapping[str, str]) -> None:
        self._visitor = visitor
        self._wanted = tale.read(query)
        self._unknown = tale.unknown(query)
        self._governs = visitor.principal.role.governs
        self._bar = UndoBar(visitor, self._again)
        self._is_sure = MakingSure()
        self._entries: list[Entry] = []
        self._cursor: str | None = None
        self._asked = 0

    async def open(self) -> None:
        await follow(self._visitor, Calmly(self._news))
        with tag("div", "mb-stack"):
            if self._governs:
                self._back = LookBack()
                self._back.on("day", handled(self._on_day))
                self._back.on("ask", handled(self._on_ask))
            self._filters = Tale(self._shown_filters(), tale.actions(), tale.kinds(governs=self._governs))
            self._filters.on("choose", handled(self._on_choose))
            with tag("div", "mb-story-room"):
                self._new = tag("button", "mb-news mb-story-new", type="button", aria_live="polite")
                self._new.on("click", handled(self._on_new))
                self._new.set_visibility(False)
                self._trouble = tag("div")
                self._story = Story([])
                self._story.on("undo", handled(self._on_undo))
                self._nothing = tag("div", "mb-card mb-empty")
                with tag("div", "mb-pager"):
                    self._earlier = ui.button("Earlier", on_click=handled(self._on_earlier), icon="expand_more")
                    self._earlier.props("flat no-caps")
        on_travel(self._on_travel)
        await self._draw()

    # --- what a person does ---

    async def _on_choose(self, event: events.GenericEventArguments) -> None:
        given = event.args if isinstance(event.args, dict) else {}
        kept: tale.Wanted = {name: self._wanted[name] for name in ("day", "q") if name in self._wanted}
        await self._go(tale.read({**{name: given.get(name) for name in tale.FILTERS}, **kept}))

    async def _on_day(self, event: events.GenericEventArguments) -> None:
        await self._go(tale.read({**self._wanted, "day": event.args or None, "q": None}))

    async def _on_ask(self, event: events.GenericEventArguments) -> None:
        await self._go(tale.read({**self._wanted, "q": event.args}))

    async def _on_travel(self, query: dict[str, str]) -> None:
        self._wanted, self._unknown = tale.read(query), tale.unknown(query)
        await self._draw()

    async def _go(self, wanted: tale.Wanted) -> None:
        if wanted != self._wanted or self._unknown:
            self._wanted, self._unknown = wanted, ()
            move_to(PATH, {name: wanted.get(name) for name in tale.NAMES})
            await self._draw()

    async def _on_new(self) -> None:
        await self._tell()
        ui.run_javascript("document.querySelector('.mb-story-room').scrollIntoView({block: 'start'})")

    async def _on_earlier(self) -> None:
        cursor = self._cursor
        found = await self._read(cursor)
        # Whoever clicks twice, or meanwhile asks for something else, gets nothing twice.
        if cursor == self._cursor:
            self._entries += found.entries
            self._cursor = found.cursor
            self._show()

    # --- taking back ---

    async def _on_undo(self, event: events.GenericEventArguments) -> None:
        entry = next((one for one in self._entries if one.place == event.args), None)
        if entry is None or entry.undo_id is None:
            ui.notify("That was taken back already.", position="bottom")
            return
        skips = False
        if entry.together > 1:
            plan = await self._undo(entry, dry_run=True)
            if not plan.undone:
                ui.notify("Nothing of it can be taken back now.", type="warning", position="bottom")
                return
            back, stays = undo_lines(plan)
            if not await self._is_sure(f"Undo {counted(plan.undone, 'change')}?", back, stays, button="Undo"):
                return
            skips = bool(plan.skipped)
        report = await self._undo(entry, skip_changed=skips)
        self._bar.offer(Done(f"Undone: {counted(report.undone, 'change')}", None, report.undo_id))
        await self._again()

    async def _undo(self, entry: Entry, *, dry_run: bool = False, skip_changed: bool = False) -> UndoReport:
        assert entry.undo_id
        wanted = entry.undo_id
        return await self._visitor.ask(
            "memory_undo",
            lambda visit: undo.undo(visit.butler, wanted, visit.caller, dry_run=dry_run, skip_changed=skip_changed),
            request_id=self._bar.new_id(),
        )

    # --- what is shown ---

    async def _draw(self) -> None:
        """Show what the address asks for, of several wishes the last; what is wrong with it is said in its place."""
        self._asked += 1
        mine = self._asked
        self._trouble.clear()
        props_of(self._filters, wanted=self._shown_filters())
        try:
            await self._tell()
            if self._governs and mine == self._asked:
                await self._look_back()
        except LoginOver:
            raise
        except MemoryButlerError as problem:
            if mine != self._asked:
                return
            self._entries, self._cursor = [], None
            self._show()
            self._nothing.set_visibility(False)
            with self._trouble:
                trouble(problem)

    async def _tell(self, count: int = timeline.USUAL) -> None:
        mine = self._asked
        entries, cursor = await self._read_newest(count)
        if mine == self._asked:
            self._entries, self._cursor = entries, cursor
            self._show()

    async def _again(self) -> None:
        """The same again, as it stands by now, and as much of it: nobody loses their place by taking something back."""
        await self._tell(max(len(self._entries), timeline.USUAL))

    async def _read_newest(self, count: int) -> tuple[list[Entry], str | None]:
        """So many of the newest entries, in no more reads than a person needs to page to the end of what is held."""
        entries: list[Entry] = []
        cursor: str | None = None
        for _ in range(MOST // timeline.USUAL):
            found = await self._read(cursor, min(count - len(entries), timeline.MOST))
            entries += found.entries
            cursor = found.cursor
            if cursor is None or len(entries) >= count:
                break
        return entries, cursor

    async def _read(self, cursor: str | None, limit: int = timeline.USUAL) -> Timeline:
        refuse_unknown(self._unknown, tale.NAMES)
        chosen = tale.filter_of(self._wanted)
        return await self._visitor.ask(
            "memory_activity_stream",
            lambda visit: timeline.timeline(visit.butler, chosen, visit.caller, limit=limit, cursor=cursor),
        )

    async def _news(self) -> None:
        """Say how much has come; what somebody reads stays where it is."""
        if "day" in self._wanted:
            return
        top = self._entries[0].place if self._entries else 0
        fresh = [one for one in (await self._read(None)).entries if one.place > top]
        if not self._entries:
            await self._tell()
        elif fresh:
            more = "+" * (len(fresh) == timeline.USUAL)
            say(self._new, f"{len(fresh)}{more} new")
            self._new.set_visibility(True)

    def _show(self) -> None:
        props_of(self._story, entries=telling.story(self._entries))
        self._new.set_visibility(False)
        self._earlier.set_visibility(self._cursor is not None and len(self._entries) < MOST)
        self._nothing.set_visibility(not self._entries)
        self._nothing.clear()
        with self._nothing:
            narrowed = any(name in self._wanted for name in (*tale.FILTERS, "day"))
            tag("h2", text="Nothing of the kind" if narrowed else "Nothing has happened yet")
            if self._cursor is not None:
                tag("p", text="Nothing was found so far. There is more of the log to look through: Earlier goes on.")
            elif narrowed:
                tag("p", text="Nothing that happened fits what is chosen above.")
            else:
                tag("p", text="Everything that is stored, confirmed, corrected, forgotten or fades is told here.")
                tag("pre", text=command(self._visitor.desk.settings, *EXAMPLES[MemoryType.FACT]))

    def _shown_filters(self) -> dict[str, str]:
        return {name: self._wanted.get(name, "") for name in tale.FILTERS}

    async def _look_back(self) -> None:
        mine, wanted = self._asked, self._wanted.get("day")

        async def stood(visit: Visit) -> tuple[date, DayStanding]:
            today = visit.butler.clock().astimezone(UTC).date()
            day = days.parse_day(wanted) if wanted else today
            return today, await days.standing(visit.butler, day, visit.caller)

        today, found = await self._visitor.ask("memory_stats", stood)
        if mine != self._asked:
            return
        is_today = found.day == today
        props_of(
            self._back,
            first=found.first_day.isoformat(),
            last=today.isoformat(),
            day="" if is_today else found.day.isoformat(),
            kinds=tale.types(found),
            since=tale.since(found),
            query=self._wanted.get("q", ""),
            rows=[],
            notes=[],
            asked=False,
            busy=False,
        )
        words = self._wanted.get("q")
        if not words or is_today:
            return
        props_of(self._back, busy=True)
        try:
            then = await self._visitor.ask(
                "memory_search", lambda visit: days.search_then(visit.butler, words, found.moment, visit.caller)
            )
            if mine == self._asked:
                props_of(self._back, rows=tale.rows(then), notes=list(then.degraded), asked=True)
        finally:
            if mine == self._asked:
                props_of(self._back, busy=False)
