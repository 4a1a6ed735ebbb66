"""The match between one memory and a question, by the scores of the search."""

from uuid import UUID

from memory_butler.models import MemoryType
from memory_butler.models.explanation import Match
from memory_butler.store.gate.database import Database
from memory_butler.store.retrieval.search import SearchQuery


async def one(database: Database, tenant: str, query: SearchQuery, memory_type: MemoryType, memory_id: UUID) -> Match:
    async with database.read(tenant) as transaction:
        row = await transaction.one("matches.one", memory_type=memory_type, memory_id=memory_id, **query.params())
    assert row
    return Match(**{**row, "words": tuple(row["words"]), "names": tuple(row["names"])})
