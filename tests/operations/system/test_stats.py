"""The report: how much is remembered, in which state, and whether upkeep keeps up."""

from collections.abc import Callable
from typing import Any

import pytest

from memory_butler.errors import InvalidInput, PermissionDenied
from memory_butler.models import Caller, NewEpisode, NewFact, NewRule, Outcome
from memory_butler.operations.system.stats import stats
from memory_butler.operations.writing import feedback, forget, remember
from memory_butler.resources import Resources

Everything = Callable[[], dict[str, list[str]]]


async def stock(resources: Resources, clock: Any) -> None:
    for n, permanence in enumerate(("permanent", "stable", "standard", "ephemeral")):
        await remember.fact(
            resources, NewFact(subject="u", predicate=f"p{n}", content=f"fact {n}", permanence=permanence)
        )
    await remember.fact(resources, NewFact(subject="u", predicate="p2", content="another value"))
    await remember.fact(resources, NewFact(subject="u", predicate="own", content="mine", scope="health"))
    good = await remember.rule(resources, NewRule(content="good"))
    bad = await remember.rule(resources, NewRule(content="bad"))
    gone = await remember.rule(resources, NewRule(content="gone"))
    for _ in range(5):
        await feedback.mark(resources, good.ref, Outcome.HELPFUL)
    for _ in range(3):
        await feedback.mark(resources, bad.ref, Outcome.HARMFUL)
    await forget.forget(resources, "rule", gone.ref)
    await remember.episode(resources, NewEpisode(content="first", butler="health"))
    clock.move(hours=5)
    await remember.episode(resources, NewEpisode(content="second", butler="main"))


async def test_everything_is_counted(resources: Resources, clock: Any) -> None:
    """Counts by type and state, maturity, tier, backlog with its age, effectiveness."""
    await stock(resources, clock)
    found = await stats(resources)
    assert found["memories"] == {
        "episodes": {"active": 2},
        "facts": {"active": 5, "superseded": 1},
        "rules": {"active": 2, "retracted": 1},
    }
    assert found["rules_by_maturity"] == {"anti_pattern": 1, "established": 1}
    assert {tier: held["count"] for tier, held in found["tiers"].items()} == {"eden": 2, "mid": 4, "long": 3}
    assert found["episodes_by_consolidation"] == {"pending": 2}
    assert found["backlog"]["pending_episodes"] == 2
    assert found["backlog"]["oldest_age_hours"] == 5.0
    assert found["rule_effectiveness"] == {
        "rules_applied": 2,
        "helpful_marks": 5,
        "harmful_marks": 3,
        "mean_effectiveness": 0.5,
    }


async def test_confidence_is_shown_as_it_is_now(resources: Resources, clock: Any) -> None:
    """The distribution is of effective confidence, so it moves with the clock."""
    await stock(resources, clock)
    clock.move(days=20)
    counts = (await stats(resources))["fact_confidence"]
    assert counts == {"0.1-0.2": 1, "0.8-0.9": 2, "0.9-1.0": 2}


async def test_a_scope_is_counted_alone(resources: Resources, clock: Any, agent: Callable[..., Caller]) -> None:
    """One scope's facts and rules, that butler's episodes; another's scope is denied to an agent."""
    await stock(resources, clock)
    found = await stats(resources, "health", agent("health"))
    assert (found["scope"], found["memories"]["facts"], found["memories"]["episodes"]) == (
        "health",
        {"active": 1},
        {"active": 1},
    )
    with pytest.raises(PermissionDenied):
        await stats(resources, "finance", agent("health"))
    with pytest.raises(InvalidInput):
        await stats(resources, "no/slash")


async def test_a_duty_that_never_ran_says_never(resources: Resources, owner: Any, tenant: str, clock: Any) -> None:
    """Upkeep without a recorded run is named; a recorded one shows when it was, how it ended and when it is due."""
    await remember.rule(resources, NewRule(content="x"))
    jobs = (await stats(resources))["jobs"]
    assert {(run["last_run"], run["status"]) for run in jobs.values()} == {("never", "never")}
    for minute, outcome in ((1, "failed"), (2, "succeeded")):
        owner.execute(
            "INSERT INTO memory.job_runs (tenant_id, id, job, butler, started_at, finished_at, outcome, report)"
            " VALUES (%s, gen_random_uuid(), 'sweep', 'main', make_timestamptz(2026, 3, 1, 8, %s, 0, 'UTC'),"
            " make_timestamptz(2026, 3, 1, 8, %s, 30, 'UTC'), %s, '{}')",
            [tenant, minute, minute, outcome],
        )
    jobs = (await stats(resources))["jobs"]
    assert jobs["sweep"] == {
        "last_run": "2026-03-01T08:02:00+00:00",
        "outcome": "succeeded",
        "status": "ok",
        "next_run": "2026-03-02T08:02:00+00:00",
    }
    assert jobs["consolidation"]["last_run"] == "never"
    clock.move(days=2)
    late = (await stats(resources))["jobs"]["sweep"]
    assert (late["status"], late["overdue_hours"]) == ("overdue", 25.0)


async def test_a_report_changes_nothing_and_works_on_nothing(resources: Resources, everything: Everything) -> None:
    """An empty tenant has a report of zeros, and reading it stores nothing."""
    before = everything()
    found = await stats(resources)
    assert found["memories"] == {"episodes": {}, "facts": {}, "rules": {}}
    assert (found["events"], found["backlog"]["oldest_age_hours"]) == (0, None)
    assert found["rule_effectiveness"]["mean_effectiveness"] is None
    assert everything() == before


async def test_an_agent_counts_only_what_it_may_see(resources: Resources, agent: Callable[..., Caller]) -> None:
    """Global and its own scope, its own episodes; the whole tenant is for its administrator."""
    await remember.fact(resources, NewFact(subject="user", predicate="a", content="for all"))
    await remember.fact(resources, NewFact(subject="user", predicate="a", content="for money", scope="finance"))
    await remember.episode(resources, NewEpisode(content="Paid.", butler="finance"))
    seen = await stats(resources, None, agent("health"))
    assert seen["memories"]["facts"] == {"active": 1}
    assert seen["memories"]["episodes"] == {}
    assert seen["scope"] == "global and health"
    everything = await stats(resources)
    assert everything["memories"]["facts"] == {"active": 2}
    assert everything["memories"]["episodes"] == {"active": 1}
