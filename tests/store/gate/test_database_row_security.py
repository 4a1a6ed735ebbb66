"""Row-level security: whatever a statement asks for, the program's role gets one tenant's rows."""

import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from psycopg import sql

from memory_butler.errors import IntegrityViolation, NotFound
from memory_butler.models import (
    Caller,
    MemoryType,
    NewEpisode,
    NewFact,
    NewRule,
    NewToken,
    Outcome,
    Principal,
    Question,
    Reach,
    Role,
)
from memory_butler.operations.access import logins, tokens
from memory_butler.operations.history import days
from memory_butler.operations.retrieval import get, search
from memory_butler.operations.writing import feedback, remember
from memory_butler.resources import Resources
from memory_butler.store.embedded.server import EmbeddedPostgres
from memory_butler.store.gate.ids import id_maker
from memory_butler.store.gate.queries import load_queries
from memory_butler.store.retrieval import search as store_search

Connection = psycopg.Connection[Any]
WITH_TENANT = (
    "SELECT c.oid::regclass::text, c.relname, c.relrowsecurity, c.relforcerowsecurity FROM pg_class c"
    " JOIN pg_namespace n ON n.oid = c.relnamespace"
    " JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant_id' AND NOT a.attisdropped"
    " WHERE n.nspname = 'memory' AND c.relkind IN ('r', 'p') ORDER BY 2"
)


APPEND_ONLY = ("event_seals", "memory_events", "memory_links", "purge_receipts", "rule_applications")


@pytest.fixture
def app(server: EmbeddedPostgres, shared_resources: Resources) -> Iterator[Connection]:
    """The program's role on a connection of its own, around the gate."""
    with psycopg.connect(server.dsn("memory_app", "memory"), autocommit=True) as connection:
        yield connection


@pytest.fixture
def tables(owner: Connection) -> list[str]:
    return [row[1] for row in owner.execute(WITH_TENANT).fetchall()]


def _as_tenant(resources: Resources, tenant: str) -> Resources:
    own = resources.settings.model_copy(update={"tenant": tenant})
    return replace(resources, settings=own, make_id=id_maker())


async def _furnish(resources: Resources, owner: Connection) -> None:
    """At least one row of the tenant in every table."""
    tenant = resources.settings.tenant
    episode = await remember.episode(resources, NewEpisode(content="We talked about colors", butler="main"))
    await remember.fact(
        resources,
        NewFact(subject="user", predicate="color", content="blue", source_episode=episode.ref, idempotency_key="k"),
    )
    rule = await remember.rule(resources, NewRule(content="Mention colors"))
    await feedback.mark(resources, rule.ref, Outcome.HARMFUL, reason="too loud")
    await search.search(resources, Question(query="colors"))
    owner.execute(
        "INSERT INTO memory.aliases (tenant_id, id, subject, alias, alias_label, created_at)"
        " VALUES (%s, %s, 'user', 'me', 'Me', now())",
        (tenant, uuid.uuid4()),
    )
    owner.execute(
        "INSERT INTO memory.episode_tombstones"
        " (tenant_id, episode_id, ref, butler, observed_at, created_at, deleted_at, reason)"
        " VALUES (%s, %s, 'zzzz', 'main', now(), now(), now(), 'expired')",
        (tenant, uuid.uuid4()),
    )
    owner.execute(
        "INSERT INTO memory.job_runs (tenant_id, id, job, started_at, report) VALUES (%s, %s, 'sweep', now(), '{}')",
        (tenant, uuid.uuid4()),
    )
    owner.execute(
        "INSERT INTO memory.event_seals (tenant_id, seq, chain, sealed_at) VALUES (%s, 1, sha256('chain'), now())",
        (tenant,),
    )
    owner.execute(
        "INSERT INTO memory.purge_receipts"
        " (tenant_id, id, purged_at, actor, matched_by, counts, items, backups, digest)"
        " VALUES (%s, %s, now(), 'main', 'ref', '{}', '[]', '[]', sha256('receipt'))",
        (tenant, uuid.uuid4()),
    )
    owner.execute(
        "INSERT INTO memory.tenant_keys (tenant_id, id, purpose, master_id, wrapped, created_at)"
        " VALUES (%s, 'deadbeef', 'data', 'master', '\\x00', now())",
        (tenant,),
    )
    owner.execute("INSERT INTO memory.reembedding_pauses (tenant_id, paused_at) VALUES (%s, now())", (tenant,))
    owner.execute("INSERT INTO memory.reference_horizons (tenant_id, seq) VALUES (%s, 1)", (tenant,))
    owner.execute(
        "INSERT INTO memory.call_log"
        " (tenant_id, id, asked_at, kind, butler, client, prompt, milliseconds, memory_ids, refs, degraded)"
        " VALUES (%s, %s, now(), 'search', 'main', 'mcp', 'colors', 1, '{}', '{}', '{}')",
        (tenant, uuid.uuid4()),
    )
    _consolidate(tenant, owner)
    await tokens.create(resources, NewToken(tenant=tenant, butler="main"))
    await logins.log_in(resources, Principal(tenant, "main", Role.ADMIN))
    await days.catch_up(resources, tenant)
    owner.execute(
        "INSERT INTO memory.recent_questions (tenant_id, slot, embedding_version, embedding, asked_at)"
        " VALUES (%s, 0, 1, array_fill(0.05::real, ARRAY[384])::vector, now())",
        (tenant,),
    )


