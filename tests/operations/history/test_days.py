"""What happened day by day: counted from the log, and never anything else than what the log says."""

import asyncio
import json
import random
from collections import Counter
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from functools import partial
from typing import Any

import psycopg
import pytest
from tests.conftest import MovingClock
from typer.testing import Result

from memory_butler.errors import InvalidInput, MemoryButlerError, PermissionDenied
from memory_butler.models import Caller, MemoryType, NewEpisode, NewFact, NewRule, Outcome, Principal, Question, Role
from memory_butler.operations.history import days, undo
from memory_butler.operations.lifecycle import cleanup, job_status, sweep
from memory_butler.operations.retrieval import search
from memory_butler.operations.writing import feedback, forget, remember, restore
from memory_butler.resources import Resources
from memory_butler.store.history import days as store

Connection = psycopg.Connection[tuple[Any, ...]]
# The same figures by a plain query over the log: how each event found its memory is said by the one before it.
PLAIN = """
WITH told AS (
    SELECT e.*, CASE WHEN NOT payload ? 'tombstone' THEN payload #>> '{state,validity}' END AS left_as
    FROM memory.memory_events e WHERE tenant_id = %s
), walked AS (
    SELECT *, lag(left_as) OVER (PARTITION BY coalesce(entity_id, id) ORDER BY seq) AS found_as FROM told
)
SELECT (occurred_at AT TIME ZONE 'UTC')::date, entity_type,
    coalesce(payload #>> '{tombstone,butler}', payload #>> '{state,butler}', payload #>> '{state,scope}', ''),
    event_type, coalesce(found_as, ''), coalesce(left_as, ''), count(*)
FROM walked GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2, 3, 4, 5, 6
"""
HELD = """
SELECT entity_type, validity, sum(memories)::bigint FROM memory.memory_counts WHERE tenant_id = %s
GROUP BY 1, 2 HAVING sum(memories) <> 0 ORDER BY 1, 2
"""
PROJECTIONS = """
SELECT (SELECT jsonb_agg(d ORDER BY d.*) FROM memory.daily_counts d WHERE tenant_id = %(tenant)s),
    (SELECT jsonb_agg(m ORDER BY m.*) FROM memory.memory_counts m WHERE tenant_id = %(tenant)s AND memories <> 0),
    (SELECT seq FROM memory.counted_upto WHERE tenant_id = %(tenant)s)
"""
KEPT = """
SELECT day, entity_type, owner, event_type, before, after, events FROM memory.daily_counts
WHERE tenant_id = %s ORDER BY 1, 2, 3, 4, 5, 6
"""
LIVE = """
SELECT 'fact', validity, count(*) FROM memory.facts WHERE tenant_id = %(tenant)s GROUP BY validity
UNION ALL SELECT 'rule', validity, count(*) FROM memory.rules WHERE tenant_id = %(tenant)s GROUP BY validity
UNION ALL SELECT 'episode', validity, count(*) FROM memory.episodes WHERE tenant_id = %(tenant)s GROUP BY validity
"""


def same(owner: Connection, tenant: str) -> bool:
    """Whether the counts are what the log says."""
    kept = owner.execute(KEPT, (tenant,)).fetchall()
    return bool(kept) and kept == owner.execute(PLAIN, (tenant,)).fetchall()


