"""The gate: one tenant a transaction, one error class a fault, and a server that may go away at any time."""

import asyncio
import os
import select
import shutil
import signal
import socket
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
from pydantic import SecretStr

from memory_butler.errors import DeadlinePassed, IntegrityViolation, InternalError, MemoryButlerError, TargetUnavailable
from memory_butler.models import NewEpisode, NewFact, NewRule
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources
from memory_butler.settings import Settings, load_settings
from memory_butler.store.embedded.server import EmbeddedPostgres
from memory_butler.store.gate.database import Database
from memory_butler.store.gate.recordsets import recordset

NOW = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
Breaking = Callable[[UUID, UUID, UUID], tuple[str, dict[str, Any]]]


async def _fact(resources: Resources, content: str = "blue") -> UUID:
    return (await remember.fact(resources, NewFact(subject="user", predicate="color", content=content))).id


@asynccontextmanager
async def _database(settings: Settings, **given: Any) -> AsyncIterator[Database]:
    database = Database.from_settings(settings.model_copy(update=given))
    await database.open()
    try:
        # A deadline is for a call and not for the first connection.
        assert database._pool
        await database._pool.wait()
        yield database
    finally:
        await database.close()


async def _facts(database: Database) -> int:
    async with database.read("default") as transaction:
        return len(await transaction.all("search_index.after", after=UUID(int=0), limit=100))


# --- refusals ---------------------------------------------------------------------------------------


def _application(rule: UUID, outcome: str) -> tuple[str, dict[str, Any]]:
    given = {"id": uuid.uuid4(), "rule_id": rule, "outcome": outcome, "butler": "main", "created_at": NOW}
    return "rules.insert_application", given | dict.fromkeys(("reason", "session_id", "request_id", "withdraws"))


def _link(source: UUID, target: UUID) -> tuple[str, dict[str, Any]]:
    ends = {"source_type": "fact", "source_id": source, "target_type": "rule", "target_id": target}
    return "links.insert", {"links": recordset([ends | {"relation": "supports", "created_at": NOW}])}


BREAKING: dict[str, Breaking] = {
    "forbidden transition": lambda fact, rule, episode: (
        "memories.set_validity:fact",
        {"id": fact, "validity": "superseded"},
    ),
    "unknown state": lambda fact, rule, episode: ("memories.set_validity:episode", {"id": episode, "validity": "gone"}),
    "link to nothing": lambda fact, rule, episode: _link(fact, uuid.uuid4()),
    "application of no rule": lambda fact, rule, episode: _application(fact, "helpful"),
    "unknown outcome": lambda fact, rule, episode: _application(rule, "so-so"),
    "no name": lambda fact, rule, episode: ("database.register_butler", {"butler": "", "now": NOW}),
}


@pytest.mark.parametrize("waits", [True, False], ids=["waited for", "only sent"])
@pytest.mark.parametrize("broken", BREAKING)
async def test_a_refusal_reaches_the_caller_as_integrity_error(resources: Resources, broken: str, waits: bool) -> None:
    """The first error surfaces, whatever is sent after it, under one error class; and nothing is changed."""
    fact = await _fact(resources)
    rule = (await remember.rule(resources, NewRule(content="Be kind"))).id
    episode = (await remember.episode(resources, NewEpisode(content="We met", butler="main"))).id
    tenant = resources.settings.tenant
    async with resources.database.write(tenant, NOW) as transaction:
        await transaction.send("memories.set_validity:fact", id=fact, validity="retracted")
    query, given = BREAKING[broken](fact, rule, episode)
    with pytest.raises(IntegrityViolation) as refused:
        async with resources.database.write(tenant, NOW) as transaction:
            await transaction.send("memories.confirm:rule", ids=[rule], now=NOW + timedelta(days=1))
            await transaction.send(query, **given)
            await transaction.send("database.register_butler", butler="later", now=NOW)
            if waits:
                await transaction.one("stats.log")
    assert refused.value.error_class == "integrity_error"
    assert "aborted" not in refused.value.message
    async with resources.database.read(tenant) as transaction:
        row = await transaction.one("memories.get:rule", id=rule, ref=None)
    assert row and row["last_confirmed_at"] is None


async def test_a_second_live_property_reaches_the_caller_as_integrity_error(resources: Resources) -> None:
    """Bringing back a superseded fact while its successor lives is refused, not answered with a driver's error."""
    first = await _fact(resources)
    await _fact(resources, "green")
    with pytest.raises(IntegrityViolation, match="facts_one_live_property"):
        async with resources.database.write(resources.settings.tenant, resources.clock()) as transaction:
            await transaction.send("memories.set_validity:fact", id=first, validity="active")


