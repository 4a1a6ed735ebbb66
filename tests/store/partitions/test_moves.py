"""Moving the log and the episodes into partitions, on real tables with rows."""

import asyncio
import random
import sys
from collections.abc import AsyncIterator
from dataclasses import replace

import psycopg
import pytest
from tests.conftest import START, MovingClock
from tests.support.own_database import own_database

from memory_butler.errors import IntegrityViolation
from memory_butler.models import Caller, NewEpisode, NewFact, Principal, Role
from memory_butler.operations.history.replay import replay
from memory_butler.operations.lifecycle import partitions
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources
from memory_butler.settings import Settings
from memory_butler.store.embedded.server import EmbeddedPostgres
from memory_butler.store.gate.ids import id_maker
from memory_butler.store.partitions import moves


def unseen(stage: str, done: int, total: int) -> None:
    """Discard progress."""


def caller(tenant: str) -> Caller:
    return Caller(Principal(tenant, "main", Role.ADMIN))


async def write(resources: Resources, tenant: str, number: int) -> None:
    await remember.episode(resources, NewEpisode(content=f"Thing {number} of {tenant}", butler="main"), caller(tenant))
    await remember.fact(
        resources, NewFact(subject="Anna", predicate=f"p {number % 5}", content=f"Value {number}"), caller(tenant)
    )


@pytest.fixture
async def grown(
    server: EmbeddedPostgres, settings: Settings, plain_template: str, clock: MovingClock
) -> AsyncIterator[Resources]:
    """A store of two tenants with rows of four months."""
    async with own_database(
        server, settings, plain_template, clock=clock, make_id=id_maker(random.Random(1))
    ) as resources:
        for month in range(4):
            for tenant in ("ada", "bob"):
                for number in range(4):
                    await write(resources, tenant, month * 10 + number)
            clock.move(days=31)
        yield resources


def rows_of(resources: Resources, table: str) -> list[tuple[object, ...]]:
    """All rows of a table, past row-level security."""
    url = resources.database.owner_dsn().replace("memory_owner", "postgres")
    with psycopg.connect(url) as connection:
        return connection.execute(
            f"SELECT to_jsonb(t) - 'consolidated' FROM memory.{table} t ORDER BY tenant_id, id"  # noqa: S608
        ).fetchall()


def definitions(resources: Resources) -> list[tuple[object, ...]]:
    """Columns, keys, indexes, triggers, policies and rights of the two tables."""
    url = resources.database.owner_dsn().replace("memory_owner", "postgres")
    with psycopg.connect(url) as connection:
        return connection.execute(
            """
            SELECT c.relname, 'column', a.attname,
                concat(format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attgenerated)
            FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
            WHERE c.oid IN ('memory.memory_events'::regclass, 'memory.episodes'::regclass)
            UNION ALL SELECT conrelid::regclass::text, 'constraint', conname, pg_get_constraintdef(oid)
            FROM pg_constraint WHERE conrelid IN ('memory.memory_events'::regclass, 'memory.episodes'::regclass)
            UNION ALL SELECT i.indrelid::regclass::text, 'index', c.relname,
                replace(pg_get_indexdef(i.indexrelid), ' ON ONLY ', ' ON ')
            FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
            WHERE i.indrelid IN ('memory.memory_events'::regclass, 'memory.episodes'::regclass)
            UNION ALL SELECT tgrelid::regclass::text, 'trigger', tgname,
                translate(pg_get_triggerdef(oid), '()', '') FROM pg_trigger
            WHERE NOT tgisinternal AND tgrelid IN ('memory.memory_events'::regclass, 'memory.episodes'::regclass)
            UNION ALL SELECT tablename, 'policy', policyname, concat(qual, with_check, roles) FROM pg_policies
            WHERE schemaname = 'memory' AND tablename IN ('memory_events', 'episodes')
            UNION ALL SELECT c.relname, 'right', r.rolname, a.privilege_type
            FROM pg_class c, aclexplode(c.relacl) a JOIN pg_roles r ON r.oid = a.grantee
            WHERE c.oid IN ('memory.memory_events'::regclass, 'memory.episodes'::regclass) AND a.grantee <> c.relowner
            UNION ALL SELECT relname, 'security', '', concat(relrowsecurity, relforcerowsecurity) FROM pg_class
            WHERE oid IN ('memory.memory_events'::regclass, 'memory.episodes'::regclass)
            UNION ALL SELECT 'function', proname, '', pg_get_functiondef(p.oid) FROM pg_proc p
            WHERE pronamespace = 'memory'::regnamespace AND proname = 'chained_content'
            ORDER BY 1, 2, 3, 4
            """
        ).fetchall()


