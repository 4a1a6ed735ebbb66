"""Jobs that nobody works on any more, because their worker was killed or could not say that it had finished."""

import asyncio

from memory_butler.jobs.queue import QUEUE
from memory_butler.store import queue
from memory_butler.store.database import Database


class LostJobs:
    """Watches for workers that have fallen silent, and gives their jobs back to the queue.

    After a computer has slept, every worker looks silent to the others until it has had a moment to speak. So silence
    counts only once it has lasted for a while of this process's own time, too.
    """

    def __init__(self, database: Database, silence_seconds: float) -> None:
        self._database = database
        self._silence_seconds = silence_seconds
        self._silent: dict[int, float] = {}
        self._idle: dict[int, float] = {}

    @property
    def patience_seconds(self) -> float:
        return self._silence_seconds / 2

    @property
    def in_doubt(self) -> bool:
        """Whether somebody is silent who may only be slow to wake up."""
        return bool(self._silent)

    async def reclaim(self, me: int | None, running: set[int]) -> int:
        """Make lost jobs ready again; says how many. `me` is this process's worker, `running` the jobs it works on."""
        now = asyncio.get_running_loop().time()
        async with self._database.aside() as session:
            silent = await queue.silent_workers(session, QUEUE, self._silence_seconds)
            held = await queue.held_by(session, QUEUE, me) if me is not None else set()
        self._silent = {worker: self._silent.get(worker, now) for worker in silent if worker != me}
        self._idle = {job: self._idle.get(job, now) for job in held - running}
        lost = [worker for worker, since in self._silent.items() if now - since >= self.patience_seconds]
        dropped = [job for job, since in self._idle.items() if now - since >= self.patience_seconds]
        async with self._database.aside() as session:
            return await queue.reclaim(
                session, QUEUE, lost=lost, dropped=dropped, silence_seconds=self._silence_seconds
            )
