"""Facts that say the same."""

from uuid import UUID

from memory_butler.models import Reach
from memory_butler.store.gate.database import Transaction


async def equal_contents(transaction: Transaction, reach: Reach, limit: int) -> list[tuple[UUID, UUID]]:
    """Pairs of facts in use of one subject with the same words, the older first, the newest pairs first."""
    scopes = None if reach.scopes is None else list(reach.scopes)
    rows = await transaction.all("duplicates.equal_contents", scopes=scopes, limit=limit)
    return [(row["older"], row["newer"]) for row in rows]
