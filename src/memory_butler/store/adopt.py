"""What is there already of memories that come from elsewhere."""

from collections.abc import Sequence

from memory_butler.store.database import Row, Session
from memory_butler.store.recordsets import recordset


async def known(session: Session, items: Sequence[Row]) -> set[int]:
    """The numbers of those that are there in the same words."""
    return {row["n"] for row in await session.all("adopt.known", items=recordset(items))}
