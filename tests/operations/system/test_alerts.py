"""What somebody should look at: that it is named when it is so, and not when it is not."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from tests.conftest import MovingClock

from memory_butler.models import Caller, MemoryType, NewEpisode, NewFact, NewRule, Outcome
from memory_butler.operations.consolidation.run_now import consolidate_now
from memory_butler.operations.lifecycle import job_status, sweep
from memory_butler.operations.retrieval.get import get
from memory_butler.operations.system.alerts import SHOWN, alerts
from memory_butler.operations.system.stats import stats
from memory_butler.operations.writing import feedback, pin, remember
from memory_butler.resources import Resources
from memory_butler.settings import ButlerSettings

Connection = psycopg.Connection[tuple[Any, ...]]


async def store(resources: Resources, name: str, importance: int, scope: str = "global") -> str:
    new = NewFact(subject=name, predicate="p", content=name, importance=importance, permanence="volatile", scope=scope)
    return (await remember.fact(resources, new)).ref


async def test_a_new_store_needs_no_attention(resources: Resources) -> None:
    """Nothing is late, stuck or fading where something was stored a moment ago."""
    await store(resources, "Anna", 9)
    found = await alerts(resources)
    assert (found.fading, found.warnings, found.jobs) == ((), (), ())
    assert found.dead_letters.count == found.proposals.count == 0


async def test_important_facts_are_named_before_they_fade(resources: Resources, clock: MovingClock) -> None:
    """A week before, the most important first; not what is unimportant, pinned or confirmed, nor what has expired."""
    refs = {
        name: await store(resources, name, size) for name, size in [("a", 7), ("b", 9), ("c", 6), ("d", 8), ("e", 8)]
    }
    await pin.pin(resources, MemoryType.FACT, refs["d"])
    fades = timedelta(days=53.648)
    clock.now += fades - timedelta(days=7.5)
    assert (await alerts(resources)).fading == ()
    clock.move(days=1)
    await feedback.confirm(resources, MemoryType.FACT, refs["e"])
    found = await alerts(resources)
    assert [(one.fact.ref, one.fact.importance) for one in found.fading] == [(refs["b"], 9), (refs["a"], 7)]
    assert found.fading_total == 2
    assert found.fading[0].fades_at and abs(found.fading[0].fades_at - clock() - timedelta(days=6.5)).days < 1
    clock.move(days=10)
    await sweep.sweep(resources)
    assert [one.fact.validity for one in (await alerts(resources)).fading] == ["fading", "fading"]
    clock.move(days=60)
    await sweep.sweep(resources)
    assert refs["b"] not in {one.fact.ref for one in (await alerts(resources)).fading}


async def test_of_many_the_first_are_shown_and_all_are_counted(
    resources: Resources, clock: MovingClock, agent: Callable[..., Caller]
) -> None:
    """An agent counts those that it may see."""
    for number in range(SHOWN + 2):
        await store(resources, f"s{number}", 8, "health" if number else "coder")
    clock.move(days=50)
    found = await alerts(resources)
    assert (len(found.fading), found.fading_total) == (SHOWN, SHOWN + 2)
    assert (await alerts(resources, agent("health"))).fading_total == SHOWN + 1
    assert (await alerts(resources, agent("coder"))).fading_total == 1


async def test_a_rule_that_became_a_warning_is_news_for_a_while(
    resources: Resources, clock: MovingClock, agent: Callable[..., Caller]
) -> None:
    """From the report that made it one, for two weeks; not before, and not for those who may not see the rule."""
    rule = await remember.rule(resources, NewRule(content="Wake them at five", scope="health"))
    for number in range(3):
        assert (await alerts(resources)).warnings_total == 0
        clock.move(days=1)
        await feedback.mark(resources, rule.ref, Outcome.HARMFUL, reason=f"tired {number}")
    turned = clock()
    clock.move(days=3)
    await feedback.mark(resources, rule.ref, Outcome.HARMFUL, reason="still tired")
    found = await alerts(resources)
    assert [(one.rule.ref, one.since) for one in found.warnings] == [(rule.ref, turned)]
    assert (await alerts(resources, agent("health"))).warnings_total == 1
    assert (await alerts(resources, agent("coder"))).warnings_total == 0
    clock.move(days=12)
    assert (await alerts(resources)).warnings == ()


async def test_many_marks_of_one_session_are_shown(
    resources: Resources, clock: MovingClock, agent: Callable[..., Caller]
) -> None:
    """Three within an hour are a burst; spread over days or over sessions they are not."""
    refs = [(await remember.rule(resources, NewRule(content=f"Rule {name}"))).ref for name in ("a", "b", "c")]
    for number in range(4):
        clock.move(minutes=5)
        await feedback.mark(resources, refs[0], Outcome.HARMFUL, agent("coder", session_id="s1"))
        await feedback.mark(resources, refs[1], Outcome.HELPFUL, agent("coder", session_id=f"s{number}"))
    last = clock()
    for _ in range(4):
        clock.move(hours=5)
        await feedback.mark(resources, refs[2], Outcome.HELPFUL, agent("coder", session_id="s1"))
    found = await alerts(resources)
    (burst,) = found.bursts
    assert (burst.rule.ref, burst.outcome, burst.butler, burst.marks, burst.at) == (
        refs[0],
        Outcome.HARMFUL,
        "coder",
        4,
        last,
    )
    assert found.bursts_total == 1
    clock.move(days=15)
    assert (await alerts(resources)).bursts == ()


async def test_those_who_govern_hear_of_what_is_stuck_late_or_undecided(
    resources: Resources, clock: MovingClock, agent: Callable[..., Caller], owner: Connection, tenant: str
) -> None:
    """Dead letters and proposals with the oldest, jobs that never ran or failed; agents hear of none of it."""
    episode = await remember.episode(resources, NewEpisode(content="garbled", butler="main"))
    owner.execute(
        "UPDATE memory.episodes SET consolidation_status = 'dead_letter' WHERE tenant_id = %s AND id = %s",
        (tenant, episode.id),
    )
    owner.execute(
        "INSERT INTO memory.consolidation_runs"
        " (tenant_id, id, butler, distiller, state, claimed_at, lease_until, episodes)"
        " VALUES (%s, %s, 'main', 'none', 'waiting', %s, %s, 1)",
        (tenant, uuid4(), clock(), clock()),
    )
    stored = clock()
    clock.move(hours=2)
    found = await alerts(resources)
    assert (found.dead_letters.count, found.dead_letters.oldest) == (1, stored)
    assert (found.proposals.count, found.proposals.oldest) == (1, stored)
    assert {(one.job, one.status) for one in found.jobs} == {(name, "never") for name in jobs_of(resources)}
    assert {one.butler for one in found.jobs} == {"main"}
    nothing = await alerts(resources, agent("main"))
    assert (nothing.dead_letters.count, nothing.proposals.count, nothing.jobs) == (0, 0, ())
    for name in jobs_of(resources):
        await job_status.put_on_record(resources, job_status.shard_of(tenant, "main"), name, clock(), {})
    assert (await alerts(resources)).jobs == ()
    for name in ("ada", "bob"):
        await remember.episode(resources, NewEpisode(content="came by", butler=name))
    clock.move(hours=1)
    assert {(one.job, one.butler) for one in (await alerts(resources)).jobs} == {
        (name, "2 butlers") for name in jobs_of(resources)
    }


def jobs_of(resources: Resources) -> list[str]:
    return list(resources.settings.upkeep.intervals())


@pytest.mark.parametrize("importance", [6, 7])
async def test_seven_is_important(resources: Resources, clock: MovingClock, importance: int) -> None:
    """The border is where it is said to be."""
    await store(resources, "Anna", importance)
    clock.move(days=50)
    assert (await alerts(resources)).fading_total == (importance == 7)


async def test_important_episodes_are_named_before_they_expire_unkept(resources: Resources, clock: MovingClock) -> None:
    """Two days before: one that gave nothing, one that waits; not an unimportant, pinned or kept one."""
    kept = await remember.episode(resources, NewEpisode(content="I live in Lisbon.", butler="main", importance=8))
    empty = await remember.episode(resources, NewEpisode(content="thanks a lot for that", butler="main", importance=9))
    await consolidate_now(resources)
    waits = await remember.episode(resources, NewEpisode(content="We met Ana.", butler="main", importance=7))
    await remember.episode(resources, NewEpisode(content="ok", butler="main", importance=6))
    pinned = await remember.episode(resources, NewEpisode(content="Keep this.", butler="main", importance=9))
    await pin.pin(resources, MemoryType.EPISODE, pinned.ref)
    clock.move(days=4.9)
    assert (await alerts(resources)).expiring == ()
    clock.move(days=0.2)
    found = await alerts(resources)
    assert [one.ref for one in found.expiring] == [empty.ref, waits.ref]
    assert (found.expiring_total, kept.ref in {one.ref for one in found.expiring}) == (2, False)
    figures = (await stats(resources))["expiring_unkept"]
    assert figures["episodes"] == 2
    assert (figures["next"][0]["ref"], figures["next"][0]["words"]) == (f"episode:{empty.ref}", "thanks a lot for that")


async def test_an_episode_in_use_is_named_unless_it_is_kept_beyond_its_time(
    resources: Resources, clock: MovingClock
) -> None:
    """References make an unimportant episode important; while it waits for consolidation they keep it anyway."""
    used = await remember.episode(resources, NewEpisode(content="thanks a lot for that", butler="main", importance=3))
    for _ in range(3):
        await get(resources, "episode", used.ref)
    clock.move(days=6)
    assert (await alerts(resources)).expiring == ()
    await consolidate_now(resources)
    assert [one.ref for one in (await alerts(resources)).expiring] == [used.ref]


async def test_each_butler_is_warned_by_its_own_settings(
    resources: Resources, clock: MovingClock, agent: Callable[..., Caller]
) -> None:
    """0 days switch the warning off; a butler sees only its own episodes."""
    for butler in ("main", "coder", "quiet"):
        await remember.episode(resources, NewEpisode(content="We met Ana.", butler=butler, importance=5))
    early = ButlerSettings(lifecycle={"eden": {"warn_importance": 5, "warn_days": 6}})
    never = ButlerSettings(lifecycle={"eden": {"warn_importance": 5, "warn_days": 0}})
    changed = resources.settings.model_copy(update={"butlers": {"coder": early, "quiet": never}})
    own = replace(resources, settings=changed)
    clock.move(days=2)
    assert [one.butler for one in (await alerts(own)).expiring] == ["coder"]
    assert (await alerts(own, agent("main"))).expiring_total == 0
    clock.move(days=4)
    assert [one.butler for one in (await alerts(own)).expiring] == ["coder"]
