"""Which models made the vectors."""

from datetime import datetime
from typing import Protocol

from memory_butler.store.database import Database


class Version(Protocol):
    """What identifies a model: its name, the size of its vectors, a digest of its weights and graph."""

    @property
    def name(self) -> str: ...
    @property
    def dimensions(self) -> int: ...
    @property
    def digest(self) -> str: ...


async def ensure(database: Database, tenant: str, version: Version, passage_policy: int, now: datetime) -> int:
    """The id under which vectors of this model and this way of cutting passages are stored."""
    named = {"name": version.name, "digest": version.digest, "passage_policy": passage_policy}
    async with database.read(tenant) as session:
        row = await session.one("database.find_embedding_version", **named)
    if row is None:
        async with database.write(tenant, now) as session:
            await session.send("database.add_embedding_version", dimensions=version.dimensions, now=now, **named)
            row = await session.one("database.find_embedding_version", **named)
    assert row
    return int(row["id"])
