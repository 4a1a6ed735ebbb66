"""The cluster of `deploy/ha/` loses its primary while it works, at length: `make test-ha`.

Three PostgreSQL nodes under Patroni and etcd, and two app machines with HAProxy, PgBouncer, `serve` and `work`, all on
loopback. Under a mixed load, PostgreSQL of the primary is killed, then a whole primary node, then one is frozen, then a
replica is restarted. What callers were told is compared with what is stored. It stops by itself and leaves neither a
process nor a file.
"""

import argparse
import asyncio
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx
from benchmarks.support.served import make_tokens
from rich.console import Console
from tests.stories.failover_checks import Found, check_store, listens, migrate_all_along
from tests.stories.failover_load import Ledger, Load
from tests.support.ha_machines import App, Machine, Node, end_all, make_machines

from memory_butler.resources import open_resources
from memory_butler.settings import load_settings

TENANTS = 24
START_SECONDS, FAULT_SECONDS, REPAIR_SECONDS = 120.0, 90.0, 120.0
POLL_SECONDS = 0.2
NOTICED_SECONDS = 1.0
# Work of every new tenant is due at once, and a worker that was lost is noticed within the run.
UPKEEP = {"UPKEEP__TICK_SECONDS": "2", "UPKEEP__LOST_AFTER_SECONDS": "10", "SERVICE__POLL_SECONDS": "60"}

# Three databases and their logs; a disk that is busy with other things would be measured as well.
MEMORY, MEMORY_BYTES = Path("/dev/shm"), 6 * 2**30

console = Console(width=120)


@dataclass(frozen=True)
class Outage:
    """One fault as callers saw it."""

    name: str
    # From the fault to the first acknowledged write after the gap; 0 if there was no gap that a caller would notice.
    failover_seconds: float
    writes_gap_seconds: float
    reads_gap_seconds: float
    refusals: dict[str, int]
    stale_reads: int


class Cluster:
    """The five machines and what Patroni says about the nodes."""

    def __init__(self, nodes: Sequence[Node], apps: Sequence[App]) -> None:
        self.nodes, self.apps = list(nodes), list(apps)
        self.http = httpx.AsyncClient(timeout=2.0, trust_env=False)

    async def _members(self, node: Node) -> list[dict[str, Any]]:
        """The members as a node sees them."""
        with suppress(httpx.HTTPError, ValueError):
            found = (await self.http.get(f"http://{node.address}:8008/cluster")).json()
            return list(found["members"])
        return []

    async def leader(self) -> Node:
        """The node that says of itself that it is the primary."""
        ends = time.monotonic() + REPAIR_SECONDS
        while True:
            for node in self.nodes:
                with suppress(httpx.HTTPError):
                    if (await self.http.get(f"http://{node.address}:8008/primary")).status_code == 200:
                        return node
            assert time.monotonic() < ends, "no node is the primary"
            await asyncio.sleep(POLL_SECONDS)

    async def is_whole(self) -> bool:
        """All nodes see the same primary and two replicas that stream, each of which can acknowledge a commit."""
        seen = set()
        for node in self.nodes:
            members = await self._members(node)
            roles = sorted(str(one["role"]) for one in members)
            states = {str(one["state"]) for one in members}
            if roles != ["leader", "quorum_standby", "quorum_standby"] or states != {"running", "streaming"}:
                return False
            seen.add(next(one["name"] for one in members if one["role"] == "leader"))
        return len(seen) == 1

    async def until(self, what: str, test: Callable[[], Awaitable[bool]], seconds: float) -> float:
        began = time.monotonic()
        while not await test():
            assert time.monotonic() < began + seconds, f"{what} takes too long"
            await asyncio.sleep(POLL_SECONDS)
        return time.monotonic() - began

    def story(self) -> str:
        """The last lines of every log, for a run that failed."""
        names = ("patroni", "etcd", "haproxy", "pgbouncer", "serve", "work")
        machines: list[Machine] = [*self.nodes, *self.apps]
        return "\n".join(
            f"--- {one.name} {name}\n{text}" for one in machines for name in names if (text := one.log(name))
        )


@contextmanager
def machines(logs: Path | None) -> Iterator[Cluster]:
    memory = shutil.disk_usage(MEMORY).free >= MEMORY_BYTES if MEMORY.is_dir() else False
    scratch = Path(tempfile.mkdtemp(prefix="mb-ha-", dir=MEMORY if memory else None))
    scratch.chmod(0o755)
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, scratch, ignore_errors=True)
        nodes, apps = make_machines(scratch)
        stack.callback(end_all, [*nodes, *apps])
        cluster = Cluster(nodes, apps)
        try:
            yield cluster
        except Exception:
            if logs is None:
                console.print(cluster.story(), markup=False)
            raise
        finally:
            if logs:
                for file in (*scratch.glob("*/*.log"), *scratch.glob("*/logs/*.log")):
                    copy = logs / file.relative_to(scratch)
                    copy.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(file, copy)


async def bring_up(cluster: Cluster) -> dict[str, str]:
    """Start everything as the README says; returns a token for each tenant."""
    for node in cluster.nodes:
        node.begin()
    took = await cluster.until("the first start", cluster.is_whole, START_SECONDS)
    console.print(f"cluster of three nodes ready after {took:.0f} s")
    for app in cluster.apps:
        app.begin()
    await asyncio.sleep(1)
    settings = load_settings(home=cluster.apps[0].folder)
    async with open_resources(settings) as resources:
        assert resources.database.is_pooled
        tokens = await make_tokens(resources, [f"tenant{number}" for number in range(TENANTS)])
    for app in cluster.apps:
        app.start_butler(**UPKEEP)

    async def ready() -> bool:
        with suppress(httpx.HTTPError):
            answers = [await cluster.http.get(f"{app.url}/health/ready") for app in cluster.apps]
            return all(answer.status_code == 200 for answer in answers)
        return False

    took = await cluster.until("the start of the servers", ready, START_SECONDS)
    console.print(f"two servers ready after {took:.0f} s")
    return tokens