async def test_a_read_cannot_write(resources: Resources) -> None:
    """A transaction opened for reading refuses every write, and its caller gets one of our errors."""
    fact = await _fact(resources)
    with pytest.raises(InternalError, match="25006"):
        async with resources.database.read(resources.settings.tenant) as transaction:
            await transaction.send("memories.set_validity:fact", id=fact, validity="retracted")
    async with resources.database.read(resources.settings.tenant) as transaction:
        row = await transaction.one("memories.get:fact", id=fact, ref=None)
    assert row and row["validity"] == "active"


async def test_an_exception_undoes_the_whole_transaction(resources: Resources) -> None:
    """Whatever was sent before it, and the short references reserved for it, are as if they had never been."""
    fact = await _fact(resources)
    tenant = resources.settings.tenant
    with pytest.raises(ZeroDivisionError):
        async with resources.database.write(tenant, NOW, refs=100) as transaction:
            await transaction.send("memories.set_validity:fact", id=fact, validity="retracted")
            await transaction.one("stats.log")
            raise ZeroDivisionError
    async with resources.database.write(tenant, NOW, refs=1) as transaction:
        row = await transaction.one("memories.get:fact", id=fact, ref=None)
        await transaction.refs.known()
        assert transaction.refs.take() == 2
    assert row and row["validity"] == "active"


async def test_a_rehearsal_leaves_nothing_behind(resources: Resources) -> None:
    """What is written there is seen there, never committed, and the connection is as it was."""
    fact = await _fact(resources)
    tenant = resources.settings.tenant
    for _ in range(2):
        async with resources.database.rollback_only(tenant, 30) as transaction:
            await transaction.send("memories.set_validity:fact", id=fact, validity="retracted")
            row = await transaction.one("memories.get:fact", id=fact, ref=None)
            assert row and row["validity"] == "retracted"
            cursor = await transaction._connection.execute("SHOW transaction_isolation")
            assert await cursor.fetchone() == {"transaction_isolation": "repeatable read"}
    async with resources.database.read(tenant) as transaction:
        row = await transaction.one("memories.get:fact", id=fact, ref=None)
        cursor = await transaction._connection.execute("SHOW transaction_isolation")
        assert await cursor.fetchone() == {"transaction_isolation": "read committed"}
    assert row and row["validity"] == "active"


# --- deadlines --------------------------------------------------------------------------------------


async def test_a_statement_over_the_deadline_is_given_up(settings: Settings, shared_resources: Resources) -> None:
    """The caller gets DeadlinePassed at the deadline, and the connection serves the next call."""
    async with _database(settings, deadline_seconds=1, pool_size=1) as database:
        began = time.monotonic()
        with pytest.raises(DeadlinePassed):
            async with database.read("default") as transaction:
                await transaction._connection.execute("SELECT pg_sleep(30)")
        assert time.monotonic() - began < 15
        assert await _facts(database) >= 0


async def test_waiting_for_another_writer_ends_at_the_deadline(settings: Settings, resources: Resources) -> None:
    """A tenant whose lock is held too long costs the waiting writer its deadline, and no more."""
    tenant = resources.settings.tenant
    async with _database(settings, deadline_seconds=1) as database, resources.database.write(tenant, NOW) as holder:
        await holder.one("stats.log")
        with pytest.raises(DeadlinePassed):
            async with database.write(tenant, NOW):
                pass
        async with database.write("another-tenant", NOW):
            pass


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port that accepts connections and never says a word."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


