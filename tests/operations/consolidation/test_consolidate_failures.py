"""When consolidation fails: what is tried again, what is given up, and that nothing is half done."""

import asyncio
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from tests.conftest import MovingClock
from tests.support.distillers import (
    Answer,
    Connection,
    Scripted,
    cites,
    episode,
    facts_of,
    of_each,
    proposal,
    say,
    with_distiller,
)

from memory_butler.ai.distillers.extraction_process import ExtractionProcess, ProcessDistiller
from memory_butler.errors import DistillerUnavailable, Unprocessable, UnusableProposal
from memory_butler.models import Batch, Caller, Usage
from memory_butler.operations.consolidation import consolidate, dead_letters, review
from memory_butler.operations.consolidation.claims import ClaimLost, claim_batch
from memory_butler.operations.history import replay
from memory_butler.operations.lifecycle.job_status import shard_of
from memory_butler.operations.system import stats as report
from memory_butler.operations.writing import forget
from memory_butler.resources import Resources


@pytest.fixture
def shard(tenant: str) -> Caller:
    return shard_of(tenant, "main")


BROKEN: dict[str, Answer] = {
    "of another batch": proposal(facts=[cites("zzzz", subject="user", predicate="likes:tea", content="tea")]),
    "blank": lambda batch: "",
    "no object": lambda batch: ["a", "list"],
    "no version": lambda batch: {"facts": []},
    "said to be unusable": lambda batch: UnusableProposal("The answer was blank."),
}


@pytest.mark.parametrize("how", BROKEN)
async def test_an_answer_that_cannot_be_used_is_no_success(
    resources: Resources, shard: Caller, clock: MovingClock, how: str
) -> None:
    """The episode stays pending with its error and waits longer each time; after five it is a dead letter."""
    (ref,) = await say(resources, "I live in Lisbon.")
    scripted = with_distiller(resources, Scripted(BROKEN[how]))
    waits: list[timedelta] = []
    for attempt in range(1, 6):
        [done] = await consolidate.consolidate(scripted, shard)
        assert (done.state, done.lines) == ("failed", ())
        seen = await episode(resources, ref)
        assert (seen.consolidation_attempts, bool(seen.last_consolidation_error)) == (attempt, True)
        if attempt < 5:
            assert seen.consolidation_status == "pending"
            assert seen.next_consolidation_retry_at
            waits.append(seen.next_consolidation_retry_at - clock())
            assert await consolidate.consolidate(scripted, shard) == []
            clock.now = seen.next_consolidation_retry_at
    assert seen.consolidation_status == "dead_letter"
    assert all(later > 1.2 * sooner for sooner, later in pairwise(waits))
    assert [one.ref for one in await dead_letters.dead_letters(resources)] == [ref]
    assert (await dead_letters.requeue(resources, [ref])).again == (ref,)
    told = Scripted(proposal(facts=[cites(ref, subject="user", predicate="lives_in", content="Lisbon")]))
    [done] = await consolidate.consolidate(with_distiller(resources, told), shard)
    assert (await episode(resources, ref)).consolidated


async def test_a_poisonous_episode_is_isolated(resources: Resources, shard: Caller, clock: MovingClock) -> None:
    """A batch that fails as a whole is tried in smaller parts at once, until only the poison is left over."""
    refs = await say(resources, *(f"Note number {number} is fine." for number in range(20)), "poison")

    def answer(batch: Batch) -> object:
        if any(text == "poison" for text in batch.texts.values()):
            return UnusableProposal("The answer was blank.")
        return {"version": 1}

    told = Scripted(answer)
    done = await consolidate.consolidate(with_distiller(resources, told), shard)
    assert {report.state for report in done} == {"applied", "failed"}
    states = [(await episode(resources, ref)).consolidation_status for ref in refs]
    assert states == ["consolidated"] * 20 + ["pending"]
    assert len(told.batches[0].episodes) == 21
    assert len(told.batches[-1].episodes) == 1


async def test_what_can_never_be_processed_fails_for_good(resources: Resources, shard: Caller) -> None:
    """Alone it is `failed` at once, and can be requeued like a dead letter."""
    (ref,) = await say(resources, "Far too long.")
    told = Scripted(lambda batch: Unprocessable("It is too long for the model."))
    await consolidate.consolidate(with_distiller(resources, told), shard)
    assert (await episode(resources, ref)).consolidation_status == "failed"
    assert (await dead_letters.requeue(resources, [ref])).again == (ref,)
    assert (await episode(resources, ref)).consolidation_status == "pending"