async def fault(cluster: Cluster, load: Load, name: str, strike: Callable[[], None]) -> Outage:
    """Strike, wait until writes are acknowledged again, and say what callers saw."""
    await load.progress(seconds=FAULT_SECONDS)
    ledger = load.ledger
    before, stale, began = ledger.refusals.copy(), ledger.stale_reads, time.monotonic()
    strike()
    await load.progress(seconds=FAULT_SECONDS, settled=True)
    ended = time.monotonic()
    gap = ledger.longest_gap(ledger.write_times, began, ended)
    outage = Outage(
        name=name,
        failover_seconds=ledger.first_write_after(began) - began if gap >= NOTICED_SECONDS else 0.0,
        writes_gap_seconds=gap,
        reads_gap_seconds=ledger.longest_gap(ledger.read_times, began, ended),
        refusals=dict(ledger.refusals - before),
        stale_reads=ledger.stale_reads - stale,
    )
    console.print(
        f"{name}: writes again after {outage.failover_seconds:.1f} s, longest gap of writes"
        f" {outage.writes_gap_seconds:.1f} s, of reads {outage.reads_gap_seconds:.1f} s;"
        f" {outage.stale_reads} stale reads; refusals: {outage.refusals or 'none'}"
    )
    return outage


async def repaired(cluster: Cluster, load: Load) -> None:
    took = await cluster.until("the return of the node", cluster.is_whole, REPAIR_SECONDS)
    console.print(f"  three nodes again after {took:.0f} s, by themselves")
    await load.progress(seconds=FAULT_SECONDS)


async def kill_postgres(cluster: Cluster, load: Load) -> Outage:
    leader = await cluster.leader()
    return await fault(cluster, load, "PostgreSQL of the primary killed", partial(leader.kill, "postgres"))


async def kill_node(cluster: Cluster, load: Load) -> Outage:
    leader = await cluster.leader()
    outage = await fault(cluster, load, "primary node killed (SIGKILL)", leader.kill)
    leader.start_all()
    return outage


async def freeze_node(cluster: Cluster, load: Load) -> Outage:
    leader = await cluster.leader()
    try:
        return await fault(cluster, load, "primary node frozen (SIGSTOP)", leader.freeze)
    finally:
        leader.thaw()


async def restart_replica(cluster: Cluster, load: Load) -> Outage:
    leader = await cluster.leader()
    replica = next(node for node in cluster.nodes if node is not leader)
    return await fault(cluster, load, "replica restarted", partial(replica.signal, signal.SIGINT, "postgres"))


FAULTS = {"postgres": kill_postgres, "node": kill_node, "freeze": freeze_node, "replica": restart_replica}


async def campaign(chosen: Sequence[str], logs: Path | None) -> tuple[list[Outage], Ledger, Found]:
    with machines(logs) as cluster:
        tokens = await bring_up(cluster)
        addresses = [cluster.apps[0].balanced_url, cluster.apps[1].balanced_url, *(app.url for app in cluster.apps)]
        ended = asyncio.Event()
        migrating = asyncio.create_task(migrate_all_along(cluster.apps[1], ended))
        async with Load(addresses, tokens) as load:
            # The first calls of a server wait for its models.
            await load.progress(seconds=START_SECONDS)
            load.ledger.refusals.clear()
            outages = []
            for name in chosen:
                outages.append(await FAULTS[name](cluster, load))
                await repaired(cluster, load)
        ended.set()
        migrations = await migrating
        heard = await listens(cluster.apps[0], tokens)
        console.print(f"a subscriber is notified {heard:.2f} s after a write; {migrations} migrations completed")
        found = await check_store(cluster.apps[0], load.ledger)
        await cluster.http.aclose()
    return outages, load.ledger, found


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=1, help="how often each fault is made")
    parser.add_argument("--faults", nargs="+", choices=list(FAULTS), default=list(FAULTS), help="which faults")
    parser.add_argument("--logs", type=Path, help="folder into which the logs of all machines are copied")
    arguments = parser.parse_args(given)
    # An end from outside goes through the same clean-up.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(1))
    began = time.monotonic()
    outages, ledger, found = asyncio.run(campaign(arguments.faults * arguments.rounds, arguments.logs))
    console.print(
        f"{len(outages)} faults in {time.monotonic() - began:.0f} s. {len(ledger.acknowledged)} writes acknowledged,"
        f" {found.stored} stored, {found.missing} missing, {found.twice} twice; {len(ledger.read_times)} reads."
        f" Jobs: {found.jobs} runs, {found.unfinished} unfinished, {found.overlapping} at the same time on one shard."
    )
    wrong = set(ledger.refusals) - {"target_unavailable"}
    problems = [
        *([f"callers were told {sorted(wrong)}: {ledger.examples}"] if wrong else []),
        *([f"{found.missing} acknowledged writes are lost"] if found.missing else []),
        *([f"{found.twice} writes are stored twice"] if found.twice else []),
        *([f"{found.unfinished} jobs never ended"] if found.unfinished else []),
        *([f"{found.overlapping} jobs ran at the same time on one shard"] if found.overlapping else []),
    ]
    for problem in problems:
        console.print(f"FAILED: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
