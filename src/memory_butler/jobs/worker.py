"""The worker: checks the schedule every minute and runs due jobs.

There can be any number of workers, in their own processes and inside servers. A worker that finds a due job enqueues
it; the queue holds each job once. The worker that takes it checks again that it is due. So a job that was missed while
no worker ran is made up for once.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from procrastinate import JobContext
from procrastinate.worker import Worker as QueueWorker

from memory_butler.errors import MemoryButlerError, TargetUnavailable
from memory_butler.jobs.job_run import FinishedRun, run_if_due
from memory_butler.jobs.orphans import OrphanReclaim
from memory_butler.jobs.queue import Queue
from memory_butler.jobs.schedule import SCHEDULE, ScheduledJob, intervals
from memory_butler.metrics import upkeep
from memory_butler.operations.lifecycle import job_status
from memory_butler.operations.retrieval.reembedding import note_use
from memory_butler.operations.system import fleet
from memory_butler.resources import Resources
from memory_butler.store.gate.database import StoreUpgraded
from memory_butler.store.lifecycle.enqueue import queueing_lock, tenant_of_lock
from memory_butler.store.system.fleet import CHUNK

# Time a running job gets after the worker was told to stop: in its own process, and inside a server.
STOP_SECONDS = 30.0
STOP_INSIDE_SECONDS = 1.0
POLL_SECONDS = 5.0
# Bounds one check of the schedule. If more tenants have something due, the next check follows at once.
TENANTS_PER_TICK = 1000
# Pause between two tenants, or two parts of all tenants: a thousand lookups in a row would block calls for seconds.
TENANT_PAUSE_SECONDS = 0.01
# How often a worker looks whether a sample is due, in the time between two samples.
SAMPLE_CHECKS = 5
FIRST_PAUSE_SECONDS = 1.0
MAX_PAUSE_SECONDS = 300.0

log = logging.getLogger(__name__)


class Worker:
    """Runs the scheduled jobs in one process."""

    def __init__(
        self,
        resources: Resources,
        *,
        schedule: tuple[ScheduledJob, ...] = SCHEDULE,
        concurrency: int | None = None,
        stop_seconds: float = STOP_SECONDS,
        on_run: Callable[[FinishedRun], None] = lambda run: None,
    ) -> None:
        self._resources = resources
        self._settings = resources.settings.upkeep
        self._intervals = intervals(resources.settings, schedule)
        self._concurrency = min(concurrency or self._settings.concurrency, resources.settings.pool_size)
        self._stop_seconds = stop_seconds
        self._on_run = on_run
        self._queue = Queue(resources.database, schedule, self._perform)
        self._orphans = OrphanReclaim(resources.database, self._settings.lost_after_seconds)
        self._worker: QueueWorker | None = None
        self._running: set[int] = set()
        self._performing: set[asyncio.Task[Any]] = set()
        self._started_jobs = 0
        # True if the last check of the schedule left tenants out.
        self._has_more = False

    async def run(self, stop: asyncio.Event) -> None:
        """Work until `stop` is set. A failure is logged and followed by a retry with exponential backoff."""
        pause = FIRST_PAUSE_SECONDS
        while not stop.is_set():
            began = _time()
            try:
                await self._work(stop)
            except StoreUpgraded as problem:
                log.warning("the worker ends: %s", problem.message)
                return
            except MemoryButlerError as problem:
                log.warning("the worker was interrupted: %s", problem.message)
            except Exception:
                # Boundary of the worker: it retries after any error.
                log.exception("the worker was interrupted")
            if _time() - began > MAX_PAUSE_SECONDS:
                pause = FIRST_PAUSE_SECONDS
            await _sleep(pause, stop)
            pause = min(pause * 2, MAX_PAUSE_SECONDS)

    async def once(self, stop: asyncio.Event) -> None:
        """Run everything that is due now."""
        await self.tick(all_tenants=True)
        if self._orphans.has_suspects:
            await _sleep(self._orphans.confirm_seconds, stop)
            await self.tick(all_tenants=True)
        started = -1
        # A worker that does not wait leaves jobs whose shard is still locked by another of its jobs.
        while started < self._started_jobs and not stop.is_set():
            started = self._started_jobs
            await self._work(stop, wait=False)
        await self._sample()

    async def tick(self, *, all_tenants: bool = False) -> int:
        """Check the schedule once: reclaim orphaned jobs and enqueue due ones. Returns the number of jobs."""
        own_id = self._worker.worker_id if self._worker else None
        reclaimed = await self._orphans.reclaim(own_id, self._running)
        if reclaimed:
            log.warning("orphaned jobs reclaimed: %d", reclaimed)
            self._queue.wake_worker()
        upkeep.TICK.set_to_current_time()
        await note_use(self._resources)
        deferred = 0
        # Looked up once: while many jobs wait, trying to enqueue each would cost more than the whole check.
        waiting = await self._queue.waiting()
        pause = 0 if all_tenants else TENANT_PAUSE_SECONDS
        tenants = await self._tenants_with_due_jobs(waiting, pause)
        part = tenants if all_tenants else tenants[:TENANTS_PER_TICK]
        for tenant in part:
            try:
                for butler, job in await job_status.due(self._resources, tenant, self._intervals):
                    if queueing_lock(job, tenant, butler) not in waiting:
                        deferred += await self._queue.defer(job, tenant, butler)
            except TargetUnavailable:
                raise
            except MemoryButlerError as problem:
                log.warning("checking the schedule of tenant %s failed: %s", tenant, problem.message)
            await asyncio.sleep(pause)
        # Only a check that got something done is followed by another at once.
        self._has_more = deferred > 0 and len(part) < len(tenants)
        return reclaimed + deferred

    async def _tenants_with_due_jobs(self, waiting: set[str], pause: float) -> list[str]:
        """The tenants that may have a job due: first those without a job in the queue."""
        tenants = await job_status.tenants(self._resources)
        queued = {tenant_of_lock(lock) for lock in waiting}
        found: list[str] = []
        for start in range(0, len(tenants), CHUNK):
            part = tenants[start : start + CHUNK]
            found += await job_status.with_due_jobs(self._resources, part, self._intervals)
            await asyncio.sleep(pause)
        return sorted(found, key=lambda tenant: tenant in queued)

    async def _work(self, stop: asyncio.Event, *, wait: bool = True) -> None:
        """Run a queue worker until `stop` is set, until it fails or, without `wait`, until no job is left for it."""
        worker = self._queue.worker(
            concurrency=self._concurrency,
            # A worker that does not wait stops as soon as it has taken its jobs, which may take as long as they need.
            stop_seconds=self._stop_seconds if wait else None,
            poll_seconds=min(POLL_SECONDS, self._settings.tick_seconds),
            wait=wait,
        )
        self._worker = worker
        working = asyncio.create_task(worker.run(), name="memory-butler-worker")  # type: ignore[no-untyped-call]
        others = {asyncio.create_task(stop.wait()), asyncio.create_task(self._send_heartbeats(worker))}
        if wait:
            others |= {asyncio.create_task(self._tick_forever()), asyncio.create_task(self._sample_forever())}
        try:
            await asyncio.wait({working, *others}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            worker.stop()  # type: ignore[no-untyped-call]
            # The heartbeats continue until its last job has ended.
            try:
                if stop.is_set() and not wait:
                    await asyncio.wait({working}, timeout=self._stop_seconds)
                    for task in self._performing:
                        task.cancel()
                await working
            finally:
                for task in others:
                    task.cancel()
                await asyncio.gather(*others, return_exceptions=True)
                self._worker = None

    async def _tick_forever(self) -> None:
        while True:
            try:
                await self.tick()
            except MemoryButlerError as problem:
                log.warning("checking the schedule failed: %s", problem.message)
            except Exception:
                # Boundary of the loop: a failed tick must not be the last one.
                log.exception("checking the schedule failed")
            await asyncio.sleep(0 if self._has_more else self._settings.tick_seconds)

    async def _sample_forever(self) -> None:
        """Take figures of all tenants now and then, if no other worker does."""
        while True:
            await self._sample()
            await asyncio.sleep(self._resources.settings.telemetry.sample_seconds / SAMPLE_CHECKS)

    async def _sample(self) -> None:
        try:
            await fleet.take_if_due(self._resources)
        except MemoryButlerError as problem:
            log.warning("taking figures of all tenants failed: %s", problem.message)
        except Exception:
            # Boundary of the loop: the next sample may succeed.
            log.exception("taking figures of all tenants failed")

    async def _send_heartbeats(self, worker: QueueWorker) -> None:
        """Update the worker's heartbeat, so that no other worker reclaims its jobs."""
        while True:
            await asyncio.sleep(self._settings.lost_after_seconds / 4)
            try:
                await self._queue.heartbeat(worker)
            except Exception:
                # Boundary of the loop: the next heartbeat may succeed.
                log.debug("a heartbeat failed", exc_info=True)

    async def _perform(self, context: JobContext, entry: ScheduledJob, tenant: str, butler: str) -> FinishedRun | None:
        assert context.job.id is not None
        task = asyncio.current_task()
        assert task
        self._running.add(context.job.id)
        self._performing.add(task)
        self._started_jobs += 1
        try:
            shard = job_status.shard_of(tenant, butler)
            run = await run_if_due(self._resources, entry, shard, self._intervals[entry.job])
        except MemoryButlerError as problem:
            log.warning("recording the run of %s of %s/%s failed: %s", entry.job, tenant, butler, problem.message)
            raise
        finally:
            self._running.discard(context.job.id)
            self._performing.discard(task)
        if run:
            self._on_run(run)
        return run


async def run_inside_server(resources: Resources, stop: asyncio.Event) -> None:
    """Run a worker inside a server until the server ends: one job at a time, with a short stop time."""
    await Worker(resources, concurrency=1, stop_seconds=STOP_INSIDE_SECONDS).run(stop)


def _time() -> float:
    return asyncio.get_running_loop().time()


async def _sleep(seconds: float, stop: asyncio.Event) -> None:
    """Wait for some seconds, or until `stop` is set."""
    waiting = asyncio.create_task(stop.wait())
    await asyncio.wait({waiting}, timeout=seconds)
    waiting.cancel()
