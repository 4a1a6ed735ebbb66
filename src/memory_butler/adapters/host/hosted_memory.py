"""The memory of one butler inside a host: its store, tools, hooks and worker."""

import asyncio
import hashlib
import logging
from collections.abc import Coroutine
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar

from memory_butler.adapters.host.config import GROUPS, MemoryConfig, settings_for
from memory_butler.adapters.host.host_database import host_connection
from memory_butler.adapters.host.sessions import UNAVAILABLE, EndedSession, SessionEnd, SessionStart
from memory_butler.adapters.lazy_resources import LazyResources
from memory_butler.adapters.mcp.catalog import offered_groups
from memory_butler.adapters.mcp.tool_base import MemoryTool, within
from memory_butler.adapters.telemetry.instrumentation import instrument_call
from memory_butler.ai.embedding import Embedder
from memory_butler.ai.session_notes import SessionNotes
from memory_butler.errors import Conflict, InternalError, MemoryButlerError
from memory_butler.jobs.job_run import FinishedRun
from memory_butler.jobs.worker import STOP_INSIDE_SECONDS, Worker
from memory_butler.models import BriefRequest, Caller, Lineage, NewEpisode, Principal, Role
from memory_butler.operations.briefing import brief
from memory_butler.operations.lifecycle import job_status
from memory_butler.operations.trust.protection import limit_reading
from memory_butler.operations.writing import remember
from memory_butler.policy.agent_sessions.observations import SessionEpisode, episode_of_exchanges, episode_of_summary
from memory_butler.policy.lifecycle.schedule import JobState
from memory_butler.policy.memories.validation import LABEL_CHARACTERS
from memory_butler.resources import Resources, open_resources

# Timeouts, which bound the delay of the host's own startup and shutdown.
START_SECONDS = 20.0
CLOSE_SECONDS = 10.0
NOTES_SECONDS = 2.0
HEALTH_SECONDS = 2.0
NEEDS_STORE = frozenset({"before_session", "after_session", "store"})
NOTHING_TO_STORE = "the session has nothing to remember"

log = logging.getLogger(__name__)
Answer = TypeVar("Answer")


