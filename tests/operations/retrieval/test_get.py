"""Looking at one memory: everything that is known of it."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from memory_butler.errors import NotFound
from memory_butler.models import Caller, NewEpisode, NewFact, NewRule, Outcome, Question, Tier
from memory_butler.operations.history import undo
from memory_butler.operations.lifecycle import sweep
from memory_butler.operations.retrieval import get, search
from memory_butler.operations.writing import correct, feedback, forget, pin, remember, restore
from memory_butler.resources import Resources
from memory_butler.settings import Lifecycle

Rows = Callable[[str], list[dict[str, Any]]]


def tea(content: str = "green", **given: Any) -> NewFact:
    return NewFact(subject="User", predicate="tea", content=content, **given)


async def test_a_portrait_shows_links_both_ways_chain_and_history(resources: Resources) -> None:
    """From the fact to its evidence and what it replaced, from those back, the line of values, every event."""
    seen = await remember.episode(resources, NewEpisode(content="She asked for green.", butler="main"))
    old = await remember.fact(resources, tea("black"))
    new = await remember.fact(resources, tea("green", source_episode=seen.ref))
    of_new = await get.get(resources, "fact", f"fact:{new.ref}")
    assert {(link.relation, link.target_id, link.other_ref, link.availability) for link in of_new.links} == {
        ("derived_from", seen.id, seen.ref, "available"),
        ("supersedes", old.id, old.ref, "available"),
    }
    assert [fact.content for fact in of_new.chain] == ["black", "green"]
    assert [event.event_type for event in of_new.events] == ["fact.created"]
    of_old = await get.get(resources, "fact", str(old.id))
    assert [(link.source_id, link.relation) for link in of_old.links] == [(new.id, "supersedes")]
    assert [fact.content for fact in of_old.chain] == ["black", "green"]
    assert [event.event_type for event in of_old.events] == ["fact.created", "fact.superseded"]
    of_seen = await get.get(resources, "episode", seen.ref)
    assert [(link.source_id, link.other_ref) for link in of_seen.links] == [(new.id, new.ref)]
    assert of_seen.chain == ()


async def test_a_portrait_foretells_fading(resources: Resources, clock: Any) -> None:
    """Tier, effective confidence now, and the days it fades and expires."""
    fact = await remember.fact(resources, tea(permanence="ephemeral"))
    stored = clock.now
    clock.move(days=10)
    seen = await get.get(resources, "fact", fact.ref)
    assert seen.effective_confidence == pytest.approx(0.367879, abs=1e-6)
    assert seen.tier is Tier.MID
    assert seen.fades_at is not None
    assert seen.expires_at is not None
    assert (seen.fades_at - stored).days == 16
    assert (seen.expires_at - stored).days == 29
    lasting = await remember.fact(resources, tea("white", permanence="permanent"))
    portrait = await get.get(resources, "fact", lasting.ref)
    assert (portrait.tier, portrait.fades_at, portrait.expires_at) == (Tier.LONG, None, None)


async def test_an_episode_says_when_its_time_is_over(resources: Resources, clock: Any) -> None:
    """Eden, sure, gone after seven days."""
    seen = await remember.episode(resources, NewEpisode(content="x", butler="main"))
    portrait = await get.get(resources, "episode", seen.ref)
    assert (portrait.tier, portrait.effective_confidence, portrait.fades_at) == (Tier.EDEN, 1.0, None)
    assert portrait.expires_at == clock.now + timedelta(days=7)


async def test_confidence_is_the_same_wherever_it_is_shown(resources: Resources, clock: Any) -> None:
    """A portrait and a search agree, for a fact, a rule and a warning."""
    await remember.fact(resources, tea())
    await remember.rule(resources, NewRule(content="offer tea"))
    bad = await remember.rule(resources, NewRule(content="boil tea"))
    for _ in range(3):
        await feedback.mark(resources, bad.ref, Outcome.HARMFUL)
    clock.move(days=20)
    found = (await search.search(resources, Question(query="tea"))).results
    assert len(found) == 3
    for entry in found:
        portrait = await get.get(resources, entry.hit.type, entry.hit.ref)
        assert portrait.effective_confidence == entry.parts.effective_confidence


async def test_evidence_that_has_been_deleted_is_shown_as_expired(
    resources: Resources, owner: Any, tenant: str
) -> None:
    """The link survives the episode and says so; the episode itself is named by its trace."""
    seen = await remember.episode(resources, NewEpisode(content="She asked for green.", butler="main"))
    fact = await remember.fact(resources, tea(source_episode=seen.ref))
    owner.execute(
        "INSERT INTO memory.episode_tombstones SELECT tenant_id, id, ref, butler, observed_at, created_at,"
        " expires_at, 'expired' FROM memory.episodes WHERE tenant_id = %s AND id = %s",
        [tenant, seen.id],
    )
    owner.execute("DELETE FROM memory.episodes WHERE tenant_id = %s AND id = %s", [tenant, seen.id])
    (link,) = (await get.get(resources, "fact", fact.ref)).links
    assert (link.availability, link.other_ref, link.target_id) == ("expired", seen.ref, seen.id)
    with pytest.raises(NotFound, match=rf"episode:{seen.ref} was deleted on 2026-03-08 \(expired\)"):
        await get.get(resources, "episode", seen.ref)


async def test_the_trace_of_anothers_episode_is_not_shown(
    resources: Resources, owner: Any, tenant: str, agent: Callable[..., Caller]
) -> None:
    """To another butler a deleted episode never existed."""
    owner.execute("INSERT INTO memory.tenants (tenant_id, created_at) VALUES (%s, now())", [tenant])
    owner.execute(
        "INSERT INTO memory.episode_tombstones VALUES"
        " (%s, gen_random_uuid(), 'k3f7', 'finance', now(), now(), now(), 'expired')",
        [tenant],
    )
    with pytest.raises(NotFound, match=r"^There is no episode:k3f7\.$"):
        await get.get(resources, "episode", "k3f7", agent("health"))
    with pytest.raises(NotFound, match="was deleted"):
        await get.get(resources, "episode", "k3f7", agent("finance"))


async def test_a_look_is_a_reference(resources: Resources, clock: Any, rows: Rows) -> None:
    """It counts, at the time of the look, with one event that names the session."""
    fact = await remember.fact(resources, tea())
    clock.move(hours=1)
    await get.get(resources, "fact", fact.ref)
    (row,) = rows("facts")
    assert (row["reference_count"], row["last_referenced_at"]) == (1, clock.now)
    assert max(rows("memory_events"), key=lambda event: event["seq"])["payload"]["ids"] == [str(fact.id)]


async def test_who_may_look(resources: Resources, agent: Callable[..., Caller], rows: Rows) -> None:
    """An agent looks at global and its own; the rest is not found, and leaves no trace."""
    shared = await remember.fact(resources, tea())
    own = await remember.fact(resources, tea(scope="health"))
    other = await remember.fact(resources, tea(scope="finance"))
    seen = await remember.episode(resources, NewEpisode(content="x", butler="finance"))
    for fact in (shared, own):
        assert (await get.get(resources, "fact", fact.ref, agent("health"))).memory.id == fact.id
    events = len(rows("memory_events"))
    for kind, ref in (("fact", other.ref), ("fact", str(other.id)), ("episode", seen.ref), ("fact", seen.ref)):
        with pytest.raises(NotFound):
            await get.get(resources, kind, ref, agent("health"))
    assert len(rows("memory_events")) == events
    assert (await get.get(resources, "fact", other.ref)).memory.id == other.id


async def test_a_long_history_shows_its_newest_part(resources: Resources) -> None:
    """Past the limit it is the old events that are left out, never what happened last."""
    fact = await remember.fact(resources, tea())
    for _ in range(205):
        await feedback.confirm(resources, "fact", fact.ref)
    await forget.forget(resources, "fact", fact.ref)
    seen = await get.get(resources, "fact", fact.ref)
    assert len(seen.events) == 200
    assert seen.events[-1].event_type == "fact.retracted"
    assert [event.seq for event in seen.events] == sorted(event.seq for event in seen.events)


async def test_a_long_chain_is_shown_around_the_fact_that_was_asked_for(resources: Resources) -> None:
    """A property that changed often: the value asked for is always in the line that is shown."""
    refs = [(await remember.fact(resources, tea(f"value {number}"))).ref for number in range(130)]
    newest = await get.get(resources, "fact", refs[-1])
    assert newest.chain[-1].ref == refs[-1]
    assert len(newest.chain) == 101
    oldest = await get.get(resources, "fact", refs[0])
    assert oldest.chain[0].ref == refs[0]
    assert len(oldest.chain) == 101


# --- why it is like this ------------------------------------------------------------------------------


async def test_a_fact_tells_why_it_is_like_this(resources: Resources, clock: Any) -> None:
    """Its events in words and in order, with reasons, with the facts they speak of, and with what no longer counts."""
    old = await remember.fact(resources, tea("black", permanence="ephemeral"))
    clock.move(days=20)
    await sweep.sweep(resources)
    await feedback.confirm(resources, "fact", old.ref)
    await forget.forget(resources, "fact", old.ref, reason="a joke")
    forgetting = (await get.get(resources, "fact", old.ref)).events[-1]
    await undo.undo(resources, forgetting.id)
    new = await correct.correct(resources, old.ref, "green", reason="a slip")
    await restore.restore(resources, "fact", old.ref, supersede=True)
    seen = await get.get(resources, "fact", old.ref)
    assert [line.words for line in seen.story] == [
        "Stored by main.",
        "Faded: not confirmed since it was stored on 2026-03-01.",
        "Confirmed by main; it was fading.",
        "Forgotten by main: “a joke”.",
        "Undone by main: the forgetting of 2026-03-21.",
        f"Corrected by main and replaced by fact:{new.ref}: “a slip”.",
        f"Restored by main (was superseded), replacing fact:{new.ref}.",
    ]
    assert [line.undone for line in seen.story] == [False, False, False, True, False, False, False]
    assert [line.event for line in seen.story] == list(seen.events)
    other = await get.get(resources, "fact", new.ref)
    assert [line.words for line in other.story] == [
        f"Stored by main as a correction of fact:{old.ref}: “a slip”.",
        f"Superseded by fact:{old.ref}, which was restored.",
    ]


async def test_a_fact_names_what_took_its_place_each_time(resources: Resources) -> None:
    """Superseded twice, by two facts: each event names its own."""
    old = await remember.fact(resources, tea("black"))
    first = await remember.fact(resources, tea("green"))
    await undo.undo(resources, str((await get.get(resources, "fact", old.ref)).events[-1].group_id))
    second = await remember.fact(resources, tea("white"))
    told = [line.words for line in (await get.get(resources, "fact", old.ref)).story]
    assert told == [
        "Stored by main.",
        f"Superseded by fact:{first.ref}.",
        "Undone by main: the supersession of 2026-03-01.",
        f"Superseded by fact:{second.ref}.",
    ]


async def test_a_rule_tells_how_it_earned_what_it_is(resources: Resources) -> None:
    """Marks with their reasons, and the mark that turned it."""
    rule = await remember.rule(resources, NewRule(content="boil tea"))
    await feedback.mark(resources, rule.ref, Outcome.HELPFUL)
    for reason in ("it was late", None, "it was cold"):
        await feedback.mark(resources, rule.ref, Outcome.HARMFUL, reason=reason)
    seen = await get.get(resources, "rule", rule.ref)
    await undo.undo(resources, seen.events[-1].id)
    seen = await get.get(resources, "rule", rule.ref)
    assert [line.words for line in seen.story] == [
        "Stored by main.",
        "Marked helpful by main.",
        "Marked harmful by main: “it was late”.",
        "Marked harmful by main.",
        "Marked harmful by main: “it was cold”. It became a warning.",
        "Undone by main: the harmful mark of 2026-03-01. It became a candidate.",
    ]
    assert seen.memory.reference_count == 1


@pytest.mark.parametrize(
    ("permanence", "days", "lifecycle", "words"),
    [
        ("ephemeral", 1, {}, "Fades in 2 weeks (2026-03-17) unless confirmed, and expires on 2026-03-31."),
        ("ephemeral", 20, {}, "It has been fading since 2026-03-17, and expires on 2026-03-31 unless it is confirmed."),
        ("ephemeral", 31, {}, "Not confirmed since 2026-03-01: the next sweep expires it."),
        ("permanent", 31, {"long": {"stale_after_days": 40}}, "It does not fade."),
        ("stable", 1, {"long": {"stale_after_days": 40}}, "Without use it expires on 2026-04-10."),
        ("standard", 1, {"mid": {"stale_after_days": 40}}, "Without use it expires on 2026-04-10."),
    ],
)
async def test_a_fact_says_what_becomes_of_it(
    resources: Resources, clock: Any, *, permanence: str, days: float, lifecycle: dict[str, Any], words: str
) -> None:
    """By decay, and by disuse where that is configured for its tier and it is not protected."""
    settings = resources.settings.model_copy(update={"lifecycle": Lifecycle.model_validate(lifecycle)})
    fact = await remember.fact(resources, tea(permanence=permanence))
    clock.move(days=days)
    seen = await get.get(replace(resources, settings=settings), "fact", fact.ref)
    assert seen.outlook.endswith(words)
    await sweep.sweep(replace(resources, settings=settings))
    after = await get.get(resources, "fact", fact.ref)
    assert after.memory.validity == (
        "expired" if "next sweep" in words else "fading" if "fading" in words else "active"
    )


async def test_what_does_not_end_says_so(resources: Resources, clock: Any) -> None:
    """Pinned, a warning, out of use: no dates, and a sentence that says why."""
    pinned = await remember.fact(resources, tea())
    await pin.pin(resources, "fact", pinned.ref)
    warning = await remember.rule(resources, NewRule(content="boil tea"))
    for _ in range(3):
        await feedback.mark(resources, warning.ref, Outcome.HARMFUL)
    gone = await remember.rule(resources, NewRule(content="offer tea"))
    await forget.forget(resources, "rule", gone.ref)
    kept = await remember.episode(resources, NewEpisode(content="x", butler="main"))
    await pin.pin(resources, "episode", kept.ref)
    for memory, words in ((pinned, "is pinned"), (warning, "is a warning"), (gone, "Forgotten"), (kept, "is kept")):
        seen = await get.get(resources, memory.type, memory.ref)
        assert (seen.fades_at, seen.expires_at) == (None, None)
        assert words in seen.outlook


async def test_an_episode_that_is_used_says_that_it_is_kept(resources: Resources) -> None:
    """From the configured number of references on, and not before."""
    episode = await remember.episode(resources, NewEpisode(content="x", butler="main"))
    said = [(await get.get(resources, "episode", episode.ref)).outlook for _ in range(4)]
    assert said[:3] == ["Deleted in 7 days (2026-03-08) unless it is referenced or pinned."] * 3
    assert said[3].startswith("It was referenced often: it is kept until it is consolidated")
