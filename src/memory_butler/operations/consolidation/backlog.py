"""The consolidation backlog: pending episodes in the order in which they are claimed."""

from datetime import timedelta

from memory_butler.errors import NotFound
from memory_butler.models import Caller
from memory_butler.policy.memories.validation import slug
from memory_butler.resources import Resources
from memory_butler.store.consolidation import runs
from memory_butler.store.lifecycle import sweep

# Looks far enough ahead to include every episode that waits for a retry.
LATER = timedelta(days=365)


async def locked_note(
    resources: Resources, caller: Caller | None = None, *, only_butler: str | None = None
) -> str | None:
    """A note with the number of pending episodes whose encryption key is not available; None if there are none."""
    caller = resources.allowed(caller, "consolidate")
    async with resources.database.read(caller.principal.tenant) as transaction:
        count = await runs.count_locked(transaction, only_butler)
    waiting = "1 encrypted episode waits for its key" if count == 1 else f"{count:,} encrypted episodes wait for a key"
    return f"{waiting}; see `memory-butler keys status`." if count else None


async def backlogs(
    resources: Resources, caller: Caller | None = None, *, only_butler: str | None = None, later: bool = False
) -> dict[str, int]:
    """Number of episodes ready for consolidation per butler of the tenant, or of one butler. `later` adds retries."""
    caller = resources.admin(caller, "see the backlogs of all butlers")
    wanted = None if only_butler is None else slug(only_butler, "butler")
    async with resources.database.read(caller.principal.tenant) as transaction:
        names = await sweep.butlers(transaction)
        rows = await runs.waiting_shards(transaction, resources.clock() + (LATER if later else timedelta()), wanted)
    if wanted is not None and wanted not in names:
        raise NotFound(
            f"No butler {wanted!r} has stored anything.",
            recovery=f"Name one of: {', '.join(names)}." if names else "Store something first.",
        )
    sizes = {row["butler"]: int(row["backlog"]) for row in rows}
    return sizes if wanted is None else {wanted: sizes.get(wanted, 0)}
