"""Upkeep's books: what is due, what ran, and how it stands."""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg.types.json import Jsonb

from memory_butler.butler import Butler
from memory_butler.errors import IntegrityViolation, PermissionDenied
from memory_butler.models import Caller, NewEpisode, NewRule, Principal, Role
from memory_butler.operations import remember, upkeep
from memory_butler.operations.housekeeping import cleanup
from memory_butler.operations.upkeep import FAILED, SUCCEEDED, shard_of
from memory_butler.policy.schedule import Standing
from memory_butler.store import embedding_versions

from ..conftest import START, MovingClock
from .conftest import Rows

DAY = timedelta(days=1)
CADENCES = {"consolidation": timedelta(hours=6), "sweep": DAY, "cleanup": DAY}


@pytest.fixture
async def shard(butler: Butler, tenant: str) -> Caller:
    """The shard of a butler that has stored something."""
    await remember.rule(butler, NewRule(content="Be brief."))
    return shard_of(tenant, "main")


async def run(butler: Butler, shard: Caller, job: str, outcome: str = SUCCEEDED, **report: Any) -> None:
    begun = await upkeep.begin(butler, shard, job, CADENCES[job])
    assert begun is not None
    assert await upkeep.finish(butler, shard, begun, outcome, report)


async def clean_up(butler: Butler, shard: Caller) -> dict[str, Any]:
    begun = await upkeep.begin(butler, shard, "cleanup", DAY)
    assert begun is not None
    report = await cleanup(butler, shard)
    assert await upkeep.finish(butler, shard, begun, SUCCEEDED, report)
    return report


async def test_a_shard_is_there_from_its_first_memory_on(butler: Butler, tenant: str, shard: Caller) -> None:
    """Every job is due for every butler that has stored something, in the order of the timetable."""
    assert tenant in await upkeep.tenants(butler)
    assert await upkeep.due(butler, tenant, CADENCES) == [("main", job) for job in CADENCES]
    await remember.episode(butler, NewEpisode(content="Arrived.", butler="helper"))
    assert [name for name, _ in await upkeep.due(butler, tenant, CADENCES)] == ["helper"] * 3 + ["main"] * 3


async def test_standings_page_by_page(butler: Butler, tenant: str, shard: Caller, clock: MovingClock) -> None:
    """A page says of each job what the whole list says of it, however small the pages are."""
    await remember.episode(butler, NewEpisode(content="Arrived.", butler="helper"))
    await run(butler, shard, "sweep", FAILED, error="No room.")
    clock.move(days=1)
    await run(butler, shard, "cleanup")
    found, cursor = [], None
    while True:
        page = await upkeep.listed(butler, limit=2, cursor=cursor)
        found += page.items
        if (cursor := page.cursor) is None:
            break
    assert tuple(found) == await upkeep.standings(butler)
    assert len(found) == 6 and {one.failures for one in found} == {0, 1}
    reader = Caller(Principal(tenant, "main", Role.READER))
    with pytest.raises(PermissionDenied):
        await upkeep.listed(butler, reader)


async def test_the_store_finds_those_that_need_a_look(
    butler: Butler, tenant: str, owner: psycopg.Connection[Any], clock: MovingClock
) -> None:
    """Over all kinds of histories it judges each job as the policy does; and a part is the beginning of the whole."""
    chance = random.Random(7)
    for number in range(30):
        name = f"b{number:02}"
        await remember.episode(butler, NewEpisode(content="Arrived.", butler=name))
        began = clock.now
        for job in CADENCES:
            at = began
            for last in [False] * chance.randrange(4) + [True] * chance.randrange(2):
                outcome = chance.choice([SUCCEEDED, FAILED, FAILED])
                if last and job == "sweep" and chance.random() < 0.5:
                    outcome = None
                ended = at + timedelta(minutes=chance.randrange(9)) if outcome else None
                report = {"cut_short": True} if outcome == FAILED and chance.random() < 0.4 else {}
                owner.execute(
                    "INSERT INTO memory.job_runs (tenant_id, id, job, butler, started_at, finished_at, outcome, report)"
                    " VALUES (%s, %s, %s, %s, %s, %s, %s, %s)",
                    (tenant, uuid4(), job, name, at, ended, outcome, Jsonb(report)),
                )
                at += timedelta(minutes=chance.randrange(10, 300))
    badness, seen = list(Standing), set()
    for minutes in (0, 10, 14, 3, 100, 600, 700, 1500):
        clock.move(minutes=minutes)
        found = await upkeep.worst(butler, limit=90)
        by_job = {job: number for number, job in enumerate(butler.settings.upkeep.cadences())}
        whole = sorted(
            await upkeep.standings(butler),
            key=lambda one: (-badness.index(one.status), one.butler, by_job[one.job]),
        )
        assert list(found.jobs) == whole
        assert (found.total, found.unwell) == (90, sum(one.status != "ok" for one in whole))
        few = await upkeep.worst(butler, limit=7)
        assert (few.jobs, few.total, few.unwell) == (found.jobs[:7], found.total, found.unwell)
        late = [one for one in whole if one.status != "ok" and (one.status != "never" or one.overdue_seconds)]
        async with butler.database.read(tenant) as session:
            said = await upkeep.late(session, butler.settings.upkeep.cadences(), clock.now)
        assert {(one.job, one.status): one.butlers for one in said} == Counter((one.job, one.status) for one in late)
        for one in said:
            assert one.first == min(x.butler for x in late if (x.job, x.status) == (one.job, one.status))
        seen |= {one.status for one in whole}
    assert seen == set(Standing)


