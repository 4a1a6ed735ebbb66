"""The worker and its clock: looks at the timetable every minute, and runs what is due.

There may be any number of them, in processes of their own and inside servers. Whoever finds a job due puts it into the
queue, where it stands once; whoever takes it out checks again that it is due. So what was missed while nobody was there
is made up for once.
"""

import asyncio
import logging
from collections.abc import Callable

from procrastinate import JobContext
from procrastinate.worker import Worker

from memory_butler.butler import Butler
from memory_butler.errors import MemoryButlerError, TargetUnavailable
from memory_butler.jobs.lost import LostJobs
from memory_butler.jobs.queue import Queue, name_of
from memory_butler.jobs.record import Ran, run_if_due
from memory_butler.jobs.timetable import TIMETABLE, Entry, cadences
from memory_butler.operations import upkeep
from memory_butler.store.database import StoreUpgraded

# How long a running job may go on after the worker was asked to stop: in a process of its own, and inside a server.
STOP_SECONDS = 30.0
STOP_INSIDE_SECONDS = 1.0
POLL_SECONDS = 5.0
# So that a look is over long before the next one; where there are more tenants, they take turns.
TENANTS_A_LOOK = 1000
# Between two tenants: a thousand looks at once would hold up every call for seconds.
BREATH_SECONDS = 0.02
FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 300.0

log = logging.getLogger(__name__)


class JobFailed(Exception):
    """The job failed; the record of its run says why."""


