"""Episodes that are distilled out of order: what was said last stays the current value."""

from datetime import datetime, timedelta

import pytest
from tests.conftest import MovingClock
from tests.support.distillers import Answer, Connection, Scripted, cites, episode, facts_of, say, with_distiller

from memory_butler.errors import UnusableProposal
from memory_butler.models import Batch, Caller, ItemResult, NewFact
from memory_butler.operations.consolidation import consolidate, review
from memory_butler.operations.history import replay
from memory_butler.operations.history.undo import undo as take_back
from memory_butler.operations.lifecycle import sweep
from memory_butler.operations.lifecycle.job_status import shard_of
from memory_butler.operations.retrieval import get
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources


@pytest.fixture
def shard(tenant: str) -> Caller:
    return shard_of(tenant, "main")


def homes(batch: Batch) -> list[dict[str, object]]:
    """Where each episode says that the user lives."""
    return [
        cites(one.ref, subject="user", predicate="lives_in", content=batch.texts[one.id].rstrip(".").split()[-1])
        for one in batch.episodes
    ]


def told(batch: Batch) -> object:
    return {"version": 1, "facts": homes(batch)}


def told_backwards(batch: Batch) -> object:
    return {"version": 1, "facts": homes(batch)[::-1]}


def stumbling_over(word: str, times: int) -> Answer:
    """A distiller that fails whenever it reads this word, so many times."""
    left = times

    def answer(batch: Batch) -> object:
        nonlocal left
        if left and any(word in text for text in batch.texts.values()):
            left -= 1
            return UnusableProposal("The answer was blank.")
        return told(batch)

    return answer


def outcomes(lines: tuple[ItemResult, ...]) -> list[tuple[str, str | None]]:
    return [(line.outcome, line.reason) for line in lines]


async def homes_of(resources: Resources, owner: Connection) -> list[tuple[str, str]]:
    return [(row[2], row[3]) for row in await facts_of(resources, owner)]


async def test_an_episode_that_was_set_back_does_not_undo_what_was_said_since(
    resources: Resources, shard: Caller, clock: MovingClock, owner: Connection
) -> None:
    """It failed twice alone while a later one went on: the later value stays, and the run's record says why."""
    scripted = with_distiller(resources, Scripted(stumbling_over("Lisbon", 2)))
    (early,) = await say(resources, "I live in Lisbon.")
    assert [run.state for run in await consolidate.consolidate(scripted, shard)] == ["failed"]
    (late,) = await say(resources, "I live in Porto.")
    assert [run.state for run in await consolidate.consolidate(scripted, shard)] == ["applied"]
    clock.move(hours=1)
    assert [run.state for run in await consolidate.consolidate(scripted, shard)] == ["failed"]
    clock.move(hours=1)
    [done] = await consolidate.consolidate(scripted, shard)
    assert outcomes(done.lines) == [("refused", "newer_known")]
    kept = await review.get_run(resources, str(done.run))
    (row,) = await facts_of(resources, owner)
    assert (row[2], row[3]) == ("Porto", "active")
    assert outcomes(kept.lines) == outcomes(done.lines)
    assert kept.lines[0].said == done.lines[0].said
    assert str(done.lines[0].said).startswith("It was said on 2026-03-01 at 09:00 UTC; fact:")
    assert [(await episode(resources, ref)).consolidation_status for ref in (early, late)] == ["consolidated"] * 2
    assert (await replay.replay(resources)).equal


async def test_an_update_that_is_late_is_refused_too(resources: Resources, shard: Caller, clock: MovingClock) -> None:
    """Whoever names the fact to be updated says no more than when it was said."""
    (ref,) = await say(resources, "I live in Lisbon.")
    known = await remember.fact(resources, NewFact(subject="user", predicate="lives_in", content="Porto"))
    clock.move(hours=1)

    def answer(batch: Batch) -> object:
        return {"version": 1, "updates": [cites(ref, target=f"fact:{known.ref}", content="Lisbon")]}

    late = with_distiller(resources, Scripted(answer, wants_known=True))
    [done] = await consolidate.consolidate(late, shard)
    assert outcomes(done.lines) == [("refused", "newer_known")]


