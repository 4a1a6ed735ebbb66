"""What is checked of an external database at the start: a pooler is noticed, a replica refused, a wrong clock named."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from pydantic import SecretStr
from tests.support.pgbouncer import SERVER_CONNECTIONS, PgBouncer, pgbouncer
from tests.support.replication import StreamingReplica, opened_planes, plane_of, serves, until

from memory_butler.adapters.http.activity_stream import listen_url
from memory_butler.ai.embedding import FakeEmbedder
from memory_butler.errors import TargetUnavailable
from memory_butler.jobs.schedule import SCHEDULE
from memory_butler.jobs.worker import Worker
from memory_butler.models import NewFact, Question
from memory_butler.operations.history import replay
from memory_butler.operations.lifecycle import job_status
from memory_butler.operations.retrieval import search
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources, open_resources
from memory_butler.settings import DatabaseSettings, Settings
from memory_butler.store.embedded.server import EmbeddedPostgres
from memory_butler.store.gate import primary_facts
from memory_butler.store.gate.database import Database
from memory_butler.store.gate.listening import EventNotifications
from memory_butler.store.gate.queries import Names
from memory_butler.store.retrieval.vector_index import overseen

CALLERS, ROUNDS = 8, 4


@pytest.fixture(scope="module")
def pooler(server: EmbeddedPostgres, replica: StreamingReplica) -> Iterator[PgBouncer]:
    """PgBouncer in front of the primary and of its replica, with fewer server connections than clients."""
    places = {"memory": server.dsn("postgres", "memory"), "replica": replica.dsn("postgres")}
    with pgbouncer(places) as running:
        yield running


def _urls(pooler: PgBouncer, tenant: str, **database: Any) -> dict[str, Any]:
    return {
        "tenant": tenant,
        "database_url": SecretStr(pooler.dsn("memory_app")),
        "database": DatabaseSettings(**database),
    }


@asynccontextmanager
async def _opened(settings: Settings, changed: dict[str, Any]) -> AsyncIterator[Resources]:
    async with open_resources(settings.model_copy(update=changed), embedder=FakeEmbedder()) as opened:
        yield opened


async def _round(resources: Resources, caller: int, number: int) -> None:
    """A write and a search that must find it, as one of many callers at once."""
    content = f"color {caller} {number}"
    fact = await remember.fact(resources, NewFact(subject=f"Anna {caller}", predicate="color", content=content))
    answer = await search.search(resources, Question(query=f"Anna {caller} color {number}", min_relevance=0))
    assert fact.id in {one.hit.id for one in answer.results}, answer.degraded


async def _callers(resources: Resources) -> None:
    async def one(caller: int) -> None:
        for number in range(ROUNDS):
            await _round(resources, caller, number)

    await asyncio.gather(*map(one, range(CALLERS)))


async def _prepared(resources: Resources) -> int:
    pool = resources.database._pool
    assert pool
    async with pool.connection() as connection:
        row = await (await connection.execute("SELECT count(*) AS n FROM pg_prepared_statements")).fetchone()
    assert row
    return int(row["n"])


async def test_a_pooler_is_noticed_and_nothing_is_prepared_through_it(
    settings: Settings, shared_resources: Resources, pooler: PgBouncer, tenant: str
) -> None:
    """PgBouncer 1.18 mixes up prepared statements; many callers share few server connections without an error."""
    async with _opened(settings, _urls(pooler, tenant)) as resources:
        assert resources.database.is_pooled
        assert CALLERS > SERVER_CONNECTIONS
        await _callers(resources)
        assert await _prepared(resources) == 0
        assert listen_url(resources) is None, "through a pooler nothing would be heard"
    assert not shared_resources.database.is_pooled


async def test_an_answer_of_the_settings_goes_before_what_is_noticed(
    settings: Settings, pooler: PgBouncer, server: EmbeddedPostgres, tenant: str
) -> None:
    """Newer poolers keep prepared statements apart; others hide themselves."""
    through = _urls(pooler, tenant)
    direct = {"database_url": SecretStr(server.dsn("memory_app", "memory"))}
    for chosen, urls in ((False, through), (True, direct)):
        service = settings.service.model_copy(update={"pooler": chosen})
        database = Database.from_settings(settings.model_copy(update={"service": service, **urls}))
        await database._look()
        assert database.is_pooled is chosen


async def test_replicas_are_read_through_a_pooler(
    resources: Resources, pooler: PgBouncer, replica: StreamingReplica
) -> None:
    """Role, tenant and position are right although every transaction has another server connection."""
    async with opened_planes(resources, pooler.dsn("memory_app", "replica")) as planes:
        await until(planes, serves)
        await _callers(planes)
        [state] = plane_of(planes).states()
        assert state.reads >= CALLERS * ROUNDS
        replica_pool = plane_of(planes)._replicas[0]._pool
        assert replica_pool
        async with replica_pool.connection() as connection:
            cursor = await connection.execute(
                "SELECT pg_is_in_recovery() AS there, current_setting('role') AS role,"
                " (SELECT count(*) FROM pg_prepared_statements) AS prepared"
            )
            assert await cursor.fetchone() == {"there": True, "role": "none", "prepared": 0}


async def test_news_migrations_and_locks_use_the_direct_connection(
    settings: Settings, pooler: PgBouncer, server: EmbeddedPostgres, tenant: str
) -> None:
    """With `database.direct_url` beside the pooler, a subscriber hears of a write, an index build has its turn, and a
    replay its schema."""
    changed = _urls(pooler, tenant, direct_url=SecretStr(server.dsn("memory_owner", "memory")))
    async with _opened(settings, changed) as resources:
        assert listen_url(resources) == server.dsn("memory_owner", "memory")
        news = EventNotifications(resources.database, listen_url(resources))
        with news.subscribe(tenant) as subscription:
            async with asyncio.timeout(20):
                while not news.is_listening:
                    await subscription.wait(0.05, 0.05)
                subscription._notified.clear()
                await _round(resources, 0, 0)
                await subscription.wait(60, 60)
        async with overseen(resources.database) as overseer:
            await overseer.take_turn()
            await overseer.end_turn()
        assert (await replay.replay(resources)).intact


async def test_without_a_direct_connection_a_lock_is_refused_with_the_setting_that_helps(
    settings: Settings, pooler: PgBouncer, tenant: str
) -> None:
    async with _opened(settings, _urls(pooler, tenant)) as resources:
        with pytest.raises(TargetUnavailable, match="holds a lock") as refused:
            async with overseen(resources.database):
                raise AssertionError("opened")
        assert "MEMORY_BUTLER_DATABASE__DIRECT_URL" in refused.value.recovery
    log = (pooler.folder / "pgbouncer.log").read_text()
    assert "FATAL" not in log


async def test_a_worker_runs_the_queue_through_a_pooler(settings: Settings, pooler: PgBouncer, tenant: str) -> None:
    """Jobs, their locks and heartbeats need nothing but transactions."""
    async with _opened(settings, _urls(pooler, tenant)) as resources:
        await _round(resources, 0, 0)
        caller = resources.local_caller()
        sweeps = tuple(entry for entry in SCHEDULE if entry.job == "sweep")
        await Worker(resources, schedule=sweeps).once(asyncio.Event())
        statuses = {one.job: one.status for one in await job_status.statuses(resources, caller)}
        assert statuses["sweep"] == "ok"


async def test_a_database_url_that_leads_to_a_replica_is_refused(
    settings: Settings, replica: StreamingReplica, shared_resources: Resources
) -> None:
    changed = {"database_url": SecretStr(replica.dsn())}
    with pytest.raises(TargetUnavailable, match="leads to a replica") as refused:
        async with _opened(settings, changed):
            raise AssertionError("opened")
    assert "database.replicas" in refused.value.recovery


@pytest.mark.parametrize(("ahead", "words"), [(-90.0, "90 s ahead of"), (90.0, "90 s behind"), (1.0, None)])
async def test_a_clock_that_differs_is_named(
    server: EmbeddedPostgres,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    ahead: float,
    words: str | None,
) -> None:
    """`ahead`: of this machine. It is said from which side, so that an operator knows which clock to set."""
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() + ahead)
    with caplog.at_level(logging.WARNING, logger=primary_facts.__name__):
        facts = await asyncio.to_thread(primary_facts.look, server.dsn("memory_app", "memory"), Names(), 5)
    assert abs(facts.clock_ahead_seconds + ahead) < 5
    assert ([words in caplog.text, "NTP" in caplog.text] == [True, True]) if words else not caplog.text
