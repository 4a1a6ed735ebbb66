"""`Memory` and `AsyncMemory`: the everyday methods, in process or remote."""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from memory_butler.client import agent_session
from memory_butler.client.memory_client import DEADLINE_SECONDS, MemoryClient
from memory_butler.errors import MemoryButlerError, TargetUnavailable
from memory_butler.models import (
    Briefing,
    BriefRequest,
    NewEpisode,
    NewFact,
    NewNote,
    NewRule,
    Origin,
    Question,
    Stored,
    Tier,
)
from memory_butler.models.wire.administration_answers import ConsolidationAnswer
from memory_butler.models.wire.memory_answers import MemoryDetail, SearchResults

P = ParamSpec("P")
T = TypeVar("T")
BUTLER = "main"

log = logging.getLogger(__name__)


class AsyncMemory:
    """A memory, in process or on a server. It opens at the first call; close it, or use `async with`.

    `AsyncMemory()` opens the store in the home folder; `AsyncMemory("https://…", token=…)` uses a server. Any setting
    can be passed by name in process, for example `home="…"`.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        token: str | None = None,
        butler: str = BUTLER,
        deadline_seconds: float = DEADLINE_SECONDS,
        **settings: Any,
    ) -> None:
        if url is not None and settings:
            raise TypeError(f"{', '.join(sorted(settings))}: settings apply in process, not to a server")
        self._url, self._token, self._settings = url, token, settings
        self._butler, self._deadline_seconds = butler, deadline_seconds
        self._stack = AsyncExitStack()
        self._opening = asyncio.Lock()
        self._client: MemoryClient | None = None

    async def __aenter__(self) -> Self:
        await self._opened()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the store or the connection. A later call opens it again."""
        self._client = None
        await self._stack.aclose()
        self._stack = AsyncExitStack()

    async def remember(self, /, text: str, *, importance: int = 5, tags: Sequence[str] = ()) -> Stored:
        """Store a note in your own words."""
        note = NewNote(
            content=text,
            tier=Tier.MID,
            butler=self._butler,
            importance=importance,
            tags=tuple(tags),
            source=Origin.USER,
        )
        return await (await self._opened()).store(note)

    async def remember_fact(self, /, subject: str, predicate: str, content: str, **more: Any) -> Stored:
        """Store a fact. New content for the same subject and predicate replaces the old fact. `more`: importance,
        permanence, scope, tags, valid_at, aliases, links, metadata, source."""
        return await (await self._opened()).store_fact(
            NewFact(subject=subject, predicate=predicate, content=content, **more)
        )

    async def remember_rule(self, /, content: str, **more: Any) -> Stored:
        """Store how to act. `more`: scope, tags, metadata, source."""
        return await (await self._opened()).store_rule(NewRule(content=content, **more))

    async def remember_episode(self, /, content: str, **more: Any) -> Stored:
        """Store what happened in a session. `more`: session_id, importance, observed_at, tags, metadata, source."""
        return await (await self._opened()).store_episode(NewEpisode(content=content, butler=self._butler, **more))

    async def search(self, /, query: str, *, limit: int | None = None, **more: Any) -> SearchResults:
        """Search by meaning and keywords, best match first. `more`: the other fields of `Question`."""
        return await (await self._opened()).search(Question(query=query, limit=limit, **more))

    async def briefing(self, /, task: str, *, token_budget: int | None = None) -> Briefing:
        """The briefing for a task; `str()` of it is the text for the agent."""
        request = BriefRequest(trigger_prompt=task, butler=self._butler, token_budget=token_budget)
        return await (await self._opened()).context(request)

    async def get(self, /, ref: str) -> MemoryDetail:
        """One memory with its links and history."""
        return await (await self._opened()).get(None, ref)

    async def confirm(self, /, ref: str) -> Stored:
        """Confirm that a fact or rule is still true."""
        return await (await self._opened()).confirm(None, ref)

    async def correct(self, /, ref: str, content: str, *, reason: str | None = None) -> Stored:
        """Replace a wrong fact by the right one."""
        return await (await self._opened()).correct(ref, content, **_reason(reason))

    async def update(self, /, ref: str, **changes: Any) -> Stored:
        """Change importance, permanence, tags or scope, or the `content` of a rule."""
        return await (await self._opened()).update(None, ref, **changes)

    async def link(self, /, ref: str, relation: str, target: str) -> Stored:
        """Link two memories: `ref` supports or contradicts `target`, or is related_to it."""
        return await (await self._opened()).link(ref, relation, target)

    async def forget(self, /, ref: str, *, reason: str | None = None) -> Stored:
        """Withdraw a memory; it can be restored."""
        return await (await self._opened()).forget(None, ref, **_reason(reason))

    async def restore(self, /, ref: str) -> Stored:
        """Restore a forgotten memory."""
        return await (await self._opened()).restore(None, ref)

    async def consolidate(self) -> ConsolidationAnswer:
        """Distil waiting episodes into facts, rules and notes now, instead of at the scheduled time."""
        client = await self._opened()
        total = ConsolidationAnswer()
        while True:
            done = await client.consolidate(deadline_seconds=max(self._deadline_seconds, 60.0))
            total = total.plus(done)
            if not done.more:
                return total

    def session(self, task: str, **options: Any) -> "AsyncMemorySession":
        """Memory around an agent session: `async with memory.session(task) as s:`. `s.context` is the briefing;
        `s.observe(text)` adds to the episode that is stored at the end. Failures of memory never break the session."""
        return AsyncMemorySession(self, task, self._butler, options)

    async def _opened(self) -> MemoryClient:
        if self._client is None:
            async with self._opening:
                if self._client is None:
                    self._client = await self._open()
        return self._client

    async def _open(self) -> MemoryClient:
        if self._url is not None:
            client = MemoryClient(self._url, token=self._token, deadline_seconds=self._deadline_seconds)
            return await self._stack.enter_async_context(client)
        # The engine is not loaded where only a server is used.
        try:
            from memory_butler.adapters.python.in_process import open_in_process  # noqa: PLC0415
            from memory_butler.settings import load_settings  # noqa: PLC0415
        except ModuleNotFoundError as missing:
            raise TargetUnavailable(
                f"A memory in this process needs the whole program; only its client is installed ({missing}).",
                recovery='Run `pip install memory-butler`, or give the address of a server: Memory("https://…").',
            ) from missing

        settings = load_settings(**{"butler": self._butler, **self._settings})
        return await self._stack.enter_async_context(open_in_process(settings, self._deadline_seconds))


