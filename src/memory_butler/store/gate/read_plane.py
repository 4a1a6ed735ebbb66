"""The read plane: chooses the server of each read, a fresh replica or the primary.

Lag is measured with positions of the log that this process saw on the primary, and with its own monotonic clock. So
clocks that differ between the servers do not matter. A replica is *behind* from the moment at which the primary had
something that the replica does not have yet.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from memory_butler.metrics import read_plane as metrics
from memory_butler.settings import DatabaseSettings, Settings
from memory_butler.store.gate import positions
from memory_butler.store.gate.connection import check_open, make_pool
from memory_butler.store.gate.endpoints import (
    PROBE_SECONDS,
    Endpoint,
    Pool,
    Probe,
    Replica,
    ReplicaFailed,
    sleep_until_next_probe,
)
from memory_butler.store.gate.queries import Names, load_queries
from memory_butler.store.gate.shared_positions import SharedPositions

Value = TypeVar("Value")
# Samples of the primary's position; one a second.
SAMPLES = 600
# A sample that is older than this no longer shows what the primary has.
SAMPLE_SECONDS = 3 * PROBE_SECONDS
# A primary that has not answered its probes for this time is not asked any more until it does.
LOST_SECONDS = 3.0
# Replicas that one read tries before it goes to the primary.
PLANE_ATTEMPTS = 2
FIRST_POLL_SECONDS, LONGEST_POLL_SECONDS = 0.003, 0.024
# Why a server of the same cluster is no replica.
THE_PRIMARY = "it is the primary itself"
PROMOTED = "it is a primary, not a replica: it was promoted beside the one that database_url leads to"
# Set while an operation runs whose reads a replica may serve.
_serving: ContextVar[bool] = ContextVar("_serving", default=False)

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ReplicaState:
    """The state of one replica, for metrics and health checks. `problem` says why it is left out.

    `is_primary`: the URL leads to the primary itself, as one of several URLs of a failover cluster always does.
    """

    number: int
    name: str
    problem: str | None
    is_primary: bool
    lag_seconds: float
    lag_bytes: int
    reads: int


class ReadPlane:
    """Probes the servers and chooses one for each read."""

    def __init__(
        self, settings: DatabaseSettings, primary: Endpoint, replicas: Sequence[Replica], replayed_query: bytes
    ) -> None:
        self._settings = settings
        self._primary = primary
        self._replicas = list(replicas)
        self._replayed_query = replayed_query
        self._samples: deque[tuple[float, int]] = deque(maxlen=SAMPLES)
        self._tasks: list[asyncio.Task[None]] = []
        self._cluster: Probe | None = None
        self._reported: dict[int, str | None] = {}
        self.positions: positions.TenantPositions | SharedPositions = positions.TenantPositions()
        self.primary_reads = 0

    async def open(self) -> None:
        """Start probing. Until the first probes have answered, the primary serves."""
        watchers = [self._watch_primary(), *map(self._watch_replica, self._replicas)]
        self._tasks = [asyncio.create_task(watcher, name="memory-butler-probe") for watcher in watchers]

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with suppress(asyncio.CancelledError):
                await task
        self._tasks = []
        await self._primary.close()
        for replica in self._replicas:
            await replica.close()

    @property
    def primary_is_down(self) -> bool:
        """True if the primary did not answer its last probe."""
        return self._cluster is not None and self._primary.problem is not None

    @property
    def primary_is_lost(self) -> bool:
        """True if the primary did not answer for some seconds: what needs it fails at once instead of waiting."""
        since = self._primary.failing_since
        return self.primary_is_down and since is not None and time.monotonic() - since > LOST_SECONDS

    @property
    def is_serving(self) -> bool:
        """True inside an operation whose reads a replica may serve."""
        return _serving.get()

    async def probed(self) -> None:
        """Wait until the primary and every replica were probed once."""
        for endpoint in (self._primary, *self._replicas):
            await endpoint.was_probed.wait()

    def states(self) -> list[ReplicaState]:
        return [
            ReplicaState(
                number=replica.number,
                name=replica.name,
                problem=self._problem(replica),
                is_primary=self._is_primary(replica),
                lag_seconds=replica.lag_seconds,
                lag_bytes=replica.lag_bytes,
                reads=replica.reads,
            )
            for replica in self._replicas
        ]

    async def serve(self, work: Callable[[], Awaitable[Value]]) -> Value:
        """Run a read operation on the read plane. If a replica fails meanwhile, repeat it on another one and then on
        the primary."""
        if self.is_serving:
            return await work()
        call = None if positions.current.get() else positions.current.set(positions.CallPosition())
        served = _serving.set(True)
        try:
            for _ in self._replicas[:PLANE_ATTEMPTS]:
                try:
                    return await work()
                except ReplicaFailed as failed:
                    log.info("a read is repeated: %s", failed)
        finally:
            _serving.reset(served)
            if call:
                positions.current.reset(call)
        self._count_primary()
        return await work()

    def record(self, tenant: str, position: int) -> None:
        """Record the position after a write."""
        self.positions.record(tenant, position)
        if call := positions.current.get():
            call.written = max(call.written, position)

    async def choose(self, tenant: str) -> Replica | None:
        """The replica for a read of a tenant; None: the primary. A stale answer is noted in the call's position."""
        call = positions.current.get()
        needed = max(self.positions.of(tenant), call.needed if call else 0, call.written if call else 0)
        fresh = [replica for replica in self._replicas if self._problem(replica) is None]
        if ready := [replica for replica in fresh if replica.replayed >= needed]:
            return self._count(min(ready, key=lambda one: (one.busy, one.reads)))
        if fresh:
            nearest = max(fresh, key=lambda one: one.replayed)
            if await self._catches_up(nearest, needed):
                return self._count(nearest)
        reachable = [replica for replica in self._replicas if replica.probe and self._is_ours(replica.probe)]
        if not self.primary_is_down or not reachable:
            self._count_primary()
            return None
        nearest = max(reachable, key=lambda one: one.replayed)
        if call:
            call.stale = (
                f"stale replica: the primary cannot be reached, and the replica is {nearest.lag_seconds:.0f} s behind"
            )
        metrics.STALE.inc()
        return self._count(nearest)

    def _count(self, replica: Replica) -> Replica:
        replica.reads += 1
        metrics.READS.labels(str(replica.number)).inc()
        return replica

    def _count_primary(self) -> None:
        self.primary_reads += 1
        metrics.READS.labels(metrics.PRIMARY).inc()

    async def _catches_up(self, replica: Replica, needed: int) -> bool:
        """Wait until a replica has a position, up to the configured time."""
        ends, pause = time.monotonic() + self._settings.replica_wait_seconds, FIRST_POLL_SECONDS
        while True:
            if await replica.replay(self._replayed_query) >= needed:
                return True
            if time.monotonic() + pause > ends:
                return False
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_POLL_SECONDS)

    def _is_ours(self, probe: Probe) -> bool:
        return self._foreign(probe) is None

    def _foreign(self, probe: Probe) -> str | None:
        """Why a server is not a replica of the primary."""
        ours = self._cluster
        if ours is None:
            return "the primary has not been reached yet, so it is not known whether this is its replica"
        if probe.cluster != ours.cluster:
            numbers = f"its system identifier is {probe.cluster}, that of the primary is {ours.cluster}"
            return f"it belongs to another cluster: {numbers}"
        if not probe.in_recovery:
            return THE_PRIMARY if probe.started == ours.started else PROMOTED
        if probe.database != ours.database:
            return f"its URL names the database {probe.database!r}, that of the primary is {ours.database!r}"
        return None

    def _is_primary(self, replica: Replica) -> bool:
        return replica.probe is not None and self._foreign(replica.probe) == THE_PRIMARY

    def _problem(self, replica: Replica) -> str | None:
        """Why a replica is left out; None: it serves."""
        if replica.probe is None:
            return replica.problem
        if foreign := self._foreign(replica.probe):
            return foreign
        unseen = time.monotonic() - replica.probe.at
        if unseen > SAMPLE_SECONDS + self._settings.max_replica_lag_seconds:
            return f"it has not been probed for {unseen:.0f} s"
        if replica.lag_seconds > self._settings.max_replica_lag_seconds:
            return f"it is more than {self._settings.max_replica_lag_seconds:g} s behind the primary"
        return replica.refusal

    async def _watch_primary(self) -> None:
        while True:
            await self._primary.ask()
            if probe := self._primary.probe:
                self._sample(probe)
            await sleep_until_next_probe()

    def _sample(self, probe: Probe) -> None:
        if probe.in_recovery:
            self._primary.probe, self._primary.problem = None, "it is a replica"
            return
        is_new = self._cluster is not None and self._cluster.cluster != probe.cluster
        if is_new or (self._samples and probe.position < self._samples[-1][1]):
            # Another server took over, and what it does not have is lost.
            self._samples.clear()
            self.positions.clear()
        self._cluster = probe
        self._samples.append((probe.at, probe.position))

    async def _watch_replica(self, replica: Replica) -> None:
        while True:
            await replica.ask()
            if replica.probe:
                replica.lag_seconds, replica.lag_bytes = self._lag(replica.probe)
            self._report(replica)
            await sleep_until_next_probe()

    def _lag(self, probe: Probe) -> tuple[float, int]:
        """Seconds and bytes that a replica is behind."""
        if not self._samples:
            return 0.0, 0
        latest_at, latest = self._samples[-1]
        missing = next((at for at, position in self._samples if position > probe.position), None)
        unseen = probe.at - latest_at if probe.at - latest_at > SAMPLE_SECONDS else 0.0
        behind = probe.at - missing if missing is not None else unseen
        return max(0.0, behind), max(0, latest - probe.position)

    def _report(self, replica: Replica) -> None:
        """Publish the metrics of a replica, and log when it is left out or serves again."""
        problem, label = self._problem(replica), str(replica.number)
        metrics.UP.labels(label).set(problem is None)
        metrics.LAG_SECONDS.labels(label).set(replica.lag_seconds)
        metrics.LAG_BYTES.labels(label).set(replica.lag_bytes)
        if self._cluster is None or problem == self._reported.get(replica.number, ""):
            return
        self._reported[replica.number] = problem
        if problem:
            # Of the nodes of a failover cluster, one is always the primary.
            is_usual = len(self._replicas) > 1 and self._is_primary(replica)
            log.log(logging.INFO if is_usual else logging.WARNING, "%s is left out: %s", replica.name, problem)
        else:
            log.info("%s serves reads", replica.name)


async def open_read_plane(settings: Settings, primary_dsn: Callable[[], str], names: Names) -> ReadPlane | None:
    """The read plane of the configured replicas; None without any."""
    if not settings.database.replicas:
        return None
    queries = load_queries(names)
    probe = queries["replicas.probe"]
    urls = [url.get_secret_value() for url in settings.database.replicas]

    def pool_of(url: str, is_pooled: bool) -> Pool:
        chosen = settings.service.pooler
        return make_pool(settings, url, check_open, is_pooled if chosen is None else chosen)

    replicas = [Replica(number, url, probe, partial(pool_of, url)) for number, url in enumerate(urls)]
    plane = ReadPlane(settings.database, Endpoint(primary_dsn, probe), replicas, queries["replicas.replayed"])
    await plane.open()
    return plane
