"""Orphaned jobs: their worker was killed, or could not record that it had finished."""

import asyncio

from memory_butler.store.gate.database import Database
from memory_butler.store.lifecycle import queue
from memory_butler.store.system.fleet import QUEUE


class OrphanReclaim:
    """Finds workers without heartbeats and returns their jobs to the queue.

    After a computer has slept, every worker looks dead to the others until its next heartbeat. So a worker counts as
    dead only if it has also been silent for `confirm_seconds` of this process's own clock.
    """

    def __init__(self, database: Database, silence_seconds: float) -> None:
        self._database = database
        self._silence_seconds = silence_seconds
        self._silent: dict[int, float] = {}
        self._idle: dict[int, float] = {}

    @property
    def confirm_seconds(self) -> float:
        return self._silence_seconds / 2

    @property
    def has_suspects(self) -> bool:
        """True while a worker is silent but not yet counted as dead."""
        return bool(self._silent)

    async def reclaim(self, own_id: int | None, running: set[int]) -> int:
        """Return orphaned jobs to the queue, and their number.

        `own_id` is this process's worker, `running` the jobs that it is working on.
        """
        now = asyncio.get_running_loop().time()
        async with self._database.unlocked_write() as transaction:
            silent = await queue.silent_workers(transaction, QUEUE, self._silence_seconds)
            held = await queue.held_by(transaction, QUEUE, own_id) if own_id is not None else set()
        self._silent = {worker: self._silent.get(worker, now) for worker in silent if worker != own_id}
        self._idle = {job: self._idle.get(job, now) for job in held - running}
        dead = [worker for worker, since in self._silent.items() if now - since >= self.confirm_seconds]
        dropped = [job for job, since in self._idle.items() if now - since >= self.confirm_seconds]
        async with self._database.unlocked_write() as transaction:
            return await queue.reclaim(
                transaction, QUEUE, lost=dead, dropped=dropped, silence_seconds=self._silence_seconds
            )
