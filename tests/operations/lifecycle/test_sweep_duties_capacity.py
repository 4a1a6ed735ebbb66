"""What a sweep lets go of for lack of time or room: expired episodes, a full Eden, over-full and stale tiers."""

from datetime import timedelta
from typing import Any

import psycopg
import pytest
from tests.support.sweeping import Life, contents, with_lifecycle

from memory_butler.models import NewFact, Stored
from memory_butler.operations.history.replay import replay
from memory_butler.operations.lifecycle import sweep_duties
from memory_butler.operations.lifecycle.sweep import Progress, SweepReport, sweep
from memory_butler.operations.retrieval import get
from memory_butler.operations.writing import feedback, forget, pin, remember
from memory_butler.policy.lifecycle.sweep import Duty
from memory_butler.resources import Resources

JUST = timedelta(microseconds=1)


@pytest.fixture
def life(resources: Resources, clock: Any, owner: psycopg.Connection[Any]) -> Life:
    return Life(resources, clock, owner)


async def swept(life: Life, **tiers: Any) -> dict[Duty, dict[str, int]]:
    report: SweepReport = await sweep(with_lifecycle(life.resources, **tiers))
    return {duty.duty: duty.outcomes for shard in report.shards for duty in shard.duties if duty.changed}


# --- episodes ----------------------------------------------------------------------


async def test_an_episode_is_deleted_when_its_time_is_over(life: Life) -> None:
    """At the moment its days are over, and not a microsecond earlier; what is left is a trace without a word."""
    episode = await life.episode("a whale")
    other = await life.episode("a shark")
    await life.refer([episode, other], 2)
    source = NewFact(subject="w", predicate="seen", content="yes", source_episode=episode.ref)
    fact = await remember.fact(life.resources, source, life.caller())
    await pin.pin(life.resources, "episode", other.ref)
    life.clock.move(days=7)
    life.clock.now -= JUST
    assert await swept(life) == {}
    life.clock.now += JUST
    assert await swept(life) == {Duty.DELETE: {"expired": 1}}
    assert life.validity(episode, other) == ["deleted", "active"]

    [grave] = life.owner.execute(
        "SELECT episode_id, ref, butler, deleted_at, reason FROM memory.episode_tombstones WHERE tenant_id = %s",
        (life.tenant,),
    ).fetchall()
    assert grave == (episode.id, episode.ref, "main", life.clock(), "expired")
    found = contents(life)
    assert [name for name, rows in found.items() if any(str(episode.id) in row for row in rows)] == [
        "episode_tombstones",
        "facts",
        "memory_links",
        "memory_events",
    ]
    assert not any("whale" in row for rows in found.values() for row in rows)
    documents = life.owner.execute(
        "SELECT documents FROM memory.tenants WHERE tenant_id = %s", (life.tenant,)
    ).fetchone()
    assert documents == (2,)
    [link] = (await get.get(life.resources, "fact", fact.ref)).links
    assert link.availability == "expired"
    event = life.history(episode)[-1]
    assert (event["event_type"], event["payload"]["tombstone"]["episode_id"]) == ("episode.deleted", str(episode.id))
    report = await replay(life.resources)
    assert report.equal, report
    assert report.removed_texts == ()


async def test_an_episode_that_is_used_waits_for_its_consolidation(life: Life) -> None:
    """Three references keep it past its time until it is consolidated; two do not, and a forgotten one goes anyway."""
    often, rarely, done, forgotten = [await life.episode(name) for name in ("often", "rarely", "done", "forgotten")]
    await life.refer([often, done, forgotten], 3)
    await life.refer([rarely], 2)
    await life.consolidate(done)
    await forget.forget(life.resources, "episode", forgotten.ref)
    life.clock.move(days=30)
    assert await swept(life) == {Duty.DELETE: {"expired": 3}}
    assert life.validity(often, rarely, done, forgotten) == ["active", "deleted", "deleted", "deleted"]
    assert await swept(life, eden={"protected_from": 4}) == {Duty.DELETE: {"expired": 1}}
    assert (await replay(life.resources)).equal


async def test_a_full_eden_lets_the_oldest_consolidated_go(life: Life) -> None:
    """Exactly full is not too full; over it the oldest consolidated go, never a pinned or an unconsolidated one."""
    episodes: list[Stored] = []
    for number in range(6):
        episodes.append(await life.episode(f"number {number}"))
        life.clock.move(minutes=1)
    await life.consolidate(*episodes[1:5])
    await pin.pin(life.resources, "episode", episodes[1].ref)
    assert await swept(life, eden={"capacity": 6}) == {}
    assert await swept(life, eden={"capacity": 5}) == {Duty.EDEN: {"capacity": 1}}
    assert life.validity(*episodes) == ["active", "active", "deleted", "active", "active", "active"]
    assert life.history(episodes[2])[-1]["payload"]["tombstone"]["reason"] == "capacity"
    assert await swept(life, eden={"capacity": 1}) == {Duty.EDEN: {"capacity": 2}}
    assert life.validity(*episodes) == ["active", "active", "deleted", "deleted", "deleted", "active"]
    assert (await replay(life.resources)).equal


# --- mid and long ----------------------------------------------------------------------


