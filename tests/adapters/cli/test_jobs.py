"""Upkeep at the doors: servers that look after their store, and how one sees that somebody does."""

import asyncio
import json
import os
import shutil
import signal
import sys
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from benchmarks.support.served import free_port
from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from psycopg.rows import dict_row
from tests.adapters.conftest import Call, Run, caller_of
from tests.conftest import MovingClock
from tests.jobs.conftest import do_all_that_is_due, settle

from memory_butler.adapters import lazy_resources
from memory_butler.adapters.http.app import readiness, upkeep_report
from memory_butler.adapters.lazy_resources import LazyResources, background_worker
from memory_butler.adapters.mcp.server import build_server
from memory_butler.models import NewRule
from memory_butler.operations.lifecycle import job_status
from memory_butler.operations.lifecycle.job_status import shard_of
from memory_butler.operations.system import fleet
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources
from memory_butler.settings import Settings, load_settings
from memory_butler.store.embedded.server import EmbeddedPostgres

CLI = [sys.executable, "-m", "memory_butler.adapters.cli.app"]
JOBS = ["consolidation", "sweep", "cleanup"]


@pytest.fixture(scope="module")
def store(new_home: Callable[[], Path]) -> Iterator[EmbeddedPostgres]:
    """A home of its own: servers that run a worker look after everything in it."""
    folder = new_home()
    server = EmbeddedPostgres(folder, options={"fsync": "off", "full_page_writes": "off"})
    server.ensure_running()
    yield server
    server.stop()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def env(store: EmbeddedPostgres, tenant: str) -> dict[str, str]:
    """A tenant of the test's own, and upkeep that looks often."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MEMORY_BUTLER_")}
    return {
        **kept,
        "MEMORY_BUTLER_HOME": str(store.home),
        "MEMORY_BUTLER_TENANT": tenant,
        "MEMORY_BUTLER_DEADLINE_SECONDS": "30",
        "MEMORY_BUTLER_UPKEEP__TICK_SECONDS": "0.2",
        "PYTHONUTF8": "1",
    }


@pytest.fixture
def quick(inside: Run, env: dict[str, str]) -> Callable[..., str]:
    """Run a command that succeeds, inside this process; gives what it printed."""

    def cli(*arguments: str) -> str:
        own = {name: value for name, value in env.items() if name.startswith("MEMORY_BUTLER_")}
        done = inside(own, *arguments)
        assert done.stderr == ""
        return done.stdout

    return cli


def look(store: EmbeddedPostgres, statement: str, *params: object) -> list[dict[str, Any]]:
    with psycopg.connect(store.dsn("postgres", "memory"), autocommit=True, row_factory=dict_row) as connection:
        cursor = connection.execute(statement.encode(), params)
        return cursor.fetchall() if cursor.description else []


@asynccontextmanager
async def agent(env: dict[str, str]) -> AsyncIterator[Call]:
    """A client of a stdio server that it starts."""
    transport = StdioTransport(CLI[0], [*CLI[1:], "mcp"], env=env, keep_alive=False)
    async with Client(transport) as client:
        yield caller_of(client)


@asynccontextmanager
async def http_server(env: dict[str, str], *options: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    port, pipe = free_port(), asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *CLI, "serve", "--port", str(port), *options, env=env, stdout=pipe, stderr=pipe
    )
    try:
        yield process, f"http://127.0.0.1:{port}"
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def until(condition: Callable[[], Awaitable[Any]], seconds: float = 60) -> Any:
    async with asyncio.timeout(seconds):
        while not (found := await condition()):  # noqa: ASYNC110 (only the server knows when)
            await asyncio.sleep(0.05)
    return found


async def all_ran(call: Call) -> dict[str, Any] | None:
    jobs = (await call("memory_stats")).body["jobs"]
    return jobs if {(job["status"], job.get("outcome")) for job in jobs.values()} == {("ok", "succeeded")} else None


async def ready(web: httpx.AsyncClient) -> dict[str, Any] | None:
    try:
        reply = await web.get("/health/ready")
    except httpx.TransportError:
        return None
    return reply.json() if reply.status_code == 200 else None


# --- a worker inside ------------------------------------------------------------------------------


async def test_three_servers_on_one_store_run_each_job_once(
    store: EmbeddedPostgres, env: dict[str, str], tenant: str
) -> None:
    """Two agents' servers and one over HTTP look after one store together, answer meanwhile, and end at once."""
    async with http_server(env) as (process, url), agent(env) as one, agent(env) as two:
        await one("memory_store_rule", content="Water the plants on Monday.")
        await two("memory_store_episode", content="Watered the plants.", butler="helper")
        jobs = await until(lambda: all_ran(two))
        assert (await two("memory_stats")).body["consolidation"]["runs"] == {"applied": 1}
        assert all(job["next_run"] > job["last_run"] for job in jobs.values())
        async with httpx.AsyncClient(base_url=url, timeout=20) as web:
            body = await until(lambda: ready(web))
        assert (body["upkeep"]["status"], body["upkeep"]["worker"]) == ("ok", "inside")
        found = await one("memory_search", query="water the plants", mode="keyword")
        assert found.body["count"] == 2
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), 20) == 0
        assert process.stderr and await process.stderr.read() == b""
    runs = look(store, "SELECT butler, job FROM memory.job_runs WHERE tenant_id = %s", tenant)
    assert sorted((run["butler"], run["job"]) for run in runs) == [
        (butler, job) for butler in ("helper", "main") for job in sorted(JOBS)
    ]


