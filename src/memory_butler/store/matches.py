"""How one memory matches a question, by the measures of the search."""

from uuid import UUID

from memory_butler.models import MemoryType
from memory_butler.models.explanation import Match
from memory_butler.store.database import Database
from memory_butler.store.search_index import Probe
from memory_butler.store.vectors import as_vector


async def one(database: Database, tenant: str, probe: Probe, memory_type: MemoryType, memory_id: UUID) -> Match:
    async with database.read(tenant) as session:
        row = await session.one(
            "matches.one",
            memory_type=memory_type,
            memory_id=memory_id,
            embedding=None if probe.embedding is None else as_vector(probe.embedding),
            embedding_version=probe.embedding_version,
            config=probe.text_search,
            words=probe.words,
            names=list(probe.names),
            mentions=probe.mentions,
            k1=probe.k1,
            b=probe.b,
        )
    assert row
    return Match(**{**row, "words": tuple(row["words"]), "names": tuple(row["names"])})
