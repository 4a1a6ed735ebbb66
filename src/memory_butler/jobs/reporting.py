"""Reporting: every process stores what it has measured, and exports what a worker found out about all tenants.

It runs beside the calls, in transactions of its own. It never starts an embedded database that the user has stopped.
"""

import asyncio
import logging
from contextlib import suppress

from memory_butler.errors import MemoryButlerError
from memory_butler.metrics import fleet as gauges
from memory_butler.metrics import statements
from memory_butler.operations.system import fleet, objectives
from memory_butler.operations.system.fleet import Fleet
from memory_butler.policy.lifecycle.schedule import JobState
from memory_butler.resources import Resources

log = logging.getLogger(__name__)


async def report_until(resources: Resources, stop: asyncio.Event) -> None:
    """Report every few seconds until `stop` is set, and once more then."""
    while not stop.is_set():
        await report(resources)
        with suppress(TimeoutError):
            async with asyncio.timeout(resources.settings.telemetry.report_seconds):
                await stop.wait()
    await report(resources)


async def report(resources: Resources) -> None:
    """Report once. A failure is logged: measurements that could not be stored are stored later."""
    try:
        _export_pool(resources)
        await objectives.keep(resources)
        if found := await fleet.latest(resources):
            export(found)
    except MemoryButlerError as problem:
        log.debug("reporting failed: %s", problem.message)
    except Exception:
        # Boundary of the loop: the next report may succeed.
        log.exception("reporting failed")


def _export_pool(resources: Resources) -> None:
    size, idle, waiting = resources.database.pool_figures()
    statements.POOL_SIZE.set(size)
    statements.POOL_IN_USE.set(size - idle)
    statements.POOL_WAITING.set(waiting)


def export(found: Fleet) -> None:
    """Set the gauges of this process to a sample."""
    gauges.SAMPLED.set(found.taken_at.timestamp())
    gauges.SAMPLE_SECONDS.set(found.seconds)
    gauges.TENANTS.set(found.tenants)
    gauges.SHARDS.set(found.shards)
    for kind, states in found.memories.items():
        for state, count in states.items():
            gauges.MEMORIES.labels(kind, state).set(count)
    gauges.BACKLOG_EPISODES.set(found.backlog.episodes)
    gauges.BACKLOG_SHARDS.set(found.backlog.shards)
    ages = {"0.5": found.backlog.median_age, "0.95": found.backlog.p95_age, "1": found.backlog.oldest_age}
    for quantile, age in ages.items():
        gauges.BACKLOG_AGE.labels(quantile).set(age)
    gauges.DEAD_LETTERS.set(found.dead_letters)
    gauges.PROPOSALS.set(found.proposals)
    gauges.QUARANTINED.set(found.quarantined)
    _export_jobs(found)
    _export_server(found)


def _export_jobs(found: Fleet) -> None:
    for job, figures in found.jobs.items():
        for state in JobState:
            gauges.SHARD_JOBS.labels(job, str(state)).set(figures.states.get(str(state), 0))
        if figures.first_success:
            gauges.OLDEST_SUCCESS.labels(job).set(figures.first_success.timestamp())
        if figures.last_success:
            gauges.LAST_SUCCESS.labels(job).set(figures.last_success.timestamp())
        gauges.OVERDUE.labels(job).set(figures.overdue_seconds)
        queued = found.queue.jobs.get(job, {})
        for status in ("todo", "doing"):
            gauges.QUEUE.labels(job, status).set(queued.get(status, 0))
    waited = (found.taken_at - found.queue.oldest).total_seconds() if found.queue.oldest else 0
    gauges.QUEUE_OLDEST.set(max(0, waited))
    gauges.WORKERS.set(found.queue.workers)


def _export_server(found: Fleet) -> None:
    server = found.server
    gauges.CONNECTIONS.set(server.connections)
    gauges.MAX_CONNECTIONS.set(server.max_connections)
    gauges.DATABASE_BYTES.set(server.bytes)
    gauges.INDEX_BLOAT.set(server.index_bloat or 0)
    for name, table in server.tables.items():
        gauges.TABLE_BYTES.labels(name).set(table["bytes"])
        gauges.INDEX_BYTES.labels(name).set(table["index_bytes"])
        rows = table["live_rows"] + table["dead_rows"]
        gauges.DEAD_ROWS.labels(name).set(table["dead_rows"] / rows if rows else 0)
