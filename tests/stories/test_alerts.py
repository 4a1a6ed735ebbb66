"""Each promised alert is fired by the fault itself: a real Prometheus scrapes this process and evaluates the rules of
deploy/prometheus, with windows of seconds."""

import asyncio
import json
import re
import subprocess
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from benchmarks.support.served import free_port
from fastmcp import Client
from prometheus_client import start_http_server
from tests.conftest import MovingClock
from tests.jobs.conftest import do_all_that_is_due, settle
from tests.support.replication import StreamingReplica, opened_planes, plane_of

from memory_butler.adapters.lazy_resources import LazyResources
from memory_butler.adapters.mcp.server import build_server
from memory_butler.errors import Conflict, TargetUnavailable
from memory_butler.jobs import reporting
from memory_butler.jobs.schedule import ScheduledJob
from memory_butler.metrics import registry
from memory_butler.models import NewEpisode
from memory_butler.operations.system import fleet
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources
from memory_butler.store.embedded.server import EmbeddedPostgres
from memory_butler.store.gate.database import Database

RULES = Path(__file__).parents[2] / "deploy" / "prometheus" / "rules.yml"
PATIENCE_SECONDS = 60


class Watch:
    """A Prometheus that scrapes this process every second."""

    def __init__(self, url: str) -> None:
        self._url = url

    def firing(self) -> set[str]:
        with urllib.request.urlopen(f"{self._url}/api/v1/alerts", timeout=10) as answer:
            alerts = json.load(answer)["data"]["alerts"]
        return {alert["labels"]["alertname"] for alert in alerts if alert["state"] == "firing"}

    async def until_fires(self, name: str, work: Callable[[], Any] | None = None) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while name not in await asyncio.to_thread(self.firing):
                if work:
                    await work()
                await asyncio.sleep(0.2)


def in_seconds(rules: str) -> str:
    """The rules with windows of seconds, and without the time for which a fault must last."""
    rules = re.sub(r"\[(5m|15m|1h|6h)\]", "[10s]", rules).replace("lag_seconds) > 30", "lag_seconds) > 2")
    return re.sub(r"^( +)for: \S+$", r"\1for: 0s", rules, flags=re.MULTILINE)


@pytest.fixture(scope="module")
def watch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watch]:
    folder = tmp_path_factory.mktemp("prometheus")
    metrics, port = free_port(), free_port()
    (folder / "rules.yml").write_text(in_seconds(RULES.read_text(encoding="utf-8")), encoding="utf-8")
    (folder / "prometheus.yml").write_text(
        "global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [rules.yml]\n"
        "scrape_configs:\n  - job_name: memory-butler\n    static_configs:\n"
        f"      - targets: ['127.0.0.1:{metrics}']\n",
        encoding="utf-8",
    )
    served, thread = start_http_server(metrics, "127.0.0.1", registry.REGISTRY)
    command = ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data"]
    process = subprocess.Popen(
        [*command, f"--web.listen-address=127.0.0.1:{port}", "--log.level=error"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield Watch(f"http://127.0.0.1:{port}")
    finally:
        process.terminate()
        process.wait()
        served.shutdown()
        served.server_close()
        thread.join()


@pytest.fixture(autouse=True)
async def up(watch: Watch) -> AsyncIterator[None]:
    """Prometheus answers."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            try:
                await asyncio.to_thread(watch.firing)
            except OSError:
                await asyncio.sleep(0.1)
            else:
                break
    yield


async def test_an_old_backlog_and_skipped_jobs(watch: Watch, alone: Resources, clock: MovingClock) -> None:
    """Episodes that no worker consolidates for seven hours, and a sweep that nobody runs for two days."""
    await settle(alone, "one/home")
    tenant = replace(alone, settings=alone.settings.model_copy(update={"tenant": "one"}))
    await remember.episode(tenant, NewEpisode(content="Ada repaired the boat.", butler="home"))
    clock.move(days=2)
    reporting.export(await fleet.take(alone))
    await watch.until_fires("MemoryButlerBacklogAge")
    await watch.until_fires("MemoryButlerJobSkipped")


async def test_a_sweep_that_fails(watch: Watch, alone: Resources) -> None:
    await settle(alone, "two/home")

    async def run(given: Resources, shard: Any) -> dict[str, Any]:
        raise Conflict("No.")

    await do_all_that_is_due(alone, schedule=(ScheduledJob("sweep", run),))
    reporting.export(await fleet.take(alone))
    await watch.until_fires("MemoryButlerJobFails")


class Gone(LazyResources):
    """A store that cannot be reached."""

    async def get(self, timeout_seconds: float) -> Resources:
        raise TargetUnavailable("The database does not answer.")

    def begin(self) -> None:
        """There is nothing to open."""


async def test_calls_that_fail(watch: Watch, resources: Resources) -> None:
    """The store is gone: every search is told so."""
    async with Client(build_server(Gone(resources.settings))) as client:

        async def call() -> None:
            answer = await client.call_tool("memory_search", {"query": "tea"}, raise_on_error=False)
            assert answer.is_error

        await watch.until_fires("MemoryButlerReadErrors", call)


async def test_a_database_whose_connections_are_all_in_use(watch: Watch, resources: Resources) -> None:
    """Reads wait for the only connection, which others hold."""
    small = Database.from_settings(resources.settings.model_copy(update={"pool_size": 1}))
    await small.open()
    tenant = resources.settings.tenant

    async def hold() -> None:
        async with small.read(tenant) as transaction:
            await (await transaction._connection.execute(b"SELECT pg_sleep(0.6)")).fetchone()

    async def burst() -> None:
        await asyncio.gather(*(hold() for _ in range(4)))

    try:
        await watch.until_fires("MemoryButlerPoolWaits", burst)
    finally:
        await small.close()


async def test_a_replica_that_lags(watch: Watch, resources: Resources, server: EmbeddedPostgres) -> None:
    """It receives the log and does not apply it."""
    replica = StreamingReplica(server)
    try:
        async with opened_planes(resources, replica.dsn(), max_replica_lag_seconds=600) as planes:
            await plane_of(planes).probed()
            replica.pause_replay()

            async def write() -> None:
                await remember.episode(planes, NewEpisode(content="Ada repaired the boat.", butler="main"))

            await watch.until_fires("MemoryButlerReplicaLag", write)
    finally:
        replica.discard()
