"""Consolidation: backlog, runs, cost and failed episodes; or one run with its review."""

import asyncio
from dataclasses import asdict, replace
from functools import partial

from fastapi import Request
from nicegui import events, ui

from memory_butler.adapters.dashboard.actions.background_tasks import BackgroundTask
from memory_butler.adapters.dashboard.actions.error_handling import handle_errors
from memory_butler.adapters.dashboard.actions.throttle import Throttle
from memory_butler.adapters.dashboard.components import charts
from memory_butler.adapters.dashboard.components.elements import Timestamp, card, tag, visible_text
from memory_butler.adapters.dashboard.components.empty_states import EXAMPLES, shell_command
from memory_butler.adapters.dashboard.components.page_frame import button, page, refresh_every, subscribe
from memory_butler.adapters.dashboard.components.run_panel import RunPanel, notify_requeued
from memory_butler.adapters.dashboard.components.undo_bar import UndoBar
from memory_butler.adapters.dashboard.components.vue_components import DeadLetters, RunTable
from memory_butler.adapters.dashboard.server.page_context import PageContext, new_request_id
from memory_butler.adapters.dashboard.server.page_url import on_popstate, push_url
from memory_butler.adapters.dashboard.view_models import consolidation_rows
from memory_butler.adapters.mcp.tool_base import CallContext
from memory_butler.errors import MemoryButlerError
from memory_butler.models import Caller, Episode, MemoryType, RunReport
from memory_butler.models.listings import Page
from memory_butler.operations.browse import listings
from memory_butler.operations.consolidation import backlog, dead_letters, overview, run_now
from memory_butler.resources import Resources
from memory_butler.store.consolidation.runs import Run

TASK_KIND = "consolidation"
RUNS, DEAD_LETTERS = 15, 10
# A run that starts to wait for review writes no event, so the page also polls.
TICK_SECONDS, REFRESH_TICKS = 1.0, 15
_STATES = [{"name": name, "label": label.capitalize()} for name, (label, _) in consolidation_rows.STATES.items()]
PageData = tuple[overview.ConsolidationOverview, tuple[Page[Run], list[overview.RunOutcomes]], Page[Episode]]


@page(consolidation_rows.PATH, "Consolidation")
async def consolidation(context: PageContext, request: Request) -> None:
    if not context.may("runs"):
        _draw_admins_only()
        return
    query = consolidation_rows.query_from(dict(request.query_params))
    if query.run:
        await RunPanel(context, query.run).build()
    else:
        await ConsolidationPage(context, query).build()