async def test_items_in_any_order_leave_the_last_word(resources: Resources, shard: Caller, owner: Connection) -> None:
    """Also within one proposal."""
    await say(resources, "I live in Lisbon.", "I live in Porto.", "I live in Braga.")
    [done] = await consolidate.consolidate(with_distiller(resources, Scripted(told_backwards)), shard)
    assert outcomes(done.lines) == [("created", None), ("refused", "newer_known"), ("refused", "newer_known")]
    assert await homes_of(resources, owner) == [("Braga", "active")]


@pytest.mark.parametrize(
    ("observed_hours_ago", "current"), [(40 * 24, "Porto"), (30 * 24 + 1, "Porto"), (30 * 24 - 1, "Lisbon")]
)
async def test_a_fact_speaks_for_its_episode_when_that_is_gone(
    resources: Resources, shard: Caller, clock: MovingClock, owner: Connection, *, observed_hours_ago: int, current: str
) -> None:
    """Told a month ago and written down days after that: what was observed before is history, what came after is
    news, even if the fact did not exist yet."""
    await say(resources, "I live in Porto.")
    clock.move(days=2)
    scripted = with_distiller(resources, Scripted(told))
    await consolidate.consolidate(scripted, shard)
    clock.move(days=28, seconds=-1)
    assert (await sweep.sweep(resources, shard)).changed
    await say(resources, "I live in Lisbon.", observed_at=clock() - timedelta(hours=observed_hours_ago))
    await consolidate.consolidate(scripted, shard)
    assert [content for content, state in await homes_of(resources, owner) if state == "active"] == [current]


async def test_a_clock_that_runs_ahead_does_not_have_the_last_word(
    resources: Resources, shard: Caller, clock: MovingClock, owner: Connection
) -> None:
    """An episode from the future speaks for the moment it was stored, and can be superseded after it."""
    scripted = with_distiller(resources, Scripted(told))
    ahead: datetime = clock() + timedelta(days=3650)
    await say(resources, "I live in Porto.", observed_at=ahead)
    await consolidate.consolidate(scripted, shard)
    await say(resources, "I live in Lisbon.")
    await consolidate.consolidate(scripted, shard)
    assert await homes_of(resources, owner) == [("Porto", "superseded"), ("Lisbon", "active")]


async def test_a_confirmation_makes_a_fact_speak_for_its_time(
    resources: Resources, shard: Caller, clock: MovingClock, owner: Connection
) -> None:
    """Porto, later Porto again: what was said in between and comes last changes nothing."""
    scripted = with_distiller(resources, Scripted(told))
    between = clock() + timedelta(hours=1)
    await say(resources, "I live in Porto.")
    await consolidate.consolidate(scripted, shard)
    clock.move(hours=2)
    await say(resources, "I still live in Porto.")
    await consolidate.consolidate(scripted, shard)
    await say(resources, "I live in Lisbon.", observed_at=between)
    [done] = await consolidate.consolidate(scripted, shard)
    assert outcomes(done.lines) == [("refused", "newer_known")]
    assert await homes_of(resources, owner) == [("Porto", "active")]


async def test_who_comes_back_is_back(resources: Resources, shard: Caller, owner: Connection) -> None:
    """Porto, Lisbon, Porto again in one batch: the last word counts although it was said before, and can be undone."""
    await say(resources, "I live in Porto.", "I live in Lisbon.", "I live in Porto.")
    [done] = await consolidate.consolidate(with_distiller(resources, Scripted(told)), shard)
    assert [line.outcome for line in done.lines] == ["created", "superseded", "superseded"]
    before = [("Porto", "superseded"), ("Lisbon", "superseded"), ("Porto", "active")]
    assert await homes_of(resources, owner) == before
    assert (await replay.replay(resources)).equal
    await take_back(resources, str(done.run))
    assert {state for _, state in await homes_of(resources, owner)} == {"retracted"}


async def test_what_two_episodes_say_has_both_as_evidence(
    resources: Resources, shard: Caller, owner: Connection
) -> None:
    """The second confirms what the first made, in the same run; undone, nothing is left of it."""
    await say(resources, "I live in Porto.", "I live in Porto.")
    [done] = await consolidate.consolidate(with_distiller(resources, Scripted(told)), shard)
    assert [line.outcome for line in done.lines] == ["created", "confirmed"]
    portrait = await get.get(resources, "fact", str(done.lines[0].memory).partition(":")[2])
    assert [str(link.relation) for link in portrait.links] == ["derived_from", "derived_from"]
    await take_back(resources, str(done.run))
    assert await homes_of(resources, owner) == [("Porto", "retracted")]
    assert (await replay.replay(resources)).equal
