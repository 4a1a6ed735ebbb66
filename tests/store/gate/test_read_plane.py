"""The read plane: fresh replicas serve reads, the primary everything else, and a caller sees its own writes."""

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from pydantic import SecretStr
from tests.support.replication import WAIT_SECONDS, StreamingReplica, opened_planes, plane_of, serves, until

from memory_butler.ai.embedding import FakeEmbedder
from memory_butler.errors import TargetUnavailable
from memory_butler.metrics.registry import REGISTRY
from memory_butler.models import BriefRequest, MemoryType, NewFact, NewToken, Question
from memory_butler.models.listings import Listing
from memory_butler.operations.access import tokens
from memory_butler.operations.briefing import brief
from memory_butler.operations.browse import listings
from memory_butler.operations.retrieval import get, search
from memory_butler.operations.system import stats
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources, on_replica, open_resources
from memory_butler.settings import DatabaseSettings, Settings
from memory_butler.store.embedded.server import EmbeddedPostgres
from memory_butler.store.gate import positions


@pytest.fixture
async def planes(resources: Resources, replica: StreamingReplica) -> AsyncIterator[Resources]:
    async with opened_planes(resources, replica.dsn()) as opened:
        await until(opened, serves)
        yield opened


async def _fact(resources: Resources, content: str = "blue") -> str:
    return (await remember.fact(resources, NewFact(subject="Anna", predicate="color", content=content))).ref


async def _colors(resources: Resources) -> list[str]:
    return [one.memory.content for one in (await listings.memories(resources, Listing(type=MemoryType.FACT))).items]


@on_replica
async def _where(resources: Resources) -> tuple[bool, str, str]:
    """Whether the read runs on a replica, and the role and the tenant that it is bound to."""
    async with resources.database.read(resources.settings.tenant) as transaction:
        cursor = await transaction._connection.execute(
            "SELECT pg_is_in_recovery() AS there, current_user::text AS role,"
            " current_setting('memory_butler.tenant') AS tenant"
        )
        row = await cursor.fetchone()
    assert row
    return row["there"], row["role"], row["tenant"]


def _reads(resources: Resources) -> tuple[int, int]:
    plane = plane_of(resources)
    return plane.states()[0].reads, plane.primary_reads


async def test_reads_run_on_the_replica_as_the_tenant_and_the_role_of_the_primary(planes: Resources) -> None:
    await _fact(planes)
    assert await _where(planes) == (True, "memory_app", planes.settings.tenant)
    async with planes.database.read(planes.settings.tenant) as transaction:
        cursor = await transaction._connection.execute("SELECT pg_is_in_recovery() AS there")
        assert await cursor.fetchone() == {"there": False}, "a read outside of the read plane"


async def test_briefing_search_listing_and_statistics_are_served_by_the_replica(planes: Resources) -> None:
    ref = await _fact(planes)
    served, _ = _reads(planes)
    assert "blue" in (await brief.brief(planes, BriefRequest(trigger_prompt="Anna's color", butler="main"))).text
    assert [one.hit.ref for one in (await search.search(planes, Question(query="Anna color", min_relevance=0))).results]
    assert await _colors(planes) == ["blue"]
    assert (await get.get(planes, "fact", ref, bump=False)).memory.content == "blue"
    assert (await stats.stats(planes))["memories"]["facts"] == {"active": 1}
    assert _reads(planes)[0] >= served + 5
    assert _reads(planes)[1] == 0


async def test_a_search_on_the_replica_counts_references_on_the_primary(planes: Resources) -> None:
    ref = await _fact(planes)
    answer = await search.search(planes, Question(query="Anna color", min_relevance=0))
    assert answer.results and not answer.degraded
    assert (await get.get(planes, "fact", ref)).memory.reference_count == 1
    assert _reads(planes)[1] == 0


async def test_row_level_security_holds_on_the_replica(planes: Resources, replica: StreamingReplica) -> None:
    await _fact(planes)
    stranger = replace(planes, settings=planes.settings.model_copy(update={"tenant": f"t{uuid.uuid4().hex[:8]}"}))
    assert await _colors(planes) == ["blue"]
    assert await _colors(stranger) == []
    with psycopg.connect(replica.dsn(), autocommit=True) as connection:
        assert connection.execute("SELECT count(*) FROM memory.facts").fetchone() == (0,)


async def test_a_caller_sees_its_own_write_although_the_replica_is_behind(
    planes: Resources, replica: StreamingReplica
) -> None:
    """Within the wait the replica serves; after it the primary does. Other tenants stay on the replica."""
    await _fact(planes, "green")
    replica.pause_replay()
    try:
        await _fact(planes, "red")
        assert "red" in await _colors(planes)
        assert _reads(planes)[1] >= 1
        there, _, _ = await _where(replace(planes, settings=planes.settings.model_copy(update={"tenant": "else"})))
        assert there
    finally:
        replica.resume_replay()
    for _ in range(20):
        await _fact(planes, uuid.uuid4().hex)
        before = _reads(planes)
        assert (await _where(planes))[0]
        assert _reads(planes) == (before[0] + 1, before[1])


