"""The service's objectives: measurements of all processes, kept in the database, and how they compare."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from memory_butler.metrics import service_levels
from memory_butler.metrics.service_levels import EDGES, MEASURED, Measurements
from memory_butler.models import Caller
from memory_butler.operations.system.system_info import require_all_tenants
from memory_butler.policy.memories.validation import whole_number
from memory_butler.policy.system.objectives import OBJECTIVES, Level, level
from memory_butler.resources import Resources
from memory_butler.store.system import objectives as store

BUCKET = timedelta(minutes=10)
KEPT = timedelta(days=35)
USUAL_DAYS, MOST_DAYS = 7, 35


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceLevels:
    """The level of every objective since a time."""

    since: datetime
    days: int
    levels: tuple[Level, ...]

    @property
    def is_met(self) -> bool:
        """True if no objective is missed. One without measurements is not missed."""
        return all(one.is_met is not False for one in self.levels)


async def keep(resources: Resources, measured: Measurements = MEASURED) -> bool:
    """Add the measurements of this process to the database; returns whether there were any.

    If the database cannot be reached they stay in the process, for the next time."""
    counts = measured.take()
    if not counts:
        return False
    kept = False
    try:
        async with resources.database.unlocked_write() as transaction:
            await store.add(transaction, bucket_of(resources.clock()), counts)
        kept = True
    finally:
        if not kept:
            measured.give_back(counts)
    return True


def bucket_of(moment: datetime) -> datetime:
    """The start of the bucket of a time."""
    return datetime.fromtimestamp(moment.timestamp() // BUCKET.total_seconds() * BUCKET.total_seconds(), UTC)


async def drop_old(resources: Resources) -> int:
    """Delete measurements that no window reaches any more."""
    async with resources.database.unlocked_write() as transaction:
        return await store.drop_old(transaction, resources.clock() - KEPT)


async def levels(resources: Resources, caller: Caller | None = None, *, days: int = USUAL_DAYS) -> ServiceLevels:
    """Compare the measurements of the last days with the objectives."""
    caller = resources.allowed(caller, "system_info")
    require_all_tenants(resources, caller)
    count = whole_number(days, "days", 1, MOST_DAYS)
    since = resources.clock() - timedelta(days=count)
    async with resources.database.read("") as transaction:
        found = await store.since(transaction, bucket_of(since))
    return ServiceLevels(
        since=since,
        days=count,
        levels=tuple(
            level(one, EDGES[one.name], found.get(one.name, [0] * service_levels.steps(one.name))) for one in OBJECTIVES
        ),
    )