async def test_an_outage_is_no_fault_of_the_episodes(resources: Resources, shard: Caller) -> None:
    """The run fails and says why; no try is counted, and the episodes can be taken at once when it is over."""
    (ref,) = await say(resources, "I live in Lisbon.")
    down = with_distiller(resources, Scripted(lambda batch: DistillerUnavailable("The model does not answer.")))
    for _ in range(7):
        with pytest.raises(DistillerUnavailable):
            await consolidate.consolidate(down, shard)
    seen = await episode(resources, ref)
    assert (seen.consolidation_attempts, seen.consolidation_status) == (0, "pending")
    assert [run.error for run in await review.runs(resources)][:1] == ["The model does not answer."]
    [done] = await consolidate.consolidate(with_distiller(resources, Scripted(proposal())), shard)
    assert done.state == "applied"


async def test_a_worker_that_lost_its_claim_can_write_nothing(
    resources: Resources, shard: Caller, clock: MovingClock, owner: Connection
) -> None:
    """While it thinks its lease ends and another one finishes the batch: what it had to say is dropped whole."""
    (ref,) = await say(resources, "I live in Lisbon.")
    fact = cites(ref, subject="user", predicate="lives_in", content="Lisbon")
    quick = with_distiller(resources, Scripted(proposal(facts=[fact])))
    slow = Scripted(proposal(facts=[fact | {"predicate": "home_city"}]))
    original = slow.distil

    async def distil(batch: Batch) -> Any:
        assert await consolidate.run_once(quick, shard) is None
        clock.move(hours=1)
        assert await consolidate.run_once(quick, shard) is None, "alone with a lost worker, it waits a while"
        clock.move(hours=1)
        taken = await consolidate.run_once(quick, shard)
        assert taken and taken.state == "applied"
        return await original(batch)

    slow.distil = distil  # type: ignore[method-assign]
    with pytest.raises(ClaimLost):
        await consolidate.run_once(with_distiller(resources, slow), shard)
    assert [row[1] for row in await facts_of(resources, owner)] == ["lives_in"]
    assert sorted(run.state for run in await review.runs(resources)) == ["applied", "lost"]


async def test_an_episode_that_was_forgotten_meanwhile_is_no_evidence(resources: Resources, shard: Caller) -> None:
    """What cites it alone is refused; it is not marked as consolidated."""
    gone, kept = await say(resources, "I live in Lisbon.", "I like tea.")
    told = Scripted(
        proposal(
            facts=[
                cites(gone, subject="user", predicate="lives_in", content="Lisbon"),
                cites(kept, subject="user", predicate="likes:tea", content="tea"),
            ]
        )
    )
    original = told.distil

    async def distil(batch: Batch) -> Any:
        await forget.forget(resources, "episode", gone)
        return await original(batch)

    told.distil = distil  # type: ignore[method-assign]
    [done] = await consolidate.consolidate(with_distiller(resources, told), shard)
    assert [(line.outcome, line.reason) for line in done.lines] == [("refused", "unknown_evidence"), ("created", None)]
    assert (await episode(resources, gone)).consolidation_status == "pending"


async def test_a_spent_budget_stops_runs_and_says_so(resources: Resources, shard: Caller, clock: MovingClock) -> None:
    """The run that reaches it is the last of the day; the next day it goes on."""
    await say(resources, *(f"Note {number}." for number in range(3)))
    dear = Scripted(proposal(), usage=Usage(input_tokens=900, output_tokens=100, cost_microdollars=20_000))
    limited = with_distiller(resources, dear, daily_tokens=1_000, batch=1)
    with pytest.raises(DistillerUnavailable, match=r"budget is spent: 1000 of 1000 tokens"):
        await consolidate.consolidate(limited, shard)
    assert len(dear.batches) == 1
    with pytest.raises(DistillerUnavailable, match=r"0\.02 of 0\.01 dollars"):
        await consolidate.consolidate(with_distiller(resources, dear, daily_dollars=0.01), shard)
    clock.move(days=1)
    with pytest.raises(DistillerUnavailable):
        await consolidate.consolidate(limited, shard)
    assert len(dear.batches) == 2
    figures = (await report.stats(resources))["consolidation"]
    assert (figures["tokens"], figures["dollars"], figures["episodes"]) == (2000, 0.04, 2)


