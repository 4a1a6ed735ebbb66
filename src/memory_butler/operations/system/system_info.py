"""System information: versions, embedding coverage, vector indexes, and table sizes.

Information about all tenants is for operators, or for any administrator where authentication is off.
"""

import platform
from dataclasses import dataclass, replace

from memory_butler.errors import PermissionDenied
from memory_butler.models import Caller, Role
from memory_butler.operations.retrieval import vector_indexes
from memory_butler.resources import Resources, on_replica
from memory_butler.store.system import system_info


@dataclass(frozen=True, slots=True, kw_only=True)
class Versions:
    python: str
    postgresql: str
    pgvector: str | None
    revision: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedGroup:
    """Number of memories indexed with one model and passage policy; without both, memories not indexed yet."""

    model: str | None
    passage_policy: int | None
    memories: int
    is_current: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """Models that a tenant's memories are indexed with. `share` is the part that semantic search can find."""

    model: str
    dimensions: int
    memories: int
    current: int
    parts: tuple[IndexedGroup, ...]

    @property
    def share(self) -> float:
        return self.current / self.memories if self.memories else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSize:
    """`rows` is PostgreSQL's estimate; None before the first ANALYZE."""

    name: str
    rows: int | None
    bytes: int
    index_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    whole_bytes: int
    tables: tuple[TableSize, ...]

    @property
    def ours_bytes(self) -> int:
        return sum(table.bytes for table in self.tables)


def may_see_all_tenants(resources: Resources, caller: Caller) -> bool:
    """True if the caller may see information about all tenants."""
    role = caller.principal.role
    return role is Role.OPERATOR or (role.governs and resources.settings.service.auth == "off")


def require_all_tenants(resources: Resources, caller: Caller) -> None:
    if not may_see_all_tenants(resources, caller):
        raise PermissionDenied(
            "Only an operator may see information about all tenants.",
            recovery="Ask an operator of the service.",
        )


async def versions(resources: Resources, caller: Caller | None = None) -> Versions:
    """Returns the versions of Python, PostgreSQL, pgvector and the schema."""
    caller = resources.allowed(caller, "system_info")
    async with resources.database.read(caller.principal.tenant) as transaction:
        row = await system_info.versions(transaction)
    return Versions(python=platform.python_version(), **row)


@on_replica
async def coverage(resources: Resources, caller: Caller | None = None) -> Coverage:
    """Returns how many of a tenant's memories are indexed with the current model and passage policy."""
    caller = resources.allowed(caller, "system_info")
    async with resources.database.read(caller.principal.tenant) as transaction:
        rows = await system_info.coverage(transaction)
    parts = tuple(
        IndexedGroup(
            model=row["name"],
            passage_policy=row["passage_policy"],
            memories=row["memories"],
            is_current=row["version"] == resources.embedding_version,
        )
        for row in rows
    )
    version = resources.embedder.version
    return Coverage(
        model=version.name,
        dimensions=version.dimensions,
        memories=sum(part.memories for part in parts),
        current=sum(part.memories for part in parts if part.is_current),
        parts=parts,
    )


async def vector_index_status(resources: Resources, caller: Caller | None = None) -> vector_indexes.Status:
    """Returns the state of the vector indexes without measuring recall: of all tenants, or of the caller's own."""
    caller = resources.allowed(caller, "system_info")
    found = await vector_indexes.status(resources, caller, queries=0)
    if may_see_all_tenants(resources, caller):
        return found
    own = caller.principal.tenant
    return replace(
        found,
        memories={tenant: count for tenant, count in found.memories.items() if tenant == own},
        standings=tuple(one for one in found.standings if one.tenant == own),
        due=tuple(step for step in found.due if step.tenant == own),
    )


@on_replica
async def sizes(resources: Resources, caller: Caller | None = None) -> Sizes:
    """Returns the size of the database and of each table."""
    caller = resources.allowed(caller, "system_info")
    require_all_tenants(resources, caller)
    async with resources.database.read(caller.principal.tenant) as transaction:
        whole, rows = await system_info.sizes(transaction)
    return Sizes(whole_bytes=whole, tables=tuple(TableSize(**row) for row in rows))
