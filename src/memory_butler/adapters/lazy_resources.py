"""Resources that open in the background: a server accepts calls at once, and a failed opening is retried on demand."""

import asyncio
import gc
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Self

from memory_butler.ai.domains import DomainModel
from memory_butler.ai.embedding import Embedder
from memory_butler.ai.reranking import Reranker
from memory_butler.english.time.question_times import find_time_hint
from memory_butler.errors import MemoryButlerError, TargetUnavailable
from memory_butler.jobs.yield_to_calls import ActiveCalls
from memory_butler.operations.retrieval import indexing
from memory_butler.resources import Resources, open_resources
from memory_butler.settings import Settings
from memory_butler.store.gate import server_waits
from memory_butler.store.gate.database import wait_before_transaction

Opener = Callable[[], AbstractAsyncContextManager[Resources]]
BackgroundTask = Callable[[Resources, asyncio.Event], Coroutine[None, None, None]]
# A worker that does not stop within this time is cancelled; the next worker reclaims its job.
STOP_SECONDS = 3.0
# Share of a call's deadline in which the store must open.
OPENING_SHARE = 0.8
# How long the first call of a program waits for a store that is being created. MCP clients wait 60 seconds or longer.
FIRST_OPENING_SECONDS = 45.0
# New objects before the garbage collector runs: about what a few calls leave behind.
GC_THRESHOLD = 10_000

log = logging.getLogger(__name__)


class StillOpening(TargetUnavailable):
    """The memory store is still opening. This does not mean that there are no memories."""

    default_recovery = "Try again in a few seconds; the first start takes longest."


