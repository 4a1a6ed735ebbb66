"""The queue of the workers: one procrastinate task per job of the schedule, with tenant and butler as arguments."""

from collections.abc import Awaitable, Callable, Sequence

from procrastinate import App, JobContext
from procrastinate.exceptions import AlreadyEnqueued
from procrastinate.worker import Worker

from memory_butler.jobs.job_run import FinishedRun
from memory_butler.jobs.schedule import ScheduledJob
from memory_butler.metrics import trace_context
from memory_butler.operations.lifecycle.job_status import FAILED
from memory_butler.store.gate.database import Database
from memory_butler.store.lifecycle import enqueue, queue
from memory_butler.store.lifecycle.queue import GatedConnector
from memory_butler.store.system.fleet import QUEUE

# Running jobs are never aborted, and our worker sends the heartbeats itself: procrastinate stops sending them for good
# after one failure.
EFFECTIVELY_NEVER_SECONDS = 86_400.0

Perform = Callable[[JobContext, ScheduledJob, str, str], Awaitable[FinishedRun | None]]


class JobFailed(Exception):
    """The job failed; the record of its run has the reason."""


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
            job,
            queue=QUEUE,
            lock=enqueue.shard_lock(tenant, butler),
            queueing_lock=enqueue.queueing_lock(job, tenant, butler),
        )
        try:
            await task.defer_async(**enqueue.arguments(tenant, butler, trace_context.carrier()))
        except AlreadyEnqueued:
            return False
        return True

    def wake_worker(self) -> None:
        """Make the worker of this process fetch a job now."""
        self._connector.tell()

    async def heartbeat(self, worker: Worker) -> None:
        if worker.worker_id is not None:
            await self._app.job_manager.update_heartbeat(worker.worker_id)

    def worker(self, *, concurrency: int, stop_seconds: float | None, poll_seconds: float, wait: bool) -> Worker:
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


def _task(entry: ScheduledJob, perform: Perform) -> Callable[..., Awaitable[None]]:
    async def run(context: JobContext, *, tenant: str, butler: str, trace: dict[str, str] | None = None) -> None:
        with trace_context.job_span(entry.job, tenant, trace) as span:
            run = await perform(context, entry, tenant, butler)
            failure = run.report.get("class", "interrupted") if run and run.outcome == FAILED else None
            trace_context.end_job(span, run.outcome if run else "not due", failure)
        if failure:
            raise JobFailed()

    return run