class AsyncMemorySession:
    """One agent session around which memory works."""

    def __init__(self, memory: AsyncMemory, task: str, butler: str, options: dict[str, Any]) -> None:
        self._memory, self._task, self._butler, self._options = memory, task, butler, options
        self._session: agent_session.Session | None = None
        self._unopened: str | None = None
        self._observations: list[str] = []
        self._summary: str | None = None
        self._tags: tuple[str, ...] = ()

    @property
    def context(self) -> str:
        """The briefing for the system prompt; empty if memory failed."""
        return self._session.context if self._session else ""

    @property
    def degraded(self) -> str | None:
        """What failed, or None."""
        return self._session.degraded if self._session else self._unopened

    @property
    def stored(self) -> Stored | None:
        """The episode of the session, once it has ended."""
        return self._session.stored if self._session else None

    def observe(self, text: str) -> None:
        """Add an observation: what was done, decided or learned. Not the transcript."""
        if text.strip():
            self._observations.append(text.strip())

    def finish(self, summary: str, *, tags: Sequence[str] = ()) -> None:
        """Set the summary of the session and the tags of its episode; the observations follow the summary."""
        self._summary, self._tags = summary, tuple(tags)

    async def __aenter__(self) -> Self:
        try:
            client = await self._memory._opened()
        except MemoryButlerError as problem:
            self._unopened = f"open: {problem.error_class}: {problem.message}"
            log.warning("memory is degraded (open), the session continues without it: %s", problem.message)
            return self
        opened = agent_session.session(client, prompt=self._task, butler=self._butler, **self._options)
        self._session = await opened.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is None:
            return
        said = [text for text in (self._summary, *self._observations) if text]
        self._session.finish("\n".join(said), tags=self._tags)
        await self._session.__aexit__(kind, problem, trace)


