"""The HTTP door on a real loopback port: MCP clients get in, web pages and strangers do not, and it stops when told."""

import asyncio
import os
import re
import shutil
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from benchmarks.support.served import free_port
from fastmcp import Client
from tests.adapters.conftest import caller_of
from tests.conftest import MovingClock
from tests.jobs.conftest import do_all_that_is_due, settle
from tests.support.service import Door, Switch, on_loopback

from memory_butler.adapters.http.app import (
    announcement,
    build_app,
    connect_line,
    connection_lines,
    listening,
    upkeep_report,
)
from memory_butler.adapters.http.loopback_guard import BODY_BYTES
from memory_butler.adapters.lazy_resources import LazyResources
from memory_butler.ai.embedding import FakeEmbedder
from memory_butler.errors import PermissionDenied, TargetUnavailable
from memory_butler.operations.system import fleet
from memory_butler.resources import Resources, open_resources
from memory_butler.settings import Settings, load_settings
from memory_butler.store.embedded.server import EmbeddedPostgres

CLI = [sys.executable, "-m", "memory_butler.adapters.cli.app"]


@pytest.fixture(scope="module")
async def one_server(settings: Settings) -> AsyncIterator[tuple[Switch, Door]]:
    switch = Switch(settings)
    async with on_loopback(switch) as door:
        yield switch, door


@pytest.fixture
def url(one_server: tuple[Switch, Door], resources: Resources) -> str:
    """The address of a server with the test's butler behind it."""
    switch, door = one_server
    switch.resources = resources
    return door.url


@pytest.fixture
async def web(url: str) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=url) as client:
        yield client


async def test_an_mcp_client_remembers_and_finds_over_http(url: str) -> None:
    """A real client over streamable HTTP stores a fact and another client finds it."""
    async with Client(f"{url}/mcp") as client:
        call = caller_of(client)
        stored = await call("memory_store_fact", subject="Anna", predicate="drink", content="Anna drinks green tea.")
        assert stored.body["outcome"] == "created"
        assert (await call("memory_search")).error == "validation_error"
    async with Client(f"{url}/mcp") as client:
        found = await caller_of(client)("memory_search", query="green tea")
    assert [result["ref"] for result in found.body["results"]] == [stored.body["ref"]]


async def test_health_of_a_server_that_is_well(web: httpx.AsyncClient, tenant: str) -> None:
    """A server whose store is open says so, check by check."""
    live, ready = await web.get("/health/live"), await web.get("/health/ready")
    assert (live.status_code, live.json()) == (200, {"status": "live", "service": "memory-butler"})
    assert ready.status_code == 200
    assert ready.json() == {
        "ready": True,
        "checks": {"database": {"ok": True}, "migrations": {"ok": True}, "model": {"ok": True}, "disk": {"ok": True}},
        "upkeep": {
            "tenant": tenant,
            "status": "never",
            "worker": "elsewhere",
            "jobs": {job: {"last_run": "never", "status": "never"} for job in ("consolidation", "sweep", "cleanup")},
        },
    }


STRANGERS: dict[str, tuple[dict[str, str], int]] = {
    "another name": ({"Host": "evil.example"}, 421),
    "another name with our port": ({"Host": "evil.example:8150"}, 421),
    "a name that begins like ours": ({"Host": "localhost.evil.example"}, 421),
    "our name as a user": ({"Host": "localhost@evil.example"}, 421),
    "an address of the network": ({"Host": "192.168.1.5:8150"}, 421),
    "no name": ({"Host": ""}, 421),
    "another site's page": ({"Origin": "https://evil.example"}, 403),
    "a page from nowhere": ({"Origin": "null"}, 403),
    "a page that begins like ours": ({"Origin": "http://127.0.0.1.evil.example"}, 403),
    "a page with our name as a user": ({"Origin": "http://localhost@evil.example"}, 403),
    "a browser extension": ({"Origin": "chrome-extension://abcdef"}, 403),
}