def _consolidate(tenant: str, owner: Connection) -> None:
    """A run over one episode that made one fact of it."""
    run, episode = uuid.uuid4(), uuid.uuid4()
    owner.execute(
        "INSERT INTO memory.consolidation_runs"
        " (tenant_id, id, butler, distiller, state, claimed_at, lease_until, episodes)"
        " VALUES (%s, %s, 'main', 'none', 'waiting', now(), now(), 1)",
        (tenant, run),
    )
    owner.execute(
        "INSERT INTO memory.consolidation_episodes (tenant_id, run_id, episode_id, place) VALUES (%s, %s, %s, 0)",
        (tenant, run, episode),
    )
    owner.execute(
        "INSERT INTO memory.consolidation_items (tenant_id, run_id, place, kind, proposed, state)"
        " VALUES (%s, %s, 0, 'fact', '{}', 'proposed')",
        (tenant, run),
    )
    owner.execute(
        "INSERT INTO memory.distilled_keys (tenant_id, episode_id, key, run_id) VALUES (%s, %s, sha256('key'), %s)",
        (tenant, episode, run),
    )


@pytest.fixture
def resources(encrypted: Resources) -> Resources:
    """A program that knows of keys: the tenants here have some."""
    return encrypted


@pytest.fixture
async def two_tenants(resources: Resources, owner: Connection) -> tuple[str, str]:
    """Two tenants with rows in every table; the first is the test's own."""
    other = f"t{uuid.uuid4().hex[:16]}"
    for tenant in (resources.settings.tenant, other):
        await _furnish(_as_tenant(resources, tenant), owner)
    return resources.settings.tenant, other


def _count(connection: Connection, table: str, tenant: str | None = None) -> int:
    query = (
        "SELECT count(*) FROM memory.{}" if tenant is None else "SELECT count(*) FROM memory.{} WHERE tenant_id = %s"
    )
    row = connection.execute(sql.SQL(query).format(sql.Identifier(table)), None if tenant is None else (tenant,))
    return int(row.fetchone()[0])


def _bind(connection: Connection, tenant: str) -> None:
    connection.execute("SELECT set_config('memory_butler.tenant', %s, false)", (tenant,))


def test_every_table_with_a_tenant_is_secured(owner: Connection) -> None:
    """Row-level security is on, and forced on the owner too, wherever there is a tenant_id, in later tables as well."""
    found = owner.execute(WITH_TENANT).fetchall()
    assert len(found) >= 20
    assert [row[0] for row in found if not (row[2] and row[3])] == []
    policies = owner.execute(
        "SELECT tablename, qual, with_check FROM pg_policies WHERE schemaname = 'memory'"
    ).fetchall()
    assert {row[0] for row in policies} == {row[1] for row in found}
    odd = [row for row in policies if row[1] != row[2] or "memory_butler.tenant" not in row[1]]
    # Upkeep asks for the tenants' names through a function of the owner's; the program's role cannot read the table so.
    # And whoever shows the hash of a token, or of a login's key, reads the one row that has it.
    assert sorted(row[0] for row in odd) == ["sessions", "tenants", "tokens"]
    assert ("tenants", "true", None) in odd
    shown = [row for row in odd if row[0] != "tenants"]
    assert all(row[1].startswith("(hash = decode(") and row[2] is None for row in shown)


def test_tables_without_a_tenant_are_these_alone(owner: Connection) -> None:
    """What belongs to nobody is a short list: a table that forgot its tenant shows up here."""
    found = owner.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'memory'").fetchall()
    secured = {row[1] for row in owner.execute(WITH_TENANT).fetchall()}
    queue = {"procrastinate_" + name for name in ("jobs", "events", "workers", "periodic_defers")}
    alone = {"alembic_version", "embedding_versions", "fleet_sample", "lifecycle_transitions", "objective_buckets"}
    assert {row[0] for row in found} - secured == alone | {"partition_moves"} | queue


