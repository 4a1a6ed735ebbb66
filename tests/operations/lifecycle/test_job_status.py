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
from tests.conftest import START, MovingClock
from tests.operations.conftest import Rows

from memory_butler.errors import IntegrityViolation, PermissionDenied
from memory_butler.models import Caller, NewEpisode, NewRule, Principal, Role
from memory_butler.operations.lifecycle import job_status
from memory_butler.operations.lifecycle.cleanup import cleanup
from memory_butler.operations.lifecycle.job_status import FAILED, SUCCEEDED, shard_of
from memory_butler.operations.retrieval import reembedding
from memory_butler.operations.writing import remember
from memory_butler.policy.lifecycle.schedule import JobState
from memory_butler.resources import Resources
from memory_butler.store.retrieval import embedding_versions

DAY = timedelta(days=1)
CADENCES = {"consolidation": timedelta(hours=6), "sweep": DAY, "cleanup": DAY}


@pytest.fixture
async def shard(resources: Resources, tenant: str) -> Caller:
    """The shard of a butler that has stored something."""
    await remember.rule(resources, NewRule(content="Be brief."))
    return shard_of(tenant, "main")


async def run(resources: Resources, shard: Caller, job: str, outcome: str = SUCCEEDED, **report: Any) -> None:
    begun = await job_status.begin(resources, shard, job, CADENCES[job])
    assert begun is not None
    assert await job_status.finish(resources, shard, begun, outcome, report)


async def clean_up(resources: Resources, shard: Caller) -> dict[str, Any]:
    begun = await job_status.begin(resources, shard, "cleanup", DAY)
    assert begun is not None
    report = await cleanup(resources, shard)
    assert await job_status.finish(resources, shard, begun, SUCCEEDED, report)
    return report


async def test_a_shard_is_there_from_its_first_memory_on(resources: Resources, tenant: str, shard: Caller) -> None:
    """Every job is due for every butler that has stored something, in the order of the timetable."""
    assert tenant in await job_status.tenants(resources)
    assert await job_status.due(resources, tenant, CADENCES) == [("main", job) for job in CADENCES]
    await remember.episode(resources, NewEpisode(content="Arrived.", butler="helper"))
    assert [name for name, _ in await job_status.due(resources, tenant, CADENCES)] == ["helper"] * 3 + ["main"] * 3


async def test_standings_page_by_page(resources: Resources, tenant: str, shard: Caller, clock: MovingClock) -> None:
    """A page says of each job what the whole list says of it, however small the pages are."""
    await remember.episode(resources, NewEpisode(content="Arrived.", butler="helper"))
    await run(resources, shard, "sweep", FAILED, error="No room.")
    clock.move(days=1)
    await run(resources, shard, "cleanup")
    found, cursor = [], None
    while True:
        page = await job_status.listed(resources, limit=2, cursor=cursor)
        found += page.items
        if (cursor := page.cursor) is None:
            break
    assert tuple(found) == await job_status.statuses(resources)
    assert len(found) == 6 and {one.failures for one in found} == {0, 1}
    reader = Caller(Principal(tenant, "main", Role.READER))
    with pytest.raises(PermissionDenied):
        await job_status.listed(resources, reader)


async def test_the_store_finds_those_that_need_a_look(
    resources: Resources, tenant: str, owner: psycopg.Connection[Any], clock: MovingClock
) -> None:
    """Over all kinds of histories it judges each job as the policy does; and a part is the beginning of the whole."""
    chance = random.Random(7)
    for number in range(30):
        name = f"b{number:02}"
        await remember.episode(resources, NewEpisode(content="Arrived.", butler=name))
        began = clock.now
        for job in CADENCES:
            at = began
            for last in [False] * chance.randrange(4) + [True] * chance.randrange(2):
                outcome: str | None = chance.choice([SUCCEEDED, FAILED, FAILED])
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
    badness, seen = list(JobState), set()
    for minutes in (0, 10, 14, 3, 100, 600, 700, 1500):
        clock.move(minutes=minutes)
        found = await job_status.worst(resources, limit=90)
        by_job = {job: number for number, job in enumerate(resources.settings.upkeep.intervals())}
        whole = sorted(
            await job_status.statuses(resources),
            key=lambda one: (-badness.index(one.status), one.butler, by_job[one.job]),
        )
        assert list(found.jobs) == whole
        assert (found.total, found.unwell) == (90, sum(one.status != "ok" for one in whole))
        few = await job_status.worst(resources, limit=7)
        assert (few.jobs, few.total, few.unwell) == (found.jobs[:7], found.total, found.unwell)
        late = [one for one in whole if one.status != "ok" and (one.status != "never" or one.overdue_seconds)]
        async with resources.database.read(tenant) as transaction:
            said = await job_status.late(transaction, resources.settings.upkeep.intervals(), clock.now)
        assert {(one.job, one.status): one.butlers for one in said} == Counter((one.job, one.status) for one in late)
        for one in said:
            assert one.first == min(x.butler for x in late if (x.job, x.status) == (one.job, one.status))
        seen |= {one.status for one in whole}
    assert seen == set(JobState)


