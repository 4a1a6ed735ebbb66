"""The queue as the workers use it: one task for each entry of the timetable, with names for its only arguments."""

from collections.abc import Awaitable, Callable, Sequence

from procrastinate import App, JobContext
from procrastinate.exceptions import AlreadyEnqueued
from procrastinate.worker import Worker

from memory_butler.jobs.timetable import Entry
from memory_butler.store import queue
from memory_butler.store.database import Database
from memory_butler.store.queue import GatedConnector

QUEUE = "upkeep"
# Nobody asks for a running job to be aborted, and heartbeats are given by whoever runs the worker: the library gives
# up on them for good after one failure.
HARDLY_EVER_SECONDS = 86_400.0

Perform = Callable[[JobContext, Entry, str, str], Awaitable[None]]


class Queue:
    """Jobs go in here, and workers take them out."""

    def __init__(self, database: Database, timetable: Sequence[Entry], perform: Perform) -> None:
        self._database = database
        self._connector = GatedConnector(database)
        self._app = App(connector=self._connector)
        for entry in timetable:
            self._app.task(name=entry.job, queue=QUEUE, pass_context=True)(_task(entry, perform))

    async def waiting(self) -> set[str]:
        """What is in the queue already, by the names that `name_of` gives."""
        async with self._database.aside() as session:
            return await queue.waiting(session, QUEUE)

    async def defer(self, job: str, tenant: str, butler: str) -> bool:
        """Put a job into the queue, behind the others of its shard; False if it waits there already."""
        task = self._app.configure_task(
            job, queue=QUEUE, lock=f"{tenant}/{butler}", queueing_lock=name_of(job, tenant, butler)
        )
        try:
            await task.defer_async(tenant=tenant, butler=butler)
        except AlreadyEnqueued:
            return False
        return True

    def tell(self) -> None:
        """Let the worker of this process look for a job now."""
        self._connector.tell()

    async def beat(self, worker: Worker) -> None:
        """Say that a worker is alive, once it has a name to say."""
        if worker.worker_id is not None:
            await self._app.job_manager.update_heartbeat(worker.worker_id)

    def worker(self, *, concurrency: int, stop_seconds: float, poll_seconds: float, wait: bool) -> Worker:
        return Worker(
            self._app,
            queues=[QUEUE],
            concurrency=concurrency,
            wait=wait,
            fetch_job_polling_interval=poll_seconds,
            abort_job_polling_interval=HARDLY_EVER_SECONDS,
            update_heartbeat_interval=HARDLY_EVER_SECONDS,
            stalled_worker_timeout=HARDLY_EVER_SECONDS,
            shutdown_graceful_timeout=stop_seconds,
            # Every run is on record elsewhere; the queue keeps what went wrong.
            delete_jobs="successful",
            install_signal_handlers=False,
        )


def name_of(job: str, tenant: str, butler: str) -> str:
    """Of all that are called so, one waits at a time."""
    return f"{job}/{tenant}/{butler}"


def _task(entry: Entry, perform: Perform) -> Callable[..., Awaitable[None]]:
    async def run(context: JobContext, *, tenant: str, butler: str) -> None:
        await perform(context, entry, tenant, butler)

    return run
