"""Consolidation: what waits, what runs made of it, what they cost, what was given up; or one run, to be decided on."""

import asyncio
from dataclasses import replace
from functools import partial

from fastapi import Request
from nicegui import events, ui

from memory_butler.adapters.answering import Visit
from memory_butler.adapters.dashboard import charts, distilling
from memory_butler.adapters.dashboard.address import move_to, on_travel
from memory_butler.adapters.dashboard.calm import Calmly
from memory_butler.adapters.dashboard.distilling import PATH, View, view_from
from memory_butler.adapters.dashboard.distilling_parts import Letters, Runs
from memory_butler.adapters.dashboard.elements import Moment, props_of, tag, text_of
from memory_butler.adapters.dashboard.errands import Errand
from memory_butler.adapters.dashboard.handling import handled
from memory_butler.adapters.dashboard.one_run import OneRun
from memory_butler.adapters.dashboard.requeueing import tell_requeued
from memory_butler.adapters.dashboard.shell import every, follow, page
from memory_butler.adapters.dashboard.teaching import EXAMPLES, command
from memory_butler.adapters.dashboard.undoing import UndoBar
from memory_butler.adapters.dashboard.visitor import Visitor, new_request_id
from memory_butler.butler import Butler
from memory_butler.errors import MemoryButlerError
from memory_butler.models import Caller, Episode, MemoryType, RunReport
from memory_butler.models.listings import Page
from memory_butler.operations import backlog, browse, dead_letters, distil_now, ledger
from memory_butler.operations.ledger import CameTo, Ledger
from memory_butler.store.consolidation import Run

ERRAND = "consolidation"
RUNS, LETTERS = 15, 10
# A proposal that begins to wait writes nothing into the log, so the page looks by itself as well.
TICK_SECONDS, LOOK_EVERY = 1.0, 15
_STATES = [{"name": name, "label": label.capitalize()} for name, (label, _) in distilling.STATES.items()]
Parts = tuple[Ledger, tuple[Page[Run], list[CameTo]], Page[Episode]]


@page(PATH, "Consolidation")
async def consolidation(visitor: Visitor, request: Request) -> None:
    if not visitor.may("runs"):
        _for_administrators()
        return
    view = view_from(dict(request.query_params))
    if view.run:
        await OneRun(visitor, view.run).build()
    else:
        await Board(visitor, view).build()


