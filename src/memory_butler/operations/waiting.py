"""Waiting: how many episodes are there to be consolidated."""

from typing import Any

from memory_butler.butler import Butler
from memory_butler.models import Caller
from memory_butler.store import episodes, stats

NO_DISTILLER = "no distiller is installed"


async def count_waiting(butler: Butler, shard: Caller) -> dict[str, Any]:
    """Count a shard's pending episodes and those first in line. Nothing here distils them, and the report says so."""
    name = shard.principal.butler
    eden = butler.settings.lifecycle_of(name).eden
    async with butler.database.read(shard.principal.tenant) as session:
        pending = await stats.pending_of(session, name)
        first = await episodes.count_first_in_line(session, name, eden, butler.clock())
    return {"pending": pending, "first_in_line": first, "distilled": 0, "note": NO_DISTILLER}
