"""What must hold after the failover campaign: writes, jobs and their locks, notifications, migrations."""

import asyncio
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass

import httpx
import psycopg
from tests.stories.failover_load import Ledger
from tests.support.ha_machines import App

from memory_butler.client.memory_client import MemoryClient
from memory_butler.errors import MemoryButlerError
from memory_butler.settings import load_settings
from memory_butler.store.gate import migrate
from memory_butler.store.gate.queries import Names

JOBS_SECONDS, HEARD_SECONDS = 90.0, 45.0
# The schema of the migrations that run during the faults, and the pause between two of them.
OTHER, PAUSE_SECONDS = "other", 2.0


@dataclass(frozen=True)
class Found:
    """What is stored after all."""

    stored: int
    missing: int
    twice: int
    jobs: int
    unfinished: int
    overlapping: int


def _owner_url(app: App) -> str:
    url = load_settings(home=app.folder).owner_url
    assert url
    return url.get_secret_value()


def _superuser(app: App) -> psycopg.Connection[tuple[object, ...]]:
    """Past row-level security, to count."""
    variables = app.variables
    return psycopg.connect(
        host=app.address,
        port=5000,
        dbname="memory",
        user="postgres",
        password=variables["PG_SUPERUSER_PASSWORD"],
        autocommit=True,
    )


async def check_store(app: App, ledger: Ledger) -> Found:
    """Compare the store with what callers were told; wait until all work that was due is done."""
    with _superuser(app) as connection:
        rows = connection.execute("SELECT content, tenant_id FROM memory.episodes").fetchall()
        stored = Counter((str(content), str(tenant)) for content, tenant in rows)
        ends = time.monotonic() + JOBS_SECONDS
        while (unfinished := _unfinished(connection)) and time.monotonic() < ends:  # noqa: ASYNC110
            await asyncio.sleep(0.5)
        runs = connection.execute("SELECT count(*) FROM memory.job_runs WHERE outcome IS NOT NULL").fetchone()
        overlapping = connection.execute(
            "SELECT count(*) FROM memory.job_runs a JOIN memory.job_runs b ON b.tenant_id = a.tenant_id"
            " AND b.butler = a.butler AND a.id < b.id AND a.outcome = 'succeeded' AND b.outcome = 'succeeded'"
            " AND tstzrange(a.started_at, a.finished_at) && tstzrange(b.started_at, b.finished_at)"
        ).fetchone()
    assert runs and overlapping
    return Found(
        stored=len(rows),
        missing=sum((content, tenant) not in stored for content, tenant in ledger.acknowledged.items()),
        twice=sum(count > 1 for count in stored.values()),
        jobs=int(str(runs[0])),
        unfinished=unfinished,
        overlapping=int(str(overlapping[0])),
    )


def _unfinished(connection: psycopg.Connection[tuple[object, ...]]) -> int:
    """Jobs that wait or run, and shards of which a job never ran to its end. One that failed in an outage is tried
    again after five minutes."""
    queued = connection.execute(
        "SELECT count(*) FROM memory.procrastinate_jobs WHERE status IN ('todo', 'doing')"
    ).fetchone()
    never = connection.execute(
        "SELECT count(*) FROM memory.butlers k CROSS JOIN unnest(ARRAY['sweep', 'cleanup', 'consolidation']) AS j (job)"
        " WHERE NOT EXISTS (SELECT FROM memory.job_runs r WHERE r.tenant_id = k.tenant_id AND r.butler = k.butler"
        " AND r.job = j.job AND r.outcome IS NOT NULL)"
    ).fetchone()
    assert queued and never
    return int(str(queued[0])) + int(str(never[0]))


async def listens(app: App, tokens: dict[str, str]) -> float:
    """Seconds from a write to the event in a stream. Streams poll once a minute only, so it was a notification."""
    tenant, token = next(iter(tokens.items()))
    ends = time.monotonic() + HEARD_SECONDS
    while True:
        # The listening connection may wait for its next attempt still.
        took = await _heard(app, token)
        if took is not None:
            return took
        assert time.monotonic() < ends, f"no notification reaches a subscriber of {tenant}"


async def _heard(app: App, token: str) -> float | None:
    async with MemoryClient(app.url, token=token) as client, httpx.AsyncClient(timeout=9, trust_env=False) as http:
        stream = client.activity()
        waiting = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(1.0)
        began = time.monotonic()
        body = {"content": f"heard at {began}", "butler": "main"}
        await http.post(f"{app.url}/api/v1/store_episode", json=body, headers={"authorization": f"Bearer {token}"})
        try:
            await asyncio.wait_for(waiting, 5)
            return time.monotonic() - began
        except TimeoutError:
            return None
        finally:
            await stream.aclose()


async def migrate_all_along(app: App, ended: asyncio.Event) -> int:
    """Set up one schema after the other during the faults; one that was interrupted is completed by the next try."""
    url = _owner_url(app)
    number = 0
    while not ended.is_set() or not number:
        try:
            await asyncio.to_thread(_migrate_and_drop, url)
            number += 1
        except (MemoryButlerError, psycopg.Error):
            await asyncio.sleep(PAUSE_SECONDS / 4)
            continue
        with suppress(TimeoutError):
            async with asyncio.timeout(PAUSE_SECONDS):
                await ended.wait()
    return number


def _migrate_and_drop(url: str) -> None:
    """Run the whole chain in another schema, which must end as the one in use did."""
    migrate.upgrade(url, url, Names(schema=OTHER), 3)
    with psycopg.connect(url, connect_timeout=3, autocommit=True) as connection:
        assert migrate.revision(connection, OTHER) == migrate.HEAD
        tables = "SELECT count(*) FROM pg_tables WHERE schemaname = %s"
        made, wanted = (connection.execute(tables, (name,)).fetchone() for name in (OTHER, "memory"))
        assert made == wanted, f"the schema is not complete: {made} tables of {wanted}"
        connection.execute(f"DROP SCHEMA {OTHER} CASCADE".encode())
