"""Work that takes longer than a click. It continues when pages are closed; one task of a kind runs per tenant."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from memory_butler.adapters.dashboard.actions.error_texts import user_text
from memory_butler.errors import Conflict, MemoryButlerError

log = logging.getLogger(__name__)


@dataclass(slots=True)
class BackgroundTask:
    """Progress (`done` of `total`), and at the end a summary or an error message."""

    total: int = 0
    done: int = 0
    summary: str | None = None
    problem: str | None = None
    task: "asyncio.Task[None] | None" = field(default=None, repr=False)

    @property
    def is_running(self) -> bool:
        return self.task is not None and not self.task.done()


Work = Callable[[BackgroundTask], Awaitable[str]]


class BackgroundTasks:
    """The current or last task of each tenant and kind. Running tasks are cancelled when the server stops."""

    def __init__(self) -> None:
        self._tasks: dict[tuple[str, str], BackgroundTask] = {}

    def get(self, tenant: str, kind: str) -> BackgroundTask | None:
        return self._tasks.get((tenant, kind))

    def start(self, tenant: str, kind: str, work: Work) -> BackgroundTask:
        """Start a task; `work` returns its summary."""
        current = self.get(tenant, kind)
        if current and current.is_running:
            raise Conflict("This is already running.", recovery="Wait until it has finished; the page shows when.")
        started = self._tasks[tenant, kind] = BackgroundTask()
        started.task = asyncio.create_task(_run(started, work), name=f"{kind} of {tenant}")
        return started

    async def close(self) -> None:
        running = [one.task for one in self._tasks.values() if one.task and not one.task.done()]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def _run(background_task: BackgroundTask, work: Work) -> None:
    try:
        background_task.summary = await work(background_task)
    except MemoryButlerError as problem:
        background_task.problem = user_text(problem)
    except Exception:
        # Task boundary: the traceback goes to the log, a short message to the user.
        log.exception("a background task failed")
        background_task.problem = "Something unexpected went wrong. The server's log has the details."
