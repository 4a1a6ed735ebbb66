"""A database that does not answer, or cannot commit, is unavailable; a call that is only slow exceeded its deadline."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pydantic import SecretStr

from memory_butler.adapters.mcp.tool_base import within
from memory_butler.ai.embedding import FakeEmbedder
from memory_butler.errors import DeadlinePassed, TargetUnavailable
from memory_butler.models import MemoryType, NewFact
from memory_butler.models.listings import Listing
from memory_butler.operations.browse import listings
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources, open_resources
from memory_butler.settings import Settings
from memory_butler.store.embedded.server import EmbeddedPostgres
from memory_butler.store.gate import server_waits
from memory_butler.store.gate.server_waits import DatabaseSilent

DEADLINE_SECONDS = 1.5


@pytest.fixture(scope="module")
def primary(new_home: Callable[[], Path]) -> Iterator[EmbeddedPostgres]:
    """A server of its own, whose settings may be changed and whose processes may be stopped."""
    server = EmbeddedPostgres(new_home(), options={"fsync": "off"})
    server.ensure_running()
    yield server
    server.stop()


@pytest.fixture
async def store(primary: EmbeddedPostgres, settings: Settings, tenant: str) -> AsyncIterator[Resources]:
    """A store on it as a service has it, with a short deadline."""
    urls = {
        "database_url": SecretStr(primary.dsn("memory_app", "memory")),
        "owner_url": SecretStr(primary.dsn("memory_owner", "memory")),
        "tenant": tenant,
        "deadline_seconds": DEADLINE_SECONDS,
    }
    async with open_resources(settings.model_copy(update=urls), embedder=FakeEmbedder()) as opened:
        yield opened


@pytest.fixture
def admin(primary: EmbeddedPostgres) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    with psycopg.connect(primary.dsn("postgres", "memory"), autocommit=True) as connection:
        yield connection


@pytest.fixture
def nobody_replicates(admin: psycopg.Connection[tuple[Any, ...]]) -> Iterator[None]:
    """Commits wait for a synchronous replica that is not there."""
    admin.execute("ALTER SYSTEM SET synchronous_standby_names = 'lost'")
    admin.execute("SELECT pg_reload_conf()")
    while admin.execute("SHOW synchronous_standby_names").fetchone() != ("lost",):
        pass
    yield
    admin.execute("ALTER SYSTEM RESET synchronous_standby_names")
    admin.execute("SELECT pg_reload_conf()")


async def _call(store: Resources, work: Coroutine[Any, Any, Any]) -> Any:
    return await within(store.settings.deadline_seconds, work)


def _color(store: Resources, color: str) -> Coroutine[Any, Any, Any]:
    return remember.fact(store, NewFact(subject="Anna", predicate="color", content=color))


async def _colors(store: Resources) -> list[str]:
    return [one.memory.content for one in (await listings.memories(store, Listing(type=MemoryType.FACT))).items]


async def test_a_statement_that_is_slow_on_a_server_that_answers_exceeds_the_deadline(store: Resources) -> None:
    async def slow() -> None:
        async with store.database.read(store.settings.tenant) as transaction:
            await (await transaction._connection.execute("SELECT pg_sleep(30)")).fetchone()

    with pytest.raises(DeadlinePassed):
        await _call(store, slow())


async def test_a_call_that_does_not_wait_for_the_database_exceeds_the_deadline(store: Resources) -> None:
    async def slow() -> None:
        await _colors(store)
        await asyncio.sleep(30)

    with pytest.raises(DeadlinePassed):
        await _call(store, slow())


async def test_a_server_that_hangs_is_unavailable(store: Resources, primary: EmbeddedPostgres) -> None:
    """Its connections stay open, as those of a machine that froze or was cut off."""
    await _call(store, _color(store, "blue"))
    assert primary.pid
    children = Path(f"/proc/{primary.pid}/task/{primary.pid}/children").read_text().split()
    processes = [primary.pid, *map(int, children)]
    for process in processes:
        os.kill(process, signal.SIGSTOP)
    try:
        with pytest.raises(DatabaseSilent, match="did not answer within"):
            await _call(store, _color(store, "red"))
    finally:
        for process in processes:
            os.kill(process, signal.SIGCONT)
    assert "blue" in await _colors(store)


async def test_a_commit_that_no_replica_confirms_is_unavailable_and_so_is_what_waits_for_its_lock(
    store: Resources, nobody_replicates: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_waits, "STALL_SECONDS", 0.5)
    told = await asyncio.gather(
        *(_call(store, _color(store, color)) for color in ("blue", "red", "green")), return_exceptions=True
    )
    assert [type(one) for one in told] == [DatabaseSilent] * 3
    assert "idempotency key" in told[0].recovery


async def test_a_commit_that_the_server_gave_up_to_replicate_is_not_acknowledged(
    store: Resources, admin: psycopg.Connection[tuple[Any, ...]], nobody_replicates: None
) -> None:
    """PostgreSQL reports it as a success with a warning; after a failover it would be lost."""
    store = replace(store, settings=store.settings.model_copy(update={"deadline_seconds": 20}))
    store.database._statement_seconds = 20
    writing = asyncio.create_task(_call(store, _color(store, "blue")))
    cancel = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
    while not writing.done():
        await asyncio.to_thread(admin.execute, cancel)
        await asyncio.sleep(0.02)
    with pytest.raises(TargetUnavailable):
        writing.result()
    assert await _colors(store) == ["blue"], "it may be there all the same"


async def test_a_primary_that_became_a_replica_is_unavailable_until_a_new_connection_leads_to_another(
    store: Resources, admin: psycopg.Connection[tuple[Any, ...]]
) -> None:
    """Its connections survive behind a pooler. Here the server is read-only for a while."""
    await _call(store, _color(store, "blue"))
    admin.execute("ALTER DATABASE memory SET default_transaction_read_only = on")
    try:
        await store.database._pool.drain()
        with pytest.raises(TargetUnavailable):
            await _call(store, _color(store, "red"))
    finally:
        admin.execute("SET default_transaction_read_only = off")
        admin.execute("ALTER DATABASE memory RESET default_transaction_read_only")
    # The replacements of that moment were read-only, too; each refusal replaces all of them again.
    with suppress(TargetUnavailable):
        await _call(store, _color(store, "green"))
    await _call(store, _color(store, "green"))
    assert set(await _colors(store)) == {"blue", "green"}


async def test_a_deadline_that_passes_together_with_the_wait_for_an_opening_store_tells_of_the_store() -> None:
    """A busy event loop may notice both at once."""

    async def waiting() -> None:
        with server_waits.opening():
            await asyncio.Event().wait()

    with pytest.raises(DatabaseSilent):
        await within(0.05, waiting())


async def test_a_store_that_has_opened_is_not_to_blame_for_a_slow_call() -> None:
    async def waiting() -> None:
        with server_waits.opening():
            await asyncio.sleep(0)
        await asyncio.Event().wait()

    with pytest.raises(DeadlinePassed):
        await within(0.05, waiting())