async def test_a_rehearsal_is_on_the_account(resources: Resources, shard: Caller) -> None:
    """It counts like any run, also where it came to nothing; when the budget is spent, nobody is asked."""
    (ref,) = await say(resources, "I live in Lisbon.")
    cost = Usage(input_tokens=300, output_tokens=100, cost_microdollars=20_000)
    blank = UnusableProposal("The answer was blank.")
    blank.usage = cost  # type: ignore[attr-defined]
    dear = Scripted(
        lambda batch: blank,
        proposal(facts=[cites(ref, subject="user", predicate="lives_in", content="Lisbon")]),
        usage=cost,
    )
    limited = with_distiller(resources, dear, daily_tokens=800)
    with pytest.raises(UnusableProposal):
        await consolidate.dry_run(limited, shard)
    foretold = await consolidate.dry_run(limited, shard)
    assert foretold and foretold.usage == cost
    for task in (consolidate.dry_run, consolidate.run_once):
        with pytest.raises(DistillerUnavailable, match=r"budget is spent: 800 of 800 tokens"):
            await task(limited, shard)
    assert len(dear.batches) == 2
    kept = await review.runs(resources)
    assert [(run.state, run.error, run.episodes) for run in kept] == [
        ("rehearsed", None, 1),
        ("rehearsed", blank.message, 1),
    ]
    figures = (await report.stats(resources))["consolidation"]
    assert (figures["tokens"], figures["dollars"], figures["episodes"]) == (800, 0.04, 0)
    assert figures["success_rate"] is None
    seen = await episode(resources, ref)
    assert (seen.consolidation_status, seen.consolidation_attempts) == ("pending", 0)


async def test_replay_rebuilds_what_consolidation_did(resources: Resources, shard: Caller) -> None:
    """From the log alone: episodes with their states, facts, rules and links."""
    await say(resources, *(f"The code of door {number} is {number}{number}." for number in range(5)))
    scripted = with_distiller(resources, Scripted(BROKEN["blank"], of_each()))
    await consolidate.consolidate(scripted, shard)
    assert (await replay.replay(resources)).equal


async def test_claims_keep_the_order_of_a_shard(resources: Resources, shard: Caller, clock: MovingClock) -> None:
    """One claim a shard; episodes come in the order they were stored; what soon expires comes first."""
    soon = await say(resources, "expires soon")
    clock.move(days=6, hours=2)
    refs = await say(resources, *(f"note {number}" for number in range(3)))
    first = await claim_batch(resources, shard, "scripted", most=2)
    assert first and [line.episode.ref for line in first.lines] == [*soon, refs[0]]
    assert await claim_batch(resources, shard, "scripted") is None
    clock.move(seconds=601)
    second = await claim_batch(resources, shard, "scripted")
    assert second and [line.episode.ref for line in second.lines] == soon, "a lost batch comes back in smaller parts"


async def test_a_run_that_is_stopped_leaves_its_batch_free(resources: Resources, shard: Caller) -> None:
    """Ctrl-C in the middle: the next run need not wait for the lease, and no try is counted."""
    (ref,) = await say(resources, "I live in Lisbon.")
    begun = asyncio.Event()
    slow = Scripted(proposal())

    async def distil(batch: Batch) -> Any:
        begun.set()
        await asyncio.Event().wait()

    slow.distil = distil  # type: ignore[method-assign]
    running = asyncio.create_task(consolidate.run_once(with_distiller(resources, slow), shard))
    await begun.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert (await episode(resources, ref)).consolidation_attempts == 0
    [done] = await consolidate.consolidate(with_distiller(resources, Scripted(proposal())), shard)
    assert done.state == "applied"


async def test_an_episode_that_takes_too_long_fails_alone(resources: Resources, shard: Caller) -> None:
    """The batch is cut up until the episode is found; the others become facts."""
    process = ExtractionProcess("tests.ai.distillers.scripted_extraction:propose")
    said = ["I live in Lisbon.", "STALL", "I work at Acme.", "My sister Anna is allergic to peanuts."]
    refs = await say(resources, *said)
    reports = await consolidate.consolidate(with_distiller(resources, ProcessDistiller(3, process)), shard)
    process.end()
    assert [len(one.episodes) for one in reports if one.state == "failed"] == [4, 1]
    states = {ref: (await episode(resources, ref)).consolidation_status for ref in refs}
    assert [str(states[ref]) for ref in refs] == ["consolidated", "failed", "consolidated", "consolidated"]
    failed = await episode(resources, refs[1])
    assert "took longer than 3 seconds" in (failed.last_consolidation_error or "")
