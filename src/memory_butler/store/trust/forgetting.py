"""Search for memories that name somebody, and retraction of many memories."""

from collections.abc import AsyncIterator, Sequence
from typing import Any
from uuid import UUID

from memory_butler.models import MemoryType, Reach
from memory_butler.store.gate.database import Database, Row, Transaction

NAMES = 1_000
PAGE = 10_000
LAST = UUID(int=2**128 - 1)
_LITERAL = str.maketrans({"\\": r"\\", "%": r"\%", "_": r"\_"})


async def names_of(transaction: Transaction, subject: str, reach: Reach) -> list[str]:
    """The subject and its aliases, all normalized."""
    return await transaction.column("forgetting.names_of", subject=subject, scopes=reach.scopes, limit=NAMES)


async def about_subject(
    transaction: Transaction, names: Sequence[str], reach: Reach, limit: int, *, every_state: bool = False
) -> list[Row]:
    return await transaction.all(
        "forgetting.about_subject", names=list(names), scopes=reach.scopes, limit=limit, every_state=every_state
    )


def sieve(*, pieces: Sequence[str], capitals: str, smalls: str, odd: str, dropped: str = "") -> dict[str, Any]:
    """The parameters of a prefilter."""
    patterns = [f"%{piece.translate(_LITERAL)}%" for piece in pieces]
    return {"patterns": patterns, "capitals": capitals, "smalls": smalls, "odd": f"[{odd}]", "dropped": dropped}


async def that_may_name(
    database: Database, tenant: str, reach: Reach, *, every_state: bool = False, **prefilter: Any
) -> AsyncIterator[Row]:
    """Every live memory, or every one, that passes a sieve. A page is a transaction of its own: however many
    memories there are, none takes long."""
    after: UUID | None = UUID(int=0)
    while after:
        async with database.read(tenant) as transaction:
            end = await transaction.one("forgetting.end_of_page", after=after, size=PAGE)
            rows = await transaction.all(
                "forgetting.that_may_name",
                after=after,
                until=end["id"] if end else LAST,
                scopes=reach.scopes,
                butlers=reach.butlers,
                every_state=every_state,
                **sieve(**prefilter),
            )
        for row in rows:
            yield row
        after = end["id"] if end else None


async def retract(transaction: Transaction, memory_type: MemoryType, ids: Sequence[UUID]) -> set[UUID]:
    """Retract memories of a type; returns those that were live."""
    return set(await transaction.column(f"forgetting.retract:{memory_type}", ids=list(ids)))
