"""How one memory matches a question, by the measures of the search."""

from uuid import UUID

from memory_butler.models import MemoryType
from memory_butler.models.explanation import Match
from memory_butler.store.database import Database
from memory_butler.store.search_index import Probe, params


async def one(database: Database, tenant: str, probe: Probe, memory_type: MemoryType, memory_id: UUID) -> Match:
    async with database.read(tenant) as session:
        row = await session.one("matches.one", memory_type=memory_type, memory_id=memory_id, **params(probe))
    assert row
    return Match(**{**row, "words": tuple(row["words"]), "names": tuple(row["names"])})