async def test_a_position_from_another_process_is_waited_for(planes: Resources, replica: StreamingReplica) -> None:
    """The position travels with the caller: the process that reads has not written."""
    async with opened_planes(planes, replica.dsn()) as other:
        await until(other, serves)
        token = positions.current.set(wrote := positions.CallPosition())
        replica.pause_replay()
        try:
            await _fact(planes, "white")
            assert wrote.written
            positions.current.set(positions.CallPosition())
            assert await _colors(other) == [], "without the position the replica serves what it has"
            positions.current.set(positions.CallPosition(needed=wrote.written))
            assert await _colors(other) == ["white"]
        finally:
            replica.resume_replay()
            positions.current.reset(token)


async def test_a_count_of_references_moves_no_position(planes: Resources) -> None:
    await _fact(planes)
    before = plane_of(planes).positions.of(planes.settings.tenant)
    await search.search(planes, Question(query="Anna color", min_relevance=0))
    assert before and plane_of(planes).positions.of(planes.settings.tenant) == before


async def test_a_replica_that_goes_away_is_left_out_and_comes_back(
    planes: Resources, replica: StreamingReplica
) -> None:
    """Calls notice nothing: reads that fail there are repeated on the primary."""
    await _fact(planes)
    assert (await _where(planes))[0]
    replica.stop()
    try:
        assert await _colors(planes) == ["blue"]
        assert not (await _where(planes))[0]
        assert (await until(planes, lambda state: not serves(state))).problem
    finally:
        replica.start()
    await until(planes, serves)
    assert (await _where(planes))[0]


async def test_a_read_on_a_replica_that_hangs_is_repeated_before_its_deadline(
    planes: Resources, replica: StreamingReplica
) -> None:
    await _fact(planes)
    assert (await _where(planes))[0]
    replica.freeze()
    try:
        began = time.monotonic()
        assert await _colors(planes) == ["blue"]
        assert time.monotonic() - began < planes.settings.deadline_seconds
        assert "cannot be reached" in str((await until(planes, lambda state: not serves(state))).problem)
    finally:
        replica.thaw()
    await until(planes, serves)


async def test_a_read_that_replay_cancels_is_repeated_and_the_replica_stays(
    planes: Resources, replica: StreamingReplica, server: EmbeddedPostgres
) -> None:
    """Rows that a read of the replica still needs are vacuumed away on the primary."""
    tries = 0

    @on_replica
    async def read(resources: Resources) -> bool:
        nonlocal tries
        tries += 1
        async with resources.database.read(resources.settings.tenant) as transaction:
            connection = transaction._connection
            cursor = await connection.execute(
                "SELECT pg_is_in_recovery() AS there, pg_sleep(CASE WHEN pg_is_in_recovery() THEN 10 ELSE 0 END)"
            )
            row = await cursor.fetchone()
        assert row
        return bool(row["there"])

    def vacuum() -> None:
        with psycopg.connect(replica.dsn("postgres", "memory"), autocommit=True) as there:
            running = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
            while there.execute(running).fetchone() != (1,):
                time.sleep(0.01)
        owner.execute("DELETE FROM public.passing")
        owner.execute("VACUUM public.passing")

    replica.configure(max_standby_streaming_delay="0", hot_standby_feedback="off")
    with psycopg.connect(server.dsn("postgres", "memory"), autocommit=True) as owner:
        owner.execute("CREATE TABLE public.passing AS SELECT generate_series(1, 1000) AS n")
        try:
            there, _ = await asyncio.gather(read(planes), asyncio.to_thread(vacuum))
            assert there is False and tries == 2
            assert plane_of(planes).states()[0].problem is None
        finally:
            owner.execute("DROP TABLE public.passing")
            replica.configure(max_standby_streaming_delay="30s")


async def test_a_replica_beyond_the_largest_lag_is_left_out(resources: Resources, replica: StreamingReplica) -> None:
    async with opened_planes(resources, replica.dsn(), max_replica_lag_seconds=1) as planes:
        await until(planes, serves)
        replica.pause_replay()
        try:
            await _fact(planes)
            state = await until(planes, lambda state: not serves(state))
            assert state.problem == "it is more than 1 s behind the primary"
            assert state.lag_seconds > 1 and state.lag_bytes > 0
            assert not (await _where(planes))[0]
        finally:
            replica.resume_replay()
        state = await until(planes, serves)
        assert state.lag_seconds <= 1