class Upkeep:
    """Everything that looks after the store in one process."""

    def __init__(
        self,
        butler: Butler,
        *,
        timetable: tuple[Entry, ...] = TIMETABLE,
        concurrency: int | None = None,
        stop_seconds: float = STOP_SECONDS,
        tell: Callable[[Ran], None] = lambda ran: None,
    ) -> None:
        self._butler = butler
        self._settings = butler.settings.upkeep
        self._cadences = cadences(butler.settings, timetable)
        self._concurrency = min(concurrency or self._settings.concurrency, butler.settings.pool_size)
        self._stop_seconds = stop_seconds
        self._tell = tell
        self._queue = Queue(butler.database, timetable, self._perform)
        self._lost = LostJobs(butler.database, self._settings.lost_after_seconds)
        self._worker: Worker | None = None
        self._running: set[int] = set()
        self._performed = 0
        self._looked = 0

    async def run(self, stop: asyncio.Event) -> None:
        """Work until told to stop. Whatever goes wrong is logged and tried again, after a longer pause each time."""
        pause = FIRST_PAUSE_SECONDS
        while not stop.is_set():
            began = _time()
            try:
                await self._shift(stop)
            except StoreUpgraded as problem:
                log.warning("upkeep ends here: %s", problem.message)
                return
            except MemoryButlerError as problem:
                log.warning("upkeep was interrupted: %s", problem.message)
            except Exception:
                # The outermost place of this work: it must go on, whatever it was.
                log.exception("upkeep was interrupted")
            if _time() - began > LONGEST_PAUSE_SECONDS:
                pause = FIRST_PAUSE_SECONDS
            await _sleep(pause, stop)
            pause = min(pause * 2, LONGEST_PAUSE_SECONDS)

    async def once(self, stop: asyncio.Event) -> None:
        """Do everything that is due now."""
        await self.tick(everybody=True)
        if self._lost.in_doubt:
            await _sleep(self._lost.patience_seconds, stop)
            await self.tick(everybody=True)
        performed = -1
        # A worker that does not wait leaves jobs behind whose shard's turn comes only when it has finished.
        while performed < self._performed and not stop.is_set():
            performed = self._performed
            await self._shift(stop, wait=False)

    async def tick(self, *, everybody: bool = False) -> int:
        """Look at the timetable once: pick up what was lost, put what is due into the queue; says how many jobs."""
        me = self._worker.worker_id if self._worker else None
        again = await self._lost.reclaim(me, self._running)
        if again:
            log.warning("jobs that had lost their worker and were picked up: %d", again)
            self._queue.tell()
        deferred = 0
        # To try each of them would cost more than all the looks at who is due, as long as many wait.
        waiting = await self._queue.waiting()
        tenants = await upkeep.tenants(self._butler)
        for tenant in tenants if everybody else self._whose_turn(tenants):
            try:
                for butler, job in await upkeep.due(self._butler, tenant, self._cadences):
                    if name_of(job, tenant, butler) not in waiting:
                        deferred += await self._queue.defer(job, tenant, butler)
            except TargetUnavailable:
                raise
            except MemoryButlerError as problem:
                log.warning("the timetable of tenant %s could not be looked at: %s", tenant, problem.message)
            if not everybody:
                await asyncio.sleep(BREATH_SECONDS)
        return again + deferred

    def _whose_turn(self, tenants: list[str]) -> list[str]:
        first = self._looked % max(len(tenants), 1)
        self._looked = first + TENANTS_A_LOOK
        return [*tenants[first:], *tenants[:first]][:TENANTS_A_LOOK]

    async def _shift(self, stop: asyncio.Event, *, wait: bool = True) -> None:
        """Register a worker and let it work until told to stop, until something breaks or, if it is not to wait, until
        there is nothing left that it could do."""
        worker = self._queue.worker(
            concurrency=self._concurrency,
            stop_seconds=self._stop_seconds,
            poll_seconds=min(POLL_SECONDS, self._settings.tick_seconds),
            wait=wait,
        )
        self._worker = worker
        working = asyncio.create_task(worker.run(), name="memory-butler-worker")  # type: ignore[no-untyped-call]
        beside = {asyncio.create_task(stop.wait()), asyncio.create_task(self._keep_alive(worker))}
        if wait:
            beside.add(asyncio.create_task(self._keep_time()))
        try:
            await asyncio.wait({working, *beside}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            worker.stop()  # type: ignore[no-untyped-call]
            # Its heart beats until its last job has ended.
            try:
                await working
            finally:
                for task in beside:
                    task.cancel()
                await asyncio.gather(*beside, return_exceptions=True)
                self._worker = None

    async def _keep_time(self) -> None:
        while True:
            try:
                await self.tick()
            except MemoryButlerError as problem:
                log.warning("the timetable could not be looked at: %s", problem.message)
            except Exception:
                # The outermost place of this loop: a tick that fails must not be the last one.
                log.exception("the timetable could not be looked at")
            await asyncio.sleep(self._settings.tick_seconds)

    async def _keep_alive(self, worker: Worker) -> None:
        """Say that the worker is there, so that nobody takes its jobs."""
        while True:
            await asyncio.sleep(self._settings.lost_after_seconds / 4)
            try:
                await self._queue.beat(worker)
            except Exception:
                # The outermost place of this loop: the next beat may be heard.
                log.debug("a heartbeat was lost", exc_info=True)

    async def _perform(self, context: JobContext, entry: Entry, tenant: str, butler: str) -> None:
        assert context.job.id is not None
        self._running.add(context.job.id)
        self._performed += 1
        try:
            shard = upkeep.shard_of(tenant, butler)
            ran = await run_if_due(self._butler, entry, shard, self._cadences[entry.job])
        except MemoryButlerError as problem:
            log.warning("the record of %s of %s/%s could not be kept: %s", entry.job, tenant, butler, problem.message)
            raise
        finally:
            self._running.discard(context.job.id)
        if ran:
            self._tell(ran)
            if ran.outcome == upkeep.FAILED:
                raise JobFailed()


async def look_after(butler: Butler, stop: asyncio.Event) -> None:
    """Upkeep inside a server, until the server ends: one job at a time, and out of the way quickly."""
    await Upkeep(butler, concurrency=1, stop_seconds=STOP_INSIDE_SECONDS).run(stop)


def _time() -> float:
    return asyncio.get_running_loop().time()


async def _sleep(seconds: float, stop: asyncio.Event) -> None:
    """Wait for so long, or until told to stop."""
    waiting = asyncio.create_task(stop.wait())
    await asyncio.wait({waiting}, timeout=seconds)
    waiting.cancel()
