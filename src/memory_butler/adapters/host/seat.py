"""The memory of one butler inside a host: its store, its tools, its hooks and its upkeep."""

import asyncio
import hashlib
import logging
from collections.abc import Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar

from memory_butler.adapters.answering import MemoryTool, within
from memory_butler.adapters.host.config import GROUPS, MemoryConfig, settings_for
from memory_butler.adapters.host.handles import place_of
from memory_butler.adapters.host.sessions import UNAVAILABLE, Ended, SessionEnd, SessionStart
from memory_butler.adapters.opening import LateButler
from memory_butler.adapters.tools_consolidation import ConsolidationTools, is_offered
from memory_butler.ai.batching import Vectors
from memory_butler.ai.embedding import Embedder, EmbeddingVersion
from memory_butler.ai.session_notes import SessionNotes
from memory_butler.butler import Butler, open_butler
from memory_butler.errors import Conflict, InternalError, MemoryButlerError
from memory_butler.jobs.record import Ran
from memory_butler.jobs.work import STOP_INSIDE_SECONDS, Upkeep
from memory_butler.models import BriefRequest, Caller, Lineage, NewEpisode, Principal, Role
from memory_butler.operations import brief, remember, upkeep
from memory_butler.policy.admission import LABEL_CHARACTERS
from memory_butler.policy.roles import ALLOWED
from memory_butler.policy.schedule import Standing
from memory_butler.policy.session_episode import SessionEpisode, episode_of_exchanges, episode_of_summary

# How long the host's own start and end may be held up by ours.
START_SECONDS = 20.0
CLOSE_SECONDS = 10.0
NOTES_SECONDS = 2.0
HEALTH_SECONDS = 2.0
NEEDS_STORE = frozenset({"before_session", "after_session", "store"})
NOTHING = "nothing in it is worth remembering"

log = logging.getLogger(__name__)
Answer = TypeVar("Answer")


class _Lent:
    """An embedder of the host's, which outlives the stores that use it."""

    def __init__(self, lender: Embedder) -> None:
        self._lender = lender

    @property
    def version(self) -> EmbeddingVersion:
        return self._lender.version

    async def start(self) -> None:
        await self._lender.start()

    async def embed(self, texts: Sequence[str]) -> Vectors:
        return await self._lender.embed(texts)

    async def embed_query(self, text: str) -> Vectors:
        return await self._lender.embed_query(text)

    async def close(self) -> None:
        """It is the host's."""