async def test_a_new_embedding_model_does_not_wait_a_day_for_the_cleanup(
    butler: Butler, tenant: str, shard: Caller, clock: MovingClock
) -> None:
    """In every tenant what another model indexed is indexed anew by a cleanup that is due at once; also after going
    back to an earlier model, and by one butler's cleanup for all of them."""
    await remember.episode(butler, NewEpisode(content="Arrived.", butler="helper"))
    helper, only = shard_of(tenant, "helper"), {"cleanup": DAY}
    for one in (shard, helper):
        await clean_up(butler, one)
        clock.move(minutes=5)
    other = await embedding_versions.ensure(butler.database, tenant, butler.embedder.version, 1002, butler.clock())
    for version in (other, butler.embedding_version, other):
        reopened = replace(butler, embedding_version=version, opened_at=clock.now)
        assert await upkeep.due(reopened, tenant, only) == [("helper", "cleanup")]
        clock.move(seconds=10)
        assert (await clean_up(reopened, helper))["reindexed"] == 2
        clock.move(hours=1)
        assert await upkeep.due(reopened, tenant, only) == []


async def test_two_models_in_use_do_not_take_turns_all_day(
    butler: Butler, tenant: str, shard: Caller, clock: MovingClock
) -> None:
    """A cleanup that another process made since this one was opened is let be; so is one that is under way."""
    await clean_up(butler, shard)
    clock.move(hours=1)
    other = await embedding_versions.ensure(butler.database, tenant, butler.embedder.version, 1003, butler.clock())
    stays, comes = (
        replace(butler, embedding_version=one, opened_at=clock.now) for one in (butler.embedding_version, other)
    )
    begun = await upkeep.begin(comes, shard, "cleanup", DAY)
    assert begun and await upkeep.due(comes, tenant, {"cleanup": DAY}) == []
    await upkeep.finish(comes, shard, begun, SUCCEEDED, await cleanup(comes, shard))
    clock.move(hours=1)
    assert await upkeep.due(stays, tenant, {"cleanup": DAY}) == []


async def test_a_run_is_on_record_from_its_beginning(
    butler: Butler, shard: Caller, rows: Rows, clock: MovingClock
) -> None:
    """Open while it runs, then with its end, its outcome and its report; what has run is not due."""
    begun = await upkeep.begin(butler, shard, "sweep", DAY)
    (open_run,) = rows("job_runs")
    assert begun and (open_run["id"], open_run["finished_at"], open_run["outcome"]) == (begun, None, None)
    clock.move(seconds=90)
    assert await upkeep.finish(butler, shard, begun, SUCCEEDED, {"changed": 3})
    (done,) = rows("job_runs")
    assert (done["started_at"], done["finished_at"]) == (START, START + timedelta(seconds=90))
    assert (done["job"], done["butler"], done["outcome"], done["report"]) == (
        "sweep",
        "main",
        SUCCEEDED,
        {"changed": 3},
    )
    assert ("main", "sweep") not in await upkeep.due(butler, shard.principal.tenant, CADENCES)
    assert await upkeep.begin(butler, shard, "sweep", DAY) is None


async def test_a_run_whose_worker_was_lost_is_closed_by_the_next(butler: Butler, shard: Caller, rows: Rows) -> None:
    """It failed for a reason not its own, so the job runs again at once; the old worker's end comes too late."""
    lost = await upkeep.begin(butler, shard, "sweep", DAY)
    again = await upkeep.begin(butler, shard, "sweep", DAY)
    assert lost and again and lost != again
    states = {row["id"]: (row["outcome"], row["report"]) for row in rows("job_runs")}
    assert states == {lost: (FAILED, {"error": "The worker was lost.", "cut_short": True}), again: (None, {})}
    assert not await upkeep.finish(butler, shard, lost, SUCCEEDED, {})
    assert await upkeep.finish(butler, shard, again, SUCCEEDED, {})
    assert {row["outcome"] for row in rows("job_runs") if row["id"] == lost} == {FAILED}


async def test_a_job_that_kills_its_workers_is_not_tried_without_end(
    butler: Butler, shard: Caller, clock: MovingClock
) -> None:
    """Lost once, it runs again at once; lost again, it has to wait like any other that fails."""
    assert await upkeep.begin(butler, shard, "sweep", DAY)
    assert await upkeep.begin(butler, shard, "sweep", DAY)
    assert await upkeep.begin(butler, shard, "sweep", DAY) is None
    clock.move(minutes=10)
    assert await upkeep.begin(butler, shard, "sweep", DAY)