async def test_a_new_embedding_model_does_not_wait_a_day_for_the_cleanup(
    resources: Resources, tenant: str, shard: Caller, clock: MovingClock
) -> None:
    """In every tenant what another model embedded is embedded anew by a cleanup that is due at once; also after going
    back to an earlier model, and by one butler's cleanup for all of them."""
    await remember.episode(resources, NewEpisode(content="Arrived.", butler="helper"))
    helper, only = shard_of(tenant, "helper"), {"cleanup": DAY}
    for one in (shard, helper):
        await clean_up(resources, one)
        clock.move(minutes=5)
    other = await embedding_versions.ensure(
        resources.database, tenant, resources.embedder.version, 1002, resources.clock()
    )
    for version in (other, resources.embedding_version, other):
        reopened = replace(resources, embedding_version=version)
        await reembedding.note_use(reopened, choose=True)
        assert await job_status.due(reopened, tenant, only) == [("helper", "cleanup")]
        clock.move(seconds=10)
        assert (await clean_up(reopened, helper))["reembedded"] == 2
        clock.move(hours=1)
        assert await job_status.due(reopened, tenant, only) == []


async def test_two_models_in_use_do_not_take_turns_all_day(
    resources: Resources, tenant: str, shard: Caller, clock: MovingClock
) -> None:
    """Only the one that was chosen last re-embeds; while its cleanup is under way, none is due."""
    await clean_up(resources, shard)
    clock.move(hours=1)
    other = await embedding_versions.ensure(
        resources.database, tenant, resources.embedder.version, 1003, resources.clock()
    )
    stays, comes = (replace(resources, embedding_version=one) for one in (resources.embedding_version, other))
    begun = await job_status.begin(comes, shard, "cleanup", DAY)
    assert begun and await job_status.due(comes, tenant, {"cleanup": DAY}) == []
    await job_status.finish(comes, shard, begun, SUCCEEDED, await cleanup(comes, shard))
    clock.move(hours=1)
    await remember.rule(stays, NewRule(content="Be kind."))
    assert await job_status.due(stays, tenant, {"cleanup": DAY}) == []
    assert await job_status.due(comes, tenant, {"cleanup": DAY}) == [("main", "cleanup")]


async def test_a_run_is_on_record_from_its_beginning(
    resources: Resources, shard: Caller, rows: Rows, clock: MovingClock
) -> None:
    """Open while it runs, then with its end, its outcome and its report; what has run is not due."""
    begun = await job_status.begin(resources, shard, "sweep", DAY)
    (open_run,) = rows("job_runs")
    assert begun and (open_run["id"], open_run["finished_at"], open_run["outcome"]) == (begun.id, None, None)
    clock.move(seconds=90)
    assert await job_status.finish(resources, shard, begun, SUCCEEDED, {"changed": 3})
    (done,) = rows("job_runs")
    assert (done["started_at"], done["finished_at"]) == (START, START + timedelta(seconds=90))
    assert (done["job"], done["butler"], done["outcome"], done["report"]) == (
        "sweep",
        "main",
        SUCCEEDED,
        {"changed": 3},
    )
    assert ("main", "sweep") not in await job_status.due(resources, shard.principal.tenant, CADENCES)
    assert await job_status.begin(resources, shard, "sweep", DAY) is None


