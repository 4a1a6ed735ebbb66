"""Consolidation: what a run does to episodes, facts and rules, and what it leaves when it fails."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from psycopg import sql
from tests.conftest import MovingClock
from tests.support.distillers import Connection, Scripted, cites, episode, facts_of, proposal, say, with_distiller

from memory_butler.models import Batch, Caller, Lineage, NewEpisode, NewFact, NewRule, Outcome, Principal, Role
from memory_butler.operations.consolidation import consolidate, dead_letters, review
from memory_butler.operations.history import activity
from memory_butler.operations.history.undo import undo as take_back
from memory_butler.operations.lifecycle import sweep
from memory_butler.operations.lifecycle.job_status import shard_of
from memory_butler.operations.retrieval import get
from memory_butler.operations.writing import feedback, forget, idempotency, remember
from memory_butler.resources import Resources

HOME_AND_DRINK = "I live in Lisbon. I like tea."


def home_and_drink(ref: str, drink: str) -> Scripted:
    """Two facts of that episode; the second holds for tea alone."""
    return Scripted(
        proposal(
            facts=[
                cites(ref, subject="user", predicate="lives_in", content="Lisbon"),
                cites(ref, subject="user", predicate=f"likes:{drink}", content=drink),
            ]
        )
    )


@pytest.fixture
def shard(tenant: str) -> Caller:
    return shard_of(tenant, "main")


async def test_episodes_become_facts_and_rules_with_their_evidence(resources: Resources, shard: Caller) -> None:
    """Each is linked to the episode it came from, the episodes are consolidated, and nothing is left in line."""
    home, tests = await say(resources, "I live in Lisbon.", "Always run the tests before you commit.")
    told = Scripted(
        proposal(
            facts=[cites(home, subject="user", predicate="lives_in", content="Lisbon", permanence="stable")],
            rules=[cites(tests, content="Always run the tests before you commit.")],
        )
    )
    [done] = await consolidate.consolidate(with_distiller(resources, told), shard)
    assert [(line.outcome, line.kind) for line in done.lines] == [("created", "fact"), ("created", "rule")]
    assert done.episodes == (home, tests)
    fact = await get.get(resources, "fact", str(done.lines[0].memory).partition(":")[2])
    assert fact.memory.source_episode_id == (await episode(resources, home)).id
    assert [str(link.relation) for link in fact.links] == ["derived_from"]
    for ref in (home, tests):
        assert (await episode(resources, ref)).consolidation_status == "consolidated"
    assert await consolidate.run_once(with_distiller(resources, told), shard) is None


async def test_what_is_made_belongs_to_the_request_of_its_evidence(resources: Resources, shard: Caller) -> None:
    """Nobody asked for the run, but somebody told the episode: row and event carry that request."""
    teller = replace(resources.local_caller(), lineage=Lineage(request_id="request-7"))
    ref = (await remember.episode(resources, NewEpisode(content="I live in Lisbon.", butler="main"), teller)).ref
    told = Scripted(proposal(facts=[cites(ref, subject="user", predicate="lives_in", content="Lisbon")]))
    [done] = await consolidate.consolidate(with_distiller(resources, told), shard)
    fact = await get.get(resources, "fact", str(done.lines[0].memory).partition(":")[2])
    assert fact.memory.request_id == "request-7"
    [made] = [
        one for one in (await activity.activity(resources, teller)).items if one.event.event_type == "fact.created"
    ]
    assert made.lineage.request_id == "request-7"


async def test_the_good_items_of_a_bad_proposal_apply(resources: Resources, shard: Caller) -> None:
    """Each of the others is refused for a reason that is kept."""
    (ref,) = await say(resources, "My sister Anna works at Acme and since May 2025 she is allergic to peanuts.")
    told = Scripted(
        proposal(
            facts=[
                cites(ref, subject="Anna", predicate="works_at", content="Acme"),
                cites(ref, subject="Anna", predicate="lives_in", content="Paris"),
                cites("zzzz", subject="Anna", predicate="works_at", content="Acme"),
                cites(ref, subject="Anna", predicate="likes", content=""),
            ],
            updates=[cites(ref, target="fact:zzzz", content="Acme")],
        )
    )
    [done] = await consolidate.consolidate(with_distiller(resources, told), shard)
    assert [(line.outcome, line.reason) for line in done.lines] == [
        ("created", None),
        ("refused", "ungrounded"),
        ("refused", "unknown_evidence"),
        ("refused", "malformed"),
        ("refused", "unknown_target"),
        # The sentence, because no item says all of it.
        ("created", None),
    ]
    kept = await review.get_run(resources, str(done.run))
    assert [line.reason for line in kept.lines] == [line.reason for line in done.lines]
    assert (await episode(resources, ref)).consolidated


async def test_the_same_again_changes_nothing(resources: Resources, shard: Caller, owner: Connection) -> None:
    """An episode that waits again yields nothing new; `again` lets it be distilled afresh."""
    (ref,) = await say(resources, "I work at Acme.")
    told = Scripted(proposal(facts=[cites(ref, subject="user", predicate="works_at", content="Acme")]))
    scripted = with_distiller(resources, told)
    [first] = await consolidate.consolidate(scripted, shard)
    await take_back(resources, str(first.run))
    owner.execute(
        "UPDATE memory.episodes SET consolidation_status = 'pending' WHERE tenant_id = %s", (resources.settings.tenant,)
    )
    [second] = await consolidate.consolidate(scripted, shard)
    assert [(line.outcome, line.reason) for line in second.lines] == [("refused", "repeated")]
    assert [row[3] for row in await facts_of(resources, owner)] == ["retracted"]
    assert (await dead_letters.requeue(resources, [ref], again=True)).again == (ref,)
    [third] = await consolidate.consolidate(scripted, shard)
    assert [line.outcome for line in third.lines] == ["created"]


async def test_what_is_known_is_confirmed_and_what_changed_supersedes(
    resources: Resources, shard: Caller, owner: Connection
) -> None:
    """A fact in other words confirms; another value supersedes where the property lives; a rule gets more evidence."""
    await remember.fact(resources, NewFact(subject="user", predicate="lives_in", content="Berlin"))
    await remember.fact(resources, NewFact(subject="user", predicate="likes:tea", content="green tea"))
    await remember.rule(resources, NewRule(content="Always run the tests before you commit."))
    tea, moved, rule = await say(
        resources, "I really like the green tea.", "I moved to Lisbon.", "always run the tests before you commit"
    )
    told = Scripted(
        proposal(
            facts=[
                cites(tea, subject="User", predicate="likes:green_tea", content="Green tea."),
                cites(moved, subject="user", predicate="lives_in", content="Lisbon"),
            ],
            rules=[cites(rule, content="always run the tests before you commit")],
        )
    )
    [done] = await consolidate.consolidate(with_distiller(resources, told), shard)
    assert [line.outcome for line in done.lines] == ["confirmed", "superseded", "confirmed"]
    rows = await facts_of(resources, owner)
    assert [(row[2], row[3], row[4]) for row in rows] == [
        ("Berlin", "superseded", "global"),
        ("green tea", "active", "global"),
        ("Lisbon", "active", "global"),
    ]
    links = owner.execute(
        "SELECT source_type, relation FROM memory.memory_links WHERE tenant_id = %s ORDER BY 1, 2",
        (resources.settings.tenant,),
    ).fetchall()
    assert links == [
        ("fact", "derived_from"), ("fact", "derived_from"), ("fact", "supersedes"), ("rule", "derived_from"),
    ]  # fmt: skip


async def test_updates_and_confirmations_name_their_target(resources: Resources, shard: Caller) -> None:
    """An update supersedes the fact it names, a confirmation renews; a target that changed meanwhile is left alone."""
    old = await remember.fact(resources, NewFact(subject="Anna", predicate="phone", content="555 0100"))
    kept = await remember.fact(resources, NewFact(subject="Anna", predicate="likes:jazz", content="jazz"))
    gone = await remember.fact(resources, NewFact(subject="Anna", predicate="likes:rock", content="rock music"))
    (ref,) = await say(resources, "Anna's phone is 555 0199 now. Anna likes jazz and rock music.")

    def answer(batch: Batch) -> object:
        assert {one.ref for one in batch.known} >= {old.ref, kept.ref, gone.ref}
        return {
            "version": 1,
            "updates": [cites(ref, target=f"fact:{old.ref}", content="555 0199")],
            "confirmations": [cites(ref, target=f"fact:{kept.ref}"), cites(ref, target=f"fact:{gone.ref}")],
        }

    async def forgetting(batch: Batch) -> None:
        await forget.forget(resources, "fact", gone.ref)

    told = Scripted(answer, wants_known=True)
    original = told.distil

    async def distil(batch: Batch) -> Any:
        said = await original(batch)
        await forgetting(batch)
        return said

    told.distil = distil  # type: ignore[method-assign]
    [done] = await consolidate.consolidate(with_distiller(resources, told), shard)
    assert [(line.outcome, line.reason) for line in done.lines] == [
        ("superseded", None), ("confirmed", None), ("refused", "target_changed"),
    ]  # fmt: skip
    assert done.lines[0].replaced == f"fact:{old.ref}"


async def test_a_rehearsal_changes_nothing_and_foretells_the_run(
    resources: Resources, shard: Caller, owner: Connection
) -> None:
    """The same lines as the run that follows; no event, no claim, no memory before it."""
    (ref,) = await say(resources, HOME_AND_DRINK)
    told = home_and_drink(ref, "coffee")
    scripted = with_distiller(resources, told)

    def rows() -> list[Any]:
        return [
            owner.execute(
                sql.SQL("SELECT count(*) FROM memory.{} WHERE tenant_id = %s").format(sql.Identifier(table)),
                (resources.settings.tenant,),
            ).fetchone()
            for table in ("memory_events", "facts", "consolidation_runs", "distilled_keys")
        ]

    before = rows()
    foretold = await consolidate.dry_run(scripted, shard)
    assert rows() == before
    assert foretold and foretold.state == "rehearsed"
    [done] = await consolidate.consolidate(scripted, shard)
    assert [(line.outcome, line.reason) for line in foretold.lines] == [
        (line.outcome, line.reason) for line in done.lines
    ]


async def test_proposals_wait_for_a_decision(
    resources: Resources, shard: Caller, clock: MovingClock, owner: Connection
) -> None:
    """Nothing is applied, the episodes are neither claimed again nor deleted; item by item it is decided on."""
    (ref,) = await say(resources, HOME_AND_DRINK)
    told = home_and_drink(ref, "tea")
    reviewing = with_distiller(resources, told, review=True)
    [waiting] = await consolidate.consolidate(reviewing, shard)
    assert (waiting.state, waiting.count("proposed")) == ("waiting", 2)
    assert await consolidate.consolidate(reviewing, shard) == []
    clock.move(days=30)
    assert (await sweep.sweep(resources, shard)).changed == 0
    assert (await episode(resources, ref)).consolidation_status == "pending"
    first = await review.decide(reviewing, str(waiting.run), approve=[0])
    assert first.run.state == "waiting"
    assert await facts_of(resources, owner) == []
    last = await review.decide(reviewing, str(waiting.run), rest="rejected")
    assert (last.run.state, [line.outcome for line in last.lines]) == ("applied", ["created", "rejected"])
    assert [row[2] for row in await facts_of(resources, owner)] == ["Lisbon"]
    assert (await episode(resources, ref)).consolidated


async def test_a_run_is_taken_back_as_a_whole(resources: Resources, shard: Caller, owner: Connection) -> None:
    """Its memories go, what they superseded comes back, and its episodes stay consolidated."""
    await remember.fact(resources, NewFact(subject="user", predicate="lives_in", content="Berlin"))
    moved, rule = await say(resources, "I moved to Lisbon.", "Never deploy on Fridays.")
    told = Scripted(
        proposal(
            facts=[cites(moved, subject="user", predicate="lives_in", content="Lisbon")],
            rules=[cites(rule, content="Never deploy on Fridays.")],
        )
    )
    [done] = await consolidate.consolidate(with_distiller(resources, told), shard)
    await take_back(resources, str(done.run))
    assert [(row[2], row[3]) for row in await facts_of(resources, owner)] == [
        ("Berlin", "active"),
        ("Lisbon", "retracted"),
    ]
    assert (await episode(resources, moved)).consolidated
    assert (await dead_letters.requeue(resources, run=str(done.run))).again == ()
    assert set((await dead_letters.requeue(resources, run=str(done.run), again=True)).again) == {moved, rule}
    [again] = await consolidate.consolidate(with_distiller(resources, told), shard)
    assert [line.outcome for line in again.lines] == ["superseded", "created"]


async def test_the_butlers_own_words_are_not_distilled_again(resources: Resources, shard: Caller) -> None:
    """Lines of a briefing, lines with a reference, and lines that are a stored memory are taken out of an episode."""
    known = await remember.rule(resources, NewRule(content="Always answer in British English and metric units."))
    text = (
        "- user · lives in: Lisbon [fact:k3f9] confidence 0.93\n"
        "Always answer in British English and metric units.\n"
        f"As rule:{known.ref} says [rule:{known.ref}]\nI play chess."
    )
    await say(resources, text)
    told = Scripted(proposal())
    await consolidate.consolidate(with_distiller(resources, told), shard)
    (seen,) = told.batches[0].texts.values()
    assert seen.strip() == "I play chess."


async def test_a_rule_that_did_harm_does_not_come_back(resources: Resources, shard: Caller) -> None:
    """What became a warning is refused when it is proposed again, in whatever words."""
    bad = await remember.rule(resources, NewRule(content="Restart the server when it is slow."))
    for reason in ("lost data", "lost more", "lost all"):
        await feedback.mark(resources, bad.ref, Outcome.HARMFUL, reason=reason)
    (ref,) = await say(resources, "Please restart the server when it is slow.")
    told = Scripted(proposal(rules=[cites(ref, content="Restart the server when it is slow")]))
    [done] = await consolidate.consolidate(with_distiller(resources, told), shard)
    assert [line.reason for line in done.lines] == ["harmful_rule"]


async def test_another_butlers_memories_are_out_of_reach(resources: Resources, shard: Caller) -> None:
    """A proposal cannot confirm or update what belongs to another butler; what it learns of the user is global."""
    other = Caller(Principal(resources.settings.tenant, "health", Role.AGENT))
    secret = await remember.fact(
        resources, NewFact(subject="user", predicate="weight", content="80 kg", scope="health"), other
    )
    (ref,) = await say(resources, "The weight is 80 kg, and I like tea.")
    told = Scripted(
        proposal(
            facts=[cites(ref, subject="user", predicate="likes:tea", content="tea")],
            confirmations=[cites(ref, target=f"fact:{secret.ref}")],
        ),
        wants_known=True,
    )
    [done] = await consolidate.consolidate(with_distiller(resources, told), shard)
    assert secret.ref not in {one.ref for one in told.batches[0].known}
    assert [(line.outcome, line.reason) for line in done.lines] == [
        ("created", None), ("refused", "unknown_target"), ("created", None),
    ]  # fmt: skip
    assert done.lines[-1].shown["content"] == "The weight is 80 kg, and I like tea."
    seen = await get.get(resources, "fact", str(done.lines[0].memory).partition(":")[2])
    assert seen.memory.scope == "global"


async def test_an_agent_consolidates_its_own_backlog_alone(
    resources: Resources, shard: Caller, agent: Callable[..., Caller]
) -> None:
    """Another butler's agent finds nothing to do."""
    (ref,) = await say(resources, "I live in Lisbon.")
    told = Scripted(proposal(facts=[cites(ref, subject="user", predicate="lives_in", content="Lisbon")]))
    assert await consolidate.consolidate(with_distiller(resources, told), agent("garden")) == []
    [done] = await consolidate.consolidate(with_distiller(resources, told), agent("main"))
    assert [line.outcome for line in done.lines] == ["created"]


async def test_two_who_decide_at_once_do_not_lose_a_decision(
    resources: Resources, shard: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two who saw the same the second is told that things have changed; nothing is left undecided and unsaid."""
    (ref,) = await say(resources, HOME_AND_DRINK)
    told = home_and_drink(ref, "tea")
    reviewing = with_distiller(resources, told, review=True)
    [waiting] = await consolidate.consolidate(reviewing, shard)
    run = str(waiting.run)
    both_have_looked = asyncio.Barrier(2)

    async def stored_response(*args: Any) -> dict[str, Any] | None:
        await both_have_looked.wait()
        return await idempotency.stored_response(*args)

    monkeypatch.setattr(review, "stored_response", stored_response)
    both = await asyncio.gather(
        review.decide(reviewing, run, approve=[0]), review.decide(reviewing, run, reject=[1]), return_exceptions=True
    )
    assert sorted(type(one).__name__ for one in both) == ["Conflict", "RunReview"]
    monkeypatch.undo()
    last = await review.decide(reviewing, run, rest="approved")
    assert last.run.state == "applied"