@pytest.mark.parametrize(("headers", "status"), STRANGERS.values(), ids=STRANGERS)
async def test_strangers_are_turned_away(web: httpx.AsyncClient, headers: dict[str, str], status: int) -> None:
    """Under another name, or from another site's page, no path answers; the refusal is one of our errors."""
    for method, path in (("POST", "/mcp"), ("GET", "/health/live"), ("GET", "/health/ready"), ("GET", "/nothing")):
        reply = await web.request(method, path, headers=headers)
        assert reply.status_code == status, path
        assert reply.json()["error"] == "permission_denied"
        assert reply.json()["recovery"]


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:9", "127.0.0.1", "127.0.0.1:8150", "[::1]", "[::1]:8150"])
async def test_this_machine_gets_in(web: httpx.AsyncClient, host: str) -> None:
    """Every loopback name is welcome, with any port, and so are pages that this machine serves."""
    for origin in (None, "http://localhost:3000", "http://127.0.0.1", "https://[::1]:8150"):
        headers = {"Host": host} | ({"Origin": origin} if origin else {})
        assert (await web.get("/health/live", headers=headers)).status_code == 200, origin


async def test_a_body_that_is_too_large_is_refused(web: httpx.AsyncClient) -> None:
    """More than the limit is 413, whether the length is announced or not; just below it is read."""

    async def pieces(size: int) -> AsyncIterator[bytes]:
        for _ in range(size // 65_536):
            yield b" " * 65_536

    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    announced = await web.post("/mcp", headers=headers, content=b" " * (BODY_BYTES + 1))
    streamed = await web.post("/mcp", headers=headers, content=pieces(BODY_BYTES + 65_536))
    for reply in (announced, streamed):
        assert (reply.status_code, reply.json()["error"]) == (413, "validation_error")
    for content in (b" " * BODY_BYTES, pieces(BODY_BYTES)):
        assert (await web.post("/mcp", headers=headers, content=content)).status_code == 400


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.com", ""])
def test_serving_other_machines_is_refused(settings: Settings, host: str) -> None:
    """Without authentication there is no server on an address that others can reach."""
    with pytest.raises(PermissionDenied, match="without authentication"):
        build_app(settings.model_copy(update={"host": host}))


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "localhost", "::1"])
def test_every_loopback_address_may_be_served(settings: Settings, host: str) -> None:
    """The other loopback addresses are as good as the default."""
    assert build_app(settings.model_copy(update={"host": host}))


def test_the_lines_for_claude_code_name_everything(settings: Settings, tmp_path: Path) -> None:
    """The commands have an absolute path, the server's port, and the home folder if it is not the usual one."""
    usual = settings.model_copy(update={"home": Path("~/.memory-butler").expanduser()})
    stdio, http = connection_lines(usual)
    added = "claude mcp add --scope user memory-butler"
    assert re.fullmatch(rf"{added} -- /\S+( -m memory_butler\.adapters\.entry)? mcp", stdio)
    assert http == "claude mcp add --scope user --transport http memory-butler http://127.0.0.1:8150/mcp"
    elsewhere = settings.model_copy(update={"home": tmp_path / "my memory", "port": 9000, "host": "::1"})
    stdio, http = connection_lines(elsewhere)
    assert stdio.startswith(f"{added} --env 'MEMORY_BUTLER_HOME={tmp_path}/my memory' -- /")
    assert http.endswith(" http://[::1]:9000/mcp")
    assert connect_line(usual).endswith(" connect claude-code") and "--home" not in connect_line(usual)
    assert connect_line(elsewhere).endswith(f" --home '{tmp_path}/my memory' connect claude-code")
    assert f"  {connect_line(elsewhere)}\n" in announcement(elsewhere)
    careful = usual.model_copy(update={"service": usual.service.model_copy(update={"auth": "required"})})
    assert connection_lines(careful)[1] == f'{connection_lines(usual)[1]} --header "Authorization: Bearer <token>"'


# --- when the database is away --------------------------------------------------------------------


@pytest.fixture
def other_server(new_home: Callable[[], Path]) -> Iterator[EmbeddedPostgres]:
    """A database server of its own, to be stopped at will."""
    folder = new_home()
    postgres = EmbeddedPostgres(folder, options={"fsync": "off", "full_page_writes": "off"})
    postgres.ensure_running()
    yield postgres
    postgres.stop()
    shutil.rmtree(folder, ignore_errors=True)


