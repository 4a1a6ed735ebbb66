"""System page: jobs, health checks, versions, search index, database and API tokens."""

from collections.abc import Awaitable, Callable
from datetime import datetime

from fastapi import Request
from nicegui import ui
from nicegui.element import Element

from memory_butler.adapters.dashboard.actions.error_handling import handle_errors
from memory_butler.adapters.dashboard.actions.error_texts import user_advice, user_message
from memory_butler.adapters.dashboard.components.data_tables import CollapsibleCard, DataTable
from memory_butler.adapters.dashboard.components.elements import Timestamp, card, chip, tag, text_tag, visible_text
from memory_butler.adapters.dashboard.components.page_frame import page, refresh_every
from memory_butler.adapters.dashboard.components.token_panel import TokenPanel
from memory_butler.adapters.dashboard.server.page_context import PageContext
from memory_butler.adapters.dashboard.view_models import system_tables
from memory_butler.adapters.dashboard.view_models.phrases import count_text
from memory_butler.adapters.doctor.findings import Finding
from memory_butler.adapters.doctor.running_server import examine_server
from memory_butler.adapters.mcp.tool_base import CallContext
from memory_butler.errors import MemoryButlerError, PermissionDenied
from memory_butler.metrics.registry import program_version
from memory_butler.models import Role
from memory_butler.operations.lifecycle import job_status
from memory_butler.operations.system import objectives, stats, system_info
from memory_butler.operations.system.objectives import USUAL_DAYS

REFRESH_SECONDS = 5.0
JOBS = ("Job", "Butler", "Status", "Last run", ">Duration", "Next run", "Note")
POSTURE = ("Type", ">Passages", "Search", "Status")
LEVELS = ("Objective", "Goal", ">Measured", ">Good", ">Of", ">Error budget left", "Status")
DATABASE = ("Table", ">Rows (est.)", ">Size", ">Indexes")


@page("/system", "System")
async def system(context: PageContext, request: Request) -> None:
    if not context.may("system_info"):
        await _draw_summary(context)
        return
    system_page = SystemPage(context)
    await system_page.draw()
    dashboard = TokenPanel(context, request)
    await dashboard.draw()
    refresh_every(context, REFRESH_SECONDS, system_page.refresh)
    # Slow parts load after the page is visible.
    ui.timer(0.05, handle_errors(system_page.load_details), once=True)


async def _draw_summary(context: PageContext) -> None:
    """The page for users who are not admins: job status and embedding model."""
    found = await context.run("memory_stats", stats.stats)
    with tag("div", "mb-stack"):
        with card("Jobs"):
            for job, status in found["jobs"].items():
                with tag("div", "mb-sys-line"):
                    tag("strong", text=job)
                    chip(status["status"], "good" if status["status"] == "ok" else "warn")
        with card("Search index"):
            tag("p", text=f"Embedding model: {found['embedding_model']}.")
        role = f"You are a {context.principal.role} here." if context.principal.role is Role.READER else ""
        with card("Administrators see more", "mb-empty"):
            tag("p", text=f"{role} Job details, health checks, sizes and tokens are for administrators.".strip())


