"""What stands around a memory or a subject: two steps far, bounded, and only what the caller may see."""

from collections.abc import Callable
from typing import Any

import pytest

from memory_butler.butler import Butler
from memory_butler.errors import InvalidInput, NotFound
from memory_butler.models import Caller, NewEpisode, NewFact, NewRule, Stored
from memory_butler.models.neighbourhood import Neighbourhood
from memory_butler.operations import correct, forget, neighbourhood, remember, sweep

Agent = Callable[..., Caller]


async def know(butler: Butler, subject: str, predicate: str, /, caller: Caller | None = None, **given: Any) -> Stored:
    new = NewFact(**{"subject": subject, "predicate": predicate, "content": f"{subject} {predicate}", **given})
    return await remember.fact(butler, new, caller)


async def said(butler: Butler, content: str, /, caller: Caller | None = None, **given: Any) -> Stored:
    return await remember.episode(butler, NewEpisode(**{"content": content, "butler": "main", **given}), caller)


def ties(found: Neighbourhood) -> set[tuple[str, str, str]]:
    return {(tie.source, tie.relation, tie.target) for tie in found.ties}


async def test_a_fact_stands_among_its_subject_its_source_and_what_came_of_that(butler: Butler) -> None:
    """Its subject with the other facts about it, the episode it came from, and one step further what that led to."""
    source = await said(butler, "Ana moved to Porto with Rui.")
    lives = await know(butler, "Ana", "lives in", source_episode=source.ref)
    tea = await know(butler, "Ana", "tea")
    other = await know(butler, "Rui", "lives in", source_episode=source.ref)
    rule = await remember.rule(butler, NewRule(content="Write to Porto", source_episode=source.ref))
    found = await neighbourhood.of_memory(butler, "fact", lives.ref)
    assert found.center.key == f"fact:{lives.ref}"
    assert ties(found) == {
        (f"fact:{lives.ref}", "derived_from", f"episode:{source.ref}"),
        (f"fact:{lives.ref}", "about", "subject:ana"),
        (f"fact:{tea.ref}", "about", "subject:ana"),
        (f"fact:{other.ref}", "derived_from", f"episode:{source.ref}"),
        (f"rule:{rule.ref}", "derived_from", f"episode:{source.ref}"),
        (f"fact:{other.ref}", "about", "subject:rui"),
    }
    assert (found.more, found.hidden) == (False, 0)


async def test_a_subject_stands_among_its_facts_also_those_out_of_use(butler: Butler) -> None:
    """What is in use comes first, and what it replaced is tied to it. The name is found however it is written."""
    old = await know(butler, "Green Tea", "is from", content="China")
    new = await correct.correct(butler, old.ref, "Japan")
    found = await neighbourhood.of_subject(butler, "green-tea")
    assert [spot.key for spot in found.spots] == ["subject:green_tea", f"fact:{new.ref}", f"fact:{old.ref}"]
    assert found.center.subject_label == "Green Tea"
    assert (f"fact:{new.ref}", "supersedes", f"fact:{old.ref}") in ties(found)
    assert [spot.validity for spot in found.spots[1:]] == ["active", "superseded"]


async def test_an_episode_stands_in_its_session(butler: Butler, clock: Any) -> None:
    """The turns before and after follow one another."""
    turns = []
    for content in ("one", "two", "three"):
        clock.move(minutes=1)
        turns.append(await said(butler, content, session_id="s"))
    found = await neighbourhood.of_memory(butler, "episode", turns[1].ref)
    names = [f"episode:{turn.ref}" for turn in turns]
    assert ties(found) == {(names[1], "follows", names[0]), (names[2], "follows", names[1])}


async def test_of_an_episode_that_is_gone_its_name_is_left(butler: Butler, clock: Any) -> None:
    """Evidence that was deleted is shown as such, on the map and among the links."""
    source = await said(butler, "Ana likes tea.")
    fact = await know(butler, "Ana", "tea", source_episode=source.ref, permanence="stable")
    clock.move(days=30)
    await sweep.sweep(butler)
    found = await neighbourhood.of_memory(butler, "fact", fact.ref)
    gone = next(spot for spot in found.spots if spot.kind == "episode")
    assert (gone.key, gone.is_gone, gone.content) == (f"episode:{source.ref}", True, None)
    beside = await neighbourhood.beside(butler, "fact", fact.ref)
    assert [(one.link.availability, one.other.ref) for one in beside.joined] == [("expired", source.ref)]