def test_the_program_works_as_a_role_that_owns_nothing(owner: Connection) -> None:
    """No superuser, no way past row-level security, no right to make roles or databases, owner of nothing at all."""
    role = owner.execute(
        "SELECT rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolreplication FROM pg_roles"
        " WHERE rolname = 'memory_app'"
    ).fetchone()
    assert role == (False,) * 5
    owned = owner.execute(
        "SELECT count(*) FROM pg_shdepend WHERE refobjid = 'memory_app'::regrole AND deptype = 'o'"
    ).fetchone()
    assert owned == (0,)
    member = owner.execute("SELECT count(*) FROM pg_auth_members WHERE member = 'memory_app'::regrole").fetchone()
    assert member == (0,)


def test_a_tenant_sees_its_own_rows_only(
    app: Connection, owner: Connection, tables: list[str], two_tenants: tuple[str, str]
) -> None:
    """SELECT without WHERE returns exactly the rows of the bound tenant, in every table."""
    for tenant in two_tenants:
        _bind(app, tenant)
        for table in tables:
            assert _count(app, table) == _count(owner, table, tenant) > 0, table


def test_without_a_tenant_nothing_is_visible(app: Connection, tables: list[str], two_tenants: tuple[str, str]) -> None:
    """A connection that was never bound, or was bound to nothing, sees no row of anybody."""
    assert {table: _count(app, table) for table in tables} == dict.fromkeys(tables, 0)
    _bind(app, "")
    assert {table: _count(app, table) for table in tables} == dict.fromkeys(tables, 0)


def test_rows_of_another_tenant_cannot_be_written(
    app: Connection, owner: Connection, tables: list[str], two_tenants: tuple[str, str]
) -> None:
    """INSERT for another tenant is refused, UPDATE and DELETE find nothing, and no row moves to another tenant."""
    mine, other = two_tenants
    for table in tables:
        name = sql.Identifier(table)
        _bind(app, other)
        before = owner.execute(
            sql.SQL("SELECT to_jsonb(t) FROM memory.{} t WHERE tenant_id = %s ORDER BY 1").format(name), (other,)
        ).fetchall()
        _bind(app, mine)
        # Refused by the policy or, where a guard looks first, by that.
        with pytest.raises(psycopg.Error, check=lambda problem: problem.sqlstate in ("42501", "MB001")):
            app.execute(
                sql.SQL(
                    "INSERT INTO memory.{0} SELECT m.* FROM jsonb_populate_record(NULL::memory.{0}, %s) m"
                    if table != "episodes"
                    else "INSERT INTO memory.{0} (tenant_id, id) SELECT m.tenant_id, m.id"
                    " FROM jsonb_populate_record(NULL::memory.{0}, %s) m"
                ).format(name),
                (psycopg.types.json.Jsonb(before[0][0]),),
            )
        for statement in ("UPDATE memory.{} SET tenant_id = tenant_id", "DELETE FROM memory.{}"):
            attempt = sql.SQL(statement + " WHERE tenant_id = {}").format(name, sql.Literal(other))
            try:
                assert app.execute(attempt).rowcount == 0
            except psycopg.errors.InsufficientPrivilege:
                assert table in APPEND_ONLY
        if table not in APPEND_ONLY:
            with pytest.raises(psycopg.Error, check=lambda problem: problem.sqlstate in ("42501", "MB001")):
                app.execute(sql.SQL("UPDATE memory.{} SET tenant_id = {}").format(name, sql.Literal(other)))
        after = owner.execute(
            sql.SQL("SELECT to_jsonb(t) FROM memory.{} t WHERE tenant_id = %s ORDER BY 1").format(name), (other,)
        ).fetchall()
        assert after == before


async def test_the_gate_keeps_tenants_apart(resources: Resources, two_tenants: tuple[str, str]) -> None:
    """Through the operations another tenant's memory is not there, by id, by reference or by search."""
    mine, other = two_tenants
    stranger = await remember.fact(
        _as_tenant(resources, other), NewFact(subject="vault", predicate="code", content="zanzibar 9041")
    )
    caller = Caller(Principal(mine, "main", Role.ADMIN))
    with pytest.raises(NotFound):
        await get.get(resources, "fact", str(stranger.id), caller)
    answer = await search.search(resources, Question(query="zanzibar 9041 vault code"), caller)
    assert stranger.id not in {entry.hit.id for entry in answer.results}
    async with resources.database.read(mine) as transaction:
        assert await transaction.one("memories.get:fact", id=stranger.id, ref=None) is None


async def test_the_gate_refuses_a_row_for_another_tenant(resources: Resources, two_tenants: tuple[str, str]) -> None:
    """A transaction bound to one tenant cannot write for another, even with a statement that tries."""
    mine, other = two_tenants
    with pytest.raises(IntegrityViolation, match="row-level security"):
        async with resources.database.write(mine, resources.clock()) as transaction:
            transaction.tenant = other
            await transaction.one("database.register_butler", butler="intruder", now=resources.clock())


