"""The worker: checks the schedule every minute and runs due jobs.

There can be any number of workers, in their own processes and inside servers. A worker that finds a due job enqueues
it; the queue holds each job once. The worker that takes it checks again that it is due. So a job that was missed while
no worker ran is made up for once.
"""

import asyncio
import logging
from collections.abc import Callable

from procrastinate import JobContext
from procrastinate.worker import Worker as QueueWorker

from memory_butler.errors import MemoryButlerError, TargetUnavailable
from memory_butler.jobs.job_run import FinishedRun, run_if_due
from memory_butler.jobs.orphans import OrphanReclaim
from memory_butler.jobs.queue import Queue, queueing_lock
from memory_butler.jobs.schedule import SCHEDULE, ScheduledJob, intervals
from memory_butler.metrics import upkeep
from memory_butler.operations.lifecycle import job_status
from memory_butler.operations.retrieval.reembedding import note_use
from memory_butler.resources import Resources
from memory_butler.store.gate.database import StoreUpgraded

# Time a running job gets after the worker was told to stop: in its own process, and inside a server.
STOP_SECONDS = 30.0
STOP_INSIDE_SECONDS = 1.0
POLL_SECONDS = 5.0
# Bounds one check of the schedule; with more tenants, each check takes the next ones.
TENANTS_PER_TICK = 1000
# Pause between two tenants: a thousand lookups in a row would block calls for seconds.
TENANT_PAUSE_SECONDS = 0.02
FIRST_PAUSE_SECONDS = 1.0
MAX_PAUSE_SECONDS = 300.0

log = logging.getLogger(__name__)


class JobFailed(Exception):
    """The job failed; the record of its run has the reason."""


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
        self._started_jobs = 0
        self._next_tenant = 0

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
        tenants = await job_status.tenants(self._resources)
        for tenant in tenants if all_tenants else self._tenants_of_this_tick(tenants):
            try:
                for butler, job in await job_status.due(self._resources, tenant, self._intervals):
                    if queueing_lock(job, tenant, butler) not in waiting:
                        deferred += await self._queue.defer(job, tenant, butler)
            except TargetUnavailable:
                raise
            except MemoryButlerError as problem:
                log.warning("checking the schedule of tenant %s failed: %s", tenant, problem.message)
            if not all_tenants:
                await asyncio.sleep(TENANT_PAUSE_SECONDS)
        return reclaimed + deferred

    def _tenants_of_this_tick(self, tenants: list[str]) -> list[str]:
        first = self._next_tenant % max(len(tenants), 1)
        self._next_tenant = first + TENANTS_PER_TICK
        return [*tenants[first:], *tenants[:first]][:TENANTS_PER_TICK]

    async def _work(self, stop: asyncio.Event, *, wait: bool = True) -> None:
        """Run a queue worker until `stop` is set, until it fails or, without `wait`, until no job is left for it."""
        worker = self._queue.worker(
            concurrency=self._concurrency,
            stop_seconds=self._stop_seconds,
            poll_seconds=min(POLL_SECONDS, self._settings.tick_seconds),
            wait=wait,
        )
        self._worker = worker
        working = asyncio.create_task(worker.run(), name="memory-butler-worker")  # type: ignore[no-untyped-call]
        others = {asyncio.create_task(stop.wait()), asyncio.create_task(self._send_heartbeats(worker))}
        if wait:
            others.add(asyncio.create_task(self._tick_forever()))
        try:
            await asyncio.wait({working, *others}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            worker.stop()  # type: ignore[no-untyped-call]
            # The heartbeats continue until its last job has ended.
            try:
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
            await asyncio.sleep(self._settings.tick_seconds)

    async def _send_heartbeats(self, worker: QueueWorker) -> None:
        """Update the worker's heartbeat, so that no other worker reclaims its jobs."""
        while True:
            await asyncio.sleep(self._settings.lost_after_seconds / 4)
            try:
                await self._queue.heartbeat(worker)
            except Exception:
                # Boundary of the loop: the next heartbeat may succeed.
                log.debug("a heartbeat failed", exc_info=True)

    async def _perform(self, context: JobContext, entry: ScheduledJob, tenant: str, butler: str) -> None:
        assert context.job.id is not None
        self._running.add(context.job.id)
        self._started_jobs += 1
        try:
            shard = job_status.shard_of(tenant, butler)
            run = await run_if_due(self._resources, entry, shard, self._intervals[entry.job])
        except MemoryButlerError as problem:
            log.warning("recording the run of %s of %s/%s failed: %s", entry.job, tenant, butler, problem.message)
            raise
        finally:
            self._running.discard(context.job.id)
        if run:
            self._on_run(run)
            if run.outcome == job_status.FAILED:
                raise JobFailed()


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