class LazyResources:
    """The resources of one process. `begin` starts opening them, `get` waits for them, `close` closes them.

    `worker` runs in the background while they are open and yields to the calls counted in `calls`. `on_ready` is called
    when everything is loaded that calls need.
    """

    def __init__(
        self,
        settings: Settings,
        opener: Opener | None = None,
        *,
        worker: BackgroundTask | None = None,
        on_ready: Callable[[], None] | None = None,
    ) -> None:
        self.settings = settings
        self._opener = opener or (lambda: open_resources(settings))
        self.worker = worker
        self._on_ready = on_ready
        self.calls = ActiveCalls()
        self._borrowed: Resources | None = None
        self._opened: asyncio.Future[Resources] | None = None
        self._holder: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()
        self._warm_done = asyncio.Event()

    @classmethod
    def already_open(cls, resources: Resources) -> Self:
        """Wrap resources that the caller has opened and will close."""
        lazy = cls(resources.settings)
        lazy._borrowed = resources
        return lazy

    def begin(self) -> None:
        """Start opening, unless they are open or opening already."""
        failed = self._opened is not None and self._opened.done() and self._opened.exception() is not None
        if self._borrowed is None and (self._opened is None or failed):
            self._opened = asyncio.get_running_loop().create_future()
            self._closing = asyncio.Event()
            self._holder = asyncio.create_task(self._hold(self._opened, self._closing), name="memory-butler-store")

    async def get(self, timeout_seconds: float) -> Resources:
        """Return the open resources; raises TargetUnavailable if they cannot be opened in time."""
        if self._borrowed is not None:
            return self._borrowed
        self.begin()
        opened = self._opened
        assert opened is not None
        # Waiting for a finished future would still cost one round of the event loop.
        if not opened.done():
            with server_waits.opening():
                await asyncio.wait({opened}, timeout=timeout_seconds)
        if not opened.done():
            raise StillOpening()
        return opened.result()

    async def wait_until_warm(self, timeout_seconds: float) -> None:
        """Wait until the store is open and the model loaded, or opening has failed: the next call says why."""
        if self._borrowed is not None or self._warm_done.is_set():
            return
        self.begin()
        opened = self._opened
        assert opened is not None
        failed = asyncio.create_task(_failure_of(opened))
        warm = asyncio.create_task(self._warm_done.wait())
        try:
            await asyncio.wait({failed, warm}, timeout=timeout_seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            failed.cancel()
            warm.cancel()

    async def get_for_call(self) -> Resources:
        """Return the open resources in less than a call's deadline, so that the error names a store that does not
        open."""
        return await self.get(self.settings.deadline_seconds * OPENING_SHARE)

    @asynccontextmanager
    async def lifespan(self, server: object) -> AsyncIterator[None]:
        """Open while a server starts, close when it ends."""
        self.begin()
        try:
            yield
        finally:
            await self.close()

    async def close(self) -> None:
        self._closing.set()
        if self._holder:
            await self._holder
            self._holder, self._opened = None, None

    async def _hold(self, opened: "asyncio.Future[Resources]", closing: asyncio.Event) -> None:
        """Open, hold open until closing is set, close: all in one task, as the context managers require."""
        try:
            async with self._opener() as resources:
                opened.set_result(resources)
                # The model loads in the background, so that the first calls need not wait for it.
                warming = asyncio.create_task(self._warm(resources))
                background = asyncio.create_task(self._run_background(resources, warming, closing))
                await closing.wait()
                warming.cancel()
                with suppress(asyncio.CancelledError):
                    await warming
                await asyncio.wait({background}, timeout=STOP_SECONDS)
                background.cancel()
        except MemoryButlerError as problem:
            log.warning("opening the store failed: %s", problem.message)
            _fail(opened, problem)
        except OSError as problem:
            log.warning("opening the store failed", exc_info=problem)
            _fail(opened, TargetUnavailable(f"The memory store cannot be opened: {problem.strerror or problem}."))
        except Exception as problem:
            # Task boundary: the error is passed on to every caller that waits.
            log.exception("opening the store failed")
            _fail(opened, TargetUnavailable(f"The memory store cannot be opened ({type(problem).__name__})."))

    async def _run_background(
        self, resources: Resources, warming: "asyncio.Task[None]", closing: asyncio.Event
    ) -> None:
        """Report, and run the worker if there is one."""
        # Loading what calls need comes first.
        await asyncio.wait({warming})
        if closing.is_set():
            return
        wait_before_transaction.set(self.calls.wait_until_idle)
        # One import after the other: two threads that import a package at once may each see half of it.
        report_until = await asyncio.to_thread(_import_reporting)
        reporting = asyncio.create_task(report_until(resources, closing))
        try:
            await self._run_worker(resources, closing)
            await reporting
        finally:
            reporting.cancel()

    async def _run_worker(self, resources: Resources, closing: asyncio.Event) -> None:
        if self.worker is None:
            return
        try:
            await self.worker(resources, closing)
        except Exception:
            # Task boundary: the server goes on without its worker.
            log.exception("the worker has ended")

    async def _warm(self, resources: Resources) -> None:
        """Load what the first calls need, then bring the search index up to date."""
        # The first time expression compiles a large pattern, which would block the event loop for 10 ms or more.
        parsing = asyncio.to_thread(find_time_hint, "yesterday", resources.clock())
        await asyncio.gather(
            _start("embedding model", resources.embedder),
            _start("reranker", resources.reranker),
            _start("kinds of work", resources.domains),
            parsing,
        )
        self._warm_done.set()
        if self._on_ready:
            self._on_ready()
        wait_before_transaction.set(self.calls.wait_until_idle)
        await _catch_up(resources)


async def _failure_of(opened: "asyncio.Future[Resources]") -> None:
    """Return once opening has failed; never if it succeeds."""
    await asyncio.wait({opened})
    if opened.exception() is None:
        await asyncio.Event().wait()


def is_first_start(settings: Settings) -> bool:
    """True if the store is embedded and does not exist yet."""
    return settings.database_url is None and not (settings.home / "database").exists()


def first_start_line(settings: Settings) -> str:
    return f"Creating the memory store in {settings.home}. This first start takes about 10 seconds."


def freeze_loaded_objects() -> None:
    """Exempt loaded objects from garbage collection, in a process of our own.

    About 200,000 objects live until the process ends; checking them would block all calls for 0.2 s now and then.
    """
    gc.freeze()
    gc.set_threshold(GC_THRESHOLD)


def background_worker(settings: Settings) -> BackgroundTask | None:
    """Return the worker of a server, unless the settings switch it off."""
    return _work if settings.upkeep.worker else None


async def _work(resources: Resources, stop: asyncio.Event) -> None:
    worker = await asyncio.to_thread(_import_worker)
    await worker(resources, stop)


def _import_worker() -> BackgroundTask:
    from memory_butler.jobs.worker import run_inside_server  # noqa: PLC0415 (not before the server accepts calls)

    return run_inside_server


def _import_reporting() -> BackgroundTask:
    from memory_butler.jobs.reporting import report_until  # noqa: PLC0415 (not before the server accepts calls)

    return report_until


def _fail(opened: "asyncio.Future[Resources]", problem: MemoryButlerError) -> None:
    if not opened.done():
        opened.set_exception(problem)
        opened.exception()  # marks it as retrieved: there may be no caller yet


async def _catch_up(resources: Resources) -> None:
    """Index memories that have no index entry. The worker re-embeds those of an earlier model."""
    try:
        count = await indexing.catch_up(resources, resources.settings.tenant)
    except MemoryButlerError as problem:
        log.warning("updating the search index failed: %s", problem.message)
    else:
        if count:
            log.info("added to the search index: %d memories", count)


async def _start(name: str, model: Embedder | Reranker | DomainModel | None) -> None:
    try:
        if model is not None:
            await model.start()
    except MemoryButlerError as problem:
        log.warning("the %s is not ready: %s", name, problem.message)
