"""Expanding: what stands around a result, who gets to see it, and that looking at it leaves no trace."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from memory_butler.errors import InvalidInput, TargetUnavailable
from memory_butler.models import (
    Answer,
    Caller,
    Link,
    MemoryType,
    NewEpisode,
    NewFact,
    NewRule,
    Question,
    Relation,
    Stored,
)
from memory_butler.operations.retrieval import search
from memory_butler.operations.writing import feedback, forget, pin, remember
from memory_butler.policy.access import visibility
from memory_butler.resources import Resources
from memory_butler.store.memories import links
from memory_butler.store.retrieval import neighbours

Agent = Callable[..., Caller]
Rows = Callable[[str], list[dict[str, Any]]]
Beside = list[tuple[str, str | None]]


async def turn(resources: Resources, content: str, session: str | None = "s1", /, **given: Any) -> Stored:
    new = NewEpisode(**{"content": content, "butler": "main", "session_id": session, **given})
    return await remember.episode(resources, new)


async def know(resources: Resources, predicate: str, content: str, /, **given: Any) -> Stored:
    return await remember.fact(
        resources, NewFact(**{"subject": "Anna", "predicate": predicate, "content": content, **given})
    )


async def expand(of: Resources, query: str, number: int = 2, caller: Caller | None = None, /, **given: Any) -> Answer:
    asked = Question(**{"query": query, "mode": "keyword", "expand": number, "min_relevance": 0.0, **given})
    return await search.search(of, asked, caller)


async def beside(of: Resources, query: str, number: int = 2, caller: Caller | None = None, /, **given: Any) -> Beside:
    """How each neighbour of the only result belongs to it, and what it says."""
    answer = await expand(of, query, number, caller, **given)
    (entry,) = answer.results
    return [(one.relation.value, one.content) for one in answer.neighbours[entry.hit.id]]


async def test_an_episode_comes_with_the_turns_before_and_after_it(resources: Resources, clock: Any) -> None:
    """So many each way as asked for, in the order of the session, and none beyond its ends."""
    for content in ("one", "two", "three", "harbour", "five", "six"):
        clock.move(minutes=1)
        await turn(resources, content)
    around = [("before", "two"), ("before", "three"), ("after", "five"), ("after", "six")]
    assert await beside(resources, "harbour", 2) == around
    assert await beside(resources, "harbour", 1) == around[1:3]
    assert await beside(resources, "harbour", 5) == [("before", "one"), *around]
    assert await beside(resources, "six", 1) == [("before", "five")]


async def test_turns_are_ordered_by_when_they_were_observed(resources: Resources, clock: Any) -> None:
    """Stored late, a turn stands where it belongs; stored and observed at one moment, ids decide."""
    harbour, boats = [await turn(resources, content) for content in ("harbour", "boats")]
    await turn(resources, "earlier", observed_at=clock.now - timedelta(hours=1))
    await turn(resources, "later", observed_at=clock.now + timedelta(hours=1))
    tied = ("after" if boats.id > harbour.id else "before", "boats")
    assert await beside(resources, "harbour") == [("before", "earlier"), tied, ("after", "later")]


async def test_only_the_same_session_of_the_same_butler_is_near(resources: Resources) -> None:
    """Another session, another butler's session of the same name, and no session at all are not."""
    await turn(resources, "other session", "s2")
    await turn(resources, "other butler", butler="health")
    await turn(resources, "no session", None)
    await turn(resources, "harbour")
    assert await beside(resources, "harbour", 5) == []
    await turn(resources, "alone at sea", None)
    assert await beside(resources, "sea", 5) == []


async def test_a_fact_comes_with_its_subjects_other_facts(resources: Resources, clock: Any) -> None:
    """The newest confirmed first, by any spelling of the subject; other subjects and superseded facts are not there."""
    stored = []
    for predicate in ("harbour", "color", "pet", "job"):
        clock.move(minutes=1)
        stored.append(await know(resources, predicate, f"her {predicate}", subject="Anna  Berg"))
    await know(resources, "home", "Lisbon", subject="anna-berg")
    clock.move(minutes=1)
    await know(resources, "home", "Porto", subject="anna berg")
    await know(resources, "color", "his color", subject="Ben")
    clock.move(minutes=1)
    await feedback.confirm(resources, "fact", stored[1].ref)
    order = [("same_subject", words) for words in ("her color", "Porto", "her job", "her pet")]
    assert await beside(resources, "harbour", 5) == order
    assert await beside(resources, "harbour", 2) == order[:2]