class ConsolidationPage:
    """The page without a run in the URL."""

    def __init__(self, context: PageContext, query: consolidation_rows.ConsolidationQuery) -> None:
        self._context = context
        self._query = query
        self._last_drawn: object = None
        self._is_watching = False
        self._ticks = 0
        self._bar = UndoBar(context, self._refresh)

    async def build(self) -> None:
        await subscribe(self._context, Throttle(self._refresh))
        data = await self._read()
        with tag("div", "mb-stack"):
            self._empty_state = tag("section", "mb-card mb-empty mb-getting-started")
            with self._empty_state:
                tag("h2", text="Nothing to consolidate yet")
                tag(
                    "p",
                    text="Consolidation turns episodes into facts and rules. Store an episode, or let an agent do it:",
                )
                tag("pre", text=shell_command(self._context.dashboard.settings, *EXAMPLES[MemoryType.EPISODE]))
            self._top = tag("div", "mb-grid mb-consolidation-top")
            # Failed episodes come first; without any, their card moves to the end.
            sections = (self._draw_dead_letters, self._draw_runs)
            for draw in sections if data[2].items else reversed(sections):
                draw()
            self._cost = CostCard()
        self._runs.on("filter", handle_errors(self._on_filter))
        self._runs.on("page", handle_errors(partial(self._on_page, "runs")))
        self._dead_letters.on("page", handle_errors(partial(self._on_page, "letters")))
        self._dead_letters.on("requeue", handle_errors(self._on_requeue))
        on_popstate(self._on_popstate)
        self._show(data)
        ui.run_javascript("document.getElementById(location.hash.slice(1))?.scrollIntoView()")
        refresh_every(self._context, TICK_SECONDS, self._tick)

    def _draw_runs(self) -> None:
        with card("Runs", aria_label="Runs"):
            self._runs = RunTable(
                states=_STATES, rows=[], butlers=[], butler="", state="", next="", has_newer=False, empty=""
            )

    def _draw_dead_letters(self) -> None:
        with card("Failed episodes", aria_label="Failed episodes", id=consolidation_rows.DEAD_LETTERS_ID):
            self._dead_letters = DeadLetters(
                rows=[], next="", has_previous=False, can_requeue=self._context.may("requeue"), busy=False
            )

    # --- reading ---

    async def _read(self) -> PageData:
        query, run = self._query, self._context.run

        async def runs(call: CallContext) -> tuple[Page[Run], list[overview.RunOutcomes]]:
            page = await listings.runs(
                call.resources,
                call.caller,
                only_butler=query.butler or None,
                state=query.state or None,
                limit=RUNS,
                cursor=query.runs or None,
            )
            outcomes = await overview.run_outcomes(call.resources, [run.id for run in page.items], call.caller)
            return page, [outcomes[run.id] for run in page.items]

        return await asyncio.gather(
            run("runs", overview.overview),
            self._context.call("runs", runs),
            run("dead_letters", listings.dead_letters, limit=DEAD_LETTERS, cursor=query.letters or None),
        )

    async def _refresh(self) -> None:
        self._show(await self._read())

    async def _tick(self) -> None:
        """Show the progress of a running task, and poll for changes that write no event."""
        task = self._task()
        self._ticks += 1
        ended = self._is_watching and not (task and task.is_running)
        if ended or self._ticks % REFRESH_TICKS == 0:
            await self._refresh()
        elif self._is_watching:
            self._draw_top(self._ledger)
        if ended and task:
            self._is_watching = False
            _notify_finished(task)

    # --- events ---

    async def _on_filter(self, event: events.GenericEventArguments) -> None:
        args = event.args if isinstance(event.args, dict) else {}
        filters = {name: str(args.get(name, ""))[:100] for name in ("butler", "state")}
        await self._go(replace(consolidation_rows.query_from(filters), letters=self._query.letters))

    async def _on_page(self, cursor: str, event: events.GenericEventArguments) -> None:
        await self._go(replace(self._query, **{cursor: str(event.args or "")[:2000]}))

    async def _go(self, query: consolidation_rows.ConsolidationQuery) -> None:
        before, self._query = self._query, query
        try:
            await self._refresh()
        except MemoryButlerError:
            self._query = before
            raise
        push_url(consolidation_rows.PATH, asdict(query))

    async def _on_popstate(self, query: dict[str, str]) -> None:
        self._query = consolidation_rows.query_from(query)
        await self._refresh()

    async def _on_requeue(self, event: events.GenericEventArguments) -> None:
        handles = [str(one)[:100] for one in event.args][:DEAD_LETTERS] if isinstance(event.args, list) else []
        request_id = self._bar.new_request_id()
        requeued = await self._context.run("requeue", dead_letters.requeue, handles, request_id=request_id)
        await notify_requeued(self._context, self._bar, requeued, request_id)
        await self._refresh()

    async def _on_consolidate(self) -> None:
        """Start consolidation in the background: it takes longer than a click may."""

        async def start(call: CallContext) -> None:
            self._context.dashboard.background_tasks.start(
                call.caller.principal.tenant, TASK_KIND, partial(_consolidate, call.resources, call.caller)
            )

        await self._context.call("consolidate", start, request_id=new_request_id())
        self._draw_top(self._ledger)

    # --- drawing ---

    def _task(self) -> BackgroundTask | None:
        return self._context.dashboard.background_tasks.get(self._context.principal.tenant, TASK_KIND)

    def _show(self, data: PageData) -> None:
        ledger, (runs, outcomes), dead_letter_page = data
        query = self._query
        self._draw_top(ledger)
        is_filtered = bool(query.butler or query.state or query.runs)
        has_work = ledger.waiting or ledger.claimed or ledger.proposals or ledger.dead_letters
        self._empty_state.set_visibility(not (runs.items or is_filtered or has_work))
        outcome_by_run = {run.id: one for run, one in zip(runs.items, outcomes, strict=True)}
        self._runs.set_props(
            rows=consolidation_rows.run_rows(runs.items, outcome_by_run),
            butlers=list(ledger.butlers),
            butler=query.butler,
            state=query.state,
            next=runs.cursor or "",
            has_newer=bool(query.runs),
            empty="No matching runs." if query.butler or query.state else "No runs yet.",
        )
        self._dead_letters.set_props(
            rows=consolidation_rows.dead_letter_rows(dead_letter_page.items),
            next=dead_letter_page.cursor or "",
            has_previous=bool(query.letters),
        )

    def _draw_top(self, ledger: overview.ConsolidationOverview) -> None:
        """Redraw tiles and cost if they have changed."""
        task = self._task()
        running = task if task and task.is_running else None
        self._is_watching = self._is_watching or running is not None
        self._ledger = ledger
        now = (ledger, (running.done, running.total) if running else None)
        if now == self._last_drawn:
            return
        self._last_drawn = now
        self._top.clear()
        with self._top:
            self._waiting_tile(ledger, running)
            _next_tile(ledger)
            _open_tile(ledger)
        self._cost.show(ledger)

    def _waiting_tile(self, ledger: overview.ConsolidationOverview, running: BackgroundTask | None) -> None:
        with card("Waiting", "mb-consolidation-tile", aria_label="Waiting"):
            tag("p", "mb-consolidation-figure mb-number", text=f"{ledger.waiting:,}")
            with tag("p", "mb-muted mb-small"):
                if ledger.oldest:
                    tag("span", text="Oldest: ")
                    Timestamp(ledger.oldest, format="ago")
                else:
                    tag("span", text="No episodes are waiting.")
            if running:
                _progress(running)
            elif self._context.may("consolidate") and ledger.works_by_itself and ledger.waiting:
                with tag("div", "mb-consolidation-act"):
                    button("Consolidate now", "mb-button", self._on_consolidate)


