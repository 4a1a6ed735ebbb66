"""The connection that listens: who hears what, and what happens when it cannot."""

import asyncio
import os
import signal
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from memory_butler.models import Caller, NewEpisode, Principal
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources
from memory_butler.store.embedded.server import EmbeddedPostgres
from memory_butler.store.gate import listening
from memory_butler.store.gate.ids import tenant_digest
from memory_butler.store.gate.listening import EventNotifications, Subscription

Connection = psycopg.Connection[tuple[Any, ...]]
LONG = 60.0


@pytest.fixture
def news(resources: Resources) -> EventNotifications:
    return EventNotifications(resources.database, resources.database.dsn())


async def write(resources: Resources, tenant: str) -> None:
    await remember.episode(resources, NewEpisode(content="day", butler="main"), Caller(Principal(tenant, "main")))


async def hears(ear: Subscription) -> None:
    async with asyncio.timeout(20):
        await ear.wait(LONG, LONG)


async def wait_for(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110 (only the database knows when)
            await asyncio.sleep(0.01)


def listeners(owner: Connection) -> int:
    query = "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s"
    row = owner.execute(query, (listening.APPLICATION,)).fetchone()
    assert row
    return int(str(row[0]))


async def test_those_who_follow_a_tenant_hear_of_its_events(
    resources: Resources, tenant: str, news: EventNotifications, owner: Connection
) -> None:
    """Everybody who follows it is woken, over one connection; whoever follows another sleeps on; at the end the
    connection is gone."""
    with news.subscribe(tenant) as one, news.subscribe(tenant) as two, news.subscribe(f"{tenant}x") as other:
        for ear in (one, two, other):
            # Whoever begins to listen looks for what was there before.
            await hears(ear)
        await wait_for(lambda: news.is_listening)
        await wait_for(lambda: listeners(owner) == 1)
        sleeping = asyncio.create_task(other.wait(LONG, LONG))
        await write(resources, tenant)
        await asyncio.gather(hears(one), hears(two))
        assert not sleeping.done()
        await write(resources, f"{tenant}x")
        await asyncio.wait_for(sleeping, 20)
    await wait_for(lambda: listeners(owner) == 0)
    assert not news.is_listening


async def test_what_is_said_names_no_tenant(resources: Resources, tenant: str, server: EmbeddedPostgres) -> None:
    """Whoever listens beside us hears a digest, and only when it is committed."""
    with psycopg.connect(server.dsn("memory_app", "memory"), autocommit=True) as line:
        line.execute("LISTEN memory_events_memory")
        await write(resources, tenant)
        heard = [note.payload for note in line.notifies(timeout=10, stop_after=1)]
    assert heard == [tenant_digest(tenant)]
    assert tenant not in heard[0]


async def test_a_connection_that_is_cut_comes_back(
    resources: Resources, tenant: str, news: EventNotifications, owner: Connection
) -> None:
    """Whoever follows is woken, as something may have been missed meanwhile, and hears again afterwards."""
    with news.subscribe(tenant) as ear:
        await wait_for(lambda: news.is_listening)
        await hears(ear)
        query = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = %s"
        owner.execute(query, (listening.APPLICATION,))
        await hears(ear)
        await wait_for(lambda: news.is_listening)
        await hears(ear)
        await write(resources, tenant)
        await hears(ear)


async def test_a_connection_that_hangs_is_replaced(
    resources: Resources, tenant: str, news: EventNotifications, owner: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stays open when its server freezes or the network is cut, so it is probed now and then."""
    monkeypatch.setattr(listening, "CHECK_SECONDS", 0.1)
    monkeypatch.setattr(listening, "PROBE_SECONDS", 0.5)
    query = "SELECT pid FROM pg_stat_activity WHERE application_name = %s"
    with news.subscribe(tenant) as ear:
        await wait_for(lambda: news.is_listening)
        row = owner.execute(query, (listening.APPLICATION,)).fetchone()
        assert row
        hung = int(str(row[0]))
        os.kill(hung, signal.SIGSTOP)
        try:
            await wait_for(lambda: not news.is_listening)
            await wait_for(lambda: news.is_listening)
            await hears(ear)
            await write(resources, tenant)
            await hears(ear)
        finally:
            os.kill(hung, signal.SIGCONT)
    await wait_for(lambda: listeners(owner) == 0)


@pytest.mark.parametrize("place", ["another database", "nowhere", "no address"])
async def test_where_nothing_can_be_heard_one_looks_for_oneself(
    resources: Resources, tenant: str, server: EmbeddedPostgres, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """A connection that does not hear our own call does not listen, whatever it says; waiting is short then."""
    monkeypatch.setattr(listening, "PROBE_SECONDS", 0.1)
    urls = {"another database": server.dsn("postgres", "postgres"), "nowhere": "postgresql://127.0.0.1:1/nothing"}
    news = EventNotifications(resources.database, urls.get(place))
    tried: list[str] = []
    monkeypatch.setattr(listening.log, "info", lambda words, kind: tried.append(kind))
    with news.subscribe(tenant) as ear:
        if place in urls:
            await wait_for(lambda: len(tried) > 1)
        async with asyncio.timeout(20):
            await ear.wait(LONG, 0.01)
        assert not news.is_listening