async def live(resources: Resources, clock: MovingClock, seed: int, steps: int = 40) -> None:
    """A stretch of life that is different each time: two butlers store, judge, forget, restore, undo and read."""
    chance, known = random.Random(seed), []
    for step in range(steps):
        name = chance.choice(["health", "coder"])
        turn = chance.randrange(9)
        if turn < 3 or not known:
            scope = chance.choice(["global", name])
            property_of: dict[str, Any] = {"subject": "Anna", "predicate": f"p{chance.randrange(4)}", "scope": scope}
            known.append(await remember.fact(resources, NewFact(content=f"value {step}", **property_of)))
        elif turn == 3:
            known.append(await remember.rule(resources, NewRule(content=f"rule {step}", scope=name)))
        elif turn == 4:
            known.append(await remember.episode(resources, NewEpisode(content=f"day {step}", butler=name)))
        elif turn == 5:
            await search.search(resources, Question(query="value", min_relevance=0))
        elif turn == 6:
            clock.move(days=chance.randrange(12))
            await sweep.sweep(resources)
        else:
            one = chance.choice(known)
            deeds: list[Callable[[], Any]] = [
                partial(forget.forget, resources, one.type, str(one.id)),
                partial(restore.restore, resources, one.type, str(one.id)),
                partial(feedback.confirm, resources, one.type, str(one.id)),
                partial(feedback.mark, resources, str(one.id), Outcome.HELPFUL),
            ]
            try:
                await chance.choice(deeds)()
            except MemoryButlerError:
                # What is out of use already is not forgotten again, and so on: that is how life goes.
                continue
        clock.move(hours=chance.randrange(30))


def projections(owner: Connection, tenant: str) -> Any:
    return owner.execute(PROJECTIONS, {"tenant": tenant}).fetchone()


@pytest.mark.parametrize("seed", [1, 2])
async def test_the_counts_are_what_the_log_says(
    resources: Resources, clock: MovingClock, tenant: str, owner: Connection, seed: int
) -> None:
    """After any life, counted bit by bit or anew; and what they add up to is what the tables hold."""
    for part in range(3):
        await live(resources, clock, seed * 10 + part)
        await days.catch_up(resources, tenant)
        assert same(owner, tenant)
    assert (await undo.undo(resources, _last_undoable(owner, tenant), skip_changed=True)).undone
    found = await days.standing(resources, clock().date())
    await days.catch_up(resources, tenant)
    assert same(owner, tenant)
    here = {(kind, validity): count for kind, validity, count in owner.execute(LIVE, {"tenant": tenant})}
    counted = {(kind, state): count for kind, states in found.now.items() for state, count in states.items()}
    assert counted == here and found.then == found.now and found.since == {}
    assert {(kind, state): count for kind, state, count in owner.execute(HELD, (tenant,))} == here
    kept = projections(owner, tenant)
    assert (
        await days.rebuild(resources)
        == owner.execute("SELECT count(*) FROM memory.memory_events WHERE tenant_id = %s", (tenant,)).fetchone()[0]
    )
    assert same(owner, tenant) and projections(owner, tenant) == kept


async def test_a_read_counts_what_the_jobs_have_not_counted_and_writes_nothing(
    resources: Resources, clock: MovingClock, tenant: str, owner: Connection
) -> None:
    """The same figures with projections of any age: none, half of the log, all of it."""
    await live(resources, clock, 3)
    await days.catch_up(resources, tenant)
    await live(resources, clock, 4)
    today = clock().date()

    async def read() -> tuple[Any, Any, Any]:
        return (
            await days.growth(resources),
            await days.standing(resources, today),
            await days.standing(resources, today - timedelta(days=30)),
        )

    half, before = await read(), projections(owner, tenant)
    assert projections(owner, tenant) == before and half[0].is_complete
    await days.catch_up(resources, tenant)
    assert await read() == half
    async with resources.database.unlocked_write(tenant) as transaction:
        await store.drop(transaction)
    assert await read() == half and projections(owner, tenant) == (None, None, 0)


def _last_undoable(owner: Connection, tenant: str) -> str:
    query = (
        "SELECT id FROM memory.memory_events WHERE tenant_id = %s AND event_type = 'fact.created'"
        " ORDER BY seq DESC LIMIT 1"
    )
    return str(owner.execute(query, (tenant,)).fetchone()[0])


