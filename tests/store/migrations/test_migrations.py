"""The migration chain: from empty, from every revision, beside other tables, twice at once, and past an old program."""

import asyncio
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
import pytest
from psycopg import sql

from memory_butler.ai.embedding import FakeEmbedder
from memory_butler.errors import TargetUnavailable
from memory_butler.models import NewFact, Question
from memory_butler.operations.history.replay import replay
from memory_butler.operations.retrieval import search
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources, open_resources
from memory_butler.settings import Settings
from memory_butler.store.embedded.server import EmbeddedPostgres
from memory_butler.store.gate import migrate
from memory_butler.store.gate.database import StoreUpgraded
from memory_butler.store.gate.queries import Names, load_queries
from memory_butler.store.migrations import revisions

Connection = psycopg.Connection[Any]


REVISIONS = list(revisions.bodies())
CHILD = """
import sys
from memory_butler.store.gate import migrate
from memory_butler.store.gate.queries import Names
print("ready", flush=True)
sys.stdin.readline()
migrate.upgrade(sys.argv[1], sys.argv[2], Names(app_role=sys.argv[3]))
"""


@asynccontextmanager
async def _opened(settings: Settings, **given: Any) -> AsyncIterator[Resources]:
    async with open_resources(settings.model_copy(update=given), embedder=FakeEmbedder()) as resources:
        yield resources


def _urls(server: EmbeddedPostgres, database: str, user: str = "memory_app") -> dict[str, Any]:
    from pydantic import SecretStr

    owner = "postgres" if user == "postgres" else "memory_owner"
    return {
        "database_url": SecretStr(server.dsn(user, database)),
        "owner_url": None if user == "postgres" else SecretStr(server.dsn(owner, database)),
    }


async def _works(resources: Resources) -> None:
    await remember.fact(resources, NewFact(subject="user", predicate="color", content="blue"))
    await remember.fact(resources, NewFact(subject="user", predicate="color", content="green"))
    answer = await search.search(resources, Question(query="color"))
    assert [entry.hit.content for entry in answer.results] == ["green"]
    assert (await replay(resources)).equal


def _objects(connection: Connection, schema: str) -> dict[str, list[Any]]:
    """Everything a schema consists of, in words."""
    found = {}
    for name, query in {
        "columns": "SELECT table_name, column_name, data_type, is_nullable, column_default FROM"
        " information_schema.columns WHERE table_schema = %s ORDER BY 1, ordinal_position",
        "indexes": "SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = %s ORDER BY 1, 2",
        "functions": "SELECT proname, prosrc FROM pg_proc WHERE pronamespace = %s::regnamespace ORDER BY 1",
        "constraints": "SELECT conrelid::regclass::text, pg_get_constraintdef(oid) FROM pg_constraint"
        " WHERE connamespace = %s::regnamespace ORDER BY 1, 2",
        "triggers": "SELECT c.relname, pg_get_triggerdef(t.oid) FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid"
        " WHERE c.relnamespace = %s::regnamespace AND NOT t.tgisinternal ORDER BY 1, 2",
        "grants": "SELECT table_name, grantee, privilege_type FROM information_schema.role_table_grants"
        " WHERE table_schema = %s ORDER BY 1, 2, 3",
    }.items():
        found[name] = connection.execute(sql.SQL(query), (schema,)).fetchall()
    return found


def test_the_chain_has_no_gap_and_ends_at_the_head() -> None:
    """The revisions are numbered from 0001, and the newest is the one the program asks for."""
    assert [f"{number:04}" for number in range(1, len(REVISIONS) + 1)] == REVISIONS
    assert REVISIONS[-1] == migrate.HEAD


async def test_an_empty_database_becomes_a_store(
    settings: Settings, server: EmbeddedPostgres, fresh_database: str
) -> None:
    """Opening the program on an empty database is all it takes; opening it again changes nothing."""
    urls = _urls(server, fresh_database)
    async with _opened(settings, **urls) as resources:
        await _works(resources)
    with psycopg.connect(server.dsn("postgres", fresh_database)) as connection:
        before = _objects(connection, "memory")
    async with _opened(settings, **urls) as resources:
        answer = await search.search(resources, Question(query="color"))
    assert [entry.hit.content for entry in answer.results] == ["green"]
    with psycopg.connect(server.dsn("postgres", fresh_database)) as connection:
        assert _objects(connection, "memory") == before
        assert migrate.revision(connection, "memory") == migrate.HEAD


