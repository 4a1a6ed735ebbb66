"""Whether the machinery is healthy: jobs, checks, versions, the search index, the database, and who has tokens."""

from collections.abc import Awaitable, Callable
from datetime import datetime

from fastapi import Request
from nicegui import ui
from nicegui.element import Element

from memory_butler.adapters.answering import Visit
from memory_butler.adapters.dashboard import standing
from memory_butler.adapters.dashboard.complaints import advice_of, message_of
from memory_butler.adapters.dashboard.elements import Moment, chip, say, tag, text_of
from memory_butler.adapters.dashboard.handling import handled
from memory_butler.adapters.dashboard.shell import every, page
from memory_butler.adapters.dashboard.tabular import Fold, Rows
from memory_butler.adapters.dashboard.token_desk import TokenDesk
from memory_butler.adapters.dashboard.visitor import LoginOver, Visitor
from memory_butler.adapters.doctor import Finding
from memory_butler.adapters.doctor_server import examine_server
from memory_butler.adapters.mcp import program_version
from memory_butler.errors import MemoryButlerError, PermissionDenied
from memory_butler.models import Role
from memory_butler.operations import machinery, report, upkeep, vector_index

REFRESH_SECONDS = 5.0
JOBS = ("Job", "Butler", "Stands", "Last run", ">Took", "Next run", "Note")
POSTURE = ("Type", ">Passages", "Searched", "Stands")
DATABASE = ("Table", ">Rows, about", ">Size", ">of it indexes")


@page("/system", "System")
async def system(visitor: Visitor, request: Request) -> None:
    if not visitor.may("machinery"):
        await _in_short(visitor)
        return
    board = Board(visitor)
    await board.draw()
    desk = TokenDesk(visitor, request)
    await desk.draw()
    every(visitor, REFRESH_SECONDS, board.refresh)
    # What takes its time comes when the rest is there to see.
    ui.timer(0.05, handled(board.look_closer), once=True)


async def _in_short(visitor: Visitor) -> None:
    """What anybody may know: whether upkeep keeps up, and what memories are found by."""
    found = await visitor.ask("memory_stats", lambda visit: report.report(visit.butler, caller=visit.caller))
    with tag("div", "mb-stack"):
        with tag("section", "mb-card"):
            tag("h2", text="Jobs")
            for job, stands in found["jobs"].items():
                with tag("div", "mb-sys-line"):
                    tag("strong", text=job)
                    chip(stands["status"], "good" if stands["status"] == "ok" else "warn")
        with tag("section", "mb-card"):
            tag("h2", text="Search index")
            tag("p", text=f"Memories are indexed with {found['embedding_model']}.")
        allowed = f"You are a {visitor.principal.role} here." if visitor.principal.role is Role.READER else ""
        with tag("section", "mb-card mb-empty"):
            tag("h2", text="There is more for administrators")
            tag("p", text=f"{allowed} Runs and their notes, health checks, sizes and tokens are theirs to see.".strip())