async def test_a_move_keeps_every_row_and_every_rule(grown: Resources) -> None:
    """Rows, columns, keys, indexes, triggers, policies and rights are the same; the log replays and its chain holds."""
    before = {table: rows_of(grown, table) for table in ("memory_events", "episodes")}
    rules = definitions(grown)
    done = await partitions.migrate(grown, unseen)
    assert [(one.base, one.copied, one.compared) for one in done] == [
        (table, len(rows), len(rows)) for table, rows in before.items()
    ]
    assert {table: rows_of(grown, table) for table in ("memory_events", "episodes")} == before
    assert definitions(grown) == rules
    for tenant in ("ada", "bob"):
        await write(grown, tenant, 99)
        assert (await replay(grown, caller(tenant))).intact
    assert await partitions.migrate(grown, unseen) == ()


async def test_each_month_has_a_partition(grown: Resources) -> None:
    """From the oldest row to some months ahead; the status tells, and what comes later is added."""
    await partitions.migrate(grown, unseen)
    events, episodes = await partitions.status(grown)
    assert (events.layout.layout, episodes.layout.layout) == ("partitioned", "partitioned")
    names = [one.name.removeprefix("memory_events_p") for one in events.partitions]
    assert names == ["before", *(f"2026{month:02}" for month in range(3, 11)), "other"]
    assert await partitions.keep_ahead(grown) == 0
    clock = grown.clock
    assert isinstance(clock, MovingClock)
    clock.move(days=62)
    assert await partitions.keep_ahead(grown) == 4


async def test_writes_go_on_during_a_move(grown: Resources) -> None:
    """New rows, changed rows and deleted rows reach both tables; nothing is lost, and nothing comes back."""
    small = grown.settings.partitions.model_copy(update={"page": 3})
    resources = replace(grown, settings=grown.settings.model_copy(update={"partitions": small}))
    over, some = asyncio.Event(), asyncio.Semaphore(0)
    written = 0

    async def keep_writing(tenant: str) -> None:
        nonlocal written
        while not over.is_set():
            written += 1
            await write(resources, tenant, 1000 + written)
            some.release()

    writers = [asyncio.create_task(keep_writing(tenant)) for tenant in ("ada", "bob", "new")]
    for _ in range(3):
        await some.acquire()
    await partitions.migrate(resources, unseen)
    for _ in range(3):
        await some.acquire()
    over.set()
    await asyncio.gather(*writers)
    assert len(rows_of(resources, "episodes")) == 32 + written
    for tenant in ("ada", "bob", "new"):
        assert (await replay(resources, caller(tenant))).intact


MIGRATE = """
import asyncio, sys
from memory_butler.ai.embedding import FakeEmbedder
from memory_butler.operations.lifecycle import partitions
from memory_butler.resources import open_resources

async def main():
    async with open_resources(database_url=sys.argv[1], owner_url=sys.argv[2], home=sys.argv[3],
                              partitions={"page": 2}, embedder=FakeEmbedder()) as resources:
        seen = 0
        def tell(stage, done, total):
            nonlocal seen
            seen += 1
            print(seen, flush=True)
        await partitions.migrate(resources, tell)
        print("done", flush=True)
asyncio.run(main())
"""


async def test_a_killed_move_continues(grown: Resources, settings: Settings) -> None:
    """Killed at random pages, with writes in between, and run again until it ends: nothing is lost or doubled."""
    chance, url, owner_url = random.Random(3), grown.database.dsn(), grown.database.owner_dsn()
    command = [sys.executable, "-c", MIGRATE, url, owner_url, str(settings.home)]
    for round in range(3):
        kill_at = chance.randrange(1, 60) if round < 2 else None
        process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
        assert process.stdout
        async for line in process.stdout:
            if kill_at and line.strip() == b"%d" % kill_at:
                process.kill()
        await process.wait()
        await write(grown, "ada", 2000 + round)
    assert process.returncode == 0
    assert {one.layout.layout for one in await partitions.status(grown)} == {"partitioned"}
    assert len(rows_of(grown, "episodes")) == 35
    for tenant in ("ada", "bob"):
        assert (await replay(grown, caller(tenant))).intact


async def test_a_move_can_be_given_up(grown: Resources) -> None:
    """The plain tables stay as they are, and a later move begins anew."""
    rules = definitions(grown)
    async with moves.mover(grown.database) as mover:
        await mover.begin("episodes", START, START, 1, START)
        assert (await mover.layout("episodes")).layout == "moving"
    await write(grown, "ada", 3000)
    assert await partitions.cancel(grown) == ("episodes",)
    assert definitions(grown) == rules
    assert {one.layout.layout for one in await partitions.status(grown)} == {"plain"}
    assert [one.base for one in await partitions.migrate(grown, unseen)] == ["memory_events", "episodes"]