class HostedMemory:
    """One butler's memory. It shares nothing with other butlers."""

    def __init__(self, name: str, config: MemoryConfig, db: object, embedder: Embedder | None) -> None:
        self.name = name
        self.db = db
        self.config = config
        self.connection = host_connection(db)
        self.settings = settings_for(config, self.connection, name)
        self._embedder = embedder
        self.lazy = LazyResources(
            self.settings, self._open, worker=self._run_worker if self.settings.upkeep.worker else None
        )
        self._principal = Principal(self.settings.tenant, name, self._role())
        self._notes = SessionNotes(self.settings.consolidation.model) if config.session.episode == "model" else None
        # Tasks in which a model writes the notes of a session.
        self._pending_notes: dict[asyncio.Task[SessionEnd], EndedSession] = {}
        # Error message of each action whose last attempt failed.
        self.troubles: dict[str, str] = {}
        if self._notes is not None and self.settings.consolidation.model.name is None:
            self.troubles["model"] = (
                "no model is set (consolidation.model.name): the session's summary is stored instead"
            )
            log.error("the memory of %s: %s", name, self.troubles["model"])

    def _open(self) -> AbstractAsyncContextManager[Resources]:
        return open_resources(self.settings, embedder=self._embedder)

    def tools(self) -> list[MemoryTool]:
        """Return the tools of the configured groups that the butler may use."""
        offered = offered_groups(self.settings)
        return [
            tool
            for name in self.config.tools
            if GROUPS[name] in offered
            for tool in GROUPS[name](self.lazy, self._principal).tools()
            if self._role() in tool.declaration.roles
        ]

    def _role(self) -> Role:
        return Role.ADMIN if self.config.administrator else Role.AGENT

    async def start(self) -> None:
        """Open the store and load the model, so that the first session need not wait for them.

        After the timeout the host continues, and they are opened in the background.
        """
        self.lazy.begin()
        await self._attempt("start", START_SECONDS, self._warm_up())

    async def _warm_up(self) -> None:
        resources = await self._open_resources(self.settings.deadline_seconds)
        await resources.embedder.start()

    async def close(self) -> None:
        if self._pending_notes:
            await asyncio.wait(self._pending_notes, timeout=NOTES_SECONDS)
        if self._pending_notes:
            await self._cancel_notes()
        await self._attempt("stop", CLOSE_SECONDS, self.lazy.close())

    async def _cancel_notes(self) -> None:
        """Store the summaries of sessions whose notes are not finished, and log an error."""
        sessions = dict(self._pending_notes)
        log.error("the memory of %s stops before the notes of %d sessions are written", self.name, len(sessions))
        for task in sessions:
            task.cancel()
        await asyncio.wait(sessions, timeout=NOTES_SECONDS)
        await asyncio.gather(*(self._store(session, _summary_episode(session)) for session in sessions.values()))

    async def before(self, trigger_prompt: str, lineage: Lineage) -> SessionStart:
        """Return the briefing for a new session."""
        with instrument_call("memory_context", lineage.request_id, "search_memory") as call:
            result = await self._attempt("before_session", self._deadline, self._brief(trigger_prompt, lineage))
            call.outcome = result.error_class if isinstance(result, MemoryButlerError) else call.outcome
        if isinstance(result, MemoryButlerError):
            return SessionStart(UNAVAILABLE, degraded=True, reason=_reason(result))
        return result

    async def after(self, session: EndedSession) -> SessionEnd:
        """Store the episode of a finished session, unless it is to be skipped."""
        if reason := session.skip_reason(self.config.session):
            return SessionEnd("none", reason=reason)
        if self._notes is not None:
            # A model takes longer than a host should wait.
            task = asyncio.create_task(self._store_notes(self._notes, session), name="memory-butler-notes")
            self._pending_notes[task] = session
            task.add_done_callback(self._pending_notes.pop)
            return SessionEnd("pending")
        return await self._store(session, _choose_episode(self.config, session))

    async def settle(self) -> None:
        """Wait until all pending notes are stored."""
        if self._pending_notes:
            await asyncio.wait(self._pending_notes)

    async def run_due(self) -> list[FinishedRun]:
        """Run all jobs that are due, for hosts with their own scheduler. A failure is in the report of its run."""
        resources = await self._open_resources(self.settings.deadline_seconds)
        runs: list[FinishedRun] = []

        def on_run(run: FinishedRun) -> None:
            self._record_run(run)
            runs.append(run)

        await Worker(resources, on_run=on_run).once(asyncio.Event())
        return runs

    async def health(self) -> dict[str, Any]:
        """Return the status of the store, the model and the jobs, and the errors that persist."""
        store = await self._attempt("store", HEALTH_SECONDS, self._reach_store())
        model = jobs = None
        if not isinstance(store, MemoryButlerError):
            model = await self._attempt("embedding model", HEALTH_SECONDS, store.embedder.start())
            jobs = await self._attempt("timetable", HEALTH_SECONDS, job_status.status_summary(store))
        is_down = any(isinstance(result, MemoryButlerError) for result in (store, model, jobs))
        job_reports = {} if jobs is None or isinstance(jobs, MemoryButlerError) else jobs
        # A job that has never run counts only once it is overdue.
        has_late_job = any(job["status"] == JobState.FAILING or "overdue_hours" in job for job in job_reports.values())
        return {
            "butler": self.name,
            "status": "down" if is_down else "degraded" if self.troubles or has_late_job else "ok",
            "schema": self.settings.db_schema,
            "upkeep": {"worker": "inside" if self.lazy.worker else "elsewhere", "jobs": job_reports},
            "troubles": {**self.troubles},
        }

    async def _reach_store(self) -> Resources:
        """Open a transaction, which also checks that the schema has this program's revision."""
        resources = await self._open_resources(HEALTH_SECONDS)
        async with resources.database.read(resources.settings.tenant):
            return resources

    @property
    def _deadline(self) -> float:
        return self.config.session.deadline_seconds

    async def _open_resources(self, seconds: float) -> Resources:
        # Less than the deadline, so that the error names the store that does not open.
        return await self.lazy.get(seconds * 0.8)

    async def _brief(self, trigger_prompt: str, lineage: Lineage) -> SessionStart:
        resources = await self._open_resources(self._deadline)
        limit_reading(resources, self._principal)
        request = BriefRequest(trigger_prompt=trigger_prompt, butler=self.name)
        briefing = await brief.brief(resources, request, Caller(self._principal, lineage, "host"))
        missing = ", ".join(briefing.receipt.degraded)
        return SessionStart(briefing.text, bool(missing), missing or None, briefing.receipt.used_tokens)

    async def _store_notes(self, notes: SessionNotes, session: EndedSession) -> SessionEnd:
        """Store the model's notes of a session; if the model fails, log it and store the session's summary."""
        text = await self._attempt(
            "model", self.settings.consolidation.model.seconds, notes.of(session.exchanges, session.summary)
        )
        if isinstance(text, MemoryButlerError):
            return await self._store(session, _summary_episode(session))
        return await self._store(session, episode_of_summary(text, session.all_tools))

    async def _store(self, session: EndedSession, episode: SessionEpisode | None) -> SessionEnd:
        if episode is None:
            return SessionEnd("none", reason=NOTHING_TO_STORE)
        with instrument_call("memory_store_episode", session.lineage.request_id, "create_memory") as call:
            result = await self._attempt("after_session", self._deadline, self._remember(session, episode))
            call.outcome = result.error_class if isinstance(result, MemoryButlerError) else call.outcome
        if isinstance(result, MemoryButlerError):
            return SessionEnd("none", degraded=True, reason=_reason(result))
        return result

    async def _remember(self, session: EndedSession, episode: SessionEpisode) -> SessionEnd:
        resources = await self._open_resources(self._deadline)
        new = NewEpisode(
            content=episode.content,
            butler=self.name,
            session_id=session.session_id,
            importance=self.config.session.importance,
            tags=episode.tags,
            # A repeated call, for example after a crash, stores no second episode.
            idempotency_key=_key(session.session_id) if session.session_id else None,
        )
        try:
            stored = await remember.episode(resources, new, Caller(self._principal, session.lineage))
        except Conflict:
            return SessionEnd("none", reason="the episode of this session is already stored")
        return SessionEnd("stored", f"{stored.type}:{stored.ref}")

    async def _run_worker(self, resources: Resources, stop: asyncio.Event) -> None:
        await Worker(resources, concurrency=1, stop_seconds=STOP_INSIDE_SECONDS, on_run=self._record_run).run(stop)

    def _record_run(self, run: FinishedRun) -> None:
        action = f"upkeep {run.job}"
        if run.outcome == job_status.FAILED:
            self.troubles[action] = str(run.report.get("error", run.outcome))
            log.error("the memory of %s: %s failed: %s", self.name, action, self.troubles[action])
        else:
            self.troubles.pop(action, None)

    async def _attempt(
        self, action: str, seconds: float, work: Coroutine[Any, Any, Answer]
    ) -> Answer | MemoryButlerError:
        """Return the result of `work`, or its error. Of consecutive expected failures only the first is logged."""
        try:
            answer = await within(seconds, work)
        except MemoryButlerError as problem:
            failed = problem
            if action not in self.troubles:
                log.error("the memory of %s: %s failed: %s", self.name, action, problem.message)
        except Exception:
            # Boundary of a hook: the host's session continues whatever happens.
            failed = InternalError()
            log.exception("the memory of %s: %s failed", self.name, action)
        else:
            if action in NEEDS_STORE:
                self.troubles.pop("start", None)
            if self.troubles.pop(action, None):
                log.info("the memory of %s: %s works again", self.name, action)
            return answer
        self.troubles[action] = failed.message
        return failed


def _choose_episode(config: MemoryConfig, session: EndedSession) -> SessionEpisode | None:
    if config.session.episode == "extract" and session.exchanges:
        return episode_of_exchanges(session.exchanges)
    return _summary_episode(session)


def _summary_episode(session: EndedSession) -> SessionEpisode | None:
    return episode_of_summary(session.summary, session.all_tools)


def _reason(problem: MemoryButlerError) -> str:
    return f"{problem.error_class}: {problem.message}"


def _key(session_id: str) -> str:
    key = f"session:{session_id}"
    return key if len(key) <= LABEL_CHARACTERS else f"session:{hashlib.sha256(session_id.encode()).hexdigest()}"