async def test_facts_and_rules_come_with_the_episodes_they_were_learned_from(resources: Resources, clock: Any) -> None:
    """In the order of time, of many the latest; for a fact after its subject's other facts."""
    sources = []
    for content in ("first", "second", "third"):
        clock.move(minutes=1)
        sources.append(await turn(resources, content, None))
    for source in reversed(sources):
        await know(resources, "boat", "lies in the harbour", source_episode=source.ref)
        await remember.rule(resources, NewRule(content="ask before sailing", source_episode=source.ref))
    await know(resources, "color", "blue")
    learned = [("source", "first"), ("source", "second"), ("source", "third")]
    assert await beside(resources, "harbour", 3) == [("same_subject", "blue"), *learned]
    assert await beside(resources, "harbour", 2) == [("same_subject", "blue"), *learned[1:]]
    assert await beside(resources, "sailing", 5) == learned


async def test_an_episode_linked_in_another_way_is_no_source(resources: Resources) -> None:
    """What contradicts a fact is not what it was learned from."""
    talk = await turn(resources, "she sold it", None)
    boat = await know(resources, "boat", "lies in the harbour")
    link = Link(
        source_type=MemoryType.FACT,
        source_id=boat.id,
        target_type=MemoryType.EPISODE,
        target_id=talk.id,
        relation=Relation.CONTRADICTS,
        created_at=resources.clock(),
    )
    async with resources.database.write(resources.settings.tenant, resources.clock()) as transaction:
        await links.insert(transaction, [link], None)
    assert await beside(resources, "harbour", 5) == []


async def test_a_neighbour_shows_what_it_is(resources: Resources, clock: Any) -> None:
    """Type, reference and times of an episode; subject and predicate of a fact as they were written."""
    source = await turn(resources, "we talked", None, observed_at=clock.now - timedelta(days=1))
    result = await know(resources, "boat", "lies in the harbour", source_episode=source.ref)
    other = await know(resources, "Last Visit", "to the lake", valid_at=clock.now - timedelta(days=2))
    visit, talk = (await expand(resources, "harbour")).neighbours[result.id]
    assert (visit.type, visit.id, visit.ref) == (MemoryType.FACT, other.id, other.ref)
    assert (visit.subject_label, visit.predicate_label) == ("Anna", "Last Visit")
    assert (visit.valid_at, visit.observed_at) == (clock.now - timedelta(days=2), None)
    assert (talk.type, talk.id, talk.ref) == (MemoryType.EPISODE, source.id, source.ref)
    assert (talk.subject_label, talk.valid_at, talk.observed_at) == (None, None, clock.now - timedelta(days=1))
    assert talk.created_at == clock.now


async def test_nothing_is_said_twice(resources: Resources, clock: Any) -> None:
    """A neighbour that is a result, or stands beside an earlier one, is named without its words."""
    kept = {}
    for content in ("harbour one", "calm sea", "harbour two", "harbour three"):
        clock.move(minutes=1)
        kept[content] = await turn(resources, content)
    answer = await expand(resources, "harbour", 1)
    assert {entry.hit.content for entry in answer.results} == set(kept) - {"calm sea"}
    named = [one for entry in answer.results for one in answer.neighbours[entry.hit.id]]
    assert sorted(one.id for one in named if one.content is None) == sorted(
        [kept["harbour two"].id, kept["harbour three"].id, kept["calm sea"].id]
    )
    assert [one.content for one in named if one.content is not None] == ["calm sea"]
    assert [one.id for one in named].index(kept["calm sea"].id) == [one.content for one in named].index("calm sea")