async def test_several_who_count_at_once_count_everything_once(
    resources: Resources, clock: MovingClock, tenant: str, owner: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Jobs that count at the same time, somebody who starts over meanwhile, and writers beside them."""
    monkeypatch.setattr(store, "PIECE", 7)
    await live(resources, clock, 5)
    counts = [days.catch_up(resources, tenant) for _ in range(4)]
    writes = [remember.episode(resources, NewEpisode(content=f"day {n}", butler="main")) for n in range(5)]
    await asyncio.gather(*counts, *writes, days.rebuild(resources))
    await days.catch_up(resources, tenant)
    assert same(owner, tenant)


async def test_a_log_that_is_far_ahead_is_said_and_counted_early(
    resources: Resources, tenant: str, clock: MovingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A read counts so many events and says that there are more; the cleanup that counts them is due ahead of time."""
    monkeypatch.setattr(store, "TAIL", 4)
    monkeypatch.setattr(job_status, "URGENT_TAIL", 2)
    cadence, shard = {"cleanup": timedelta(days=1)}, job_status.shard_of(tenant, "main")
    await remember.episode(resources, NewEpisode(content="day 0", butler="main"))
    run = await job_status.begin(resources, shard, "cleanup", cadence["cleanup"])
    assert run and await job_status.finish(resources, shard, run, "succeeded", await cleanup.cleanup(resources, shard))
    clock.move(minutes=2)
    assert await job_status.due(resources, tenant, cadence) == []
    for number in range(6):
        await remember.episode(resources, NewEpisode(content=f"day {number}", butler="main"))
    seen = await days.growth(resources)
    assert (seen.is_complete, seen.days[-1].in_use["episode"]) == (False, 5)
    assert await job_status.due(resources, tenant, cadence) == [("main", "cleanup")]
    assert (await cleanup.cleanup(resources, shard))["counted_events"] == 6
    assert await job_status.due(resources, tenant, cadence) == []
    seen = await days.growth(resources)
    assert (seen.is_complete, seen.days[-1].in_use["episode"]) == (True, 7)


async def test_growth_goes_day_by_day_to_today(resources: Resources, clock: MovingClock) -> None:
    """Days without anything are there, too; what was before them counts as in use, what went out of use does not."""
    old = await remember.fact(resources, NewFact(subject="Anna", predicate="tea", content="green"))
    clock.move(days=3)
    await remember.fact(resources, NewFact(subject="Anna", predicate="tea", content="black"))
    await remember.rule(resources, NewRule(content="Offer tea"))
    clock.move(days=1)
    await forget.forget(resources, MemoryType.RULE, (await remember.rule(resources, NewRule(content="Offer cake"))).ref)
    found = (await days.growth(resources, days=3)).days
    today = clock().date()
    assert [one.day for one in found] == [today - timedelta(days=2), today - timedelta(days=1), today]
    assert [one.happened for one in found] == [{}, {"created": 2, "superseded": 1}, {"created": 1, "retracted": 1}]
    assert [(one.in_use["fact"], one.in_use["rule"]) for one in found] == [(1, 0), (1, 1), (1, 1)]
    assert old.outcome == "created"


async def test_a_day_is_shown_as_it_ended(resources: Resources, clock: MovingClock) -> None:
    """States then and now, what has happened since, and the first day there is."""
    start = clock().date()
    fact = await remember.fact(resources, NewFact(subject="Anna", predicate="tea", content="green"))
    clock.move(days=2)
    await forget.forget(resources, MemoryType.FACT, fact.ref)
    found = await days.standing(resources, start + timedelta(days=1))
    assert found.then["fact"] == {"active": 1} and found.now["fact"] == {"retracted": 1}
    assert (found.since, found.first_day) == ({"retracted": 1}, start)
    assert found.moment == datetime.combine(start + timedelta(days=1), time.max, UTC)
    today = await days.standing(resources, clock().date())
    assert today.moment == clock() and today.then == today.now
    assert (await days.standing(resources, start - timedelta(days=1))).then["fact"] == {}


async def test_the_past_is_searched_and_compared_with_now(
    resources: Resources, clock: MovingClock, agent: Callable[..., Caller]
) -> None:
    """What was known on a day is found, also what is forgotten or deleted by now; what came later is not."""
    episode = await remember.episode(resources, NewEpisode(content="green tea was served", butler="health"))
    fact = await remember.fact(resources, NewFact(subject="Anna", predicate="tea", content="green tea", scope="health"))
    day = (await days.standing(resources, clock().date())).moment
    clock.move(days=1)
    await forget.forget(resources, MemoryType.FACT, fact.ref)
    await remember.fact(resources, NewFact(subject="Ben", predicate="tea", content="green tea"))
    clock.move(days=30)
    await sweep.sweep(resources)
    found = await days.search_then(resources, "green tea", day)
    assert {(one.hit.ref, one.hit.validity, now) for one, now in found.results} == {(fact.ref, "active", "retracted")}
    assert "1 episode of that time has been deleted" in found.degraded[0] and episode.ref
    with pytest.raises(PermissionDenied):
        await days.search_then(resources, "green tea", day, agent("health"))


async def test_an_agent_counts_what_it_may_see(
    resources: Resources, clock: MovingClock, agent: Callable[..., Caller], tenant: str
) -> None:
    """Global memories and its own butler's; the past and a new count are for those who govern."""
    for scope in ("global", "health", "coder"):
        await remember.fact(resources, NewFact(subject="Anna", predicate="tea", content="green", scope=scope))
    for name in ("health", "coder", "coder"):
        await remember.episode(resources, NewEpisode(content="slept badly", butler=name))
    seen = {
        who.principal.butler: (await days.growth(resources, who)).days[-1]
        for who in (agent("health"), Caller(Principal(tenant, "coder", Role.READER)), resources.local_caller())
    }
    assert {name: Counter(day.in_use) for name, day in seen.items()} == {
        "health": Counter(fact=2, episode=1, rule=0),
        "coder": Counter(fact=2, episode=2, rule=0),
        "main": Counter(fact=3, episode=3, rule=0),
    }
    assert [day.happened["created"] for day in seen.values()] == [3, 4, 6]
    for refused in (
        days.standing(resources, clock().date(), agent("health")),
        days.rebuild(resources, agent("health")),
    ):
        with pytest.raises(PermissionDenied):
            await refused
    with pytest.raises(InvalidInput, match="future"):
        await days.standing(resources, clock().date() + timedelta(days=1))


async def test_nothing_is_counted_where_nothing_is(resources: Resources) -> None:
    """A tenant that nobody has written to has days without anything, and nothing to count anew."""
    assert [dict(one.happened) for one in (await days.growth(resources, days=2)).days] == [{}, {}]
    assert await days.rebuild(resources) == 0


async def test_counts_that_went_wrong_are_made_anew_by_a_command(
    resources: Resources, tenant: str, owner: Connection, command: Callable[..., Result]
) -> None:
    """`memory-butler recount` needs nothing but the log."""
    await remember.fact(resources, NewFact(subject="Anna", predicate="tea", content="green"))
    await days.catch_up(resources, tenant)
    owner.execute("UPDATE memory.daily_counts SET events = 7 WHERE tenant_id = %s", (tenant,))
    assert not same(owner, tenant)
    said = await asyncio.to_thread(command, "recount")
    assert (said.exit_code, said.stdout) == (0, "Counted 1 event.\n")
    assert same(owner, tenant)
    assert json.loads((await asyncio.to_thread(command, "recount", "--json")).stdout) == {"counted": 1}


@pytest.mark.parametrize(("given", "day"), [("2026-03-31", date(2026, 3, 31)), ("31.3.", None), ("", None)])
def test_a_day_is_written_one_way(given: str, day: date | None) -> None:
    """As in an address; anything else is refused."""
    if day:
        assert days.parse_day(given) == day
    else:
        with pytest.raises(InvalidInput):
            days.parse_day(given)
