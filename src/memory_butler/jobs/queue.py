"""The queue of the workers: one procrastinate task per job of the schedule, with tenant and butler as arguments."""

from collections.abc import Awaitable, Callable, Sequence

from procrastinate import App, JobContext
from procrastinate.exceptions import AlreadyEnqueued
from procrastinate.worker import Worker

from memory_butler.jobs.schedule import ScheduledJob
from memory_butler.store.gate.database import Database
from memory_butler.store.lifecycle import queue
from memory_butler.store.lifecycle.queue import GatedConnector
from memory_butler.store.system.fleet import QUEUE

# Running jobs are never aborted, and our worker sends the heartbeats itself: procrastinate stops sending them for good
# after one failure.
EFFECTIVELY_NEVER_SECONDS = 86_400.0

Perform = Callable[[JobContext, ScheduledJob, str, str], Awaitable[None]]


class Queue:
    def __init__(self, database: Database, schedule: Sequence[ScheduledJob], perform: Perform) -> None:
        self._database = database
        self._connector = GatedConnector(database)
        self._app = App(connector=self._connector)
        for entry in schedule:
            self._app.task(name=entry.job, queue=QUEUE, pass_context=True)(_task(entry, perform))

    async def waiting(self) -> set[str]:
        """Return the queueing locks of the jobs that wait."""
        async with self._database.unlocked_write() as transaction:
            return await queue.waiting(transaction, QUEUE)

    async def defer(self, job: str, tenant: str, butler: str) -> bool:
        """Enqueue a job behind the others of its shard; returns False if it waits already."""
        task = self._app.configure_task(
            job, queue=QUEUE, lock=f"{tenant}/{butler}", queueing_lock=queueing_lock(job, tenant, butler)
        )
        try:
            await task.defer_async(tenant=tenant, butler=butler)
        except AlreadyEnqueued:
            return False
        return True

    def wake_worker(self) -> None:
        """Make the worker of this process fetch a job now."""
        self._connector.tell()

    async def heartbeat(self, worker: Worker) -> None:
        if worker.worker_id is not None:
            await self._app.job_manager.update_heartbeat(worker.worker_id)

    def worker(self, *, concurrency: int, stop_seconds: float, poll_seconds: float, wait: bool) -> Worker:
        return Worker(
            self._app,
            queues=[QUEUE],
            concurrency=concurrency,
            wait=wait,
            fetch_job_polling_interval=poll_seconds,
            abort_job_polling_interval=EFFECTIVELY_NEVER_SECONDS,
            update_heartbeat_interval=EFFECTIVELY_NEVER_SECONDS,
            stalled_worker_timeout=EFFECTIVELY_NEVER_SECONDS,
            shutdown_graceful_timeout=stop_seconds,
            # Every run is recorded in job_runs; the queue keeps only failed jobs.
            delete_jobs="successful",
            install_signal_handlers=False,
        )


def queueing_lock(job: str, tenant: str, butler: str) -> str:
    """Return the lock of which at most one job waits at a time."""
    return f"{job}/{tenant}/{butler}"


def tenant_of_lock(lock: str) -> str:
    """Return the tenant of a queueing lock."""
    return lock.split("/")[1]


def _task(entry: ScheduledJob, perform: Perform) -> Callable[..., Awaitable[None]]:
    async def run(context: JobContext, *, tenant: str, butler: str) -> None:
        await perform(context, entry, tenant, butler)

    return run