async def test_a_run_whose_worker_was_lost_is_closed_by_the_next(
    resources: Resources, shard: Caller, rows: Rows
) -> None:
    """It failed for a reason not its own, so the job runs again at once; the old worker's end comes too late."""
    lost = await job_status.begin(resources, shard, "sweep", DAY)
    again = await job_status.begin(resources, shard, "sweep", DAY)
    assert lost and again and lost != again
    states = {row["id"]: (row["outcome"], row["report"]) for row in rows("job_runs")}
    assert states == {lost.id: (FAILED, {"error": "The worker was lost.", "cut_short": True}), again.id: (None, {})}
    assert not await job_status.finish(resources, shard, lost, SUCCEEDED, {})
    assert await job_status.finish(resources, shard, again, SUCCEEDED, {})
    assert {row["outcome"] for row in rows("job_runs") if row["id"] == lost.id} == {FAILED}


async def test_a_job_that_kills_its_workers_is_not_tried_without_end(
    resources: Resources, shard: Caller, clock: MovingClock
) -> None:
    """Lost once, it runs again at once; lost again, it has to wait like any other that fails."""
    assert await job_status.begin(resources, shard, "sweep", DAY)
    assert await job_status.begin(resources, shard, "sweep", DAY)
    assert await job_status.begin(resources, shard, "sweep", DAY) is None
    clock.move(minutes=10)
    assert await job_status.begin(resources, shard, "sweep", DAY)


async def test_the_database_allows_one_open_run_a_shard(
    resources: Resources, shard: Caller, rows: Rows, owner: Any
) -> None:
    """Whatever goes wrong in the queue, two jobs of a shard are never on record as running together."""
    await job_status.begin(resources, shard, "sweep", DAY)
    with pytest.raises(IntegrityViolation):
        async with resources.database.unlocked_write(shard.principal.tenant) as transaction:
            now = resources.clock()
            await transaction.send("job_runs.start", id=resources.make_id(now), job="cleanup", butler="main", now=now)
    assert len(rows("job_runs")) == 1


async def test_a_clock_that_is_set_back_does_not_spoil_the_record(
    resources: Resources, shard: Caller, rows: Rows, clock: MovingClock
) -> None:
    """A run that seems to end before it began ends when it began."""
    begun = await job_status.begin(resources, shard, "sweep", DAY)
    clock.move(hours=-1)
    assert begun and await job_status.finish(resources, shard, begun, SUCCEEDED, {})
    assert {row["finished_at"] for row in rows("job_runs")} == {START}


async def test_how_the_jobs_stand(resources: Resources, shard: Caller, clock: MovingClock) -> None:
    """Never, well, overdue, failing: with the last run, the next one, how long it took and how often it failed."""
    await run(resources, shard, "consolidation", note="no distiller is installed")
    for _ in range(2):
        await run(resources, shard, "cleanup", FAILED, error="The cupboard is locked.")
        clock.move(minutes=10)
    stands = {one.job: one for one in await job_status.statuses(resources)}
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
    late = next(one for one in await job_status.statuses(resources) if one.job == "consolidation")
    assert (str(late.status), late.overdue_seconds) == ("overdue", (3 * 60 + 20) * 60)


async def test_a_job_that_runs_is_shown_as_running(resources: Resources, shard: Caller) -> None:
    """Between its beginning and its end."""
    await job_status.begin(resources, shard, "sweep", DAY)
    stands = {one.job: one for one in await job_status.statuses(resources)}
    assert (stands["sweep"].outcome, stands["sweep"].seconds, str(stands["sweep"].status)) == ("running", None, "ok")


async def test_in_short_the_worst_of_all_butlers_is_said(
    resources: Resources, shard: Caller, clock: MovingClock
) -> None:
    """The latest run of any butler and the earliest next one; but one butler in trouble is trouble."""
    await run(resources, shard, "sweep")
    clock.move(hours=2)
    await remember.episode(resources, NewEpisode(content="Arrived.", butler="helper"))
    await run(resources, shard_of(shard.principal.tenant, "helper"), "sweep", FAILED, error="No.")
    clock.move(minutes=4)
    short = await job_status.status_summary(resources)
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
    resources: Resources, shard: Caller, agent: Callable[..., Caller]
) -> None:
    """They name the other butlers."""
    for asked in (job_status.statuses, job_status.worst):
        with pytest.raises(PermissionDenied):
            await asked(resources, agent("health"))


async def test_other_tenants_are_not_seen(resources: Resources, shard: Caller) -> None:
    """Neither their butlers nor their runs."""
    assert await job_status.statuses(resources, shard_of("somebody-else", "main")) == ()
    assert await job_status.worst(resources, shard_of("somebody-else", "main")) == job_status.WorstJobs()
    assert await job_status.begin(resources, shard_of("somebody-else", "main"), "sweep", DAY) is None