async def test_it_lives_beside_another_application(
    settings: Settings, server: EmbeddedPostgres, fresh_database: str
) -> None:
    """Under another schema name, with tables of the same names around it, it touches nothing that is not its own."""
    with psycopg.connect(server.dsn("memory_owner", fresh_database), autocommit=True) as host:
        host.execute("CREATE SCHEMA app")
        host.execute("CREATE SCHEMA memory")
        for schema in ("app", "memory"):
            host.execute(sql.SQL("CREATE TABLE {}.facts (note text)").format(sql.Identifier(schema)))
            host.execute(sql.SQL("INSERT INTO {}.facts VALUES ('theirs')").format(sql.Identifier(schema)))
        host.execute("CREATE TABLE app.alembic_version (version_num text)")
        host.execute("INSERT INTO app.alembic_version VALUES ('host-7')")
    with psycopg.connect(server.dsn("postgres", fresh_database), autocommit=True) as superuser:
        outside = _outside(superuser, "agent_memory")
        async with _opened(settings, **_urls(server, fresh_database), db_schema="agent_memory") as resources:
            await _works(resources)
        assert _outside(superuser, "agent_memory") == outside
        for schema in ("app", "memory"):
            rows = superuser.execute(sql.SQL("SELECT note FROM {}.facts").format(sql.Identifier(schema))).fetchall()
            assert rows == [("theirs",)]
        assert superuser.execute("SELECT version_num FROM app.alembic_version").fetchall() == [("host-7",)]
        assert superuser.execute("SELECT count(*) FROM agent_memory.facts").fetchone() == (2,)


def _outside(connection: Connection, schema: str) -> list[Any]:
    """Every table, function, type and schema of the database that is not in that schema."""
    return connection.execute(
        "SELECT 'relation', oid::regclass::text FROM pg_class WHERE relnamespace <> coalesce(to_regnamespace(%(s)s), 0)"
        " AND relnamespace <> 'pg_toast'::regnamespace"
        " UNION ALL SELECT 'function', oid::regprocedure::text FROM pg_proc"
        " WHERE pronamespace <> coalesce(to_regnamespace(%(s)s), 0)"
        " UNION ALL SELECT 'type', oid::regtype::text FROM pg_type"
        " WHERE typnamespace NOT IN (coalesce(to_regnamespace(%(s)s), 0), 'pg_toast'::regnamespace)"
        " UNION ALL SELECT 'schema', nspname FROM pg_namespace WHERE nspname <> %(s)s"
        " UNION ALL SELECT 'extension', extname FROM pg_extension ORDER BY 1, 2",
        {"s": schema},
    ).fetchall()


@pytest.mark.parametrize("start", [None, *REVISIONS])
def test_every_revision_is_brought_to_the_newest(
    server: EmbeddedPostgres, fresh_database: str, start: str | None
) -> None:
    """From nothing and from each earlier revision the schema ends up the same, to the last index and grant."""
    dsn, owner_dsn = server.dsn("memory_app", fresh_database), server.dsn("memory_owner", fresh_database)
    names = Names(schema="stepwise")
    if start:
        migrate.migrate_to(start, owner_dsn, names)
        with psycopg.connect(owner_dsn) as connection:
            assert migrate.revision(connection, "stepwise") == start
    assert migrate.upgrade(dsn, owner_dsn, names) == "public"
    migrate.upgrade(dsn, owner_dsn, Names(schema="straight"))
    with psycopg.connect(server.dsn("postgres", fresh_database)) as connection:
        assert migrate.revision(connection, "stepwise") == migrate.HEAD
        stepwise, straight = (repr(_objects(connection, schema)) for schema in ("stepwise", "straight"))
    assert stepwise.replace("stepwise", "straight") == straight


async def test_two_processes_may_migrate_at_the_same_instant(server: EmbeddedPostgres, fresh_database: str) -> None:
    """Both succeed, and there is one schema of the newest revision."""
    urls = [server.dsn("memory_app", fresh_database), server.dsn("memory_owner", fresh_database)]
    children = await _ready(*urls, "memory_app")
    said = await asyncio.gather(*(child.communicate(b"go\n") for child in children))
    assert [child.returncode for child in children] == [0, 0, 0], said
    with psycopg.connect(urls[1]) as connection:
        rows = connection.execute("SELECT version_num FROM memory.alembic_version").fetchall()
    assert rows == [(migrate.HEAD,)]


@pytest.fixture
def bare_database(server: EmbeddedPostgres) -> Iterator[tuple[str, str]]:
    """An empty database without the vector extension, and the name of a role that nobody has made yet."""
    name = f"d{uuid.uuid4().hex[:12]}"
    role = f"{name}_app"
    with psycopg.connect(server.dsn("postgres", "postgres"), autocommit=True) as superuser:
        superuser.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        yield name, role
        superuser.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
        superuser.execute(sql.SQL("DROP ROLE IF EXISTS {}").format(sql.Identifier(role)))


