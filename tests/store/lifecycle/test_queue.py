"""The job queue through the gate: as the program's role, in our schema, and with lost jobs given back exactly once."""

import asyncio
import uuid
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from procrastinate import App
from procrastinate.exceptions import AlreadyEnqueued
from procrastinate.jobs import Status
from pydantic import SecretStr

from memory_butler.errors import InternalError
from memory_butler.resources import Resources
from memory_butler.settings import Settings
from memory_butler.store.embedded.server import EmbeddedPostgres
from memory_butler.store.gate.database import Database
from memory_butler.store.lifecycle import queue
from memory_butler.store.lifecycle.queue import GatedConnector

Owner = psycopg.Connection[Any]


@pytest.fixture
def name() -> str:
    """A queue that only this test uses."""
    return f"q{uuid.uuid4().hex[:12]}"


@pytest.fixture
def app(shared_resources: Resources) -> App:
    return App(connector=GatedConnector(shared_resources.database))


Put = Callable[..., int]


@pytest.fixture
def put(owner: Owner, name: str) -> Put:
    """Put a job into the queue by hand; gives its id."""
    # The library's triggers name its tables without a schema.
    owner.execute("SET search_path = memory")

    def insert(status: str, *, worker: int | None = None, equal: str | None = None) -> int:
        row = owner.execute(
            "INSERT INTO memory.procrastinate_jobs (queue_name, task_name, lock, queueing_lock, status, worker_id)"
            " VALUES (%s, 'chore', %s, %s, %s, %s) RETURNING id",
            (name, uuid.uuid4().hex, equal or uuid.uuid4().hex, status, worker),
        ).fetchone()
        assert row
        return int(row[0])

    return insert


def hire(owner: Owner, silent_seconds: float) -> int:
    """A worker that was last heard of so long ago."""
    row = owner.execute(
        "INSERT INTO memory.procrastinate_workers (last_heartbeat)"
        " VALUES (now() - make_interval(secs => %s)) RETURNING id",
        (silent_seconds,),
    ).fetchone()
    assert row
    return int(row[0])


def states(owner: Owner, name: str) -> dict[int, str]:
    found = owner.execute("SELECT id, status FROM memory.procrastinate_jobs WHERE queue_name = %s", (name,))
    return {row[0]: str(row[1]) for row in found}


async def reclaim(resources: Resources, name: str, **whose: Any) -> int:
    given = {"lost": (), "dropped": (), "silence_seconds": 60.0, **whose}
    async with resources.database.unlocked_write() as transaction:
        return await queue.reclaim(transaction, name, **given)


async def test_the_queue_is_worked_with_as_the_programs_role(settings: Settings, server: EmbeddedPostgres) -> None:
    """Whoever logs in, its statements run as the role that owns nothing, and names mean our schema."""
    url = server.dsn("memory_owner", "memory")
    foreign = settings.model_copy(update={"database_url": SecretStr(url)})
    database = Database(foreign, None)
    await database.open()
    try:
        async with database.unlocked_write() as transaction:
            row = await (
                await transaction.run("SELECT current_user AS me, to_regclass('procrastinate_jobs')", {})
            ).fetchone()
        assert row == {"me": "memory_app", "to_regclass": "procrastinate_jobs"}
        assert await App(connector=GatedConnector(database)).check_connection_async()
    finally:
        await database.close()


async def test_a_job_waits_in_the_queue_once(app: App, name: str, owner: Owner) -> None:
    """The second of two equal ones is refused in the library's own words, which its users expect."""
    task = app.configure_task("chore", queue=name, queueing_lock=name, lock=name)
    await task.defer_async(tenant="one", butler="home")
    with pytest.raises(AlreadyEnqueued):
        await task.defer_async(tenant="one", butler="home")
    assert list(states(owner, name).values()) == ["todo"]


async def test_what_goes_wrong_is_one_of_our_errors(app: App) -> None:
    """The gate translates for the queue as it does for everybody."""
    for execute in (app.connector.execute_query_all_async, app.connector.execute_query_async):
        with pytest.raises(InternalError):
            await execute("SELECT nonsense")


async def test_news_travels_inside_the_process(app: App, name: str) -> None:
    """Whoever listens hears of a job that was put in, and of one that has ended and may have freed the next."""
    heard = asyncio.Event()

    async def hear(*, channel: str, notification: Any) -> None:
        assert notification["type"] == "job_inserted"
        heard.set()

    listening = asyncio.create_task(app.job_manager.listen_for_jobs(on_notification=hear, queues=[name]))
    try:
        await app.configure_task("chore", queue=name).defer_async(tenant="one", butler="home")
        await asyncio.wait_for(heard.wait(), 5)
        heard.clear()
        worker = await app.job_manager.register_worker()
        job = await app.job_manager.fetch_job([name], worker)
        assert job and not heard.is_set()
        await app.job_manager.finish_job(job, Status.SUCCEEDED, delete_job=True)
        await asyncio.wait_for(heard.wait(), 5)
        await app.job_manager.unregister_worker(worker)
    finally:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)


async def test_only_a_worker_that_holds_a_job_and_is_silent_is_suspected(
    shared_resources: Resources, owner: Owner, put: Put, name: str
) -> None:
    """One that is heard of, or that has nothing, is nobody's business."""
    gone, idle, alive = hire(owner, 120), hire(owner, 120), hire(owner, 1)
    put("doing", worker=gone)
    put("doing", worker=alive)
    async with shared_resources.database.unlocked_write() as transaction:
        assert await queue.silent_workers(transaction, name, 60) == {gone}
        assert await queue.silent_workers(transaction, name, 300) == set()
        assert await queue.held_by(transaction, name, idle) == set()


async def test_jobs_of_the_lost_are_ready_again(shared_resources: Resources, owner: Owner, put: Put, name: str) -> None:
    """Those whose worker is lost or has left, and no others; once, however many notice it."""
    gone, alive = hire(owner, 120), hire(owner, 1)
    lost, left, kept = put("doing", worker=gone), put("doing"), put("doing", worker=alive)
    assert sorted(await asyncio.gather(*(reclaim(shared_resources, name, lost=[gone, alive]) for _ in range(4)))) == [
        0,
        0,
        0,
        2,
    ]
    assert states(owner, name) == {lost: "todo", left: "todo", kept: "doing"}


async def test_a_job_that_was_dropped_is_ready_again(
    shared_resources: Resources, owner: Owner, put: Put, name: str
) -> None:
    """A living worker can give back what it holds and does not work on."""
    alive = hire(owner, 1)
    dropped, kept = put("doing", worker=alive), put("doing", worker=alive)
    assert await reclaim(shared_resources, name, dropped=[dropped]) == 1
    assert states(owner, name) == {dropped: "todo", kept: "doing"}


async def test_a_lost_job_makes_way_for_its_like(
    shared_resources: Resources, owner: Owner, put: Put, name: str
) -> None:
    """If an equal one waits already, it cannot wait beside it and must not hold its turn for ever."""
    gone = hire(owner, 120)
    put("doing", worker=gone, equal=f"{name}/chore")
    waiting = put("todo", equal=f"{name}/chore")
    assert await reclaim(shared_resources, name, lost=[gone]) == 1
    assert states(owner, name) == {waiting: "todo"}