class Board:
    """Everything but a single run."""

    def __init__(self, visitor: Visitor, view: View) -> None:
        self._visitor = visitor
        self._view = view
        self._drawn: object = None
        self._watches = False
        self._ticks = 0
        self._bar = UndoBar(visitor, self._refresh)

    async def build(self) -> None:
        await follow(self._visitor, Calmly(self._refresh))
        found = await self._read()
        with tag("div", "mb-stack"):
            self._teaching = tag("section", "mb-card mb-empty mb-teach")
            with self._teaching:
                tag("h2", text="There was nothing to distil yet")
                tag("p", text="Here episodes become facts and rules. Store one, or let an agent do it:")
                tag("pre", text=command(self._visitor.desk.settings, *EXAMPLES[MemoryType.EPISODE]))
            self._top = tag("div", "mb-grid mb-distil-top")
            # What wants to be put right comes first; where nothing does, it is out of the way.
            parts = (self._lay_out_letters, self._lay_out_runs)
            for lay_out in parts if found[2].items else reversed(parts):
                lay_out()
            self._cost = Cost()
        self._runs.on("filter", handled(self._on_filter))
        self._runs.on("turn", handled(self._on_turn_runs))
        self._letters.on("turn", handled(self._on_turn_letters))
        self._letters.on("requeue", handled(self._on_requeue))
        on_travel(self._on_travel)
        self._show(found)
        ui.run_javascript("document.getElementById(location.hash.slice(1))?.scrollIntoView()")
        every(self._visitor, TICK_SECONDS, self._tick)

    def _lay_out_runs(self) -> None:
        with tag("section", "mb-card", aria_label="Runs"):
            tag("h2", text="Runs")
            self._runs = Runs(states=_STATES, rows=[], butlers=[], butler="", state="", next="", later=False, empty="")

    def _lay_out_letters(self) -> None:
        with tag("section", "mb-card", aria_label="Given up", id=distilling.GIVEN_UP):
            tag("h2", text="Given up")
            self._letters = Letters(rows=[], next="", later=False, may=self._visitor.may("requeue"), busy=False)

    # --- reading ---

    async def _read(self) -> Parts:
        view, ask = self._view, self._visitor.ask

        async def runs(visit: Visit) -> tuple[Page[Run], list[CameTo]]:
            found = await browse.runs(
                visit.butler,
                visit.caller,
                only_butler=view.butler or None,
                state=view.state or None,
                limit=RUNS,
                cursor=view.runs or None,
            )
            came = await ledger.came_to(visit.butler, [one.id for one in found.items], visit.caller)
            return found, [came[one.id] for one in found.items]

        return await asyncio.gather(
            ask("runs", lambda visit: ledger.ledger(visit.butler, visit.caller)),
            ask("runs", runs),
            ask(
                "dead_letters",
                lambda visit: browse.dead_letters(
                    visit.butler, visit.caller, limit=LETTERS, cursor=view.letters or None
                ),
            ),
        )

    async def _refresh(self) -> None:
        self._show(await self._read())

    async def _tick(self) -> None:
        """Show how far distilling is, and look now and then for what nobody tells of."""
        errand = self._errand()
        self._ticks += 1
        ended = self._watches and not (errand and errand.is_running)
        if ended or self._ticks % LOOK_EVERY == 0:
            await self._refresh()
        elif self._watches:
            self._draw_top(self._ledger)
        if ended and errand:
            self._watches = False
            _tell(errand)

    # --- what a person does ---

    async def _on_filter(self, event: events.GenericEventArguments) -> None:
        given = event.args if isinstance(event.args, dict) else {}
        wanted = {name: str(given.get(name, ""))[:100] for name in ("butler", "state")}
        await self._go(replace(view_from(wanted), letters=self._view.letters))

    async def _on_turn_runs(self, event: events.GenericEventArguments) -> None:
        await self._go(replace(self._view, runs=str(event.args or "")[:2000]))

    async def _on_turn_letters(self, event: events.GenericEventArguments) -> None:
        await self._go(replace(self._view, letters=str(event.args or "")[:2000]))

    async def _go(self, view: View) -> None:
        before, self._view = self._view, view
        try:
            await self._refresh()
        except MemoryButlerError:
            self._view = before
            raise
        move_to(PATH, view.in_address())

    async def _on_travel(self, query: dict[str, str]) -> None:
        self._view = view_from(query)
        await self._refresh()

    async def _on_requeue(self, event: events.GenericEventArguments) -> None:
        handles = [str(one)[:100] for one in event.args][:LETTERS] if isinstance(event.args, list) else []
        request_id = self._bar.new_id()
        done = await self._visitor.ask(
            "requeue",
            lambda visit: dead_letters.requeue(visit.butler, handles, visit.caller),
            request_id=request_id,
        )
        await tell_requeued(self._visitor, self._bar, done, request_id)
        await self._refresh()

    async def _on_now(self) -> None:
        """Begin to distil in the background: that takes longer than a click may."""

        async def begin(visit: Visit) -> None:
            self._visitor.desk.errands.begin(
                visit.caller.principal.tenant, ERRAND, partial(_distil, visit.butler, visit.caller)
            )

        await self._visitor.ask("consolidate", begin, request_id=new_request_id())
        self._draw_top(self._ledger)

    # --- what is shown ---

    def _errand(self) -> Errand | None:
        return self._visitor.desk.errands.of(self._visitor.principal.tenant, ERRAND)

    def _show(self, found: Parts) -> None:
        ledger_now, (runs, came), letters = found
        view = self._view
        self._draw_top(ledger_now)
        is_narrowed = bool(view.butler or view.state or view.runs)
        open_ends = ledger_now.waiting or ledger_now.claimed or ledger_now.proposals or ledger_now.dead_letters
        self._teaching.set_visibility(not (runs.items or is_narrowed or open_ends))
        outcomes = {run.id: one for run, one in zip(runs.items, came, strict=True)}
        props_of(
            self._runs,
            rows=distilling.run_rows(runs.items, outcomes),
            butlers=list(ledger_now.butlers),
            butler=view.butler,
            state=view.state,
            next=runs.cursor or "",
            later=bool(view.runs),
            empty="No run is like this." if view.butler or view.state else "There was no run yet.",
        )
        props_of(
            self._letters,
            rows=distilling.letter_rows(letters.items),
            next=letters.cursor or "",
            later=bool(view.letters),
        )

    def _draw_top(self, found: Ledger) -> None:
        """The tiles and what it costs, if anything about them is new."""
        errand = self._errand()
        running = errand if errand and errand.is_running else None
        self._watches = self._watches or running is not None
        self._ledger = found
        now = (found, (running.done, running.total) if running else None)
        if now == self._drawn:
            return
        self._drawn = now
        self._top.clear()
        with self._top:
            self._waiting_tile(found, running)
            _next_tile(found)
            _open_tile(found)
        self._cost.show(found)

    def _waiting_tile(self, found: Ledger, running: Errand | None) -> None:
        with tag("section", "mb-card mb-distil-tile", aria_label="Waiting"):
            tag("h2", text="Waiting")
            tag("p", "mb-distil-figure mb-number", text=f"{found.waiting:,}")
            with tag("p", "mb-muted mb-small"):
                if found.oldest:
                    tag("span", text="The oldest came ")
                    Moment(found.oldest, form="ago")
                else:
                    tag("span", text="Nothing waits.")
            if running:
                _progress(running)
            elif self._visitor.may("consolidate") and found.works_by_itself and found.waiting:
                with tag("div", "mb-distil-act"):
                    button = tag("button", "mb-button", text="Distil now", type="button")
                    button.on("click", handled(self._on_now))


