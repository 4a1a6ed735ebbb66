"""Episodes that were consolidated and of which nothing was kept: requeue them for a better distiller."""

from memory_butler.models import Caller
from memory_butler.operations.consolidation.dead_letters import MAX_LIMIT, RequeueResult, requeue
from memory_butler.resources import Resources
from memory_butler.store.consolidation import runs


async def requeue_empty(
    resources: Resources, caller: Caller | None = None, *, only_butler: str | None = None
) -> RequeueResult:
    """Requeue up to MAX_LIMIT episodes that gave nothing, oldest first, so that the next run distils them again."""
    caller = resources.admin(caller, "list and requeue dead letters")
    async with resources.database.read(caller.principal.tenant) as transaction:
        rows = await runs.empty_episodes(transaction, only_butler, MAX_LIMIT)
    if not rows:
        return RequeueResult(again=(), left=())
    return await requeue(resources, [f"episode:{row['ref']}" for row in rows], caller, again=True)