async def _problem(resources: Resources, url: str) -> str:
    async with opened_planes(resources, url) as planes:
        state = await until(planes, lambda state: state.problem is not None and "yet" not in state.problem)
        await _fact(planes)
        assert await _colors(planes) == ["blue"]
        assert not (await _where(planes))[0]
    return str(state.problem)


async def test_a_url_that_is_no_replica_of_the_primary_is_left_out(
    resources: Resources, server: EmbeddedPostgres, replica: StreamingReplica, new_home: Callable[[], Path], tenant: str
) -> None:
    """The primary itself, another database, an address without a server, and a standby of another cluster."""
    assert await _problem(resources, server.dsn("memory_app", "memory")) == "it is the primary itself"
    other = replace(resources, settings=resources.settings.model_copy(update={"tenant": f"{tenant}2"}))
    assert "names the database 'postgres'" in await _problem(other, replica.dsn("postgres", "postgres"))
    third = replace(resources, settings=resources.settings.model_copy(update={"tenant": f"{tenant}3"}))
    began = time.monotonic()
    assert "cannot be reached" in await _problem(third, "postgresql://memory_app@127.0.0.1:9/memory")
    assert time.monotonic() - began < 10
    fourth = replace(resources, settings=resources.settings.model_copy(update={"tenant": f"{tenant}4"}))
    foreign = EmbeddedPostgres(new_home())
    foreign.ensure_running()
    made = StreamingReplica(foreign)
    try:
        assert "belongs to another cluster" in await _problem(fourth, made.dsn())
    finally:
        made.discard()
        foreign.stop()


async def _lost(resources: Resources) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        while not plane_of(resources).primary_is_lost:  # noqa: ASYNC110 (only the probes know)
            await asyncio.sleep(0.05)


async def test_without_the_primary_reads_continue_and_say_that_they_are_stale(
    settings: Settings, new_home: Callable[[], Path]
) -> None:
    """`degraded` says so only while it is true; the primary that comes back serves again."""
    primary = EmbeddedPostgres(new_home(), options={"fsync": "off"})
    primary.ensure_running()
    replica = StreamingReplica(primary)
    urls = {
        "database_url": SecretStr(primary.dsn("memory_app", "memory")),
        "owner_url": SecretStr(primary.dsn("memory_owner", "memory")),
        "database": DatabaseSettings(replicas=(SecretStr(replica.dsn()),), max_replica_lag_seconds=1),
        # A write gives up after most of it.
        "deadline_seconds": 2.0,
    }
    question = Question(query="Anna color", min_relevance=0)
    try:
        async with open_resources(settings.model_copy(update=urls), embedder=FakeEmbedder()) as planes:
            await until(planes, serves)
            await _fact(planes)
            assert not (await search.search(planes, question)).degraded
            new = NewToken(tenant=planes.settings.tenant, butler="chef")
            _, secret = await tokens.create(planes, new, planes.local_operator())
            primary.stop()
            await until(planes, lambda state: not serves(state))
            began = time.monotonic()
            answer = await search.search(planes, question)
            assert time.monotonic() - began < 2
            assert [one.hit.content for one in answer.results] == ["blue"]
            assert any("stale replica" in note for note in answer.degraded)
            assert any("references were not counted" in note for note in answer.degraded)
            assert await _colors(planes) == ["blue"]
            known, _ = await tokens.authenticate(planes, secret)
            assert known.butler == "chef", "a caller is still known"
            await _lost(planes)
            began = time.monotonic()
            with pytest.raises(TargetUnavailable, match="primary"):
                await _fact(planes)
            assert time.monotonic() - began < 1, "a write does not wait for a primary that is known to be lost"
            primary.ensure_running()
            await until(planes, serves)
            ends = time.monotonic() + WAIT_SECONDS
            while (await search.search(planes, question)).degraded:
                assert time.monotonic() < ends
            replica.promote()
            state = await until(planes, lambda state: not serves(state))
            assert str(state.problem).startswith("it is a primary, not a replica: it was promoted")
            assert await _colors(planes) == ["blue"]
    finally:
        primary.ensure_running()
        replica.discard()
        primary.stop()


async def test_health_lag_and_share_of_reads_are_metrics(planes: Resources) -> None:
    def value(name: str, **labels: str) -> float:
        return REGISTRY.get_sample_value(name, labels) or 0.0

    before = value("memory_butler_plane_reads_total", server="0")
    await _fact(planes)
    await _where(planes)
    assert value("memory_butler_plane_reads_total", server="0") == before + 1
    await until(planes, lambda _: value("memory_butler_replica_up", replica="0") == 1)
    assert 0 <= value("memory_butler_replica_lag_seconds", replica="0") <= 5
    assert value("memory_butler_replica_lag_bytes", replica="0") >= 0
