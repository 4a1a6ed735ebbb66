"""Embedding versions, and the memories to embed again."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from memory_butler.store.gate.database import Database, Row, Transaction


class Version(Protocol):
    """Identity of a model: its name, the size of its vectors, a digest of its weights and graph."""

    @property
    def name(self) -> str: ...
    @property
    def dimensions(self) -> int: ...
    @property
    def digest(self) -> str: ...


async def ensure(database: Database, tenant: str, version: Version, passage_policy: int, now: datetime) -> int:
    """The id under which vectors of this model and this way of cutting passages are stored."""
    named = {"name": version.name, "digest": version.digest, "passage_policy": passage_policy}
    async with database.read(tenant) as transaction:
        row = await transaction.one("database.find_embedding_version", **named)
    if row is None:
        async with database.write(tenant, now) as transaction:
            await transaction.send("database.add_embedding_version", dimensions=version.dimensions, now=now, **named)
            row = await transaction.one("database.find_embedding_version", **named)
    assert row
    return int(row["id"])


async def outdated(transaction: Transaction, version: int, profile_version: int, after: UUID, limit: int) -> list[Row]:
    """The next memories by id that are indexed under another version, with their words."""
    return await transaction.all(
        "embedding_versions.outdated", version=version, profile_version=profile_version, after=after, limit=limit
    )


async def present(transaction: Transaction, ids: Sequence[UUID]) -> set[UUID]:
    """Those of some memories that still exist."""
    return set(await transaction.column("embedding_versions.present", ids=list(ids)))
