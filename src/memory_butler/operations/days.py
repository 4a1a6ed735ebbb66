"""Days: how memory grew and decayed day by day, and how it stood at the end of any of them.

The counts behind it are kept beside the log and follow it when somebody looks; they say nothing that is not in it.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, time, timedelta

from memory_butler.butler import Butler
from memory_butler.errors import InvalidInput, PermissionDenied
from memory_butler.models import EVERY_SCOPE, LIVE, Caller, MemoryType, Question
from memory_butler.models.days import Day, DayStanding, FoundThen, Growth
from memory_butler.operations import recall
from memory_butler.operations.as_of import check_moment
from memory_butler.policy import reach
from memory_butler.policy.admission import whole_number
from memory_butler.store import days as store
from memory_butler.store.activity import View
from memory_butler.store.database import Row

USUAL, MOST = 90, 730
# So many pieces of a log that nobody has looked at yet are counted before an answer is given.
ROUNDS = 10
FOUND = 20
GONE = "gone"
_MEMORIES = tuple(str(kind) for kind in MemoryType)
States = dict[str, Counter[str]]
Progress = Callable[[int, int], None]


async def growth(butler: Butler, caller: Caller | None = None, *, days: int = USUAL) -> Growth:
    """What happened on each of the last days, today last, to what the caller may see."""
    caller = caller or butler.local_caller()
    count = whole_number(days, "days", 1, MOST)
    today = butler.clock().astimezone(UTC).date()
    since = today - timedelta(days=count - 1)
    is_complete = await _follow(butler, caller)
    async with butler.database.read(caller.principal.tenant) as session:
        rows = await store.happened(session, _view(caller), since)
    return Growth(days=tuple(_by_day(rows, since, today)), is_complete=is_complete)


async def standing(butler: Butler, day: date, caller: Caller | None = None) -> DayStanding:
    """How memory stood at the end of a day, and what has happened since."""
    caller = caller or butler.local_caller()
    now = butler.clock().astimezone(UTC)
    check_moment(butler, caller, datetime.combine(day, time.min, UTC))
    is_complete = await _follow(butler, caller)
    view = _view(caller)
    async with butler.database.read(caller.principal.tenant) as session:
        rows = await store.happened(session, view, day + timedelta(days=1))
        first = await store.first(session, view)
    return DayStanding(
        day=day,
        moment=min(now, datetime.combine(day, time.max, UTC)),
        first_day=min(first or day, day),
        then=_states(row for row in rows if row["day"] is None),
        now=_states(rows),
        since=_happened(row for row in rows if row["day"] is not None),
        is_complete=is_complete,
    )


async def search_then(butler: Butler, query: str, moment: datetime, caller: Caller | None = None) -> FoundThen:
    """What a search over everything would have found at a moment, and what has become of it."""
    caller = caller or butler.local_caller()
    # Of today's own end there is nothing to know yet.
    as_of = min(moment, butler.clock())
    question = Question(query=query, scope=EVERY_SCOPE, as_of=as_of, limit=FOUND, min_confidence=0.0)
    answer = await recall.search(butler, question, caller, bump=False)
    async with butler.database.read(caller.principal.tenant) as session:
        now = await store.states_now(session, [one.hit.id for one in answer.results])
    return FoundThen(
        results=tuple((one, now.get(one.hit.id, GONE)) for one in answer.results), degraded=answer.degraded
    )


async def recount(
    butler: Butler, caller: Caller | None = None, *, progress: Progress = lambda done, total: None
) -> int:
    """Drop the counts and make them anew from the whole log; how many events were counted."""
    caller = caller or butler.local_caller()
    if not caller.principal.role.governs:
        raise PermissionDenied("Only an administrator may have the days counted anew.")
    tenant = caller.principal.tenant
    async with butler.database.aside(tenant) as session:
        place = await store.place(session)
        await store.drop(session)
    done = 0
    while counted := await _count_on(butler, tenant) if place.last_seq else 0:
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
        raise InvalidInput(f"{given[:40]!r} is not a day.", recovery="Write it like 2026-03-31.") from problem
    return day


async def _follow(butler: Butler, caller: Caller) -> bool:
    """Count what has been written since the last look; whether that was all of it."""
    tenant = caller.principal.tenant
    async with butler.database.read(tenant) as session:
        place = await store.place(session)
    if not place.is_behind:
        return True
    for _ in range(ROUNDS):
        if await _count_on(butler, tenant) < store.PIECE:
            return True
    return False


async def _count_on(butler: Butler, tenant: str) -> int:
    async with butler.database.aside(tenant) as session:
        return await store.count_on(session)


def _view(caller: Caller) -> View:
    governs = caller.principal.role.governs
    return View(reach.readable(caller.principal, EVERY_SCOPE if governs else None, None), governs=governs)


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
    """Changes of memories by what they were. That a rule or a fact was read is none."""
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
