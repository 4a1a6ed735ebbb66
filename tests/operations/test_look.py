"""Looking at one memory: everything that is known of it."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from memory_butler.butler import Butler
from memory_butler.errors import NotFound
from memory_butler.models import Caller, NewEpisode, NewFact, NewRule, Outcome, Question, Tier
from memory_butler.operations import forget, judge, look, recall, remember

Rows = Callable[[str], list[dict[str, Any]]]


def tea(content: str = "green", **given: Any) -> NewFact:
    return NewFact(subject="User", predicate="tea", content=content, **given)


async def test_a_portrait_shows_links_both_ways_chain_and_history(butler: Butler) -> None:
    """From the fact to its evidence and what it replaced, from those back, the line of values, every event."""
    seen = await remember.episode(butler, NewEpisode(content="She asked for green.", butler="main"))
    old = await remember.fact(butler, tea("black"))
    new = await remember.fact(butler, tea("green", source_episode=seen.ref))
    of_new = await look.look(butler, "fact", f"fact:{new.ref}")
    assert {(link.relation, link.target_id, link.other_ref, link.availability) for link in of_new.links} == {
        ("derived_from", seen.id, seen.ref, "available"),
        ("supersedes", old.id, old.ref, "available"),
    }
    assert [fact.content for fact in of_new.chain] == ["black", "green"]
    assert [event.event_type for event in of_new.events] == ["fact.created"]
    of_old = await look.look(butler, "fact", str(old.id))
    assert [(link.source_id, link.relation) for link in of_old.links] == [(new.id, "supersedes")]
    assert [fact.content for fact in of_old.chain] == ["black", "green"]
    assert [event.event_type for event in of_old.events] == ["fact.created", "fact.superseded"]
    of_seen = await look.look(butler, "episode", seen.ref)
    assert [(link.source_id, link.other_ref) for link in of_seen.links] == [(new.id, new.ref)]
    assert of_seen.chain == ()


async def test_a_portrait_foretells_fading(butler: Butler, clock: Any) -> None:
    """Tier, effective confidence now, and the days it fades and expires."""
    fact = await remember.fact(butler, tea(permanence="ephemeral"))
    stored = clock.now
    clock.move(days=10)
    seen = await look.look(butler, "fact", fact.ref)
    assert seen.effective_confidence == pytest.approx(0.367879, abs=1e-6)
    assert seen.tier is Tier.MID
    assert seen.fades_at is not None
    assert seen.expires_at is not None
    assert (seen.fades_at - stored).days == 16
    assert (seen.expires_at - stored).days == 29
    lasting = await remember.fact(butler, tea("white", permanence="permanent"))
    portrait = await look.look(butler, "fact", lasting.ref)
    assert (portrait.tier, portrait.fades_at, portrait.expires_at) == (Tier.LONG, None, None)


async def test_an_episode_says_when_its_time_is_over(butler: Butler, clock: Any) -> None:
    """Eden, sure, gone after seven days."""
    seen = await remember.episode(butler, NewEpisode(content="x", butler="main"))
    portrait = await look.look(butler, "episode", seen.ref)
    assert (portrait.tier, portrait.effective_confidence, portrait.fades_at) == (Tier.EDEN, 1.0, None)
    assert portrait.expires_at == clock.now + timedelta(days=7)


async def test_confidence_is_the_same_wherever_it_is_shown(butler: Butler, clock: Any) -> None:
    """A portrait and a search agree, for a fact, a rule and a warning."""
    await remember.fact(butler, tea())
    await remember.rule(butler, NewRule(content="offer tea"))
    bad = await remember.rule(butler, NewRule(content="boil tea"))
    for _ in range(3):
        await judge.mark(butler, bad.ref, Outcome.HARMFUL)
    clock.move(days=20)
    found = (await recall.search(butler, Question(query="tea"))).results
    assert len(found) == 3
    for entry in found:
        portrait = await look.look(butler, entry.hit.type, entry.hit.ref)
        assert portrait.effective_confidence == entry.parts.effective_confidence


async def test_evidence_that_has_been_deleted_is_shown_as_expired(butler: Butler, owner: Any, tenant: str) -> None:
    """The link survives the episode and says so; the episode itself is named by its trace."""
    seen = await remember.episode(butler, NewEpisode(content="She asked for green.", butler="main"))
    fact = await remember.fact(butler, tea(source_episode=seen.ref))
    owner.execute(
        "INSERT INTO memory.episode_tombstones SELECT tenant_id, id, ref, butler, observed_at, created_at,"
        " expires_at, 'expired' FROM memory.episodes WHERE tenant_id = %s AND id = %s",
        [tenant, seen.id],
    )
    owner.execute("DELETE FROM memory.episodes WHERE tenant_id = %s AND id = %s", [tenant, seen.id])
    (link,) = (await look.look(butler, "fact", fact.ref)).links
    assert (link.availability, link.other_ref, link.target_id) == ("expired", seen.ref, seen.id)
    with pytest.raises(NotFound, match=rf"episode:{seen.ref} was deleted on 2026-03-08 \(expired\)"):
        await look.look(butler, "episode", seen.ref)


async def test_the_trace_of_anothers_episode_is_not_shown(
    butler: Butler, owner: Any, tenant: str, agent: Callable[..., Caller]
) -> None:
    """To another butler a deleted episode never existed."""
    owner.execute("INSERT INTO memory.tenants (tenant_id, created_at) VALUES (%s, now())", [tenant])
    owner.execute(
        "INSERT INTO memory.episode_tombstones VALUES"
        " (%s, gen_random_uuid(), 'k3f7', 'finance', now(), now(), now(), 'expired')",
        [tenant],
    )
    with pytest.raises(NotFound, match=r"^There is no episode:k3f7\.$"):
        await look.look(butler, "episode", "k3f7", agent("health"))
    with pytest.raises(NotFound, match="was deleted"):
        await look.look(butler, "episode", "k3f7", agent("finance"))


async def test_a_look_is_a_reference(butler: Butler, clock: Any, rows: Rows) -> None:
    """It counts, at the time of the look, with one event that names the session."""
    fact = await remember.fact(butler, tea())
    clock.move(hours=1)
    await look.look(butler, "fact", fact.ref)
    (row,) = rows("facts")
    assert (row["reference_count"], row["last_referenced_at"]) == (1, clock.now)
    assert max(rows("memory_events"), key=lambda event: event["seq"])["payload"]["ids"] == [str(fact.id)]


async def test_who_may_look(butler: Butler, agent: Callable[..., Caller], rows: Rows) -> None:
    """An agent looks at global and its own; the rest is not found, and leaves no trace."""
    shared = await remember.fact(butler, tea())
    own = await remember.fact(butler, tea(scope="health"))
    other = await remember.fact(butler, tea(scope="finance"))
    seen = await remember.episode(butler, NewEpisode(content="x", butler="finance"))
    for fact in (shared, own):
        assert (await look.look(butler, "fact", fact.ref, agent("health"))).memory.id == fact.id
    events = len(rows("memory_events"))
    for kind, ref in (("fact", other.ref), ("fact", str(other.id)), ("episode", seen.ref), ("fact", seen.ref)):
        with pytest.raises(NotFound):
            await look.look(butler, kind, ref, agent("health"))
    assert len(rows("memory_events")) == events
    assert (await look.look(butler, "fact", other.ref)).memory.id == other.id


async def test_a_long_history_shows_its_newest_part(butler: Butler) -> None:
    """Past the limit it is the old events that are left out, never what happened last."""
    fact = await remember.fact(butler, tea())
    for _ in range(205):
        await judge.confirm(butler, "fact", fact.ref)
    await forget.forget(butler, "fact", fact.ref)
    seen = await look.look(butler, "fact", fact.ref)
    assert len(seen.events) == 200
    assert seen.events[-1].event_type == "fact.retracted"
    assert [event.seq for event in seen.events] == sorted(event.seq for event in seen.events)


async def test_a_long_chain_is_shown_around_the_fact_that_was_asked_for(butler: Butler) -> None:
    """A property that changed often: the value asked for is always in the line that is shown."""
    refs = [(await remember.fact(butler, tea(f"value {number}"))).ref for number in range(130)]
    newest = await look.look(butler, "fact", refs[-1])
    assert newest.chain[-1].ref == refs[-1]
    assert len(newest.chain) == 101
    oldest = await look.look(butler, "fact", refs[0])
    assert oldest.chain[0].ref == refs[0]
    assert len(oldest.chain) == 101