def _reason(reason: str | None) -> Any:
    return {} if reason is None else {"reason": reason}


def _blocking(
    method: Callable[Concatenate[AsyncMemory, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate["Memory", P], T]:
    @wraps(method)
    def call(self: "Memory", *arguments: P.args, **options: P.kwargs) -> T:
        if not self._loop.is_running():
            raise RuntimeError("This memory is closed; create another one.")
        return self._loop.run(method(self._memory, *arguments, **options))

    # mypy sees the class of `wraps` in the place of the function.
    return call  # type: ignore[return-value]


class _Loop:
    """An event loop in a thread of its own, which runs the calls of blocking code."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="memory-butler", daemon=True)
        self._thread.start()

    def run(self, work: Awaitable[T]) -> T:
        async def finish() -> T:
            return await work

        return asyncio.run_coroutine_threadsafe(finish(), self._loop).result()

    def is_running(self) -> bool:
        return not self._loop.is_closed()

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class Memory:
    """A memory, in process or on a server, for code without asyncio. It opens at the first call.

    `Memory()` opens the store in the home folder; `Memory("https://…", token=…)` uses a server. Close it at the end, or
    use `with`. It may be shared between threads.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        token: str | None = None,
        butler: str = BUTLER,
        deadline_seconds: float = DEADLINE_SECONDS,
        **settings: Any,
    ) -> None:
        self._loop = _Loop()
        self._memory = AsyncMemory(url, token=token, butler=butler, deadline_seconds=deadline_seconds, **settings)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the store or the connection for good. A program that ends need not do it."""
        if self._loop.is_running():
            self._loop.run(self._memory.close())
            self._loop.stop()

    remember = _blocking(AsyncMemory.remember)
    remember_fact = _blocking(AsyncMemory.remember_fact)
    remember_rule = _blocking(AsyncMemory.remember_rule)
    remember_episode = _blocking(AsyncMemory.remember_episode)
    search = _blocking(AsyncMemory.search)
    briefing = _blocking(AsyncMemory.briefing)
    get = _blocking(AsyncMemory.get)
    confirm = _blocking(AsyncMemory.confirm)
    correct = _blocking(AsyncMemory.correct)
    update = _blocking(AsyncMemory.update)
    link = _blocking(AsyncMemory.link)
    forget = _blocking(AsyncMemory.forget)
    restore = _blocking(AsyncMemory.restore)
    consolidate = _blocking(AsyncMemory.consolidate)

    def session(self, task: str, **options: Any) -> "MemorySession":
        """Memory around an agent session: `with memory.session(task) as s:`. `s.context` is the briefing;
        `s.observe(text)` adds to the episode that is stored at the end. Failures of memory never break the session."""
        return MemorySession(self._loop, self._memory.session(task, **options))


class MemorySession:
    """One agent session around which memory works, for code without asyncio."""

    def __init__(self, loop: _Loop, session: AsyncMemorySession) -> None:
        self._loop, self._session = loop, session
        self.observe, self.finish = session.observe, session.finish

    @property
    def context(self) -> str:
        """The briefing for the system prompt; empty if memory failed."""
        return self._session.context

    @property
    def degraded(self) -> str | None:
        """What failed, or None."""
        return self._session.degraded

    @property
    def stored(self) -> Stored | None:
        """The episode of the session, once it has ended."""
        return self._session.stored

    def __enter__(self) -> Self:
        self._loop.run(self._session.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.run(self._session.__aexit__(kind, problem, trace))
