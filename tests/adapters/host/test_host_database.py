"""Several memories in one database: what they share, and what they must not."""

import asyncio
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from tests.adapters.host.conftest import Handle

from memory_butler.adapters.host.config import MemoryConfig, settings_for
from memory_butler.adapters.host.host_database import host_connection
from memory_butler.ai.embedding import FakeEmbedder
from memory_butler.errors import TargetUnavailable
from memory_butler.models import NewFact, Question
from memory_butler.operations.history.replay import replay
from memory_butler.operations.retrieval import search, vector_indexes
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources, open_resources
from memory_butler.settings import Settings
from memory_butler.store.embedded.server import EmbeddedPostgres
from memory_butler.store.gate import migrate
from memory_butler.store.gate.queries import Names

SCHEMAS = ("north", "south", "east")


def settings_in(dsn: str, home: Path, schema: str) -> Settings:
    config = MemoryConfig.read({"home": home, "vector_index": {"exact_below": 0, "posture": "hnsw"}})
    return settings_for(config, host_connection(Handle(dsn, schema)), schema)


async def _lives(settings: Settings) -> None:
    """All that touches a schema's own objects: writing, searching, indexing, searching by the index, replay."""
    async with open_resources(settings, embedder=FakeEmbedder()) as resources:
        for number in range(3):
            content = f"{resources.settings.db_schema} has room {number}"
            await remember.fact(resources, NewFact(subject="house", predicate=f"room:{number}", content=content))
        assert await vector_indexes.migrate(resources)
        found = await _found(resources)
        assert len(found) == 3 and all(text.startswith(resources.settings.db_schema) for text in found)
        assert (await replay(resources)).equal


async def _found(resources: Resources) -> list[str]:
    answer = await search.search(resources, Question(query="which room has the house", mode="semantic"))
    return [entry.hit.content for entry in answer.results]


async def test_schemas_live_side_by_side_from_their_first_moment(host_dsn: str, home: Path) -> None:
    """Opened, migrated, filled, indexed and rebuilt at the same time by one process, each has its own and all of it."""
    await asyncio.gather(*(_lives(settings_in(host_dsn, home, name)) for name in SCHEMAS))
    with psycopg.connect(host_dsn) as host:
        rows = host.execute(
            "SELECT schemaname, count(*) FROM pg_indexes WHERE indexname LIKE 'passages_near_fact_%'"
            " GROUP BY 1 ORDER BY 1"
        ).fetchall()
        outside = host.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone()
    assert rows == [("east_memory", 1), ("north_memory", 1), ("south_memory", 1)] and outside == (0,)


async def test_an_account_that_works_need_not_be_the_one_that_owns(
    server: EmbeddedPostgres, host_dsn: str, home: Path
) -> None:
    """The owner makes schema and role; the account that the host works with is let in, and owns nothing."""
    owner = psycopg.conninfo.conninfo_to_dict(host_dsn)["dbname"]
    with psycopg.connect(server.dsn("postgres", "postgres"), autocommit=True) as superuser:
        superuser.execute(f"CREATE ROLE {owner}_worker LOGIN")
        try:
            host = replace(
                host_connection(server.dsn(f"{owner}_worker", str(owner))), owner_dsn=host_dsn, schema="west"
            )
            settings = settings_for(MemoryConfig.read({"home": home}), host, "west")
            async with open_resources(settings, embedder=FakeEmbedder()) as resources:
                await remember.fact(resources, NewFact(subject="house", predicate="colour", content="red"))
                assert (await _found(resources)) == ["red"]
        finally:
            superuser.execute(f"DROP ROLE {owner}_worker")


def test_an_extension_that_nobody_may_use_is_named(server: EmbeddedPostgres, fresh_database: str) -> None:
    """Where the owner may not let the role use pgvector's schema, the error says what to run."""
    with psycopg.connect(server.dsn("postgres", fresh_database), autocommit=True) as superuser:
        superuser.execute("DROP EXTENSION vector")
        superuser.execute("CREATE SCHEMA shut")
        superuser.execute("CREATE EXTENSION vector SCHEMA shut")
    dsn = server.dsn("memory_owner", fresh_database)
    with pytest.raises(TargetUnavailable, match="is not allowed to use the schema shut") as refused:
        migrate.upgrade(dsn, dsn, Names())
    assert 'GRANT USAGE ON SCHEMA "shut" TO memory_app;' in refused.value.recovery