async def test_a_server_that_cannot_be_reached_is_unavailable(settings: Settings, silent_port: int) -> None:
    """Nobody listening, or somebody who never answers: target_unavailable, soon, and not a hang."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        closed_port = unused.getsockname()[1]
        for port in (closed_port, silent_port):
            url = SecretStr(f"postgresql://nobody@127.0.0.1:{port}/nothing")
            began = time.monotonic()
            with pytest.raises(TargetUnavailable) as problem:
                async with _database(settings, database_url=url, deadline_seconds=1):
                    pass
            assert problem.value.error_class == "target_unavailable"
            assert time.monotonic() - began < 15


# --- a server that goes away ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def victim(new_home: Callable[[], Path]) -> Iterator[EmbeddedPostgres]:
    home = new_home()
    server = EmbeddedPostgres(home, options={"fsync": "off"})
    yield server
    server.stop()
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
async def own_server(victim: EmbeddedPostgres) -> EmbeddedPostgres:
    """A server that a test may kill; it runs when the test begins."""
    await asyncio.to_thread(victim.ensure_running)
    return victim


def _kill(server: EmbeddedPostgres) -> int:
    victim = server.pid
    assert victim
    descriptor = os.pidfd_open(victim)
    os.kill(victim, signal.SIGKILL)
    select.select([descriptor], [], [])  # until it is really gone
    os.close(descriptor)
    return victim


async def _add(database: Database) -> None:
    async with database.write("default", NOW) as transaction:
        await transaction.send("database.register_butler", butler=uuid.uuid4().hex, now=NOW)


def _added(server: EmbeddedPostgres) -> int:
    with psycopg.connect(server.dsn("postgres", "memory")) as connection:
        row = connection.execute("SELECT count(*) FROM memory.butlers").fetchone()
    assert row
    return int(row[0])


async def test_a_killed_server_is_started_again(own_server: EmbeddedPostgres) -> None:
    """After SIGKILL the next calls, many at once, are answered without opening anything again; nothing is lost."""
    before = _added(own_server)
    async with _database(load_settings(home=own_server.home), deadline_seconds=30, pool_size=4) as database:
        await asyncio.gather(*(_add(database) for _ in range(8)))
        for _ in range(2):
            victim = _kill(own_server)
            await asyncio.gather(*(_add(database) for _ in range(8)))
            assert own_server.pid not in (None, victim)
        assert _added(own_server) == before + 24


async def test_a_full_pool_recovers_within_one_call(own_server: EmbeddedPostgres) -> None:
    """Ten idle connections to a server that was stopped do not have to be found out one by one."""
    before = _added(own_server)
    async with _database(load_settings(home=own_server.home)) as database:
        await asyncio.gather(*(_add(database) for _ in range(40)))
        await asyncio.to_thread(own_server.stop)
        await _add(database)
        assert _added(own_server) == before + 41


async def test_the_role_setting_is_for_other_databases(own_server: EmbeddedPostgres) -> None:
    """The embedded server brings its own role; a setting meant for another database does not lock its owner out."""
    async with _database(load_settings(home=own_server.home), app_role="somebody_else") as database:
        await _add(database)


async def test_a_server_killed_under_a_transaction_is_unavailable_once(own_server: EmbeddedPostgres) -> None:
    """Whoever was in the middle is told to try again; nothing of it was written, and trying again works."""
    async with _database(load_settings(home=own_server.home), deadline_seconds=30) as database:
        with pytest.raises(TargetUnavailable) as problem:
            async with database.write("default", NOW) as transaction:
                await transaction.send("database.register_butler", butler="half", now=NOW)
                await transaction.one("stats.log")
                _kill(own_server)
                # A backend that is busy outlives its server by a statement or two.
                os.kill(transaction._connection.info.backend_pid, signal.SIGKILL)
                await transaction.one("stats.log")
        assert problem.value.retryable
        await _add(database)
        with psycopg.connect(own_server.dsn("postgres", "memory")) as connection:
            rows = connection.execute("SELECT butler FROM memory.butlers WHERE butler = 'half'").fetchall()
        assert rows == []


async def test_a_stopped_server_stays_stopped_until_a_call_wants_it(
    own_server: EmbeddedPostgres, caplog: pytest.LogCaptureFixture
) -> None:
    """Upkeep that was in the middle when somebody stopped the server does not bring it back; the next call does."""
    async with _database(load_settings(home=own_server.home), deadline_seconds=30) as database:
        with pytest.raises(TargetUnavailable):
            async with database.unlocked_write() as transaction:
                await asyncio.to_thread(own_server.stop)
                await transaction.one("stats.log")
        while "the database is stopped" not in caplog.text:  # noqa: ASYNC110 (the log has no event)
            await asyncio.sleep(0.01)
        assert not own_server.is_running()
        await _add(database)
        assert own_server.is_running()


async def test_a_frozen_server_does_not_freeze_its_callers(own_server: EmbeddedPostgres) -> None:
    """A backend that stops answering is given up shortly after the deadline, and the rest of the pool goes on."""
    async with _database(load_settings(home=own_server.home), deadline_seconds=1, pool_size=1) as database:
        async with database.read("default") as transaction:
            await transaction.one("stats.log")
            frozen = transaction._connection.info.backend_pid
        os.kill(frozen, signal.SIGSTOP)
        try:
            began = time.monotonic()
            with pytest.raises(MemoryButlerError) as problem:
                async with database.read("default") as transaction:
                    await transaction.one("stats.log")
            assert isinstance(problem.value, TargetUnavailable)
            assert time.monotonic() - began < 15
            assert await _facts(database) == 0
        finally:
            os.kill(frozen, signal.SIGCONT)


async def test_a_call_does_not_ask_whether_the_server_runs(
    resources: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looking for the server's process costs more than a query; it is done for a new connection, not for a call."""
    asked = []
    monkeypatch.setattr(EmbeddedPostgres, "is_running", lambda self: asked.append(self) or True)
    for _ in range(5):
        async with resources.database.read(resources.settings.tenant) as transaction:
            await transaction.one("stats.log")
    assert asked == []
