"""Machinery: what runs, what memories are indexed with, and how large it is, to whom it is said."""

from dataclasses import replace
from typing import Any

import psycopg
import pytest
from tests.support.service import with_service

from memory_butler.errors import PermissionDenied
from memory_butler.models import Caller, MemoryType, NewEpisode, NewFact, Principal, Role
from memory_butler.operations.retrieval import indexing
from memory_butler.operations.system import system_info
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources
from memory_butler.store.gate.migrate import HEAD
from memory_butler.store.retrieval import search_index

Connection = psycopg.Connection[Any]


def by(tenant: str, role: Role) -> Caller:
    return Caller(Principal(tenant, "chef", role))


async def test_versions_are_those_that_run(resources: Resources, owner: Connection) -> None:
    """The server's own words, and the revision this program works with."""
    found = await system_info.versions(resources)
    said = owner.execute("SHOW server_version").fetchone()
    assert said and found.postgresql == said[0]
    assert found.revision == HEAD and found.pgvector and found.python.startswith("3.")


async def test_coverage_counts_what_the_model_in_use_has_indexed(resources: Resources, owner: Connection) -> None:
    """Memories of another model, and those without an index, are said to be so; a long one counts once."""
    empty = await system_info.coverage(resources)
    assert (empty.memories, empty.share, empty.parts) == (0, 1.0, ())
    fact = await remember.fact(resources, NewFact(subject="Anna", predicate="color", content="green"))
    await remember.fact(resources, NewFact(subject="Anna", predicate="tea", content="mint"))
    long = " ".join(f"Sentence {number} is about something else entirely." for number in range(300))
    episode = await remember.episode(resources, NewEpisode(content=long, butler="main"))
    found = await system_info.coverage(resources)
    assert (found.memories, found.current, found.share) == (3, 3, 1.0)
    other = owner.execute(
        "INSERT INTO memory.embedding_versions"
        " (name, dimensions, digest, passage_policy, created_at, chosen_at, used_at)"
        " VALUES ('old model', 384, gen_random_uuid()::text, 1, now(), now(), now()) RETURNING id"
    ).fetchone()
    older = replace(resources, embedding_version=other[0])
    (indexed,) = await indexing.index_entries(older, [indexing.Entry(MemoryType.FACT, "green", (), "Anna", "color")])
    async with resources.database.write(resources.settings.tenant, resources.clock()) as transaction:
        await search_index.clear(transaction, [fact.id, episode.id])
        await search_index.add(transaction, [(MemoryType.FACT, fact.id, indexed)])
    found = await system_info.coverage(resources)
    assert (found.memories, found.current) == (3, 1)
    assert {(part.model, part.memories, part.is_current) for part in found.parts} == {
        (resources.embedder.version.name, 1, True),
        ("old model", 1, False),
        (None, 1, False),
    }


async def test_sizes_are_the_databases_own(resources: Resources, owner: Connection) -> None:
    """Every table of the schema, the largest first, each not smaller than its indexes."""
    await remember.fact(resources, NewFact(subject="Anna", predicate="color", content="green"))
    found = await system_info.sizes(resources)
    tables = owner.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'memory'").fetchall()
    assert {table.name for table in found.tables} == {row[0] for row in tables}
    sizes = [table.bytes for table in found.tables]
    assert sizes == sorted(sizes, reverse=True) and found.whole_bytes > found.ours_bytes > 0
    assert all(table.bytes >= table.index_bytes for table in found.tables)


@pytest.mark.parametrize("role", Role)
async def test_what_is_about_all_tenants_is_for_whoever_looks_after_them(resources: Resources, role: Role) -> None:
    """In a service that is an operator; an administrator sees the own tenant; readers and agents neither."""
    ours, caller = with_service(resources), by(resources.settings.tenant, role)
    await remember.fact(resources, NewFact(subject="Anna", predicate="color", content="green"))
    other = replace(
        resources, settings=resources.settings.model_copy(update={"tenant": resources.settings.tenant + "x"})
    )
    await remember.fact(other, NewFact(subject="Bert", predicate="color", content="red"))
    if not role.governs:
        for ask in (system_info.versions, system_info.coverage, system_info.vector_index_status, system_info.sizes):
            with pytest.raises(PermissionDenied):
                await ask(ours, caller)
        return
    posture = await system_info.vector_index_status(ours, caller)
    assert {one.tenant for one in posture.standings} | set(posture.memories) <= (
        {caller.principal.tenant} if role is Role.ADMIN else {*posture.memories}
    )
    assert (await system_info.coverage(ours, caller)).memories == 1
    if role is Role.ADMIN:
        with pytest.raises(PermissionDenied, match="all tenants"):
            await system_info.sizes(ours, caller)
    else:
        assert (await system_info.sizes(ours, caller)).tables
