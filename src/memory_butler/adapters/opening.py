"""A butler that opens in the background: the door is there at once, and a failed opening is tried again when needed."""

import asyncio
import gc
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Self

from memory_butler.ai.embedding import Embedder
from memory_butler.ai.reranking import Reranker
from memory_butler.butler import Butler, open_butler
from memory_butler.errors import MemoryButlerError, TargetUnavailable
from memory_butler.jobs.courtesy import Calls
from memory_butler.operations import index
from memory_butler.policy.moments import read_moments
from memory_butler.settings import Settings
from memory_butler.store.database import giving_way

Opener = Callable[[], AbstractAsyncContextManager[Butler]]
Companion = Callable[[Butler, asyncio.Event], Awaitable[None]]
# Upkeep that does not end in time is left behind: whoever comes next picks it up.
PARTING_SECONDS = 3.0
# So many new objects are made before any are looked at: what a few calls leave behind.
YOUNG_OBJECTS = 10_000

log = logging.getLogger(__name__)


class StillOpening(TargetUnavailable):
    """The memory store is still being opened. This does not mean that there are no memories."""

    default_recovery = "Try again in a few seconds; the first start takes longest."


class LateButler:
    """One butler for a whole process. `begin` starts opening it, `get` waits for it, `close` lets it go.

    A companion works beside it from when it is open until it is told to stop, and gives way to the calls that its door
    counts. `warmed` is called when everything is loaded that calls need.
    """

    def __init__(
        self,
        settings: Settings,
        opener: Opener | None = None,
        *,
        companion: Companion | None = None,
        warmed: Callable[[], None] | None = None,
    ) -> None:
        self.settings = settings
        self._opener = opener or (lambda: open_butler(settings))
        self.companion = companion
        self._warmed = warmed
        self.calls = Calls()
        self._given: Butler | None = None
        self._opened: asyncio.Future[Butler] | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._leave = asyncio.Event()

    @classmethod
    def already_open(cls, butler: Butler) -> Self:
        """One that somebody else opened, and closes."""
        late = cls(butler.settings)
        late._given = butler
        return late

    def begin(self) -> None:
        """Start opening, unless it is open or opening already."""
        failed = self._opened is not None and self._opened.done() and self._opened.exception() is not None
        if self._given is None and (self._opened is None or failed):
            self._opened = asyncio.get_running_loop().create_future()
            self._leave = asyncio.Event()
            self._keeper = asyncio.create_task(self._keep(self._opened, self._leave), name="memory-butler-store")

    async def get(self, patience_seconds: float) -> Butler:
        """The open butler; `target_unavailable` if it cannot be opened, or not soon enough."""
        if self._given is not None:
            return self._given
        self.begin()
        opened = self._opened
        assert opened is not None
        # Also for what is there, to wait is one round more through the event loop.
        if not opened.done():
            await asyncio.wait({opened}, timeout=patience_seconds)
        if not opened.done():
            raise StillOpening()
        return opened.result()

    @asynccontextmanager
    async def lifespan(self, server: object) -> AsyncIterator[None]:
        """Open beside the work of a server, close after it."""
        self.begin()
        try:
            yield
        finally:
            await self.close()

    async def close(self) -> None:
        self._leave.set()
        if self._keeper:
            await self._keeper
            self._keeper, self._opened = None, None

    async def _keep(self, opened: "asyncio.Future[Butler]", leave: asyncio.Event) -> None:
        """Open, hold open until told to leave, close: all in one task."""
        try:
            async with self._opener() as butler:
                opened.set_result(butler)
                # The model loads beside the first calls instead of in front of them.
                warming = asyncio.create_task(self._warm(butler))
                beside = asyncio.create_task(self._accompany(butler, warming, leave))
                await leave.wait()
                warming.cancel()
                with suppress(asyncio.CancelledError):
                    await warming
                await asyncio.wait({beside}, timeout=PARTING_SECONDS)
                beside.cancel()
        except MemoryButlerError as problem:
            log.warning("the store could not be opened: %s", problem.message)
            _fail(opened, problem)
        except OSError as problem:
            log.warning("the store could not be opened", exc_info=problem)
            _fail(opened, TargetUnavailable(f"The memory store cannot be opened: {problem.strerror or problem}."))
        except Exception as problem:
            # The outermost place of this task: whatever it was, those who wait are told.
            log.exception("the store could not be opened")
            _fail(opened, TargetUnavailable(f"The memory store cannot be opened ({type(problem).__name__})."))

    async def _accompany(self, butler: Butler, warming: "asyncio.Task[None]", leave: asyncio.Event) -> None:
        # Answers come first, also in getting ready.
        await asyncio.wait({warming})
        if self.companion is None or leave.is_set():
            return
        giving_way.set(self.calls.give_way)
        try:
            await self.companion(butler, leave)
        except Exception:
            # The outermost place of this task: the doors stay open, whatever it was.
            log.exception("upkeep has ended")

    async def _warm(self, butler: Butler) -> None:
        """Get ready what the first questions would have to wait for; then bring up to date what can wait."""
        # To read a time loads a library of languages, which would make everybody wait who is served beside it.
        reading = asyncio.to_thread(read_moments, "yesterday", butler.clock())
        await asyncio.gather(_start("embedding model", butler.embedder), _start("reranker", butler.reranker), reading)
        if self._warmed:
            self._warmed()
        giving_way.set(self.calls.give_way)
        await _catch_up(butler)


def stay_out_of_the_way() -> None:
    """For a process of our own, once it is loaded: two hundred thousand objects are there for good, and to look whether
    they are still needed would hold up every call for a fifth of a second now and then."""
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS)


def companion_of(settings: Settings) -> Companion | None:
    """The worker inside a server, unless it was told to have none."""
    return _look_after if settings.upkeep.worker else None


async def _look_after(butler: Butler, stop: asyncio.Event) -> None:
    companion = await asyncio.to_thread(_load_worker)
    await companion(butler, stop)


def _load_worker() -> Companion:
    from memory_butler.jobs.work import look_after  # noqa: PLC0415 (not before the door is open)

    return look_after


def _fail(opened: "asyncio.Future[Butler]", problem: MemoryButlerError) -> None:
    if not opened.done():
        opened.set_exception(problem)
        opened.exception()  # nobody may be waiting yet, and that is no fault


async def _catch_up(butler: Butler) -> None:
    """After an upgrade: what was indexed in another way is found by meaning again, in the store of this process."""
    try:
        done = await index.catch_up(butler, butler.settings.tenant)
    except MemoryButlerError as problem:
        log.warning("the search index could not be brought up to date: %s", problem.message)
    else:
        if done:
            log.info("the search index was brought up to date: %d memories", done)


async def _start(name: str, model: Embedder | Reranker | None) -> None:
    try:
        if model is not None:
            await model.start()
    except MemoryButlerError as problem:
        log.warning("the %s is not ready: %s", name, problem.message)