async def test_links_come_with_what_they_lead_to(butler: Butler) -> None:
    """From both ends, with the beginning of the words."""
    source = await said(butler, "x" * 5000)
    fact = await know(butler, "Ana", "tea", source_episode=source.ref)
    [to_source] = (await neighbourhood.beside(butler, "fact", fact.ref)).joined
    assert to_source.other.content == "x" * 600
    [to_fact] = (await neighbourhood.beside(butler, "episode", source.ref)).joined
    assert (to_fact.other.content, to_fact.other.predicate_label) == ("Ana tea", "tea")


async def test_nobody_sees_what_belongs_to_another_butler(butler: Butler, agent: Agent) -> None:
    """Neither facts of a subject, nor episodes, nor their names; only how many links there are."""
    mine, theirs = agent("health"), agent("travel")
    source = await said(butler, "Ana flies.", theirs, butler="travel")
    shared = await know(butler, "Ana", "flies", theirs, source_episode=source.ref)
    await know(butler, "Ana", "seat", theirs, scope="travel")
    await know(butler, "Secret trip", "goes to", theirs, scope="travel")
    found = await neighbourhood.of_memory(butler, "fact", shared.ref, mine)
    assert [spot.key for spot in found.spots] == [f"fact:{shared.ref}", "subject:ana"]
    assert found.hidden == 1
    beside = await neighbourhood.beside(butler, "fact", shared.ref, mine)
    assert (beside.joined, beside.hidden) == ((), 1)
    assert [(one.label, one.facts) for one in await neighbourhood.subjects(butler, mine)] == [("Ana", 1)]
    assert [one.label for one in await neighbourhood.subjects(butler, theirs)] == ["Ana", "Secret trip"]
    with pytest.raises(NotFound, match="no fact about 'Secret trip'"):
        await neighbourhood.of_subject(butler, "Secret trip", mine)
    with pytest.raises(NotFound):
        await neighbourhood.of_memory(butler, "episode", source.ref, mine)


async def test_a_map_has_its_bounds(butler: Butler, monkeypatch: pytest.MonkeyPatch) -> None:
    """What finds no room is left out, together with its ties, and it is said that there is more."""
    for name, bound in (("MOST_SPOTS", 4), ("FACTS_OF_A_SUBJECT", 3)):
        monkeypatch.setattr(neighbourhood, name, bound)
    for number in range(3):
        source = await said(butler, f"said {number}")
        await know(butler, "Ana", f"p{number}", source_episode=source.ref)
    found = await neighbourhood.of_subject(butler, "Ana")
    assert [spot.kind for spot in found.spots] == ["subject", "fact", "fact", "fact"]
    assert {tie.relation for tie in found.ties} == {"about"}
    assert found.more
    monkeypatch.setattr(neighbourhood, "MOST_SPOTS", 70)
    assert not (await neighbourhood.of_subject(butler, "Ana")).more
    monkeypatch.setattr(neighbourhood, "FACTS_OF_A_SUBJECT", 2)
    assert (await neighbourhood.of_subject(butler, "Ana")).more


async def test_subjects_are_found_by_any_of_their_names(butler: Butler) -> None:
    """Those with most facts in use first; by a part of the name, whatever its case, or of another name."""
    for predicate in ("tea", "seat"):
        await know(butler, "Ana Lopes", predicate, aliases=("Anita",))
    await know(butler, "Rui", "tea")
    gone = await know(butler, "Old house", "colour")
    await forget.forget(butler, "fact", gone.ref)
    assert [(one.subject, one.label, one.facts) for one in await neighbourhood.subjects(butler)] == [
        ("ana_lopes", "Ana Lopes", 2),
        ("rui", "Rui", 1),
    ]
    for words in ("LOPES", "anit"):
        assert [one.label for one in await neighbourhood.subjects(butler, words=words)] == ["Ana Lopes"]
    assert await neighbourhood.subjects(butler, words="100%") == []
    assert len(await neighbourhood.subjects(butler, limit=1)) == 1
    with pytest.raises(InvalidInput):
        await neighbourhood.subjects(butler, limit=0)


async def test_looking_around_leaves_no_trace(butler: Butler, rows: Callable[[str], list[dict[str, Any]]]) -> None:
    """Nothing counts as used."""
    fact = await know(butler, "Ana", "tea")
    before = rows("memory_events")
    await neighbourhood.of_memory(butler, "fact", fact.ref)
    await neighbourhood.of_subject(butler, "Ana")
    await neighbourhood.beside(butler, "fact", fact.ref)
    assert rows("memory_events") == before