class Seat:
    """One butler's memory. Nothing in it is shared with another's."""

    def __init__(self, name: str, config: MemoryConfig, db: object, embedder: Embedder | None) -> None:
        self.name = name
        self.db = db
        self.config = config
        self.place = place_of(db)
        self.settings = settings_for(config, self.place, name)
        self._embedder = embedder
        self.late = LateButler(
            self.settings, self._open, companion=self._look_after if self.settings.upkeep.worker else None
        )
        self._principal = Principal(self.settings.tenant, name, Role.AGENT)
        self._notes = SessionNotes(self.settings.consolidation.model) if config.session.episode == "model" else None
        # The sessions that a model still takes notes of.
        self._asking: dict[asyncio.Task[SessionEnd], Ended] = {}
        # What went wrong and has not gone right since, by what was tried.
        self.troubles: dict[str, str] = {}
        if self._notes is not None and self.settings.consolidation.model.name is None:
            self.troubles["model"] = "no model is set (consolidation.model.name): sessions leave their summary instead"
            log.error("the memory of %s: %s", name, self.troubles["model"])

    def _open(self) -> AbstractAsyncContextManager[Butler]:
        return open_butler(self.settings, embedder=_Lent(self._embedder) if self._embedder else None)

    def tools(self) -> list[MemoryTool]:
        """The tools of the chosen groups; those that no agent may use are left out."""
        boxes = [GROUPS[group] for group in self.config.tools]
        if not is_offered(self.settings):
            boxes = [box for box in boxes if box is not ConsolidationTools]
        return [
            MemoryTool.within(self.settings.deadline_seconds, function, hints)
            for box in boxes
            for function, hints in box(self.late, self._principal).tools()
            if Role.AGENT in ALLOWED.get(function.__name__, ())
        ]

    async def start(self) -> None:
        """Open the store and load the model, so that the first session need not wait for them. If they are not there in
        time, the host goes on without, and they come later."""
        self.late.begin()
        await self._tried("start", START_SECONDS, self._ready())

    async def _ready(self) -> None:
        butler = await self._opened(self.settings.deadline_seconds)
        await butler.embedder.start()

    async def close(self) -> None:
        if self._asking:
            await asyncio.wait(self._asking, timeout=NOTES_SECONDS)
        if self._asking:
            await self._stop_asking()
        await self._tried("stop", CLOSE_SECONDS, self.late.close())

    async def _stop_asking(self) -> None:
        """Sessions whose notes are not there leave their summary instead, and not silently."""
        sessions = dict(self._asking)
        log.error("the memory of %s stops before the model has noted %d sessions", self.name, len(sessions))
        for task in sessions:
            task.cancel()
        await asyncio.wait(sessions, timeout=NOTES_SECONDS)
        await asyncio.gather(*(self._kept(one, _summary_of(one)) for one in sessions.values()))

    async def before(self, trigger_prompt: str, lineage: Lineage) -> SessionStart:
        """The block to begin a session with."""
        found = await self._tried("before_session", self._deadline, self._brief(trigger_prompt, lineage))
        if isinstance(found, MemoryButlerError):
            return SessionStart(UNAVAILABLE, degraded=True, reason=_reason(found))
        return found

    async def after(self, ended: Ended) -> SessionEnd:
        """Keep what a session leaves behind, if it is to leave anything."""
        if why := ended.leaves_nothing(self.config.session):
            return SessionEnd("none", reason=why)
        if self._notes is not None:
            # A model takes longer than a host should wait.
            task = asyncio.create_task(self._after_asking(self._notes, ended), name="memory-butler-notes")
            self._asking[task] = ended
            task.add_done_callback(self._asking.pop)
            return SessionEnd("pending")
        return await self._kept(ended, _chosen(self.config, ended))

    async def settle(self) -> None:
        """Wait for the notes that a model still writes."""
        if self._asking:
            await asyncio.wait(self._asking)

    async def run_due(self) -> list[Ran]:
        """Do all upkeep that is due now, for hosts that keep their own timetable. A failure is in its report."""
        butler = await self._opened(self.settings.deadline_seconds)
        ran: list[Ran] = []

        def told(one: Ran) -> None:
            self._told(one)
            ran.append(one)

        await Upkeep(butler, tell=told).once(asyncio.Event())
        return ran

    async def health(self) -> dict[str, Any]:
        """How the memory of this butler stands: the store, the model, the jobs, and what went wrong and still does."""
        store = await self._tried("store", HEALTH_SECONDS, self._reach_store())
        model = jobs = None
        if not isinstance(store, MemoryButlerError):
            model = await self._tried("embedding model", HEALTH_SECONDS, store.embedder.start())
            jobs = await self._tried("timetable", HEALTH_SECONDS, upkeep.standings_in_short(store))
        is_down = any(isinstance(found, MemoryButlerError) for found in (store, model, jobs))
        standings = {} if jobs is None or isinstance(jobs, MemoryButlerError) else jobs
        # A job that has never run is a matter of concern once it should have.
        late = any(one["status"] == Standing.FAILING or "overdue_hours" in one for one in standings.values())
        return {
            "butler": self.name,
            "status": "down" if is_down else "degraded" if self.troubles or late else "ok",
            "schema": self.settings.db_schema,
            "upkeep": {"worker": "inside" if self.late.companion else "elsewhere", "jobs": standings},
            "troubles": {**self.troubles},
        }

    async def _reach_store(self) -> Butler:
        """Open a transaction: the gate also checks that the schema is of this program's revision."""
        butler = await self._opened(HEALTH_SECONDS)
        async with butler.database.read(butler.settings.tenant):
            return butler

    @property
    def _deadline(self) -> float:
        return self.config.session.deadline_seconds

    async def _opened(self, seconds: float) -> Butler:
        # Less than the deadline, so that a store which does not open is named as the reason.
        return await self.late.get(seconds * 0.8)

    async def _brief(self, trigger_prompt: str, lineage: Lineage) -> SessionStart:
        butler = await self._opened(self._deadline)
        request = BriefRequest(trigger_prompt=trigger_prompt, butler=self.name)
        found = await brief.brief(butler, request, Caller(self._principal, lineage))
        missing = ", ".join(found.receipt.degraded)
        return SessionStart(found.text, bool(missing), missing or None, found.receipt.used_tokens)

    async def _after_asking(self, notes: SessionNotes, ended: Ended) -> SessionEnd:
        """What a model notes of a session; if it cannot be asked, the session's own summary, and not silently."""
        noted = await self._tried(
            "model", self.settings.consolidation.model.seconds, notes.of(ended.exchanges, ended.summary)
        )
        if isinstance(noted, MemoryButlerError):
            return await self._kept(ended, _summary_of(ended))
        return await self._kept(ended, episode_of_summary(noted, ended.all_tools))

    async def _kept(self, ended: Ended, episode: SessionEpisode | None) -> SessionEnd:
        if episode is None:
            return SessionEnd("none", reason=NOTHING)
        done = await self._tried("after_session", self._deadline, self._remember(ended, episode))
        if isinstance(done, MemoryButlerError):
            return SessionEnd("none", degraded=True, reason=_reason(done))
        return done

    async def _remember(self, ended: Ended, episode: SessionEpisode) -> SessionEnd:
        butler = await self._opened(self._deadline)
        new = NewEpisode(
            content=episode.content,
            butler=self.name,
            session_id=ended.session_id,
            importance=self.config.session.importance,
            tags=episode.tags,
            # A host that calls twice, or again after a crash, leaves one episode.
            idempotency_key=_key(ended.session_id) if ended.session_id else None,
        )
        try:
            stored = await remember.episode(butler, new, Caller(self._principal, ended.lineage))
        except Conflict:
            return SessionEnd("none", reason="this session has left its episode already")
        return SessionEnd("stored", f"{stored.type}:{stored.ref}")

    async def _look_after(self, butler: Butler, stop: asyncio.Event) -> None:
        await Upkeep(butler, concurrency=1, stop_seconds=STOP_INSIDE_SECONDS, tell=self._told).run(stop)

    def _told(self, ran: Ran) -> None:
        what = f"upkeep {ran.job}"
        if ran.outcome == upkeep.FAILED:
            self.troubles[what] = str(ran.report.get("error", ran.outcome))
            log.error("the memory of %s: %s failed: %s", self.name, what, self.troubles[what])
        else:
            self.troubles.pop(what, None)

    async def _tried(self, what: str, seconds: float, work: Coroutine[Any, Any, Answer]) -> Answer | MemoryButlerError:
        """The result of some work, or the error it ended with. The first of a row of failures is told loudly."""
        try:
            answer = await within(seconds, work)
        except MemoryButlerError as problem:
            failed = problem
            if what not in self.troubles:
                log.error("the memory of %s: %s failed: %s", self.name, what, problem.message)
        except Exception:
            # The outermost place of a hook: whatever it was, the host's session goes on.
            failed = InternalError()
            log.exception("the memory of %s: %s failed", self.name, what)
        else:
            if what in NEEDS_STORE:
                self.troubles.pop("start", None)
            if self.troubles.pop(what, None):
                log.info("the memory of %s: %s works again", self.name, what)
            return answer
        self.troubles[what] = failed.message
        return failed


def _chosen(config: MemoryConfig, ended: Ended) -> SessionEpisode | None:
    if config.session.episode == "extract" and ended.exchanges:
        return episode_of_exchanges(ended.exchanges)
    return _summary_of(ended)


def _summary_of(ended: Ended) -> SessionEpisode | None:
    return episode_of_summary(ended.summary, ended.all_tools)


def _reason(problem: MemoryButlerError) -> str:
    return f"{problem.error_class}: {problem.message}"


def _key(session_id: str) -> str:
    key = f"session:{session_id}"
    return key if len(key) <= LABEL_CHARACTERS else f"session:{hashlib.sha256(session_id.encode()).hexdigest()}"
