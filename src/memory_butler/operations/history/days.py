"""Projections: growth and decay of memories by day, and their state at the end of a day.

They are derived from the event log. Jobs keep them current; a read adds the events since, and writes nothing.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, time, timedelta

from memory_butler.errors import InvalidInput
from memory_butler.models import EVERY_SCOPE, LIVE, Caller, MemoryType, Question
from memory_butler.models.days import Day, DaySnapshot, Growth, PastResults
from memory_butler.operations.retrieval import search
from memory_butler.operations.retrieval.candidate_source import check_as_of
from memory_butler.policy.access import visibility
from memory_butler.policy.memories.validation import whole_number
from memory_butler.resources import Resources, on_replica
from memory_butler.store.gate.database import Row
from memory_butler.store.history import days as store
from memory_butler.store.history.activity import View

USUAL, MOST = 90, 730
FOUND = 20
GONE = "gone"
_MEMORIES = tuple(str(kind) for kind in MemoryType)
States = dict[str, Counter[str]]
Progress = Callable[[int, int], None]


@on_replica
async def growth(resources: Resources, caller: Caller | None = None, *, days: int = USUAL) -> Growth:
    """Events of each of the last days, today last, of memories that the caller may see."""
    caller = caller or resources.local_caller()
    count = whole_number(days, "days", 1, MOST)
    today = resources.clock().astimezone(UTC).date()
    since = today - timedelta(days=count - 1)
    async with resources.database.read(caller.principal.tenant) as transaction:
        place = await store.place(transaction)
        rows = await store.happened(transaction, _view(caller), since)
    return Growth(days=tuple(_by_day(rows, since, today)), is_complete=place.uncounted <= store.TAIL)


@on_replica
async def standing(resources: Resources, day: date, caller: Caller | None = None) -> DaySnapshot:
    """The state of all memories at the end of a day, and the changes since."""
    caller = caller or resources.local_caller()
    now = resources.clock().astimezone(UTC)
    check_as_of(resources, caller, datetime.combine(day, time.min, UTC))
    async with resources.database.read(caller.principal.tenant) as transaction:
        place = await store.place(transaction)
        rows = await store.happened(transaction, _view(caller), day + timedelta(days=1))
    first = min((row["first"] for row in rows), default=day)
    return DaySnapshot(
        day=day,
        moment=min(now, datetime.combine(day, time.max, UTC)),
        first_day=min(first, day),
        then=_states(row for row in rows if row["day"] is None),
        now=_states(rows),
        since=_happened(row for row in rows if row["day"] is not None),
        is_complete=place.uncounted <= store.TAIL,
    )


async def search_then(resources: Resources, query: str, moment: datetime, caller: Caller | None = None) -> PastResults:
    """Results of a search as of a moment, with their present states."""
    caller = caller or resources.local_caller()
    # Of today's own end there is nothing to know yet.
    as_of = min(moment, resources.clock())
    question = Question(query=query, scope=EVERY_SCOPE, as_of=as_of, limit=FOUND, min_confidence=0.0)
    answer = await search.search(resources, question, caller, bump=False)
    async with resources.database.read(caller.principal.tenant) as transaction:
        now = await store.states_now(transaction, [one.hit.id for one in answer.results])
    return PastResults(
        results=tuple((one, now.get(one.hit.id, GONE)) for one in answer.results), degraded=answer.degraded
    )


async def catch_up(resources: Resources, tenant: str, *, progress: Progress = lambda done, total: None) -> int:
    """Count the events that are not counted yet; returns their number. Jobs call it."""
    async with resources.database.read(tenant) as transaction:
        place = await store.place(transaction)
    done = 0
    # Events that are written meanwhile are left to the next job, so that a busy writer cannot keep this one.
    while done < place.uncounted:
        async with resources.database.unlocked_write(tenant) as transaction:
            counted = await store.count_on(transaction)
        if not counted:
            break
        done += counted
        progress(done, max(done, place.uncounted))
    return done


async def rebuild(
    resources: Resources, caller: Caller | None = None, *, progress: Progress = lambda done, total: None
) -> int:
    """Count everything again from the whole log; returns the number of events."""
    caller = resources.admin(caller, "rebuild the projections")
    tenant = caller.principal.tenant
    async with resources.database.unlocked_write(tenant) as transaction:
        await store.drop(transaction)
    return await catch_up(resources, tenant, progress=progress)


def parse_day(given: str) -> date:
    """A day as it is written in an address. The last there is has no day after it, which every look back needs."""
    try:
        day = date.fromisoformat(given)
        if day == date.max:
            raise ValueError("no day comes after it")
    except ValueError as problem:
        raise InvalidInput(f"{given[:40]!r} is not a day.", recovery="Use ISO 8601, e.g. 2026-03-31.") from problem
    return day


def _view(caller: Caller) -> View:
    governs = caller.principal.role.governs
    return View(visibility.readable(caller.principal, EVERY_SCOPE if governs else None, None), governs=governs)


def _by_day(rows: Iterable[Row], since: date, today: date) -> Iterable[Day]:
    by_day: dict[date | None, list[Row]] = {}
    for row in rows:
        by_day.setdefault(row["day"], []).append(row)
    in_use: Counter[str] = Counter()
    _move(in_use, by_day.get(None, []))
    # A clock that was wrong may have dated something after today: it belongs to no day that is shown.
    for number in range((today - since).days + 1):
        day = since + timedelta(days=number)
        found = by_day.get(day, [])
        _move(in_use, found)
        yield Day(day=day, happened=_happened(found), in_use={kind: in_use[kind] for kind in _MEMORIES})


def _move(in_use: Counter[str], rows: Iterable[Row]) -> None:
    for row in rows:
        in_use[row["entity_type"]] += row["events"] * ((row["after"] in LIVE) - (row["before"] in LIVE))


def _happened(rows: Iterable[Row]) -> dict[str, int]:
    """Changes of memories by action. A reference is not a change."""
    found: Counter[str] = Counter()
    for row in rows:
        if row["entity_type"] in _MEMORIES:
            found[row["event_type"].partition(".")[2]] += row["events"]
    return dict(sorted(found.items()))


def _states(rows: Iterable[Row]) -> dict[str, dict[str, int]]:
    found: States = {kind: Counter() for kind in _MEMORIES}
    for row in rows:
        if row["entity_type"] in _MEMORIES:
            found[row["entity_type"]][row["after"]] += row["events"]
            found[row["entity_type"]][row["before"]] -= row["events"]
    return {
        kind: {validity: count for validity, count in sorted(counts.items()) if validity and count}
        for kind, counts in found.items()
    }
