"""Daily counts: growth and decay of memories by day, and their state at the end of a day.

The counts are derived from the event log and updated by the next read.
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
from memory_butler.resources import Resources
from memory_butler.store.gate.database import Row
from memory_butler.store.history import days as store
from memory_butler.store.history.activity import View

USUAL, MOST = 90, 730
# So many pieces of a log that nobody has looked at yet are counted before an answer is given.
ROUNDS = 10
FOUND = 20
GONE = "gone"
_MEMORIES = tuple(str(kind) for kind in MemoryType)
States = dict[str, Counter[str]]
Progress = Callable[[int, int], None]


async def growth(resources: Resources, caller: Caller | None = None, *, days: int = USUAL) -> Growth:
    """Events of each of the last days, today last, of memories that the caller may see."""
    caller = caller or resources.local_caller()
    count = whole_number(days, "days", 1, MOST)
    today = resources.clock().astimezone(UTC).date()
    since = today - timedelta(days=count - 1)
    is_complete = await _follow(resources, caller)
    async with resources.database.read(caller.principal.tenant) as transaction:
        rows = await store.happened(transaction, _view(caller), since)
    return Growth(days=tuple(_by_day(rows, since, today)), is_complete=is_complete)


async def standing(resources: Resources, day: date, caller: Caller | None = None) -> DaySnapshot:
    """The state of all memories at the end of a day, and the changes since."""
    caller = caller or resources.local_caller()
    now = resources.clock().astimezone(UTC)
    check_as_of(resources, caller, datetime.combine(day, time.min, UTC))
    is_complete = await _follow(resources, caller)
    view = _view(caller)
    async with resources.database.read(caller.principal.tenant) as transaction:
        rows = await store.happened(transaction, view, day + timedelta(days=1))
        first = await store.first(transaction, view)
    return DaySnapshot(
        day=day,
        moment=min(now, datetime.combine(day, time.max, UTC)),
        first_day=min(first or day, day),
        then=_states(row for row in rows if row["day"] is None),
        now=_states(rows),
        since=_happened(row for row in rows if row["day"] is not None),
        is_complete=is_complete,
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


async def recount(
    resources: Resources, caller: Caller | None = None, *, progress: Progress = lambda done, total: None
) -> int:
    """Rebuild the counts from the whole log; returns the number of events."""
    caller = resources.admin(caller, "rebuild the daily counts")
    tenant = caller.principal.tenant
    async with resources.database.unlocked_write(tenant) as transaction:
        place = await store.place(transaction)
        await store.drop(transaction)
    done = 0
    while counted := await _count_on(resources, tenant) if place.last_seq else 0:
        done += counted
        progress(done, max(done, place.last_seq))
    return done


def parse_day(given: str) -> date:
    """A day as it is written in an address. The last there is has no day after it, which every look back needs."""
    try:
        day = date.fromisoformat(given)
        if day == date.max:
            raise ValueError("no day comes after it")
    except ValueError as problem:
        raise InvalidInput(f"{given[:40]!r} is not a day.", recovery="Use ISO 8601, e.g. 2026-03-31.") from problem
    return day


async def _follow(resources: Resources, caller: Caller) -> bool:
    """Count new events; returns whether all are counted."""
    tenant = caller.principal.tenant
    async with resources.database.read(tenant) as transaction:
        place = await store.place(transaction)
    if not place.is_behind:
        return True
    for _ in range(ROUNDS):
        if await _count_on(resources, tenant) < store.PIECE:
            return True
    return False


async def _count_on(resources: Resources, tenant: str) -> int:
    async with resources.database.unlocked_write(tenant) as transaction:
        return await store.count_on(transaction)


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