async def test_without_being_asked_for_there_are_none(resources: Resources, monkeypatch: pytest.MonkeyPatch) -> None:
    """No neighbours and no second read; asked for, a result that has none says so; nothing found needs no read."""
    await turn(resources, "harbour")
    assert list((await expand(resources, "harbour")).neighbours.values()) == [()]

    async def refuse(*given: Any) -> Any:
        raise AssertionError("neighbours were read")

    monkeypatch.setattr(neighbours, "around", refuse)
    assert (await expand(resources, "harbour", 0)).neighbours == {}
    assert (await expand(resources, "zebra", 5)).neighbours == {}
    with pytest.raises(AssertionError):
        await expand(resources, "harbour", 1)


async def test_recall_brings_neighbours_too(resources: Resources) -> None:
    """A topic is answered by facts and rules alone; what they came from are episodes all the same."""
    source = await turn(resources, "at the harbour")
    done = await know(resources, "boat", "lies in the harbour", source_episode=source.ref)
    answer = await search.recall(resources, Question(query="harbour", mode="keyword", expand=1))
    assert [entry.hit.id for entry in answer.results] == [done.id]
    assert [one.content for one in answer.neighbours[done.id]] == ["at the harbour"]


async def test_a_tier_narrows_the_results_and_not_what_stands_beside_them(resources: Resources) -> None:
    """A lasting fact comes with one that has yet to last, and with its source in Eden."""
    source = await turn(resources, "we talked")
    await know(resources, "boat", "lies in the harbour", permanence="stable", source_episode=source.ref)
    await know(resources, "mood", "cheerful", permanence="volatile")
    found = await beside(resources, "harbour", tier="long")
    assert found == [("same_subject", "cheerful"), ("source", "we talked")]


async def test_what_may_not_be_seen_is_not_shown_and_takes_no_place(
    resources: Resources, clock: Any, agent: Agent
) -> None:
    """Facts of a foreign scope and episodes of another butler stay hidden; the next one that may be seen is shown."""
    theirs = await turn(resources, "their talk", None, butler="finance")
    clock.move(minutes=1)
    ours = await turn(resources, "our talk", None, butler="health")
    for source in (theirs, ours):
        await know(resources, "boat", "lies in the harbour", source_episode=source.ref)
    await know(resources, "color", "blue", scope="health")
    await know(resources, "debt", "none", scope="finance")
    health, finance = agent("health"), agent("finance")
    assert await beside(resources, "harbour", 1, health) == [("same_subject", "blue"), ("source", "our talk")]
    assert await beside(resources, "harbour", 1, finance) == [("same_subject", "none"), ("source", "their talk")]
    assert await beside(resources, "harbour", 5, health, scope="global") == []
    assert await beside(resources, "harbour", 5) == [("source", "their talk"), ("source", "our talk")]
    everything = await beside(resources, "harbour", 5, scope="*")
    assert {words for _, words in everything} == {"none", "blue", "their talk", "our talk"}


async def test_another_tenant_has_no_part_in_it(resources: Resources, clock: Any) -> None:
    """The same session, subject and even the same ids asked for by another tenant bring nothing of the first."""
    other = replace(
        resources, settings=resources.settings.model_copy(update={"tenant": f"{resources.settings.tenant}x"})
    )
    for one in (resources, other):
        source = await turn(one, f"before {one.settings.tenant}")
        clock.move(minutes=1)
        await turn(one, "harbour")
        await know(one, "boat", f"of {one.settings.tenant}", source_episode=source.ref)
        await know(one, "dock", "pier")
    mine = resources.settings.tenant
    assert await beside(resources, "harbour", 5) == [("before", f"before {mine}")]
    assert await beside(resources, "pier", 5) == [("same_subject", f"of {mine}")]
    found = (await expand(resources, "harbour")).results + (await expand(resources, "pier")).results
    asked = neighbours.Around(
        ids=[entry.hit.id for entry in found],
        expand=5,
        reach=visibility.readable(resources.local_caller().principal, "*", None),
        min_confidence=0.0,
        now=resources.clock(),
    )
    assert all(await neighbours.around(resources.database, mine, asked))
    assert await neighbours.around(resources.database, f"{mine}x", asked) == [(), ()]