async def test_a_database_that_stops_is_named_until_it_is_back(other_server: EmbeddedPostgres) -> None:
    """Without its database the server lives on: not ready, `target_unavailable` in time, and well again afterwards."""
    remote = load_settings(
        home=other_server.home,
        database_url=other_server.dsn("memory_app", "memory"),
        owner_url=other_server.dsn("memory_owner", "memory"),
        deadline_seconds=2,
    )
    lazy = LazyResources(remote, lambda: open_resources(remote, embedder=FakeEmbedder()))
    async with (
        on_loopback(lazy) as door,
        httpx.AsyncClient(base_url=door.url, timeout=20) as web,
        Client(f"{door.url}/mcp") as client,
    ):
        call = caller_of(client)
        await _until_ready(web)
        assert (await call("memory_store_rule", content="Keep calm.")).body["outcome"] == "created"
        await asyncio.to_thread(other_server.stop)
        started = time.monotonic()
        away = await call("memory_search", query="calm")
        assert (away.error, away.body["retryable"]) == ("target_unavailable", True)
        assert time.monotonic() - started < remote.deadline_seconds + 1
        ready = await web.get("/health/ready")
        assert (ready.status_code, ready.json()["checks"]["database"]["ok"]) == (503, False)
        assert ready.json()["checks"]["database"]["recovery"]
        assert ready.json()["checks"]["model"] == {"ok": True}
        assert (await web.get("/health/live")).status_code == 200
        await asyncio.to_thread(other_server.ensure_running)
        await _until_ready(web)
        assert (await call("memory_search", query="calm")).body["count"] == 1


async def _until_ready(web: httpx.AsyncClient) -> None:
    async with asyncio.timeout(30):
        while (await web.get("/health/ready")).status_code != 200:  # noqa: ASYNC110 (only the server knows when)
            await asyncio.sleep(0.05)


async def test_readiness_says_why_the_store_is_not_open(resources: Resources) -> None:
    """While the store does not open, its reason is in the answer, and asking again tries again."""
    attempts: list[int] = []

    @asynccontextmanager
    async def opener() -> AsyncIterator[Resources]:
        attempts.append(1)
        if len(attempts) < 3:
            raise TargetUnavailable("The disk is full.", recovery="Free some space.")
        yield resources

    lazy = LazyResources(resources.settings, opener)
    async with on_loopback(lazy) as door, httpx.AsyncClient(base_url=door.url) as web:
        reply = await web.get("/health/ready")
        assert reply.status_code == 503
        assert reply.json()["checks"]["database"] == {
            "ok": False,
            "detail": "The disk is full.",
            "recovery": "Free some space.",
        }
        await _until_ready(web)


async def test_readiness_names_a_model_that_is_missing(resources: Resources) -> None:
    """A model that cannot be loaded is its own check."""

    class NoModel(FakeEmbedder):
        async def start(self) -> None:
            raise TargetUnavailable("The weights are missing.", recovery="Install them.")

    @asynccontextmanager
    async def opener() -> AsyncIterator[Resources]:
        yield replace(resources, embedder=NoModel())

    lazy = LazyResources(resources.settings, opener)
    async with on_loopback(lazy) as door, httpx.AsyncClient(base_url=door.url) as web:
        checks = (await web.get("/health/ready")).json()["checks"]
    assert checks["database"] == {"ok": True}
    assert checks["model"]["detail"] == "The weights are missing."


# --- the process ----------------------------------------------------------------------------------


async def _start(home: Path, *arguments: str) -> asyncio.subprocess.Process:
    # This home is full of other tests' tenants, and none of them is to be looked after.
    env = {**os.environ, "MEMORY_BUTLER_HOME": str(home), "MEMORY_BUTLER_UPKEEP__WORKER": "false"}
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(*CLI, *arguments, env=env, stdout=pipe, stderr=pipe)