async def test_the_database_allows_one_open_run_a_shard(butler: Butler, shard: Caller, rows: Rows, owner: Any) -> None:
    """Whatever goes wrong in the queue, two jobs of a shard are never on record as running together."""
    await upkeep.begin(butler, shard, "sweep", DAY)
    with pytest.raises(IntegrityViolation):
        async with butler.database.aside(shard.principal.tenant) as session:
            now = butler.clock()
            await session.send("job_runs.start", id=butler.make_id(now), job="cleanup", butler="main", now=now)
    assert len(rows("job_runs")) == 1


async def test_a_clock_that_is_set_back_does_not_spoil_the_record(
    butler: Butler, shard: Caller, rows: Rows, clock: MovingClock
) -> None:
    """A run that seems to end before it began ends when it began."""
    begun = await upkeep.begin(butler, shard, "sweep", DAY)
    clock.move(hours=-1)
    assert begun and await upkeep.finish(butler, shard, begun, SUCCEEDED, {})
    assert {row["finished_at"] for row in rows("job_runs")} == {START}


async def test_how_the_jobs_stand(butler: Butler, shard: Caller, clock: MovingClock) -> None:
    """Never, well, overdue, failing: with the last run, the next one, how long it took and how often it failed."""
    await run(butler, shard, "consolidation", note="no distiller is installed")
    for _ in range(2):
        await run(butler, shard, "cleanup", FAILED, error="The cupboard is locked.")
        clock.move(minutes=10)
    stands = {one.job: one for one in await upkeep.standings(butler)}
    assert {job: str(one.status) for job, one in stands.items()} == {
        "consolidation": "ok",
        "sweep": "never",
        "cleanup": "failing",
    }
    assert (stands["sweep"].last_run, stands["sweep"].outcome, stands["sweep"].next_run) == (None, None, START)
    assert stands["sweep"].overdue_seconds == 20 * 60
    assert (stands["cleanup"].failures, stands["cleanup"].note) == (2, "The cupboard is locked.")
    assert stands["cleanup"].next_run == START + timedelta(minutes=20)
    assert (stands["consolidation"].last_run, stands["consolidation"].seconds) == (START, 0)
    assert (stands["consolidation"].note, stands["consolidation"].overdue_seconds) == (
        "no distiller is installed",
        None,
    )
    clock.move(hours=9)
    late = next(one for one in await upkeep.standings(butler) if one.job == "consolidation")
    assert (str(late.status), late.overdue_seconds) == ("overdue", (3 * 60 + 20) * 60)


async def test_a_job_that_runs_is_shown_as_running(butler: Butler, shard: Caller) -> None:
    """Between its beginning and its end."""
    await upkeep.begin(butler, shard, "sweep", DAY)
    stands = {one.job: one for one in await upkeep.standings(butler)}
    assert (stands["sweep"].outcome, stands["sweep"].seconds, str(stands["sweep"].status)) == ("running", None, "ok")


async def test_in_short_the_worst_of_all_butlers_is_said(butler: Butler, shard: Caller, clock: MovingClock) -> None:
    """The latest run of any butler and the earliest next one; but one butler in trouble is trouble."""
    await run(butler, shard, "sweep")
    clock.move(hours=2)
    await remember.episode(butler, NewEpisode(content="Arrived.", butler="helper"))
    await run(butler, shard_of(shard.principal.tenant, "helper"), "sweep", FAILED, error="No.")
    clock.move(minutes=4)
    short = await upkeep.standings_in_short(butler)
    assert short["sweep"] == {
        "last_run": (START + timedelta(hours=2)).isoformat(),
        "outcome": "failed",
        "status": "failing",
        "next_run": (START + timedelta(hours=2, minutes=5)).isoformat(),
        "note": "No.",
    }
    assert short["cleanup"] == {
        "last_run": "never",
        "status": "never",
        "next_run": START.isoformat(),
        "overdue_hours": 2.1,
    }


async def test_only_an_administrator_sees_every_butlers_jobs(
    butler: Butler, shard: Caller, agent: Callable[..., Caller]
) -> None:
    """They name the other butlers."""
    for asked in (upkeep.standings, upkeep.worst):
        with pytest.raises(PermissionDenied):
            await asked(butler, agent("health"))


async def test_other_tenants_are_not_seen(butler: Butler, shard: Caller) -> None:
    """Neither their butlers nor their runs."""
    assert await upkeep.standings(butler, shard_of("somebody-else", "main")) == ()
    assert await upkeep.worst(butler, shard_of("somebody-else", "main")) == upkeep.Worst()
    assert await upkeep.begin(butler, shard_of("somebody-else", "main"), "sweep", DAY) is None