async def _consolidate(resources: Resources, caller: Caller, task: BackgroundTask) -> str:
    task.total = sum((await backlog.backlogs(resources, caller)).values())
    reports: list[RunReport] = []

    def on_progress(report: RunReport) -> None:
        reports.append(report)
        task.done = min(task.total, run_now.episode_count(reports))

    await run_now.consolidate_now(resources, caller, progress=on_progress)
    return consolidation_rows.summary_text(reports)


def _notify_finished(task: BackgroundTask) -> None:
    if task.problem:
        ui.notify(visible_text(task.problem), type="negative", position="bottom", timeout=8000, close_button="Close")
    elif task.summary:
        ui.notify(visible_text(task.summary), type="positive", position="bottom", timeout=8000)


def _progress(task: BackgroundTask) -> None:
    share = 100 * task.done / task.total if task.total else 0
    with tag("div", "mb-consolidation-act", role="status"):
        tag("p", "mb-small", text=f"Processed {task.done:,} of {task.total:,}")
        with tag("div", "mb-bar"):
            tag("span", "mb-part-fit").style(f"width:{share:.1f}%")


def _next_tile(ledger: overview.ConsolidationOverview) -> None:
    with card("Next run", "mb-consolidation-tile", aria_label="Next run"):
        with tag("p", "mb-consolidation-figure"):
            if ledger.is_due:
                tag("span", text="Due now")
            else:
                Timestamp(ledger.next_run, format="ago", placeholder="–")
        tag("p", "mb-muted mb-small", text=visible_text(consolidation_rows.distiller_text(ledger)))
        rows = consolidation_rows.backlog_rows(ledger)
        if len(rows) > 1:
            with tag("ul", "mb-consolidation-list mb-small"):
                for row in rows[: consolidation_rows.MAX_LINES]:
                    with tag("li"):
                        tag("span", "mb-grow", text=row["butler"], dir="auto")
                        tag("span", "mb-number", text=f"{row['waiting']:,} {row['later'] and '(' + row['later'] + ')'}")


def _open_tile(ledger: overview.ConsolidationOverview) -> None:
    with card("To do", "mb-consolidation-tile", aria_label="To do"), tag("ul", "mb-consolidation-list"):
        for number, label, href in consolidation_rows.todo_counts(ledger):
            with tag("li"):
                tag("b", "mb-number", text=f"{number:,}")
                if number:
                    tag("a", text=label, href=href)
                else:
                    tag("span", "mb-muted", text=label)


class CostCard:
    """Cost per day. The chart element stays; only its data changes."""

    def __init__(self) -> None:
        self._shown: object = None
        self._chart: ui.echart | None = None
        with card("Cost", aria_label="Cost"):
            self._words = tag("div")
            self._box = tag("div")

    def show(self, ledger: overview.ConsolidationOverview) -> None:
        shown = (ledger.days, ledger.daily_tokens, ledger.daily_dollars)
        if shown == self._shown:
            return
        self._shown = shown
        spent = consolidation_rows.spent_text(ledger.days)
        self._words.clear()
        with self._words:
            tag("p", "mb-muted", text=f"{spent}." if spent else f"No cost in {len(ledger.days)} days.")
            for words, share in consolidation_rows.budget_lines(ledger):
                with tag("div", "mb-consolidation-budget"):
                    tag("span", "mb-small", text=words)
                    with tag("div", "mb-bar", role="img", aria_label=words):
                        tag("span", "mb-part-fit" if share < 100 else "mb-over").style(f"width:{share}%")
        if self._chart is not None:
            charts.redraw(self._chart, consolidation_rows.cost_chart(ledger))
        elif spent:
            with self._box:
                label = "Cost of consolidation per day"
                self._chart = charts.chart(consolidation_rows.cost_chart(ledger), height=190, label=label)


def _draw_admins_only() -> None:
    with card("Consolidation is for administrators", "mb-empty"):
        tag("p", text="Consolidation turns episodes into facts and rules, which you find under Facts and Rules.")
        tag("p", text="To see or review runs, log in with an administrator's token.")
