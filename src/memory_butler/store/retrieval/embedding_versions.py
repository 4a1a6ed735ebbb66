"""Embedding versions, the versions that a tenant's memories have, and the memories to embed again."""

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple, Protocol
from uuid import UUID

from memory_butler.store.gate.database import Database, Row, Transaction

# Tenants whose versions are remembered.
MAX_TENANTS = 10_000
# A version counts as unused when no program has noted its use for so long.
UNUSED_AFTER = timedelta(hours=1)
NOTED_EVERY = timedelta(minutes=10)


class Version(Protocol):
    """Identity of a model: its name, the size of its vectors, a digest of its weights and graph."""

    @property
    def name(self) -> str: ...
    @property
    def dimensions(self) -> int: ...
    @property
    def digest(self) -> str: ...


class StoredVersion(NamedTuple):
    """A version as the store has it."""

    id: int
    name: str
    digest: str
    dimensions: int
    passage_policy: int


class Standing(NamedTuple):
    """A tenant's memories with vectors of another version than the current one, whether the current one is to replace
    them, and since when that is paused."""

    earlier: int
    is_chosen: bool
    paused_at: datetime | None

    @property
    def is_due(self) -> bool:
        return self.earlier > 0 and self.is_chosen and self.paused_at is None


class KnownVersions:
    """The versions of the store, and those that tenants were last seen to have. A search embeds its question with each
    of them; if one is missing, it is repeated."""

    def __init__(self) -> None:
        # Memories to embed again, by tenant, as the schedule found them last.
        self.behind: dict[str, int] = {}
        self._stored: dict[int, StoredVersion] = {}
        self._of_tenants: OrderedDict[str, tuple[int, ...]] = OrderedDict()

    async def stored(self, database: Database, tenant: str, ids: Iterable[int]) -> list[StoredVersion]:
        """The versions with these ids."""
        wanted = list(ids)
        if not self._stored.keys() >= set(wanted):
            async with database.read(tenant) as transaction:
                rows = await transaction.all("embedding_versions.all")
            self._stored = {row["id"]: StoredVersion(**row) for row in rows}
        return [self._stored[id] for id in wanted if id in self._stored]

    def expected(self, tenant: str) -> tuple[int, ...]:
        """The versions that the tenant's memories were last seen to have."""
        return self._of_tenants.get(tenant, ())

    def learn(self, tenant: str, versions: Mapping[int, int]) -> None:
        self._of_tenants[tenant] = tuple(versions)
        self._of_tenants.move_to_end(tenant)
        while len(self._of_tenants) > MAX_TENANTS:
            self._of_tenants.popitem(last=False)


async def ensure(database: Database, tenant: str, version: Version, passage_policy: int, now: datetime) -> int:
    """The id under which vectors of this model and this way of cutting passages are stored. It counts as used."""
    named = {"name": version.name, "digest": version.digest, "passage_policy": passage_policy}
    async with database.read(tenant) as transaction:
        row = await transaction.one("embedding_versions.find", **named)
    if row and row["used_at"] < now - NOTED_EVERY:
        async with database.unlocked_write(tenant) as transaction:
            await use(transaction, row["id"], now)
    if row is None:
        async with database.write(tenant, now) as transaction:
            await transaction.send("embedding_versions.add", dimensions=version.dimensions, now=now, **named)
            row = await transaction.one("embedding_versions.find", **named)
    assert row
    return int(row["id"])


async def use(transaction: Transaction, version: int, now: datetime, *, choose: bool = False) -> None:
    """Note that a version is in use, unless that was noted a moment ago. See `embedding_versions.use`."""
    await transaction.send(
        "embedding_versions.use",
        version=version,
        now=now,
        choose=choose,
        unused_since=now - UNUSED_AFTER,
        noted_since=now - NOTED_EVERY,
    )


async def standing(transaction: Transaction, version: int) -> Standing:
    return Standing(**await transaction.row("embedding_versions.standing", version=version))


async def outdated(transaction: Transaction, version: int, profile_version: int, after: UUID, limit: int) -> list[Row]:
    """The next memories by id without an index entry, with their words."""
    return await transaction.all(
        "embedding_versions.outdated", version=version, profile_version=profile_version, after=after, limit=limit
    )


async def present(transaction: Transaction, ids: Sequence[UUID]) -> set[UUID]:
    """Those of some memories that still exist."""
    return set(await transaction.column("embedding_versions.present", ids=list(ids)))