@pytest.mark.parametrize(("command", "door"), [("serve", "http.app.serve"), ("mcp", "mcp.server.run_stdio")])
def test_a_server_can_be_told_to_leave_upkeep_to_others(
    quick: Callable[..., str], monkeypatch: pytest.MonkeyPatch, command: str, door: str
) -> None:
    """What the command hands to the server has a worker beside it, or none."""
    given: list[Settings] = []

    async def serve(settings: Settings) -> None:
        given.append(settings)

    monkeypatch.setattr(f"memory_butler.adapters.{door}", serve)
    quick(command)
    quick(command, "--no-worker")
    assert [background_worker(settings) is None for settings in given] == [False, True]


def test_the_worker_inside_is_a_setting(tmp_path: Path) -> None:
    """On unless it is switched off, for both servers alike."""
    assert background_worker(load_settings(home=tmp_path)) is not None
    assert background_worker(load_settings(home=tmp_path, upkeep={"worker": False})) is None


async def test_a_database_that_was_stopped_is_not_started_for_upkeep(
    store: EmbeddedPostgres, env: dict[str, str], quick: Callable[..., str]
) -> None:
    """`stop` holds although a worker is about; the next call starts it again, and upkeep goes on by itself."""
    log = store.home / "logs" / "memory-butler.log"
    log.touch(mode=0o600)
    async with agent(env) as call:
        await call("memory_store_rule", content="Say little.")
        await until(lambda: all_ran(call))
        before = log.read_text()
        assert "has stopped" in await asyncio.to_thread(quick, "stop")

        async def noticed() -> bool:
            return "The database is stopped." in log.read_text()[len(before) :]

        await until(noticed)
        assert not store.is_running()
        assert (await call("memory_store_episode", content="Back again.", butler="helper")).body["outcome"] == "created"
        await until(lambda: all_ran(call))


async def test_upkeep_that_breaks_does_not_break_answers(resources: Resources) -> None:
    """Whatever happens in the worker, the tools answer."""

    @asynccontextmanager
    async def opener() -> AsyncIterator[Resources]:
        yield resources

    begun = asyncio.Event()

    async def broken(opened: Resources, stop: asyncio.Event) -> None:
        begun.set()
        raise RuntimeError("the broom is broken")

    async with Client(build_server(LazyResources(resources.settings, opener, worker=broken))) as client:
        await asyncio.wait_for(begun.wait(), 10)
        assert (await caller_of(client)("memory_store_rule", content="Be kind.")).body["outcome"] == "created"


