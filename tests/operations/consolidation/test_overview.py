"""The ledger of consolidation, what runs came to, and distilling because a person asks for it."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.conftest import MovingClock
from tests.support.distillers import Scripted, of_each, proposal, say, with_distiller

from memory_butler.errors import DistillerUnavailable, PermissionDenied, Unprocessable
from memory_butler.models import Caller, NewEpisode, RunReport, Usage
from memory_butler.operations.browse import butlers, listings
from memory_butler.operations.consolidation import consolidate, overview, review
from memory_butler.operations.consolidation.run_now import consolidate_now
from memory_butler.operations.history import undo
from memory_butler.operations.lifecycle import job_status
from memory_butler.operations.lifecycle.job_status import shard_of
from memory_butler.operations.system import alerts
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources

COST = Usage(input_tokens=900, output_tokens=100, cost_microdollars=20_000)


async def test_the_ledger_says_what_waits_and_since_when(resources: Resources, clock: MovingClock) -> None:
    """Butler by butler, the oldest first, and whether somebody's turn has come."""
    began = clock.now
    await say(resources, "I live in Lisbon.", "I like tea.")
    await remember.episode(resources, NewEpisode(content="The oven is broken.", butler="home"))
    seen = await overview.overview(resources)
    assert {one.butler: one.waiting for one in seen.backlogs} == {"home": 1, "main": 2}
    assert (seen.waiting, seen.oldest, seen.butlers) == (3, began, ("home", "main"))
    assert (seen.distiller, seen.works_by_itself) == ("built-in", True)
    assert seen.is_due
    await consolidate_now(resources)
    await say(resources, "I like figs.")
    later = await overview.overview(resources)
    assert later.next_run is not None and not later.is_due
    clock.now = later.next_run
    assert (await overview.overview(resources)).is_due


async def test_the_ledger_says_what_each_day_cost(resources: Resources, clock: MovingClock, tenant: str) -> None:
    """Thirty days that end with today; tokens and dollars of the runs that began on each, beside the budget."""
    dear = with_distiller(resources, Scripted(of_each(), usage=COST), daily_tokens=5_000, daily_dollars=1.0)
    for content in ("I like tea.", "I like coffee."):
        await say(dear, content)
        await consolidate.run_once(dear, shard_of(tenant, "main"))
        clock.move(days=1)
    seen = await overview.overview(dear)
    assert len(seen.days) == overview.DAYS
    assert [(day.runs, day.tokens, day.dollars) for day in seen.days[-4:]] == [
        (0, 0, 0.0),
        (1, 1000, 0.02),
        (1, 1000, 0.02),
        (0, 0, 0.0),
    ]
    assert seen.days[-1].day == clock.now.replace(hour=0, second=0)
    assert (seen.daily_tokens, seen.daily_dollars) == (5_000, 1.0)


async def test_open_ends_are_counted(resources: Resources, tenant: str) -> None:
    """Proposals that await a decision and episodes that were given up; both are out of the backlog. What waits is the
    same to whoever counts it."""
    bad = with_distiller(resources, Scripted(lambda batch: Unprocessable("It cannot be read.")))
    await say(bad, "unreadable")
    await consolidate.run_once(bad, shard_of(tenant, "main"))
    asked = with_distiller(resources, Scripted(of_each()), review=True)
    await say(asked, "I like tea.")
    await consolidate.run_once(asked, shard_of(tenant, "main"))
    seen = await overview.overview(asked)
    assert (seen.dead_letters, seen.proposals, seen.claimed, seen.waiting) == (1, 1, 0, 0)
    await say(asked, "I like figs.", "I like plums.")
    line = (await alerts.alerts(asked)).line
    [one] = await butlers.butler_summaries(asked)
    assert (line.waiting, line.deciding, line.given_up) == (one.waiting, one.deciding, one.stuck) == (2, 1, 1)
    assert ((await overview.overview(asked)).waiting, (await overview.overview(asked)).oldest) == (2, line.oldest)


async def test_what_runs_came_to(resources: Resources, tenant: str) -> None:
    """Counts of outcomes for each run, and whether something of it was taken back."""
    told = with_distiller(resources, Scripted(of_each(), proposal(), of_each(predicate="two words")))
    runs = []
    for content in ("I like tea.", "Hello.", "I like coffee."):
        await say(told, content)
        report = await consolidate.run_once(told, shard_of(tenant, "main"))
        assert report
        runs.append(report.run)
    await undo.undo(told, runs[0])
    came = await overview.run_outcomes(told, runs)
    assert [came[run].outcomes for run in runs[:2]] == [{"created": 1}, {}]
    assert [came[run].undone for run in runs] == [True, False, False]
    assert sum(came[runs[2]].outcomes.values()) == 1


async def test_the_ledger_is_for_administrators(resources: Resources, agent: Callable[..., Caller]) -> None:
    """Nobody else sees it, nor may have everything distilled."""
    for ask in (
        overview.overview(resources, agent()),
        overview.run_outcomes(resources, [], agent()),
        consolidate_now(resources, agent()),
    ):
        with pytest.raises(PermissionDenied, match="may not use"):
            await ask


async def test_everybodys_backlog_is_distilled_in_the_name_of_who_asks(resources: Resources, tenant: str) -> None:
    """Whatever waits of any butler; the run is on record as the job's, and the person is named with the changes."""
    told = with_distiller(resources, Scripted(of_each()))
    await say(told, "I like tea.", "I like figs.")
    await remember.episode(told, NewEpisode(content="The oven is broken.", butler="home"))
    caller = told.local_caller()
    robin = replace(caller, principal=replace(caller.principal, name="Robin"))
    seen: list[RunReport] = []
    reports = await consolidate_now(told, robin, progress=seen.append)
    assert reports == seen and [report.butler for report in reports] == ["home", "main"]
    assert (await overview.overview(told)).waiting == 0
    jobs = [one for one in await job_status.statuses(told) if one.job == "consolidation"]
    assert [(one.butler, one.outcome) for one in jobs] == [("home", "succeeded"), ("main", "succeeded")]
    line = (await review.get_run(told, str(reports[0].run))).lines[0]
    assert line.memory
    history = await listings.history(told, "fact", line.memory)
    assert [one.event.actor for one in history.items] == ["Robin"]


async def test_a_limit_holds_over_all_butlers_and_trouble_ends_it(resources: Resources) -> None:
    """At most so many episodes; what was done before something went wrong stays."""
    told = with_distiller(resources, Scripted(of_each()), batch=1)
    await say(told, "I like tea.", "I like figs.", "I like nuts.")
    assert [len(report.episodes) for report in await consolidate_now(told, limit=2)] == [1, 1]
    gone = with_distiller(resources, Scripted(lambda batch: DistillerUnavailable("Nobody is there.")))
    with pytest.raises(DistillerUnavailable):
        await consolidate_now(gone)
    assert (await overview.overview(told)).waiting == 1


async def test_only_the_butlers_that_one_may_ask_as_are_offered(
    resources: Resources, agent: Callable[..., Caller]
) -> None:
    """An administrator any that has stored something, an agent itself; where nobody has, one's own."""
    own = resources.local_caller().principal.butler
    assert await listings.butlers(resources) == (own,)
    await remember.episode(resources, NewEpisode(content="The oven is broken.", butler="home"))
    assert await listings.butlers(resources) == ("home",)
    assert await listings.butlers(resources, agent("garden")) == ("garden",)
