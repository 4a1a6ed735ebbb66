"""The module that a host platform loads: tools on the butler's server, hooks around its sessions, a worker."""

import asyncio
import logging
from pathlib import Path
from typing import Any, ClassVar, Protocol, Unpack

from pydantic import BaseModel

from memory_butler.adapters.host import sessions
from memory_butler.adapters.host.config import MemoryConfig
from memory_butler.adapters.host.host_database import host_connection
from memory_butler.adapters.host.hosted_memory import HostedMemory
from memory_butler.adapters.mcp.server import INSTRUCTIONS
from memory_butler.adapters.mcp.tool_base import MemoryTool
from memory_butler.ai.embedding import Embedder, OnnxEmbedder
from memory_butler.errors import InternalError, InvalidInput, MemoryButlerError
from memory_butler.jobs.job_run import FinishedRun
from memory_butler.metrics import registry
from memory_butler.policy.memories.validation import slug
from memory_butler.settings import Settings
from memory_butler.store.gate.migrate import LABEL

log = logging.getLogger(__name__)


def shared_embedder(home: Path | None = None) -> Embedder:
    """Return an embedder for all modules of a process. The host closes it after them. `home`: folder of the model."""
    folder: Path = home or Settings.model_fields["home"].default
    return OnnxEmbedder(cache=folder.expanduser() / "models")


class HostServer(Protocol):
    """The butler's MCP server: a FastMCP, or any object with its `add_tool`."""

    def add_tool(self, tool: MemoryTool) -> Any: ...


class MemoryModule:
    """Long-term memory for the butlers of a host: one module per butler, or one for all of them.

    Invalid configuration is rejected when the butler starts. After that, failures of the memory never reach the host:
    hooks return within their deadline and report when they are degraded, tools return an error with a recovery hint,
    and `health` reports the rest.
    """

    name: ClassVar[str] = "memory"
    config_schema: ClassVar[type[BaseModel]] = MemoryConfig
    dependencies: ClassVar[list[str]] = []
    # For the system prompt of an agent that has the tools.
    instructions: ClassVar[str] = INSTRUCTIONS

    def __init__(self, *, embedder: Embedder | None = None) -> None:
        """`embedder`: shared by several modules of a process; the host closes it."""
        self._embedder = embedder
        self._memories: dict[str, HostedMemory] = {}
        # Starts without a butler name: some hosts pass the name only to `register_tools`.
        self._unnamed: list[tuple[MemoryConfig, object]] = []

    def migration_revisions(self) -> str | None:
        """Return the branch label of the migrations. They run at startup, in the schema of the memory."""
        return LABEL

    async def register_tools(self, mcp: HostServer, config: object, db: object, butler_name: str) -> None:
        """Register the configured tools on a butler's server. They always act as that butler."""
        read = MemoryConfig.read(config)
        if not read.enabled:
            return
        memory = self._register(butler_name, read, db)
        for tool in memory.tools():
            mcp.add_tool(tool)
        started = [entry for entry in self._unnamed if entry[1] is db]
        if started:
            self._unnamed.remove(started[0])
            await memory.start()

    async def on_startup(self, config: object, db: object, *_: Any, butler_name: str | None = None, **__: Any) -> None:
        """Migrate the schema and open the store. Other arguments of the host are ignored."""
        read = MemoryConfig.read(config)
        if not read.enabled:
            return
        memory = self._memory_for(read, db, butler_name)
        if memory is None:
            self._unnamed.append((read, db))
        else:
            await memory.start()

    async def on_shutdown(self) -> None:
        """Close all memories; bounded in time."""
        memories, self._memories, self._unnamed = list(self._memories.values()), {}, []
        await asyncio.gather(*(memory.close() for memory in memories))

    def metrics(self) -> bytes:
        """Return the metrics of this process in the Prometheus text format, for the host's own endpoint.

        A host that has a registry of its own can collect `memory_butler.metrics.registry.REGISTRY` with it instead.
        """
        registry.identify("host")
        return registry.exposition()

    async def before_session(
        self, trigger_prompt: str, request_context: object = None, *, butler_name: str | None = None
    ) -> sessions.SessionStart:
        """Return the briefing for a new session. Never raises, and never exceeds its deadline."""
        try:
            memory = self._memory(butler_name)
            if memory is None:
                return sessions.SessionStart("", reason="this butler has no memory")
            return await memory.before(trigger_prompt, sessions.parse_lineage(request_context))
        except MemoryButlerError as problem:
            reason = _log_misuse("before_session", problem)
        except Exception:
            # Boundary of a hook: the host's session continues whatever happens.
            log.exception("before_session failed")
            reason = InternalError.error_class
        return sessions.SessionStart(sessions.UNAVAILABLE, degraded=True, reason=reason)

    async def after_session(
        self, session_id: str | None, summary: str | None, success: bool, **details: Unpack[sessions.SessionDetails]
    ) -> sessions.SessionEnd:
        """Store the episode of a finished session. Never raises, and never exceeds its deadline."""
        try:
            memory = self._memory(details.get("butler_name"))
            if memory is None:
                return sessions.SessionEnd("none", reason="this butler has no memory")
            return await memory.after(sessions.ended_session(session_id, summary, success, details))
        except MemoryButlerError as problem:
            reason = _log_misuse("after_session", problem)
        except Exception:
            # Boundary of a hook: the host's session continues whatever happens.
            log.exception("after_session failed")
            reason = InternalError.error_class
        return sessions.SessionEnd("none", degraded=True, reason=reason)

    async def health(self) -> dict[str, dict[str, Any]]:
        """Return the status of each butler's memory."""
        reports = await asyncio.gather(*(memory.health() for memory in self._memories.values()))
        return {report["butler"]: report for report in reports}

    async def run_due(self, butler_name: str | None = None) -> list[FinishedRun]:
        """Run all jobs that are due, for hosts with their own scheduler (`upkeep.worker = false`)."""
        memory = self._memory(butler_name)
        return await memory.run_due() if memory else []

    async def settle(self) -> None:
        """Wait until all pending notes of sessions are stored."""
        await asyncio.gather(*(memory.settle() for memory in self._memories.values()))

    def _register(self, butler_name: str, config: MemoryConfig, db: object) -> HostedMemory:
        name = slug(butler_name, "butler_name")
        known = self._memories.get(name)
        if known is None:
            known = self._memories[name] = HostedMemory(name, config, db, self._embedder)
        elif known.config != config or known.connection != host_connection(db):
            raise InvalidInput(
                f"The butler {name!r} is already registered with a different memory configuration or database.",
                recovery="Give each butler a unique name, or call on_shutdown before you configure it again.",
            )
        return known

    def _memory_for(self, config: MemoryConfig, db: object, butler_name: str | None) -> HostedMemory | None:
        name = butler_name or getattr(db, "butler_name", None)
        if name:
            return self._register(str(name), config, db)
        return next((memory for memory in self._memories.values() if memory.db is db), None)

    def _memory(self, butler_name: str | None) -> HostedMemory | None:
        if butler_name is not None:
            return self._memories.get(slug(butler_name, "butler_name"))
        if len(self._memories) > 1:
            raise InvalidInput(
                "This module serves several butlers, and the call names none.",
                recovery=f"Pass butler_name, one of: {', '.join(self._memories)}.",
            )
        return next(iter(self._memories.values()), None)


def _log_misuse(hook: str, problem: MemoryButlerError) -> str:
    log.error("%s was called with invalid arguments: %s", hook, problem.message)
    return f"{problem.error_class}: {problem.message}"
