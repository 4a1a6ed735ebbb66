"""Residue: after a purge, rewrite the data files of the embedded store and note it in the receipts."""

import asyncio
import logging

from memory_butler.errors import MemoryButlerError
from memory_butler.resources import Resources
from memory_butler.store.trust import purging
from memory_butler.store.trust import residue as store

CLEAN, PENDING, EXTERNAL = "clean", "pending", "external database"
# A purge rewrites a store up to this size at once; the cleanup job rewrites larger ones.
AT_ONCE_BYTES = 256 * 2**20
BY_JOB_BYTES = 4 * 2**30
log = logging.getLogger(__name__)


# Rewrites that go on after the call that started them.
_running: set[asyncio.Task[str | None]] = set()


async def clean_up_within(resources: Resources, tenant: str, seconds: float | None) -> str | None:
    """The same as `clean_up`, but returns `pending` after some seconds and goes on in the background."""
    task = asyncio.create_task(clean_up(resources, tenant))
    _running.add(task)
    task.add_done_callback(_running.discard)
    done, _ = await asyncio.wait({task}, timeout=seconds)
    return task.result() if done else PENDING


async def clean_up(resources: Resources, tenant: str, most_bytes: int = AT_ONCE_BYTES) -> str | None:
    """Rewrite the data files if a purge of the tenant left words in them; returns `clean`, `pending`, or None if there
    was nothing to do. The files of an external database are up to its owner."""
    async with resources.database.read(tenant) as transaction:
        ids = await purging.unclean(transaction)
    if not ids:
        return None
    if not resources.database.embedded:
        done = EXTERNAL
    else:
        try:
            done = CLEAN if await store.rewrite(resources.database, most_bytes) else PENDING
        except MemoryButlerError as problem:
            # The rows are deleted and committed; only the rewrite is repeated.
            log.warning("The data files could not be rewritten after a purge: %s", problem.message)
            done = PENDING
    if done != PENDING:
        note = {"state": done, "at": resources.clock().isoformat()}
        async with resources.database.unlocked_write(tenant) as transaction:
            await purging.mark_clean(transaction, ids, note)
    return done