class SystemPage:
    """The page for admins. Fast parts are drawn at once, slow ones filled in later."""

    def __init__(self, context: PageContext) -> None:
        self._context = context
        self._jobs = job_status.WorstJobs()
        self._findings: list[Finding] | None = None

    async def draw(self) -> None:
        with tag("div", "mb-stack"):
            self._status = text_tag("p", "mb-note mb-sys-status", role="status")
            description = "Scheduled jobs, run by the server or by memory-butler work."
            with CollapsibleCard("Jobs", description) as self._jobs_card:
                self._job_rows = DataTable(JOBS, label="Jobs", empty="No jobs: no butler has stored anything yet.")
                self._more_jobs = text_tag("p", "mb-muted mb-small")
            description = f"Objectives of the service over the last {USUAL_DAYS} days, all tenants together."
            with CollapsibleCard("Service levels", description) as self._levels_card:
                self._levels = tag("div", "mb-sys-loading")
            with tag("div", "mb-sys-columns"):
                with CollapsibleCard("Health", "Results of memory-butler doctor on this server.") as self._health_card:
                    self._health_card.classes("mb-sys-health")
                    self._health = tag("div", "mb-sys-loading")
                    with tag("div", "mb-line"):
                        ui.button("Check again", on_click=handle_errors(self._check_again)).props(
                            "outline no-caps dense"
                        )
                        self._checked = tag("span", "mb-muted mb-small")
                with tag("div", "mb-stack"):
                    with CollapsibleCard("Versions") as versions_card:
                        versions_card.set_note(program_version())
                        self._versions = tag("dl", "mb-sys-pairs")
                    with CollapsibleCard("Search index", "Embeddings and vector indexes.") as self._index_card:
                        self._index = tag("div", "mb-sys-loading")
            with CollapsibleCard("Database", "Size per table, all tenants together.") as self._database_card:
                self._database = tag("div", "mb-sys-loading")
        await self.refresh()
        await self._show_versions()

    async def refresh(self) -> None:
        async def load(call: CallContext) -> None:
            self._jobs = await job_status.worst(call.resources, call.caller, limit=system_tables.MAX_JOBS)
            self._job_rows.show(system_tables.job_rows(self._jobs.jobs, call.resources.clock()))
            self._more_jobs.set_text(system_tables.more_jobs_text(self._jobs))
            self._more_jobs.set_visibility(self._jobs.total > len(self._jobs.jobs))

        await self._context.call("jobs", load)
        self._update_status()

    def _update_status(self) -> None:
        found = system_tables.overall_status(self._jobs, self._findings)
        self._jobs_card.set_note(*system_tables.jobs_note(self._jobs))
        if self._findings is not None:
            self._health_card.set_note(*system_tables.health_note(self._findings))
        text = found.text if self._findings is not None or found.tone != "good" else "Jobs are on time."
        self._status.classes(replace=f"mb-note mb-sys-status mb-sys-{found.tone}")
        self._status.set_text(text)

    async def _show_versions(self) -> None:
        found = await self._context.run("system_info", system_info.versions)
        versions = {
            "Memory Butler": program_version(),
            "Schema": f"revision {found.revision}",
            "PostgreSQL": found.postgresql,
            "pgvector": found.pgvector or "not installed",
            "Python": found.python,
        }
        with self._versions:
            for name, version in versions.items():
                tag("dt", text=name)
                tag("dd", "mb-number", text=version)

    async def load_details(self) -> None:
        """Load the slow parts, each on its own, so that a failing one does not affect the others."""
        await self._fill(self._levels, self._show_levels)
        await self._fill(self._index, self._show_index)
        await self._fill(self._database, self._show_database)
        await self._fill(self._health, self._show_health)
        self._update_status()

    async def _fill(self, container: Element, show: Callable[[], Awaitable[None]]) -> None:
        try:
            await show()
        except MemoryButlerError as problem:
            container.clear()
            with container:
                is_denied = isinstance(problem, PermissionDenied)
                tag("p", "mb-muted" if is_denied else "mb-note mb-note-warn", text=visible_text(user_message(problem)))
                if advice := user_advice(problem):
                    tag("p", "mb-muted mb-small", text=visible_text(advice))

    async def _show_levels(self) -> None:
        try:
            found = await self._context.run("system_info", objectives.levels)
        except PermissionDenied:
            # The service is not this administrator's.
            self._levels_card.set_visibility(False)
            return
        self._levels_card.set_note(*system_tables.levels_note(found))
        self._levels.clear()
        with self._levels:
            DataTable(LEVELS, label="Service levels").show(system_tables.level_rows(found))

    async def _show_index(self) -> None:
        coverage = await self._context.run("system_info", system_info.coverage)
        posture = await self._context.run("system_info", system_info.vector_index_status)
        self._index_card.set_note(f"{coverage.share:.0%}", "good" if coverage.share == 1 else "warn")
        self._index.clear()
        with self._index:
            tag("p", text=f"{coverage.model}, {coverage.dimensions} dimensions.")
            with tag("div", "mb-sys-share", role="img", aria_label=system_tables.coverage_text(coverage)):
                tag("i").style(f"width:{100 * coverage.share:.2f}%")
            tag("p", "mb-small", text=system_tables.coverage_text(coverage))
            advice = system_tables.coverage_advice(coverage)
            if advice:
                tag("p", "mb-note mb-note-warn mb-small", text=advice)
            tag("p", "mb-muted mb-small", text=system_tables.posture_text(posture))
            with_size = any(one.bytes is not None for one in posture.standings)
            with_tenant = any(one.tenant != self._context.principal.tenant for one in posture.standings)
            rows = DataTable(
                (*POSTURE, ">Size") if with_size else POSTURE,
                label="Indexes",
                empty="No index needed: exact search is fast enough.",
            )
            lines = system_tables.posture_rows(posture.standings, with_tenant=with_tenant, with_size=with_size)
            rows.show(lines)
            if posture.due:
                changes = count_text(len(posture.due), "index change")
                hint = f"{changes} pending: run memory-butler index migrate. It does not block reads or writes."
                tag("p", "mb-note mb-note-warn mb-small", text=hint)

    async def _show_database(self) -> None:
        found = await self._context.run("system_info", system_info.sizes)
        self._database_card.set_note(system_tables.size_text(found.ours_bytes))
        self._database.clear()
        with self._database:
            ours, whole = system_tables.size_text(found.ours_bytes), system_tables.size_text(found.whole_bytes)
            tag("p", text=f"Memory Butler uses {ours} of the database's {whole}.")
            DataTable(DATABASE, label="Tables").show(system_tables.size_rows(found))

    async def _show_health(self) -> None:
        async def load(call: CallContext) -> tuple[list[Finding], datetime]:
            system_info.require_all_tenants(call.resources, call.caller)
            return await examine_server(call.resources.settings, call.resources.embedder), call.resources.clock()

        found, at = await self._context.call("system_info", load)
        self._findings = found
        self._health.clear()
        with self._health:
            DataTable(("", "Check", "Finding"), label="Checks").show(system_tables.finding_rows(found))
        self._checked.clear()
        with self._checked:
            tag("span", text="Checked ")
            Timestamp(at, format="short")

    async def _check_again(self) -> None:
        await self._fill(self._health, self._show_health)
        self._update_status()
