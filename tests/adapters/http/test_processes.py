"""Several server processes behind one port: limits and metrics of all, and a process that dies is replaced."""

import asyncio
import contextlib
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from benchmarks.support.served import free_port
from tests.support.replication import StreamingReplica

from memory_butler.resources import Resources
from memory_butler.store.embedded.server import EmbeddedPostgres

CLI = [sys.executable, "-m", "memory_butler.adapters.cli.app"]
PATIENCE_SECONDS = 60


class Group:
    """A running `memory-butler serve --workers 2`."""

    def __init__(self, process: asyncio.subprocess.Process, port: int) -> None:
        self.process = process
        self.url = f"http://127.0.0.1:{port}"

    def servers(self) -> list[psutil.Process]:
        children = psutil.Process(self.process.pid).children()
        return [one for one in children if any("spawn_main" in word for word in one.cmdline())]

    async def call(self, method: str, path: str, **more: Any) -> httpx.Response:
        """A call on a connection of its own, which any of the processes may take."""
        async with httpx.AsyncClient(base_url=self.url, timeout=PATIENCE_SECONDS) as web:
            return await web.request(method, path, **more)

    async def metric(self, name: str) -> float:
        found = re.search(rf"^{re.escape(name)} (\S+)$", (await self.call("GET", "/metrics")).text, re.MULTILINE)
        return float(found[1]) if found else 0.0

    async def until(self, metric: str, value: float) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                if await self.metric(metric) == value:
                    return
                await asyncio.sleep(0.05)

    async def until_ready(self) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                with contextlib.suppress(httpx.HTTPError):
                    if (await self.call("GET", "/health/ready")).status_code == 200:
                        return
                await asyncio.sleep(0.1)


@asynccontextmanager
async def group_of_two(home: Path, **settings: str) -> AsyncIterator[Group]:
    port = free_port()
    # This home is full of other tests' tenants, and none of them is to be looked after.
    given = {"HOME": str(home), "UPKEEP__WORKER": "false", "SERVICE__LOCAL_ACCESS": "open", "DEADLINE_SECONDS": "60"}
    env = os.environ | {f"MEMORY_BUTLER_{name}": value for name, value in (given | settings).items()}
    pipe = asyncio.subprocess.PIPE
    command = [*CLI, "serve", "--port", str(port), "--workers", "2"]
    process = await asyncio.create_subprocess_exec(*command, env=env, stdout=pipe, stderr=pipe)
    try:
        assert process.stdout
        printed = (await asyncio.wait_for(process.stdout.readuntil(b"Ctrl-C stops it.\n"), PATIENCE_SECONDS)).decode()
        assert "2 processes" in printed and "Dashboard: memory-butler dashboard" in printed
        group = Group(process, port)
        await group.until_ready()
        yield group
    finally:
        if process.returncode is None:
            process.terminate()
            await process.wait()


SEARCHES = 'memory_butler_calls_total{outcome="ok",tool="memory_search"}'


async def test_two_processes_count_together_and_a_dead_one_is_replaced(home: Path, server: EmbeddedPostgres) -> None:
    """Every process answers for all; SIGKILL of one loses neither counts nor later calls; SIGTERM ends all at once."""
    async with group_of_two(home) as group:
        asked = {"query": "What does the gardener grow?"}
        answers = await asyncio.gather(*(group.call("POST", "/api/v1/search", json=asked) for _ in range(20)))
        assert {answer.status_code for answer in answers} == {200}
        assert await group.metric(SEARCHES) == 20
        assert await group.metric("memory_butler_server_processes") == 2
        first, second = group.servers()
        together = await group.metric("process_resident_memory_bytes")
        assert together == pytest.approx(first.memory_info().rss + second.memory_info().rss, rel=0.2)
        second.send_signal(signal.SIGKILL)
        await group.until("memory_butler_server_process_restarts_total", 1)
        await group.until("memory_butler_server_processes", 2)
        answers = await asyncio.gather(*(group.call("POST", "/api/v1/search", json=asked) for _ in range(10)))
        assert {answer.status_code for answer in answers} == {200}
        assert await group.metric(SEARCHES) == 30
        assert {one.pid for one in group.servers()} > {first.pid} and not second.is_running()
        servers = group.servers()
        group.process.terminate()
        assert await asyncio.wait_for(group.process.wait(), 20) == 0
        assert not any(one.is_running() for one in servers)
        assert group.process.stderr and await group.process.stderr.read() == b""
    assert server.is_running()


async def test_servers_end_with_the_process_that_started_them(home: Path, server: EmbeddedPostgres) -> None:
    """Nobody would stop or replace them any more, and they would keep the port."""
    async with group_of_two(home) as group:
        servers = group.servers()
        group.process.kill()
        _, alive = await asyncio.to_thread(psutil.wait_procs, servers, timeout=20)
        assert not alive


async def test_a_write_is_seen_through_the_other_process(
    home: Path, server: EmbeddedPostgres, resources: Resources
) -> None:
    """The replica does not apply what is written: whichever process takes the read knows that it has to pass it by."""
    replica = StreamingReplica(server)
    try:
        urls = {"DATABASE_URL": server.dsn("memory_app", "memory"), "OWNER_URL": server.dsn("memory_owner", "memory")}
        butler = resources.settings.tenant
        settings = {**urls, "DATABASE__REPLICAS": f'["{replica.dsn()}"]', "TENANT": butler}
        async with group_of_two(home, DATABASE__MAX_REPLICA_LAG_SECONDS="600", **settings) as group:
            await group.until('memory_butler_replica_up{replica="0"}', 1)
            replica.pause_replay()
            for number in range(5):
                fact = {"subject": "Ada", "predicate": f"owns:{number}", "content": f"Ada owns boat number {number}."}
                assert (await group.call("POST", "/api/v1/store_fact", json=fact)).status_code == 200
                reads = [group.call("GET", "/api/v1/memories/fact", params={"subject": "Ada"}) for _ in range(6)]
                found = await asyncio.gather(*reads)
                assert [len(answer.json()["items"]) for answer in found] == [number + 1] * 6
    finally:
        replica.discard()
