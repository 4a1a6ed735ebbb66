"""Machinery: which versions run, what memories are indexed with, how they are searched, and how large it all is.

What is about all tenants together is for whoever looks after the service: an operator, or the person at the machine
where nobody has to say who they are.
"""

import platform
from dataclasses import dataclass, replace

from memory_butler.butler import Butler
from memory_butler.errors import PermissionDenied
from memory_butler.models import Caller, Role
from memory_butler.operations import vector_index
from memory_butler.policy.roles import check_role
from memory_butler.store import machinery


@dataclass(frozen=True, slots=True, kw_only=True)
class Versions:
    python: str
    postgresql: str
    pgvector: str | None
    revision: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed:
    """So many memories were indexed with a model and a way of cutting; with neither: they are not indexed yet."""

    model: str | None
    passage_policy: int | None
    memories: int
    is_current: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """What a tenant's memories are indexed with. The share is of those that a search by meaning can find."""

    model: str
    dimensions: int
    memories: int
    current: int
    parts: tuple[Indexed, ...]

    @property
    def share(self) -> float:
        return self.current / self.memories if self.memories else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSize:
    """`rows` is the database's own estimate; none before it has made one."""

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


def looks_after_all(butler: Butler, caller: Caller) -> bool:
    """Whether somebody may see what is about all tenants together."""
    role = caller.principal.role
    return role is Role.OPERATOR or (role.governs and butler.settings.service.auth == "off")


def require_all(butler: Butler, caller: Caller) -> None:
    if not looks_after_all(butler, caller):
        raise PermissionDenied(
            "Only an operator may see this: it is about all tenants together.",
            recovery="Ask whoever looks after the service.",
        )


async def versions(butler: Butler, caller: Caller | None = None) -> Versions:
    """Of everything that the store stands on."""
    caller = caller or butler.local_caller()
    check_role(caller.principal, "machinery")
    async with butler.database.read(caller.principal.tenant) as session:
        row = await machinery.versions(session)
    return Versions(python=platform.python_version(), **row)


async def coverage(butler: Butler, caller: Caller | None = None) -> Coverage:
    """How many of a tenant's memories are indexed with the model in use, in the way in use."""
    caller = caller or butler.local_caller()
    check_role(caller.principal, "machinery")
    async with butler.database.read(caller.principal.tenant) as session:
        rows = await machinery.coverage(session)
    parts = tuple(
        Indexed(
            model=row["name"],
            passage_policy=row["passage_policy"],
            memories=row["memories"],
            is_current=row["version"] == butler.embedding_version,
        )
        for row in rows
    )
    version = butler.embedder.version
    return Coverage(
        model=version.name,
        dimensions=version.dimensions,
        memories=sum(part.memories for part in parts),
        current=sum(part.memories for part in parts if part.is_current),
        parts=parts,
    )


async def posture(butler: Butler, caller: Caller | None = None) -> vector_index.Status:
    """How memories are searched by meaning, as it stands, nothing measured: all tenants', or the caller's own."""
    caller = caller or butler.local_caller()
    check_role(caller.principal, "machinery")
    found = await vector_index.status(butler, caller, queries=0)
    if looks_after_all(butler, caller):
        return found
    own = caller.principal.tenant
    return replace(
        found,
        memories={tenant: count for tenant, count in found.memories.items() if tenant == own},
        standings=tuple(one for one in found.standings if one.tenant == own),
        due=tuple(step for step in found.due if step.tenant == own),
    )


async def sizes(butler: Butler, caller: Caller | None = None) -> Sizes:
    """How large the database is, table by table."""
    caller = caller or butler.local_caller()
    check_role(caller.principal, "machinery")
    require_all(butler, caller)
    async with butler.database.read(caller.principal.tenant) as session:
        whole, rows = await machinery.sizes(session)
    return Sizes(whole_bytes=whole, tables=tuple(TableSize(**row) for row in rows))