class Board:
    """The page for those who govern: what is there at once, and what is filled in when it is known."""

    def __init__(self, visitor: Visitor) -> None:
        self._visitor = visitor
        self._jobs = upkeep.Worst()
        self._findings: list[Finding] | None = None

    async def draw(self) -> None:
        with tag("div", "mb-stack"):
            self._verdict = tag("p", "mb-note mb-sys-verdict", role="status")
            about = "What runs by itself, and when. A server and memory-butler work look after it."
            with Fold("Jobs", about) as self._jobs_card:
                self._job_rows = Rows(
                    JOBS, label="Jobs", empty="There is nothing to look after: no butler has stored anything yet."
                )
                self._more_jobs = tag("p", "mb-muted mb-small")
            with tag("div", "mb-sys-two"):
                with Fold("Health", "What a check-up finds on this server.") as self._health_card:
                    self._health_card.classes("mb-sys-health")
                    self._health = tag("div", "mb-sys-later")
                    with tag("div", "mb-line"):
                        ui.button("Check again", on_click=handled(self._check_again)).props("outline no-caps dense")
                        self._checked = tag("span", "mb-muted mb-small")
                with tag("div", "mb-stack"):
                    with Fold("Versions") as versions_card:
                        versions_card.say(program_version())
                        self._versions = tag("dl", "mb-sys-pairs")
                    with Fold("Search index", "How memories are found by meaning.") as self._index_card:
                        self._index = tag("div", "mb-sys-later")
            with Fold("Database", "What it keeps, table by table; all tenants together.") as self._database_card:
                self._database = tag("div", "mb-sys-later")
        await self.refresh()
        await self._show_versions()

    async def refresh(self) -> None:
        """What changes by itself."""

        async def asked(visit: Visit) -> None:
            self._jobs = await upkeep.worst(visit.butler, visit.caller, limit=standing.MOST_JOBS)
            self._job_rows.show(standing.job_lines(self._jobs.jobs, visit.butler.clock()))
            say(self._more_jobs, standing.more_jobs(self._jobs))
            self._more_jobs.set_visibility(self._jobs.total > len(self._jobs.jobs))

        await self._visitor.ask("jobs", asked)
        self._judge()

    def _judge(self) -> None:
        found = standing.verdict(self._jobs, self._findings)
        self._jobs_card.say(*standing.jobs_note(self._jobs))
        if self._findings is not None:
            self._health_card.say(*standing.health_note(self._findings))
        words = found.words if self._findings is not None or found.tone != "good" else "The jobs are on time."
        self._verdict.classes(replace=f"mb-note mb-sys-verdict mb-sys-{found.tone}")
        say(self._verdict, words)

    async def _show_versions(self) -> None:
        found = await self._visitor.ask("machinery", lambda visit: machinery.versions(visit.butler, visit.caller))
        said = {
            "Memory Butler": program_version(),
            "Schema": f"revision {found.revision}",
            "PostgreSQL": found.postgresql,
            "pgvector": found.pgvector or "not there",
            "Python": found.python,
        }
        with self._versions:
            for name, version in said.items():
                tag("dt", text=name)
                tag("dd", "mb-number", text=version)

    async def look_closer(self) -> None:
        """What takes its time: each part on its own, so that one that fails does not take the others along."""
        await self._fill(self._index, self._show_index)
        await self._fill(self._database, self._show_database)
        await self._fill(self._health, self._show_health)
        self._judge()

    async def _fill(self, place: Element, show: Callable[[], Awaitable[None]]) -> None:
        try:
            await show()
        except LoginOver:
            raise
        except MemoryButlerError as problem:
            place.clear()
            with place:
                quiet = isinstance(problem, PermissionDenied)
                tag("p", "mb-muted" if quiet else "mb-note mb-note-warn", text=text_of(message_of(problem)))
                if advice := advice_of(problem):
                    tag("p", "mb-muted mb-small", text=text_of(advice))

    async def _show_index(self) -> None:
        async def asked(visit: Visit) -> tuple[machinery.Coverage, vector_index.Status]:
            coverage = await machinery.coverage(visit.butler, visit.caller)
            return coverage, await machinery.posture(visit.butler, visit.caller)

        coverage, posture = await self._visitor.ask("machinery", asked)
        self._index_card.say(f"{coverage.share:.0%}", "good" if coverage.share == 1 else "warn")
        self._index.clear()
        with self._index:
            tag("p", text=f"{coverage.model}, {coverage.dimensions} numbers a text.")
            with tag("div", "mb-sys-share", role="img", aria_label=standing.coverage_words(coverage)):
                tag("i").style(f"width:{100 * coverage.share:.2f}%")
            tag("p", "mb-small", text=standing.coverage_words(coverage))
            advice = standing.coverage_advice(coverage)
            if advice:
                tag("p", "mb-note mb-note-warn mb-small", text=advice)
            tag("p", "mb-muted mb-small", text=standing.posture_words(posture))
            with_size = any(one.bytes is not None for one in posture.standings)
            with_tenant = any(one.tenant != self._visitor.principal.tenant for one in posture.standings)
            rows = Rows(
                (*POSTURE, ">Size") if with_size else POSTURE,
                label="Indexes",
                empty="All of it is searched exactly: it is small enough.",
            )
            lines = standing.posture_lines(posture.standings, with_tenant=with_tenant, with_size=with_size)
            rows.show(lines)
            if posture.due:
                due = f"{len(posture.due)} to do: run memory-butler index migrate. Reads and writes go on meanwhile."
                tag("p", "mb-note mb-note-warn mb-small", text=due)

    async def _show_database(self) -> None:
        found = await self._visitor.ask("machinery", lambda visit: machinery.sizes(visit.butler, visit.caller))
        self._database_card.say(standing.size(found.ours_bytes))
        self._database.clear()
        with self._database:
            ours = f"{standing.size(found.ours_bytes)} of {standing.size(found.whole_bytes)} in the database is memory."
            tag("p", text=ours)
            Rows(DATABASE, label="Tables").show(standing.size_lines(found))

    async def _show_health(self) -> None:
        async def asked(visit: Visit) -> tuple[list[Finding], datetime]:
            machinery.require_all(visit.butler, visit.caller)
            return await examine_server(visit.butler.settings, visit.butler.embedder), visit.butler.clock()

        found, at = await self._visitor.ask("machinery", asked)
        self._findings = found
        self._health.clear()
        with self._health:
            Rows(("", "Check", "Finding"), label="Checks").show(standing.finding_lines(found))
        self._checked.clear()
        with self._checked:
            tag("span", text="Checked ")
            Moment(at, form="short")

    async def _check_again(self) -> None:
        await self._fill(self._health, self._show_health)
        self._judge()