async def test_a_difference_stops_a_move(grown: Resources) -> None:
    """If a copied row differs from its original, nothing is replaced."""
    async with moves.mover(grown.database) as mover:
        await mover.begin("episodes", START, grown.clock(), 1, START)
        await mover.copy("episodes", 100, unseen)
        with psycopg.connect(grown.database.owner_dsn().replace("memory_owner", "postgres")) as connection:
            connection.execute("UPDATE memory.episodes_next SET importance = 11 - importance WHERE tenant_id = 'bob'")
        with pytest.raises(IntegrityViolation, match="16 copied rows of episodes differ"):
            await mover.verify("episodes", 100, unseen)


async def test_partitions_are_as_closed_as_the_table(grown: Resources) -> None:
    """Events in a partition cannot be changed, deleted or truncated; another tenant's rows are not seen in it; the
    program's role cannot name it at all."""
    await partitions.migrate(grown, unseen)
    superuser = grown.database.owner_dsn().replace("memory_owner", "postgres")
    with psycopg.connect(superuser, autocommit=True) as connection:
        for statement in ("UPDATE {} SET actor = 'x'", "DELETE FROM {}", "TRUNCATE {}"):
            for table in ("memory.memory_events", "memory.memory_events_p202603"):
                with pytest.raises(psycopg.Error, match="memory_events is append-only"):
                    connection.execute(statement.format(table).encode())
        # Also while words are purged.
        connection.execute("SELECT set_config('memory_butler.purging', 'on', false)")
        with pytest.raises(psycopg.Error, match="memory_events is append-only"):
            connection.execute("DELETE FROM memory.memory_events_p202603")
        with pytest.raises(psycopg.Error, match="never rewritten"):
            connection.execute("UPDATE memory.episodes SET content = 'x'")
        with pytest.raises(psycopg.Error, match="unique constraint"):
            connection.execute("INSERT INTO memory.memory_events SELECT * FROM memory.memory_events LIMIT 1")
    with psycopg.connect(grown.database.owner_dsn(), autocommit=True) as connection:
        assert connection.execute("SELECT count(*) FROM memory.memory_events_p202603").fetchone() == (0,)
        connection.execute("SET ROLE memory_app")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("SELECT FROM memory.memory_events_p202603")


async def test_months_can_be_divided_by_tenant(grown: Resources) -> None:
    """Each month then has parts by a hash of the tenant; everything else stays as it was."""
    parted = grown.settings.partitions.model_copy(update={"buckets": 3})
    resources = replace(grown, settings=grown.settings.model_copy(update={"partitions": parted}))
    await partitions.migrate(resources, unseen)
    events = (await partitions.status(resources))[0]
    assert {one.parts for one in events.partitions if one.name[-1].isdigit()} == {3}
    await write(resources, "ada", 4000)
    assert (await replay(resources, caller("ada"))).intact
    with psycopg.connect(grown.database.owner_dsn().replace("memory_owner", "postgres")) as connection:
        for statement in (b"DELETE FROM memory.memory_events_p202603", b"TRUNCATE memory.memory_events_p202603_1"):
            with pytest.raises(psycopg.Error, match="memory_events is append-only"):
                connection.execute(statement)
            connection.rollback()


async def test_rows_of_a_clock_that_was_ahead_find_their_month(grown: Resources) -> None:
    """They wait in the partition for other ids until their month has one; nothing is lost, and the chain holds."""
    await partitions.migrate(grown, unseen)
    clock = grown.clock
    assert isinstance(clock, MovingClock)
    now = clock.now
    clock.move(days=200)
    await write(grown, "ada", 5000)
    clock.now = now
    await write(grown, "ada", 5001)
    clock.move(days=180)
    assert await partitions.keep_ahead(grown) > 0
    with psycopg.connect(grown.database.owner_dsn().replace("memory_owner", "postgres")) as connection:
        assert connection.execute("SELECT count(*) FROM memory.episodes_pother").fetchone() == (0,)
    assert (await replay(grown, caller("ada"))).intact


async def test_a_large_table_moves_by_itself(grown: Resources) -> None:
    """Once the planner's estimate reaches the setting, and not before, nor if it is switched off."""
    with psycopg.connect(grown.database.owner_dsn().replace("memory_owner", "postgres"), autocommit=True) as connection:
        connection.execute("ANALYZE memory.memory_events, memory.episodes")
    assert await partitions.move_if_due(grown) == ()
    for auto, moved in ((False, []), (True, ["memory_events"])):
        rules = grown.settings.partitions.model_copy(update={"from_rows": 60, "auto": auto})
        resources = replace(grown, settings=grown.settings.model_copy(update={"partitions": rules}))
        assert [one.base for one in await partitions.move_if_due(resources)] == moved
