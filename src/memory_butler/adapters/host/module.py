"""The module a host platform loads: tools on the butler's own server, hooks around its sessions, upkeep beside it."""

import asyncio
import logging
from pathlib import Path
from typing import Any, ClassVar, Protocol, Unpack

from pydantic import BaseModel

from memory_butler.adapters.answering import MemoryTool
from memory_butler.adapters.host.config import MemoryConfig
from memory_butler.adapters.host.handles import place_of
from memory_butler.adapters.host.seat import Seat
from memory_butler.adapters.host.sessions import (
    UNAVAILABLE,
    SessionDetails,
    SessionEnd,
    SessionStart,
    ended,
    lineage_in,
)
from memory_butler.adapters.mcp import INSTRUCTIONS
from memory_butler.ai.embedding import Embedder, OnnxEmbedder
from memory_butler.errors import InternalError, InvalidInput, MemoryButlerError
from memory_butler.jobs.record import Ran
from memory_butler.policy.admission import slug
from memory_butler.settings import Settings
from memory_butler.store.migrate import LABEL

log = logging.getLogger(__name__)


def shared_embedder(home: Path | None = None) -> Embedder:
    """One embedding model for all modules of a process; the host closes it after them. `home` is where it is kept."""
    usual: Path = home or Settings.model_fields["home"].default
    return OnnxEmbedder(cache=usual.expanduser() / "models")


class HostServer(Protocol):
    """The butler's MCP server: fastmcp's, or anything that takes its tools."""

    def add_tool(self, tool: MemoryTool) -> Any: ...


class MemoryModule:
    """Long-term memory for the butlers of a host: one module a butler, or one for all of them.

    Wrong configuration is refused when the butler starts. From then on nothing that happens to the memory reaches the
    host: hooks answer within their deadline and say when they are degraded, tools answer with an error that says how
    to recover, and `health` tells the rest.
    """

    name: ClassVar[str] = "memory"
    config_schema: ClassVar[type[BaseModel]] = MemoryConfig
    dependencies: ClassVar[list[str]] = []
    # For the system prompt of an agent that has the tools.
    instructions: ClassVar[str] = INSTRUCTIONS

    def __init__(self, *, embedder: Embedder | None = None) -> None:
        """Several modules of one process may share an embedder, which then is the host's to close."""
        self._embedder = embedder
        self._seats: dict[str, Seat] = {}
        # Started by a host that names its butler only when it registers tools.
        self._unnamed: list[tuple[MemoryConfig, object]] = []

    def migration_revisions(self) -> str | None:
        """The label of the migrations' branch. They are run at the start, in the memory's own schema."""
        return LABEL

    async def register_tools(self, mcp: HostServer, config: object, db: object, butler_name: str) -> None:
        """Put the chosen tools on a butler's server. They work as that butler, whatever a call says."""
        read = MemoryConfig.read(config)
        if not read.enabled:
            return
        seat = self._take(butler_name, read, db)
        for tool in seat.tools():
            mcp.add_tool(tool)
        started = [entry for entry in self._unnamed if entry[1] is db]
        if started:
            self._unnamed.remove(started[0])
            await seat.start()

    async def on_startup(self, config: object, db: object, *_: Any, butler_name: str | None = None, **__: Any) -> None:
        """Bring the schema up to date and open the store. What else a host passes is not looked at."""
        read = MemoryConfig.read(config)
        if not read.enabled:
            return
        seat = self._seat_for(read, db, butler_name)
        if seat is None:
            self._unnamed.append((read, db))
        else:
            await seat.start()

    async def on_shutdown(self) -> None:
        """Let go of everything, within some seconds."""
        seats, self._seats, self._unnamed = list(self._seats.values()), {}, []
        await asyncio.gather(*(seat.close() for seat in seats))

    async def before_session(
        self, trigger_prompt: str, request_context: object = None, *, butler_name: str | None = None
    ) -> SessionStart:
        """What a session should know from its start. Never raises, never takes longer than its deadline."""
        try:
            seat = self._seat(butler_name)
            if seat is None:
                return SessionStart("", reason="this butler has no memory")
            return await seat.before(trigger_prompt, lineage_in(request_context))
        except MemoryButlerError as problem:
            reason = _misused("before_session", problem)
        except Exception:
            # The outermost place of a hook: whatever a host passes, its session goes on.
            log.exception("before_session failed")
            reason = InternalError.error_class
        return SessionStart(UNAVAILABLE, degraded=True, reason=reason)

    async def after_session(
        self, session_id: str | None, summary: str | None, success: bool, **details: Unpack[SessionDetails]
    ) -> SessionEnd:
        """Keep what a session leaves behind. Never raises, never takes longer than its deadline."""
        try:
            seat = self._seat(details.get("butler_name"))
            if seat is None:
                return SessionEnd("none", reason="this butler has no memory")
            return await seat.after(ended(session_id, summary, success, details))
        except MemoryButlerError as problem:
            reason = _misused("after_session", problem)
        except Exception:
            # The outermost place of a hook: whatever a host passes, its session goes on.
            log.exception("after_session failed")
            reason = InternalError.error_class
        return SessionEnd("none", degraded=True, reason=reason)

    async def health(self) -> dict[str, dict[str, Any]]:
        """How the memory of each butler stands."""
        found = await asyncio.gather(*(seat.health() for seat in self._seats.values()))
        return {one["butler"]: one for one in found}

    async def run_due(self, butler_name: str | None = None) -> list[Ran]:
        """Do the upkeep that is due now: for hosts with a timetable of their own (`upkeep.worker = false`)."""
        seat = self._seat(butler_name)
        return await seat.run_due() if seat else []

    async def settle(self) -> None:
        """Wait for the notes that models still write of sessions."""
        await asyncio.gather(*(seat.settle() for seat in self._seats.values()))

    def _take(self, butler_name: str, config: MemoryConfig, db: object) -> Seat:
        name = slug(butler_name, "butler_name")
        known = self._seats.get(name)
        if known is None:
            known = self._seats[name] = Seat(name, config, db, self._embedder)
        elif known.config != config or known.place != place_of(db):
            raise InvalidInput(
                f"The butler {name!r} is there already, with another configuration of memory or another database.",
                recovery="Give each butler a name of its own, or stop the module before it is configured anew.",
            )
        return known

    def _seat_for(self, config: MemoryConfig, db: object, butler_name: str | None) -> Seat | None:
        name = butler_name or getattr(db, "butler_name", None)
        if name:
            return self._take(str(name), config, db)
        return next((seat for seat in self._seats.values() if seat.db is db), None)

    def _seat(self, butler_name: str | None) -> Seat | None:
        if butler_name is not None:
            return self._seats.get(slug(butler_name, "butler_name"))
        if len(self._seats) > 1:
            raise InvalidInput(
                "This module serves several butlers; the call does not say which.",
                recovery=f"Pass butler_name, one of: {', '.join(self._seats)}.",
            )
        return next(iter(self._seats.values()), None)


def _misused(hook: str, problem: MemoryButlerError) -> str:
    log.error("%s was called wrongly: %s", hook, problem.message)
    return f"{problem.error_class}: {problem.message}"