async def _distil(butler: Butler, caller: Caller, errand: Errand) -> str:
    errand.total = sum((await backlog.backlogs(butler, caller)).values())
    reports: list[RunReport] = []

    def tell(report: RunReport) -> None:
        reports.append(report)
        errand.done = min(errand.total, distil_now.taken(reports))

    await distil_now.distil_now(butler, caller, progress=tell)
    return distilling.came_to_words(reports)


def _tell(errand: Errand) -> None:
    """What came of it, once it is over."""
    if errand.problem:
        ui.notify(text_of(errand.problem), type="negative", position="bottom", timeout=8000, close_button="Close")
    elif errand.came_to:
        ui.notify(text_of(errand.came_to), type="positive", position="bottom", timeout=8000)


def _progress(errand: Errand) -> None:
    share = 100 * errand.done / errand.total if errand.total else 0
    with tag("div", "mb-distil-act", role="status"):
        tag("p", "mb-small", text=f"Distilling: {errand.done:,} of {errand.total:,}")
        with tag("div", "mb-bar"):
            tag("span", "mb-part-fit").style(f"width:{share:.1f}%")


def _next_tile(found: Ledger) -> None:
    with tag("section", "mb-card mb-distil-tile", aria_label="Next run"):
        tag("h2", text="Next run")
        with tag("p", "mb-distil-figure"):
            if found.is_due:
                tag("span", text="Due now")
            else:
                Moment(found.next_run, form="ago", otherwise="–")
        tag("p", "mb-muted mb-small", text=text_of(distilling.distiller_words(found)))
        rows = distilling.backlog_rows(found)
        if len(rows) > 1:
            with tag("ul", "mb-distil-list mb-small"):
                for row in rows[: distilling.SHOWN]:
                    with tag("li"):
                        tag("span", "mb-grow", text=row["butler"], dir="auto")
                        tag("span", "mb-number", text=f"{row['waiting']:,} {row['later'] and '(' + row['later'] + ')'}")


def _open_tile(found: Ledger) -> None:
    with tag("section", "mb-card mb-distil-tile", aria_label="Open ends"):
        tag("h2", text="Open ends")
        with tag("ul", "mb-distil-list"):
            for number, words, where in distilling.open_ends(found):
                with tag("li"):
                    tag("b", "mb-number", text=f"{number:,}")
                    if number:
                        tag("a", text=words, href=where)
                    else:
                        tag("span", "mb-muted", text=words)


class Cost:
    """What it costs, day by day. Its chart stays where it is once it is there, and only its figures change."""

    def __init__(self) -> None:
        self._shown: object = None
        self._chart: ui.echart | None = None
        with tag("section", "mb-card", aria_label="Cost"):
            tag("h2", text="Cost")
            self._words = tag("div")
            self._box = tag("div")

    def show(self, found: Ledger) -> None:
        shown = (found.days, found.daily_tokens, found.daily_dollars)
        if shown == self._shown:
            return
        self._shown = shown
        said = distilling.spent_words(found.days)
        self._words.clear()
        with self._words:
            tag("p", "mb-muted", text=f"{said}." if said else f"Nothing was spent in {len(found.days)} days.")
            for words, share in distilling.budget_lines(found):
                with tag("div", "mb-distil-budget"):
                    tag("span", "mb-small", text=words)
                    with tag("div", "mb-bar", role="img", aria_label=words):
                        tag("span", "mb-part-fit" if share < 100 else "mb-over").style(f"width:{share}%")
        if self._chart is not None:
            charts.redraw(self._chart, distilling.cost_options(found))
        elif said:
            with self._box:
                label = "What consolidation cost, day by day"
                self._chart = charts.chart(distilling.cost_options(found), height=190, label=label)


def _for_administrators() -> None:
    with tag("section", "mb-card mb-empty"):
        tag("h2", text="Only administrators look after consolidation")
        tag("p", text="Here episodes become facts and rules. What came of it you find under Facts and Rules;")
        tag("p", text="to see or decide on runs, log in with a token of an administrator.")
