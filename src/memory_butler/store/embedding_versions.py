"""Which models made the vectors, and which vectors are to be made anew."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from memory_butler.store.database import Database, Row, Session


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


async def outdated(session: Session, version: int, after: UUID, limit: int) -> list[Row]:
    """The next memories by id that are indexed under another version, with their words."""
    return await session.all("embedding_versions.outdated", version=version, after=after, limit=limit)


async def present(session: Session, ids: Sequence[UUID]) -> set[UUID]:
    """Which of these memories are still there."""
    return {row["id"] for row in await session.all("embedding_versions.present", ids=list(ids))}