async def test_the_tenant_does_not_outlive_its_transaction(resources: Resources, two_tenants: tuple[str, str]) -> None:
    """A connection that goes back to the pool is bound to nobody."""
    assert resources.database._pool
    async with resources.database.read(two_tenants[0]) as transaction:
        assert await transaction.one("stats.log")
    async with resources.database._pool.connection() as connection:
        cursor = await connection.execute("SELECT count(*) AS seen FROM memory.facts")
        assert await cursor.fetchone() == {"seen": 0}


# --- plans ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def crowd(server: EmbeddedPostgres, shared_resources: Resources) -> str:
    """200 tenants of 100 facts each with words and vectors; returns one of them."""
    with psycopg.connect(server.dsn("postgres", "memory"), autocommit=True) as owner:
        return _crowded(owner)


def _crowded(owner: Connection) -> str:
    batch = uuid.uuid4().hex[:8]
    version = owner.execute("SELECT min(id) FROM memory.embedding_versions").fetchone()
    owner.execute(
        """
        INSERT INTO memory.tenants (tenant_id, created_at, documents, document_words)
        SELECT %(batch)s || n, now(), 100, 500 FROM generate_series(1, 200) n
        """,
        {"batch": batch},
    )
    owner.execute(
        """
        WITH made AS (
            INSERT INTO memory.facts (tenant_id, id, ref, subject, subject_label, predicate, predicate_label, content,
                content_hash, scope, importance, tags, validity, confidence, permanence, decay_rate, source_butler,
                created_at, reference_count, metadata)
            SELECT %(batch)s || n, gen_random_uuid(), 'r' || lpad(m::text, 5, '0'), 's' || m, 's', 'p', 'p', 'words',
                sha256('words'), 'global', 5, '{}', 'active', 1, 'standard', 0.008, 'main', now(), 0, '{}'
            FROM generate_series(1, 200) n, generate_series(1, 100) m
            RETURNING tenant_id, id, ref
        ), worded AS (
            INSERT INTO memory.postings (tenant_id, memory_type, memory_id, lexeme, frequency, words)
            SELECT tenant_id, 'fact', id, 'word' || k, 1, 5 FROM made, generate_series(1, 5) k
        )
        INSERT INTO memory.passages (tenant_id, memory_type, memory_id, ordinal, embedding_version, embedding)
        SELECT tenant_id, 'fact', id, 0, %(version)s, array_fill(0.05::real, ARRAY[384])::vector FROM made
        """,
        {"batch": batch, "version": version[0] if version else None},
    )
    owner.execute(
        """
        INSERT INTO memory.aliases (tenant_id, id, subject, alias, alias_label, created_at)
        SELECT %(batch)s || n, gen_random_uuid(), 's' || m, 'a' || m, 'A', now()
        FROM generate_series(1, 200) n, generate_series(1, 10) m
        """,
        {"batch": batch},
    )
    for table in ("facts", "postings", "passages", "rules", "episodes", "aliases"):
        owner.execute(sql.SQL("VACUUM ANALYZE memory.{}").format(sql.Identifier(table)))
    return f"{batch}7"


@pytest.mark.parametrize("generic", ["force_generic_plan", "force_custom_plan"])
async def test_a_search_reads_by_the_tenants_index(resources: Resources, crowd: str, generic: str) -> None:
    """Under row-level security, with many tenants, no plan of the search reads a whole table."""
    query = store_search.SearchQuery(
        words="word1 word3",
        names=("word1", "anna"),
        guessed=("anna",),
        mentions="anna",
        embedding=[0.05] * 384,
        embedding_version=resources.embedding_version,
        types=list(MemoryType),
        reach=Reach(scopes=("global", "main"), butlers=None),
        min_confidence=0.2,
        text_search="english",
        k1=0.9,
        b=0.4,
        scan_limit=30_000,
        candidates=100,
        now=resources.clock(),
        with_hidden=True,
    )
    plan = ""
    queries = load_queries(resources.database.names)
    async with resources.database.read(crowd) as transaction:
        await transaction._connection.execute("SELECT set_config('plan_cache_mode', %s, true)", (generic,))
        ranking = [f"{name}:{form}" for name in ("by_meaning", "candidates") for form in ("usual", "full")]
        for name in ("names", *ranking, "facts"):
            params = query.params() | {"tenant": crowd}
            cursor = await transaction._connection.execute(
                b"EXPLAIN " + queries[f"search.{name}"], params, prepare=True
            )
            plan += "\n".join(row["QUERY PLAN"] for row in await cursor.fetchall())
    found = await store_search.search(resources.database, crowd, query)
    assert len(found.hits) == 100
    for table in ("postings", "passages", "facts", "aliases"):
        assert f"on {table} " in plan
        assert f"Seq Scan on {table} " not in plan, plan