async def test_an_over_full_tier_evicts_the_least_recently_used(life: Life) -> None:
    """Facts and rules together, oldest use first, to expired; exactly full is not too full; the other tier is not
    touched; what goes is still there to be brought back."""
    memories = [await life.fact("a"), await life.rule("b"), await life.fact("c"), await life.rule("d")]
    long = await life.fact("long", "stable")
    for memory in (memories[1], memories[0]):
        life.clock.move(hours=1)
        await life.refer([memory])
    assert await swept(life, mid={"capacity": 4}) == {}
    assert await swept(life, mid={"capacity": 2}) == {Duty.MID: {"capacity": 2}}
    assert life.validity(*memories, long) == ["active", "active", "expired", "expired", "active"]
    assert life.history(memories[2])[-1]["payload"]["cause"] == "capacity"
    assert await swept(life, mid={"capacity": 1}) == {Duty.MID: {"capacity": 1}}
    assert life.validity(*memories, long) == ["active", "expired", "expired", "expired", "active"]
    assert (await replay(life.resources)).equal


async def test_what_matters_is_not_evicted(life: Life) -> None:
    """Permanent facts, proven rules, warnings and whatever is pinned stay, however full the tier is."""
    kept = [await life.fact("forever", "permanent"), await life.rule("warning", harmful=3)]
    kept.append(await life.rule("proven", helpful=15))
    for memory in (await life.fact("pinned"), await life.rule("pinned")):
        await pin.pin(life.resources, memory.type, memory.ref)
        kept.append(memory)
    life.clock.move(days=30)
    go = [await life.fact("a", "stable"), await life.rule("b", helpful=5), await life.fact("c"), await life.rule("d")]
    found = await swept(life, mid={"capacity": 1}, long={"capacity": 1})
    assert found == {Duty.MATURE: {"promoted": 1}, Duty.MID: {"capacity": 2}, Duty.LONG: {"capacity": 2}}
    assert life.validity(*kept) == ["active"] * 5
    assert life.validity(*go) == ["expired"] * 4


async def test_what_is_stale_is_evicted_though_there_is_room(life: Life) -> None:
    """At the very day; a reference or a confirmation since then keeps it, and what matters is never stale."""
    stale, used, confirmed, forever = [
        await life.fact(name, kind)
        for name, kind in (("a", "stable"), ("b", "stable"), ("c", "stable"), ("d", "permanent"))
    ]
    life.clock.move(hours=1)
    await life.refer([used])
    await feedback.confirm(life.resources, "fact", confirmed.ref)
    life.clock.move(hours=-1, days=100)
    life.clock.now -= JUST
    long = {"capacity": 100, "stale_after_days": 100}
    assert await swept(life, long=long) == {}
    life.clock.now += JUST
    assert await swept(life, long=long) == {Duty.LONG: {"stale": 1}}
    assert life.history(stale)[-1]["payload"]["cause"] == "stale"
    assert life.validity(stale, used, confirmed, forever) == ["expired", "active", "active", "active"]
    life.clock.move(hours=1)
    assert await swept(life, long=long) == {Duty.LONG: {"stale": 2}}


async def test_the_stale_are_the_first_to_make_room(life: Life) -> None:
    """Two stale ones and two too many are two that go, not four; a third that goes for room says so."""
    facts = [await life.fact(name, "stable") for name in "ab"]
    life.clock.move(days=60)
    facts += [await life.fact(name, "stable") for name in "cde"]
    life.clock.move(days=50)
    long = {"stale_after_days": 100}
    assert await swept(life, long={**long, "capacity": 3}) == {Duty.LONG: {"stale": 2}}
    for fact in facts[:2]:
        life.owner.execute(
            "UPDATE memory.facts SET validity = 'active' WHERE tenant_id = %s AND id = %s", (life.tenant, fact.id)
        )
    assert await swept(life, long={**long, "capacity": 2}) == {Duty.LONG: {"stale": 2, "capacity": 1}}


async def test_what_was_brought_back_is_not_evicted_the_next_morning(life: Life) -> None:
    """A fact that was evicted and is confirmed to be wanted is the most recent of all; another one goes."""
    facts = [await life.fact(f"fact {number}") for number in range(3)]
    mid = {"capacity": 2}
    await swept(life, mid=mid)
    [gone] = [fact for fact in facts if life.validity(fact) == ["expired"]]
    life.clock.move(days=1)
    life.owner.execute(
        "UPDATE memory.facts SET validity = 'active', last_confirmed_at = %s WHERE tenant_id = %s AND id = %s",
        (life.clock(), life.tenant, gone.id),
    )
    await swept(life, mid=mid)
    assert life.validity(gone) == ["active"]
    assert sorted(life.validity(*facts)) == ["active", "active", "expired"]


async def test_what_is_used_while_it_is_being_chosen_stays(life: Life, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chosen as one of the least recently used, referred to before its turn came: it is looked at again and kept."""
    facts = []
    for number in range(3):
        facts.append(await life.fact(f"fact {number}"))
        life.clock.move(minutes=1)
    monkeypatch.setattr(sweep_duties, "CHANGED", 1)

    def meanwhile(step: Progress) -> None:
        if step.duty is Duty.MID and step.changed == 1:
            life.owner.execute(
                "UPDATE memory.facts SET last_referenced_at = %s WHERE tenant_id = %s AND id = %s",
                (life.clock(), life.tenant, facts[1].id),
            )

    await sweep(with_lifecycle(life.resources, mid={"capacity": 1}), progress=meanwhile)
    assert life.validity(*facts) == ["expired", "active", "active"]