async def test_upkeep_that_does_not_end_is_left_behind(resources: Resources, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server ends in time, whatever its worker is doing."""
    monkeypatch.setattr(lazy_resources, "STOP_SECONDS", 0.05)
    begun = asyncio.Event()

    @asynccontextmanager
    async def opener() -> AsyncIterator[Resources]:
        yield resources

    async def stubborn(opened: Resources, stop: asyncio.Event) -> None:
        begun.set()
        await asyncio.Event().wait()

    lazy = LazyResources(resources.settings, opener, worker=stubborn)
    await lazy.get(10)
    await asyncio.wait_for(begun.wait(), 10)
    await asyncio.wait_for(lazy.close(), 5)


# --- how it is seen -------------------------------------------------------------------------------


async def test_late_upkeep_is_said_and_does_not_make_a_server_unready(
    resources: Resources, clock: MovingClock, tenant: str
) -> None:
    """A load balancer sees a server that is ready; whoever watches sees what is late, and by how much."""
    lazy = LazyResources.already_open(resources)
    await remember.rule(resources, NewRule(content="Be brief."))
    for job, every in resources.settings.upkeep.intervals().items():
        run = await job_status.begin(resources, shard_of(tenant, "main"), job, every)
        assert run and await job_status.finish(resources, shard_of(tenant, "main"), run, job_status.SUCCEEDED, {})
    assert (await upkeep_report(lazy, with_store=True))["status"] == "ok"
    clock.move(hours=9)
    report = await upkeep_report(lazy, with_store=True)
    assert (report["status"], report["jobs"]["consolidation"]["overdue_hours"]) == ("overdue", 3.0)
    assert report["jobs"]["sweep"]["status"] == "ok"
    assert all(check["ok"] for check in (await readiness(lazy)).values())
    assert await upkeep_report(lazy, with_store=False) == {"status": "unknown", "worker": "elsewhere"}


def test_jobs_says_loudly_what_is_wrong(
    store: EmbeddedPostgres, quick: Callable[..., str], env: dict[str, str], tenant: str
) -> None:
    """Nothing to do, never ran, well, overdue, failing: each in words, for people and as JSON."""
    assert "There are no jobs yet" in quick("jobs")
    env |= {"MEMORY_BUTLER_BUTLER": "helper", "MEMORY_BUTLER_CONSOLIDATION__DISTILLER": "off"}
    quick("remember", "rule", "Be brief.")
    assert quick("jobs").count("NEVER RAN") == 3
    lines = [json.loads(line) for line in quick("work", "--once", "--json").splitlines()]
    assert [line["job"] for line in lines if line["tenant"] == tenant] == JOBS
    said = quick("jobs")
    assert said.startswith("All jobs are on schedule.") and "consolidation of helper: Nothing was done" in said
    assert "consolidation is switched off." in said
    hours = "UPDATE memory.job_runs SET started_at = started_at - make_interval(hours => %s), finished_at = finished_at"
    look(store, f"{hours} - make_interval(hours => %s) WHERE tenant_id = %s AND job = 'sweep'", 27, 27, tenant)
    look(store, "UPDATE memory.job_runs SET outcome = 'failed', report = '{\"error\": \"The cupboard is locked.\"}'"
         " WHERE tenant_id = %s AND job = 'cleanup'", tenant)  # fmt: skip
    said = quick("jobs")
    assert said.startswith("2 of 3 need attention.") and "OVERDUE BY 3 H" in said
    assert "FAILED 1×" in said and "cleanup of helper: The cupboard is locked." in said
    assert "\x1b" not in said and all(line == line.rstrip() for line in said.splitlines())
    worse = {job["job"]: job for job in json.loads(quick("jobs", "--json"))["jobs"]}
    assert worse["sweep"]["status"] == "overdue" and 3 * 3600 <= worse["sweep"]["overdue_seconds"] < 3 * 3600 + 300
    assert (worse["cleanup"]["status"], worse["cleanup"]["failures"]) == ("failing", 1)


@pytest.fixture
def tenant() -> str:
    return f"t{uuid.uuid4().hex[:16]}"


async def test_the_jobs_of_all_tenants(
    alone: Resources, terminal: Callable[[Resources], Callable[..., Any]], clock: MovingClock
) -> None:
    """As a worker last found them: how many butlers are in which state, and the worst by name."""
    run = terminal(alone)
    assert "No worker has checked the schedule yet." in (await run("jobs", "--all-tenants")).stdout
    await settle(alone, "one/home", "two/home")
    await do_all_that_is_due(alone)
    await settle(alone, "three/home")
    clock.move(hours=1)
    await fleet.take(alone)
    shown = (await run("jobs", "--all-tenants")).stdout
    (line,) = [line.split() for line in shown.splitlines() if line.startswith("sweep")]
    assert line[:5] == ["sweep", "2", "1", "0", "0"] and line[-1] == "three/home"
    said = json.loads((await run("jobs", "--all-tenants", "--json")).stdout)
    assert list(said["jobs"]) == ["consolidation", "sweep", "cleanup"]
    assert (said["status"], said["jobs"]["sweep"]["worst"]) == ("never", ["three/home"])
    clock.move(hours=1)
    assert "since 2026-03-01 10:00 UTC" in (await run("jobs", "--all-tenants")).stdout
