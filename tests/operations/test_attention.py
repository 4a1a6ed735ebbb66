"""What somebody should look at: that it is named when it is so, and not when it is not."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from tests.conftest import MovingClock

from memory_butler.butler import Butler
from memory_butler.models import Caller, MemoryType, NewEpisode, NewFact, NewRule, Outcome
from memory_butler.operations import judge, pin, remember, sweep, upkeep
from memory_butler.operations.attention import SHOWN, attention

Connection = psycopg.Connection[tuple[Any, ...]]


async def store(butler: Butler, name: str, importance: int, scope: str = "global") -> str:
    new = NewFact(subject=name, predicate="p", content=name, importance=importance, permanence="volatile", scope=scope)
    return (await remember.fact(butler, new)).ref


async def test_a_new_store_needs_no_attention(butler: Butler) -> None:
    """Nothing is late, stuck or fading where something was stored a moment ago."""
    await store(butler, "Anna", 9)
    found = await attention(butler)
    assert (found.fading, found.warnings, found.jobs) == ((), (), ())
    assert found.given_up.count == found.proposals.count == 0


async def test_important_facts_are_named_before_they_fade(butler: Butler, clock: MovingClock) -> None:
    """A week before, the most important first; not what is unimportant, pinned or confirmed, nor what has expired."""
    refs = {name: await store(butler, name, size) for name, size in [("a", 7), ("b", 9), ("c", 6), ("d", 8), ("e", 8)]}
    await pin.pin(butler, MemoryType.FACT, refs["d"])
    fades = timedelta(days=53.648)
    clock.now += fades - timedelta(days=7.5)
    assert (await attention(butler)).fading == ()
    clock.move(days=1)
    await judge.confirm(butler, MemoryType.FACT, refs["e"])
    found = await attention(butler)
    assert [(one.fact.ref, one.fact.importance) for one in found.fading] == [(refs["b"], 9), (refs["a"], 7)]
    assert found.fading_total == 2
    assert found.fading[0].fades_at and abs(found.fading[0].fades_at - clock() - timedelta(days=6.5)).days < 1
    clock.move(days=10)
    await sweep.sweep(butler)
    assert [one.fact.validity for one in (await attention(butler)).fading] == ["fading", "fading"]
    clock.move(days=60)
    await sweep.sweep(butler)
    assert refs["b"] not in {one.fact.ref for one in (await attention(butler)).fading}


async def test_of_many_the_first_are_shown_and_all_are_counted(
    butler: Butler, clock: MovingClock, agent: Callable[..., Caller]
) -> None:
    """An agent counts those that it may see."""
    for number in range(SHOWN + 2):
        await store(butler, f"s{number}", 8, "health" if number else "coder")
    clock.move(days=50)
    found = await attention(butler)
    assert (len(found.fading), found.fading_total) == (SHOWN, SHOWN + 2)
    assert (await attention(butler, agent("health"))).fading_total == SHOWN + 1
    assert (await attention(butler, agent("coder"))).fading_total == 1


async def test_a_rule_that_became_a_warning_is_news_for_a_while(
    butler: Butler, clock: MovingClock, agent: Callable[..., Caller]
) -> None:
    """From the report that made it one, for two weeks; not before, and not for those who may not see the rule."""
    rule = await remember.rule(butler, NewRule(content="Wake them at five", scope="health"))
    for number in range(3):
        assert (await attention(butler)).warnings_total == 0
        clock.move(days=1)
        await judge.mark(butler, rule.ref, Outcome.HARMFUL, reason=f"tired {number}")
    turned = clock()
    clock.move(days=3)
    await judge.mark(butler, rule.ref, Outcome.HARMFUL, reason="still tired")
    found = await attention(butler)
    assert [(one.rule.ref, one.since) for one in found.warnings] == [(rule.ref, turned)]
    assert (await attention(butler, agent("health"))).warnings_total == 1
    assert (await attention(butler, agent("coder"))).warnings_total == 0
    clock.move(days=12)
    assert (await attention(butler)).warnings == ()


async def test_those_who_govern_hear_of_what_is_stuck_late_or_undecided(
    butler: Butler, clock: MovingClock, agent: Callable[..., Caller], owner: Connection, tenant: str
) -> None:
    """Dead letters and proposals with the oldest, jobs that never ran or failed; agents hear of none of it."""
    episode = await remember.episode(butler, NewEpisode(content="garbled", butler="main"))
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
    found = await attention(butler)
    assert (found.given_up.count, found.given_up.oldest) == (1, stored)
    assert (found.proposals.count, found.proposals.oldest) == (1, stored)
    assert {(one.job, one.status) for one in found.jobs} == {(name, "never") for name in jobs_of(butler)}
    assert {one.butler for one in found.jobs} == {"main"}
    nothing = await attention(butler, agent("main"))
    assert (nothing.given_up.count, nothing.proposals.count, nothing.jobs) == (0, 0, ())
    for name in jobs_of(butler):
        await upkeep.put_on_record(butler, upkeep.shard_of(tenant, "main"), name, clock(), {})
    assert (await attention(butler)).jobs == ()
    for name in ("ada", "bob"):
        await remember.episode(butler, NewEpisode(content="came by", butler=name))
    clock.move(hours=1)
    assert {(one.job, one.butler) for one in (await attention(butler)).jobs} == {
        (name, "2 butlers") for name in jobs_of(butler)
    }


def jobs_of(butler: Butler) -> list[str]:
    return list(butler.settings.upkeep.cadences())


@pytest.mark.parametrize("importance", [6, 7])
async def test_seven_is_important(butler: Butler, clock: MovingClock, importance: int) -> None:
    """The border is where it is said to be."""
    await store(butler, "Anna", importance)
    clock.move(days=50)
    assert (await attention(butler)).fading_total == (importance == 7)