async def test_only_what_holds_now_is_shown(resources: Resources, clock: Any) -> None:
    """Faded facts need a lower gate, forgotten ones are gone, and episodes past their time are, unless pinned."""
    early = [
        await turn(resources, content, observed_at=clock.now - timedelta(hours=hours))
        for hours, content in ((2, "pinned talk"), (1, "old talk"))
    ]
    await pin.pin(resources, "episode", early[0].ref)
    clock.move(days=3)
    forgotten = await turn(resources, "forgotten talk")
    clock.move(minutes=1)
    late = await turn(resources, "late talk")
    for source in (*early, forgotten, late):
        await know(resources, "boat", "lies in the harbour", source_episode=source.ref)
    await know(resources, "mood", "cheerful", permanence="ephemeral")
    gone = await know(resources, "pet", "a cat")
    clock.move(minutes=1)
    await turn(resources, "a gull cried")
    for kind, ref in (("episode", forgotten.ref), ("fact", gone.ref)):
        await forget.forget(resources, kind, ref)
    sources = [("source", "pinned talk"), ("source", "old talk"), ("source", "late talk")]
    assert await beside(resources, "harbour", 5) == [("same_subject", "cheerful"), *sources]
    clock.move(days=4)
    del sources[1]
    assert await beside(resources, "harbour", 5) == [("same_subject", "cheerful"), *sources]
    assert await beside(resources, "gull", 2) == [("before", "pinned talk"), ("before", "late talk")]
    assert await beside(resources, "gull", 1) == [("before", "late talk")]
    clock.move(days=2)
    assert await beside(resources, "harbour", 5, min_confidence=0.6) == [
        ("source", "pinned talk"),
        ("source", "late talk"),
    ]
    assert ("same_subject", "cheerful") in await beside(resources, "harbour", 5, min_confidence=0.5)


async def test_neighbours_do_not_count_as_referenced(resources: Resources, rows: Rows) -> None:
    """Only the result does."""
    for content in ("before", "harbour", "after"):
        await turn(resources, content)
    assert len(await beside(resources, "harbour")) == 2
    counts = {row["content"]: row["reference_count"] for row in rows("episodes")}
    assert counts == {"before": 0, "harbour": 1, "after": 0}


@pytest.mark.parametrize("number", [-1, 6, 1.5, True, "2", None])
async def test_a_number_out_of_range_is_refused(resources: Resources, number: Any) -> None:
    """From none to five, as a whole number."""
    with pytest.raises(InvalidInput, match="expand"):
        await expand(resources, "harbour", number)


async def test_it_is_not_offered_as_of_another_moment(resources: Resources, clock: Any) -> None:
    """The refusal says what to leave out; without expand the same question is answered."""
    with pytest.raises(InvalidInput, match="cannot be combined with as_of") as refused:
        await expand(resources, "harbour", 1, as_of=clock.now)
    assert "Leave out expand" in refused.value.recovery
    assert (await expand(resources, "harbour", 0, as_of=clock.now)).results == ()


async def test_an_answer_is_given_even_if_its_neighbours_cannot_be_read(
    resources: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says so, and does not pretend that there are none."""
    await turn(resources, "harbour")

    async def gone(*given: Any) -> Any:
        raise TargetUnavailable("The database is stopped.")

    monkeypatch.setattr(neighbours, "around", gone)
    answer = await expand(resources, "harbour")
    assert [entry.hit.content for entry in answer.results] == ["harbour"]
    assert (answer.neighbours, answer.degraded) == ({}, ("neighbours were not read: The database is stopped.",))


async def test_the_same_question_gives_the_same_neighbours(resources: Resources) -> None:
    """All stored at one moment: ids decide, each time and in each of many calls at once."""
    for number in range(12):
        await turn(resources, f"harbour {number}")
        await know(resources, f"p{number}", f"harbour {number}")
    answers = await asyncio.gather(
        *[search.search(resources, Question(query="harbour", expand=3), bump=False) for _ in range(8)]
    )
    assert len({repr(answer) for answer in answers}) == 1
    assert all(answers[0].neighbours.values())