async def test_serve_announces_itself_serves_and_stops_at_once(home: Path, server: EmbeddedPostgres) -> None:
    """`serve` prints how to connect; Ctrl-C ends it soon with a client's stream open, and the database stays."""
    port = free_port()
    process = await _start(home, "serve", "--port", str(port))
    assert process.stdout and process.stderr
    try:
        printed = (await asyncio.wait_for(process.stdout.readuntil(b"Ctrl-C stops it.\n"), 60)).decode()
        assert f"http://127.0.0.1:{port}/mcp" in printed and str(home) in printed
        assert "claude mcp add --scope user memory-butler --env MEMORY_BUTLER_HOME=" in printed
        assert f"  claude mcp add --scope user --transport http memory-butler http://127.0.0.1:{port}/mcp\n" in printed
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=30) as web:
            await _until_ready(web)
            async with web.stream("GET", "/mcp", headers=await _session(web)) as stream:
                assert stream.status_code == 200
                process.send_signal(signal.SIGINT)
                # One second of it is the patience with open streams; the rest is a busy machine's.
                assert await asyncio.wait_for(process.wait(), 20) == 0
        assert (await process.stderr.read()) == b""
        assert server.is_running()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _session(web: httpx.AsyncClient) -> dict[str, str]:
    """Begin an MCP session by hand, as clients that listen for notifications do."""
    hello: dict[str, Any] = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }
    reply = await web.post("/mcp", json=hello, headers={"Accept": "application/json, text/event-stream"})
    assert reply.status_code == 200
    return {"Accept": "text/event-stream", "Mcp-Session-Id": reply.headers["mcp-session-id"]}


async def test_a_port_in_use_is_a_clear_error(home: Path) -> None:
    """A second server on the same port says what to do and exits with 1, without a traceback."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        process = await _start(home, "serve", "--port", str(port))
        out, err = await asyncio.wait_for(process.communicate(), 60)
    said = " ".join((out + err).decode().split())
    assert process.returncode == 1
    assert (
        f"Port {port} on 127.0.0.1 is in use" in said and f"--port {port + 1} or MEMORY_BUTLER_PORT={port + 1}" in said
    )
    assert "Traceback" not in said


def test_an_answer_is_sent_at_once() -> None:
    """Otherwise every answer on a kept connection waits 40 ms for an acknowledgement."""
    with (
        listening(load_settings(port=0)) as listener,
        socket.create_connection(listener.getsockname()),
        listener.accept()[0] as accepted,
    ):
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


async def test_a_server_whose_disk_is_full_is_not_ready(resources: Resources) -> None:
    service = resources.settings.service.model_copy(update={"min_free_megabytes": 10**12})
    lazy = LazyResources.already_open(
        replace(resources, settings=resources.settings.model_copy(update={"service": service}))
    )
    async with on_loopback(lazy) as door, httpx.AsyncClient(base_url=door.url) as web:
        ready = await web.get("/health/ready")
    assert (ready.status_code, ready.json()["checks"]["disk"]["ok"]) == (503, False)
    assert "MB left" in ready.json()["checks"]["disk"]["detail"]


async def test_a_service_knows_the_upkeep_of_all_tenants(alone: Resources, clock: MovingClock) -> None:
    """Not only that of its own tenant, which may be empty; and that no worker runs."""
    service = alone.settings.service.model_copy(update={"auth": "required"})
    lazy = LazyResources.already_open(replace(alone, settings=alone.settings.model_copy(update={"service": service})))
    assert (await upkeep_report(lazy, with_store=True))["status"] == "never"
    await settle(alone, "one/home", "two/home")
    await do_all_that_is_due(alone)
    report = await upkeep_report(lazy, with_store=True)
    assert (report["status"], report["tenants"], report["jobs"]["sweep"]["states"]["ok"]) == ("ok", 3, 2)
    clock.move(days=2)
    report = await upkeep_report(lazy, with_store=True)
    assert report["status"] == "overdue" and "since 2026-03-01" in report["detail"]
    await fleet.take(alone)
    report = await upkeep_report(lazy, with_store=True)
    assert report["status"] == "overdue" and report["jobs"]["sweep"]["worst"] == ["one/home", "two/home"]
    async with on_loopback(lazy) as door, httpx.AsyncClient(base_url=door.url) as web:
        ready = await web.get("/health/ready")
    assert (ready.status_code, ready.json()["upkeep"]) == (200, {"status": "overdue"})
