"""A butler that opens in the background: the door is there at once, and a failed opening is tried again when needed."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Self

from memory_butler.butler import Butler, open_butler
from memory_butler.errors import MemoryButlerError, TargetUnavailable
from memory_butler.settings import Settings

Opener = Callable[[], AbstractAsyncContextManager[Butler]]

log = logging.getLogger(__name__)


class StillOpening(TargetUnavailable):
    """The memory store is still being opened. This does not mean that there are no memories."""

    default_recovery = "Try again in a few seconds; the first start takes longest."


class LateButler:
    """One butler for a whole process. `begin` starts opening it, `get` waits for it, `close` lets it go."""

    def __init__(self, settings: Settings, opener: Opener | None = None) -> None:
        self.settings = settings
        self._opener = opener or (lambda: open_butler(settings))
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
        assert self._opened is not None
        done, _ = await asyncio.wait({self._opened}, timeout=patience_seconds)
        if not done:
            raise StillOpening()
        return done.pop().result()

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
                warming = asyncio.create_task(_warm(butler))
                await leave.wait()
                warming.cancel()
                with suppress(asyncio.CancelledError):
                    await warming
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


def _fail(opened: "asyncio.Future[Butler]", problem: MemoryButlerError) -> None:
    if not opened.done():
        opened.set_exception(problem)
        opened.exception()  # nobody may be waiting yet, and that is no fault


async def _warm(butler: Butler) -> None:
    try:
        await butler.embedder.start()
    except MemoryButlerError as problem:
        log.warning("the embedding model is not ready: %s", problem.message)