async def _ready(*arguments: str) -> list[asyncio.subprocess.Process]:
    """Three processes that are about to open the same database."""
    children = [
        await asyncio.create_subprocess_exec(
            sys.executable,
            *("-c", CHILD, *arguments),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for _ in range(3)
    ]
    for child in children:
        assert child.stdout and await child.stdout.readline() == b"ready\n"
    return children


async def test_processes_may_set_up_an_empty_database_at_the_same_instant(
    server: EmbeddedPostgres, bare_database: tuple[str, str]
) -> None:
    """Without the extension and without the role: all of them succeed, and each thing is made once."""
    database, role = bare_database
    dsn = server.dsn("postgres", database)
    children = await _ready(dsn, dsn, role)
    said = await asyncio.gather(*(child.communicate(b"go\n") for child in children))
    assert [child.returncode for child in children] == [0, 0, 0], said
    with psycopg.connect(dsn) as connection:
        assert migrate.revision(connection, "memory") == migrate.HEAD
        assert connection.execute("SELECT count(*) FROM pg_roles WHERE rolname = %s", (role,)).fetchone() == (1,)
        assert connection.execute("SELECT count(*) FROM pg_extension WHERE extname = 'vector'").fetchone() == (1,)


async def test_processes_wait_for_one_that_is_half_way_through_setting_up(
    server: EmbeddedPostgres, bare_database: tuple[str, str]
) -> None:
    """One has made extension and role but not committed when the others come: they wait, and find both there."""
    database, role = bare_database
    dsn = server.dsn("postgres", database)
    children = await _ready(dsn, dsn, role)
    with psycopg.connect(dsn) as first, psycopg.connect(dsn, autocommit=True) as watcher:
        first.execute("SELECT pg_advisory_xact_lock(hashtext('memory set-up'))")
        first.execute("CREATE EXTENSION vector")
        first.execute(sql.SQL("CREATE ROLE {} NOLOGIN").format(sql.Identifier(role)))
        waiting = [asyncio.create_task(child.communicate(b"go\n")) for child in children]
        blocked = 0
        while blocked < len(children):
            assert not any(task.done() for task in waiting), [task.result() for task in waiting if task.done()]
            row = watcher.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = %s AND wait_event_type = 'Lock'", (database,)
            ).fetchone()
            assert row
            blocked = row[0]
            await asyncio.sleep(0.02)
        first.commit()
    said = await asyncio.gather(*waiting)
    assert [child.returncode for child in children] == [0, 0, 0], said


async def test_an_older_program_is_told_that_the_store_was_upgraded(
    settings: Settings, server: EmbeddedPostgres, fresh_database: str
) -> None:
    """A newer migration under an open program: reads and writes get one clear error, and nothing is changed."""
    async with _opened(settings, **_urls(server, fresh_database)) as resources:
        await remember.fact(resources, NewFact(subject="user", predicate="color", content="blue"))
        with psycopg.connect(server.dsn("memory_owner", fresh_database)) as newer:
            newer.execute(
                "CREATE OR REPLACE FUNCTION memory.require_revision(program_revision text) RETURNS void"
                " LANGUAGE plpgsql STABLE AS $$ BEGIN IF program_revision <> '9999' THEN RAISE EXCEPTION"
                " 'the store is at revision 9999, this program works with %', program_revision"
                " USING ERRCODE = 'MB002'; END IF; END $$"
            )
            newer.execute("ALTER TABLE memory.facts RENAME COLUMN content TO words")
            newer.execute("UPDATE memory.alembic_version SET version_num = '9999'")
        with pytest.raises(StoreUpgraded, match="9999") as refused:
            await remember.fact(resources, NewFact(subject="user", predicate="color", content="green"))
        assert (refused.value.error_class, refused.value.retryable) == ("target_unavailable", False)
        with pytest.raises(StoreUpgraded):
            await search.search(resources, Question(query="color"))
        with psycopg.connect(server.dsn("postgres", fresh_database)) as superuser:
            assert superuser.execute("SELECT words, validity FROM memory.facts").fetchall() == [("blue", "active")]
            assert superuser.execute("SELECT last_seq FROM memory.tenants WHERE last_seq > 0").fetchall() == [(1,)]


