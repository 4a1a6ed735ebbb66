"""Memory around an agent's session: what matters before it, what came of it afterwards, and never in its way.

Whatever happens to memory, the caller's work goes on: both steps have a deadline, a failure is logged once, and the
session says that it is degraded instead of pretending that there is nothing to remember.
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
    from memory_butler.butler import Butler

DEADLINE_SECONDS = 2.0
Value = TypeVar("Value")

log = logging.getLogger(__name__)
_given_up: set[asyncio.Task[Any]] = set()
_warned: set[tuple[str, str, str]] = set()
WARNINGS_KEPT = 1000


class Memory(Protocol):
    """What a session needs: a MemoryClient has it, and InProcess."""

    @property
    def url(self) -> str:
        """Where it is, for the log."""

    async def context(self, request: BriefRequest, *, lineage: Lineage, deadline_seconds: float) -> Briefing: ...

    async def store_episode(self, new: NewEpisode, *, lineage: Lineage, deadline_seconds: float) -> Stored: ...


@dataclass(frozen=True, slots=True)
class InProcess:
    """An open butler of this process, used as one caller; without a caller as the person whose store it is."""

    butler: "Butler"
    caller: Caller | None = None
    url: str = "the store of this process"

    async def context(self, request: BriefRequest, *, lineage: Lineage, deadline_seconds: float) -> Briefing:
        from memory_butler.operations import brief  # noqa: PLC0415 (who has a butler has loaded this, others do not)

        return await brief.brief(self.butler, request, self._caller(lineage))

    async def store_episode(self, new: NewEpisode, *, lineage: Lineage, deadline_seconds: float) -> Stored:
        from memory_butler.operations import remember  # noqa: PLC0415 (as above)

        return await remember.episode(self.butler, new, self._caller(lineage))

    def _caller(self, lineage: Lineage) -> Caller:
        return replace(self.caller or self.butler.local_caller(), lineage=lineage)


def session(
    memory: "Memory | Butler",
    *,
    prompt: str,
    butler: str,
    session_id: str | None = None,
    token_budget: int | None = None,
    lineage: Lineage | None = None,
    deadline_seconds: float = DEADLINE_SECONDS,
) -> "Session":
    """`async with session(memory, prompt=…, butler=…) as s:` puts memory around one session of an agent.

    Inside, `s.context` is the block for the system prompt. Call `s.finish(summary)` with what came of it; if the block
    ends without an exception, that is kept as an episode. The deadline is for each of the two steps.
    """
    reached: Any = memory if hasattr(memory, "store_episode") else InProcess(memory)
    session_id = session_id or uuid.uuid4().hex
    request = BriefRequest(trigger_prompt=prompt, butler=butler, token_budget=token_budget)
    lineage = replace(lineage or Lineage(), session_id=session_id)
    return Session(reached, request, lineage, deadline_seconds)


class Session:
    """One session of an agent. `degraded` is None, or says what memory could not do for it."""

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
        """Say what came of the session: what was done, decided and learned, not the conversation itself.

        Kept when the block ends well. The last word counts, and None or blank means that there is nothing to keep.
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
        briefing = await self._tried("context", work)
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
            self.stored = await self._tried("episode", work)

    async def _tried(self, step: str, work: Coroutine[Any, Any, Value]) -> Value | None:
        """The result; None after a failure of any kind or past the deadline. What is slow to give up is left behind.

        This is the outermost boundary of memory inside somebody else's program, so nothing but the caller's own
        cancellation gets out of here.
        """
        task = asyncio.create_task(work)
        try:
            await asyncio.wait({task}, timeout=self._deadline_seconds)
        finally:
            if not task.done():
                _given_up.add(task)
                task.add_done_callback(_buried)
                task.cancel()
        if not task.done():
            failure: BaseException | None = DeadlinePassed(f"No answer within {self._deadline_seconds:g} seconds.")
        elif task.cancelled():
            failure = InternalError("Memory gave up by itself.")
        else:
            failure = task.exception()
        if failure is None:
            return task.result()
        self._note(step, failure)
        return None

    def _note(self, step: str, failure: BaseException) -> None:
        ours = isinstance(failure, MemoryButlerError)
        reason = failure.error_class if isinstance(failure, MemoryButlerError) else type(failure).__name__
        said = failure.message if isinstance(failure, MemoryButlerError) else str(failure)
        self._problems.append(f"{step}: {reason}: {said}")
        key = (self._memory.url, step, reason)
        level = logging.DEBUG if key in _warned else logging.WARNING
        if len(_warned) < WARNINGS_KEPT:
            _warned.add(key)
        log.log(
            level,
            "memory is degraded (%s), the session goes on without it: %s",
            step,
            self._problems[-1],
            exc_info=None if ours else failure,
        )


def _buried(task: asyncio.Task[Any]) -> None:
    _given_up.discard(task)
    if not task.cancelled():
        task.exception()
