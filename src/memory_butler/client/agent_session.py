"""Memory around an agent session: a briefing before it, an episode after it.

Memory never breaks the caller's work: both steps have a deadline, each kind of failure is logged once as a warning, and
`degraded` tells the caller that memory failed, as opposed to having nothing relevant.
"""

import asyncio
import logging
import uuid
from collections.abc import Coroutine, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from memory_butler.errors import DeadlinePassed, InternalError, MemoryButlerError
from memory_butler.models import Briefing, BriefRequest, Caller, Lineage, NewEpisode, Receipt, Stored

if TYPE_CHECKING:
    from memory_butler.resources import Resources

DEADLINE_SECONDS = 2.0
Value = TypeVar("Value")

log = logging.getLogger(__name__)
_abandoned: set[asyncio.Task[Any]] = set()
_warned: set[tuple[str, str, str]] = set()
MAX_WARNED = 1000


class Memory(Protocol):
    """The part of a store that an agent session uses; MemoryClient and InProcess implement it."""

    @property
    def url(self) -> str:
        """The address of the store, for the log."""

    async def context(self, request: BriefRequest, *, lineage: Lineage, deadline_seconds: float) -> Briefing: ...

    async def store_episode(self, new: NewEpisode, *, lineage: Lineage, deadline_seconds: float) -> Stored: ...


@dataclass(frozen=True, slots=True)
class InProcess:
    """An open store of this process. `caller` defaults to the owner of the local store."""

    butler: "Resources"
    caller: Caller | None = None
    url: str = "the store of this process"

    async def context(self, request: BriefRequest, *, lineage: Lineage, deadline_seconds: float) -> Briefing:
        from memory_butler.operations.briefing import brief  # noqa: PLC0415 (a program with an open store has loaded it; others must not)

        return await brief.brief(self.butler, request, self._caller(lineage))

    async def store_episode(self, new: NewEpisode, *, lineage: Lineage, deadline_seconds: float) -> Stored:
        from memory_butler.operations.writing import remember  # noqa: PLC0415 (as above)

        return await remember.episode(self.butler, new, self._caller(lineage))

    def _caller(self, lineage: Lineage) -> Caller:
        return replace(self.caller or self.butler.local_caller(), lineage=lineage, client="agent session")


def session(
    memory: "Memory | Resources",
    *,
    prompt: str,
    butler: str,
    session_id: str | None = None,
    token_budget: int | None = None,
    lineage: Lineage | None = None,
    deadline_seconds: float = DEADLINE_SECONDS,
) -> "Session":
    """`async with session(memory, prompt=…, butler=…) as s:` puts memory around one agent session.

    Inside, `s.context` is the briefing for the system prompt. Call `s.finish(summary)` with the result; if the block
    ends without an exception, the summary is stored as an episode. The deadline applies to each of the two steps.
    """
    store: Any = memory if hasattr(memory, "store_episode") else InProcess(memory)
    session_id = session_id or uuid.uuid4().hex
    request = BriefRequest(trigger_prompt=prompt, butler=butler, token_budget=token_budget)
    lineage = replace(lineage or Lineage(), session_id=session_id)
    return Session(store, request, lineage, deadline_seconds)


class Session:
    """One agent session. `degraded` is None, or says which steps failed and why."""

    def __init__(self, memory: Memory, request: BriefRequest, lineage: Lineage, deadline_seconds: float) -> None:
        self._memory = memory
        self._request = request
        self._lineage = lineage
        self._deadline_seconds = deadline_seconds
        self._episode: NewEpisode | None = None
        self._problems: list[str] = []
        self.context = ""
        self.receipt: Receipt | None = None
        self.stored: Stored | None = None

    @property
    def session_id(self) -> str:
        return self._lineage.session_id or ""

    @property
    def degraded(self) -> str | None:
        return "; ".join(self._problems) or None

    def finish(
        self,
        summary: str | None,
        *,
        tags: Iterable[str] = (),
        importance: int = 5,
        observed_at: datetime | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        """Set the episode of the session: what was done, decided and learned, not the transcript.

        It is stored when the block ends without an exception. A later call replaces it; None or blank text removes it.
        """
        self._episode = None
        if summary is not None and str(summary).strip():
            self._episode = NewEpisode(
                content=str(summary),
                butler=self._request.butler,
                session_id=self.session_id,
                importance=importance,
                observed_at=observed_at,
                tags=(tags,) if isinstance(tags, str) else tuple(tags or ()),
                metadata=metadata or {},
            )

    async def __aenter__(self) -> Self:
        work = self._memory.context(self._request, lineage=self._lineage, deadline_seconds=self._deadline_seconds)
        briefing = await self._attempt("context", work)
        if briefing is not None:
            self.context, self.receipt = briefing.text, briefing.receipt
            self._problems += briefing.receipt.degraded
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and self._episode is not None:
            work = self._memory.store_episode(
                self._episode, lineage=self._lineage, deadline_seconds=self._deadline_seconds
            )
            self.stored = await self._attempt("episode", work)

    async def _attempt(self, step: str, work: Coroutine[Any, Any, Value]) -> Value | None:
        """The result; None after any failure or past the deadline. Does not wait for work that is slow to cancel.

        This is the boundary between memory and the caller's program: only the caller's own cancellation passes it.
        """
        task = asyncio.create_task(work)
        try:
            await asyncio.wait({task}, timeout=self._deadline_seconds)
        finally:
            if not task.done():
                _abandoned.add(task)
                task.add_done_callback(_discard)
                task.cancel()
        if not task.done():
            failure: BaseException | None = DeadlinePassed(f"No answer within {self._deadline_seconds:g} seconds.")
        elif task.cancelled():
            failure = InternalError("The memory call was cancelled.")
        else:
            failure = task.exception()
        if failure is None:
            return task.result()
        self._note(step, failure)
        return None

    def _note(self, step: str, failure: BaseException) -> None:
        ours = isinstance(failure, MemoryButlerError)
        reason = failure.error_class if isinstance(failure, MemoryButlerError) else type(failure).__name__
        message = failure.message if isinstance(failure, MemoryButlerError) else str(failure)
        self._problems.append(f"{step}: {reason}: {message}")
        key = (self._memory.url, step, reason)
        level = logging.DEBUG if key in _warned else logging.WARNING
        if len(_warned) < MAX_WARNED:
            _warned.add(key)
        log.log(
            level,
            "memory is degraded (%s), the session continues without it: %s",
            step,
            self._problems[-1],
            exc_info=None if ours else failure,
        )


def _discard(task: asyncio.Task[Any]) -> None:
    _abandoned.discard(task)
    if not task.cancelled():
        task.exception()