async def test_an_older_program_does_not_open_a_newer_store(
    settings: Settings, server: EmbeddedPostgres, fresh_database: str
) -> None:
    """Starting an old version on an upgraded store is refused with the same clear error, and changes nothing."""
    urls = _urls(server, fresh_database)
    async with _opened(settings, **urls):
        pass
    with psycopg.connect(server.dsn("memory_owner", fresh_database)) as newer:
        newer.execute("UPDATE memory.alembic_version SET version_num = '9999'")
    with pytest.raises(StoreUpgraded, match="9999"):
        async with _opened(settings, **urls):
            pass
    with psycopg.connect(server.dsn("memory_owner", fresh_database)) as connection:
        assert migrate.revision(connection, "memory") == "9999"


async def test_a_single_superuser_url_is_enough(
    settings: Settings, server: EmbeddedPostgres, fresh_database: str
) -> None:
    """With one URL of a superuser the program still works as its own role, under row-level security."""
    async with _opened(settings, **_urls(server, fresh_database, "postgres")) as resources:
        await _works(resources)
        async with resources.database.read("somebody-else") as transaction:
            cursor = await transaction._connection.execute("SELECT current_user, count(*) AS facts FROM memory.facts")
            assert await cursor.fetchone() == {"current_user": "memory_app", "facts": 0}


async def test_pgvector_may_live_in_any_schema(
    settings: Settings, server: EmbeddedPostgres, fresh_database: str
) -> None:
    """Where the extension was put is found out, not assumed."""
    with psycopg.connect(server.dsn("postgres", fresh_database), autocommit=True) as superuser:
        superuser.execute("DROP EXTENSION vector")
        superuser.execute('CREATE SCHEMA "Extra Things"')
        superuser.execute('CREATE EXTENSION vector SCHEMA "Extra Things"')
        superuser.execute('GRANT USAGE ON SCHEMA "Extra Things" TO PUBLIC')
    async with _opened(settings, **_urls(server, fresh_database)) as resources:
        assert resources.database.names.vector == "Extra Things"
        await _works(resources)


def test_a_missing_extension_is_named(server: EmbeddedPostgres, fresh_database: str) -> None:
    """Where pgvector is not there and the owner may not install it, the error says what to run."""
    with psycopg.connect(server.dsn("postgres", fresh_database), autocommit=True) as superuser:
        superuser.execute("DROP EXTENSION vector")
        superuser.execute("CREATE ROLE plain_login LOGIN")
    try:
        dsn = server.dsn("plain_login", fresh_database)
        with pytest.raises(TargetUnavailable, match="pgvector") as problem:
            migrate.upgrade(dsn, dsn, Names())
        assert "CREATE EXTENSION vector" in problem.value.recovery
    finally:
        with psycopg.connect(server.dsn("postgres", "postgres"), autocommit=True) as superuser:
            superuser.execute("DROP ROLE plain_login")


def test_an_account_that_may_not_create_the_schema_is_told_so(server: EmbeddedPostgres, fresh_database: str) -> None:
    """The commonest mistake with a database of one's own: the error names the grant, not the driver's fault."""
    with psycopg.connect(server.dsn("postgres", "postgres"), autocommit=True) as superuser:
        superuser.execute("CREATE ROLE poor_login LOGIN")
        superuser.execute("GRANT memory_app TO poor_login")
    try:
        dsn = server.dsn("poor_login", fresh_database)
        with pytest.raises(TargetUnavailable, match="not allowed to create the schema") as problem:
            migrate.upgrade(dsn, dsn, Names())
        assert "GRANT CREATE ON DATABASE" in problem.value.recovery
    finally:
        with psycopg.connect(server.dsn("postgres", "postgres"), autocommit=True) as superuser:
            superuser.execute("DROP ROLE poor_login")


def test_an_old_pgvector_is_named(server: EmbeddedPostgres, fresh_database: str) -> None:
    """A database whose pgvector is too old is refused with its version, before anything is created."""
    with psycopg.connect(server.dsn("postgres", fresh_database), autocommit=True) as superuser:
        # The catalog is where the version is read from; the library itself comes in one version only.
        superuser.execute("UPDATE pg_extension SET extversion = '0.7.4' WHERE extname = 'vector'")
        with pytest.raises(TargetUnavailable, match=r"pgvector 0\.7\.4; 0\.8 or later"):
            migrate.upgrade(
                server.dsn("memory_app", fresh_database), server.dsn("memory_owner", fresh_database), Names()
            )
        assert superuser.execute("SELECT to_regnamespace('memory')").fetchone() == (None,)


def test_names_are_quoted() -> None:
    """A schema's name is put into the queries as an identifier, whatever it looks like."""
    query = load_queries(Names(schema='we"ird', vector="Extra Things"))["memories.set_validity:fact"]
    assert b'UPDATE "we""ird".facts' in query
