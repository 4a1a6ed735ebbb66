"""What stands around a memory or a subject: two steps far, bounded, and only what the caller may see."""

from collections.abc import Callable
from typing import Any

import pytest

from memory_butler.errors import InvalidInput, NotFound
from memory_butler.models import Caller, NewEpisode, NewFact, NewRule, Stored
from memory_butler.models.graph import MemoryGraph
from memory_butler.operations.browse import graph
from memory_butler.operations.lifecycle import sweep
from memory_butler.operations.writing import correct, forget, remember
from memory_butler.resources import Resources

Agent = Callable[..., Caller]


async def know(
    resources: Resources, subject: str, predicate: str, /, caller: Caller | None = None, **given: Any
) -> Stored:
    new = NewFact(**{"subject": subject, "predicate": predicate, "content": f"{subject} {predicate}", **given})
    return await remember.fact(resources, new, caller)


async def said(resources: Resources, content: str, /, caller: Caller | None = None, **given: Any) -> Stored:
    return await remember.episode(resources, NewEpisode(**{"content": content, "butler": "main", **given}), caller)


def ties(found: MemoryGraph) -> set[tuple[str, str, str]]:
    return {(edge.source, edge.relation, edge.target) for edge in found.edges}


async def test_a_fact_stands_among_its_subject_its_source_and_what_came_of_that(resources: Resources) -> None:
    """Its subject with the other facts about it, the episode it came from, and one step further what that led to."""
    source = await said(resources, "Ana moved to Porto with Rui.")
    lives = await know(resources, "Ana", "lives in", source_episode=source.ref)
    tea = await know(resources, "Ana", "tea")
    other = await know(resources, "Rui", "lives in", source_episode=source.ref)
    rule = await remember.rule(resources, NewRule(content="Write to Porto", source_episode=source.ref))
    found = await graph.memory_graph(resources, "fact", lives.ref)
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


async def test_a_subject_stands_among_its_facts_also_those_out_of_use(resources: Resources) -> None:
    """What is in use comes first, and what it replaced is tied to it. The name is found however it is written."""
    old = await know(resources, "Green Tea", "is from", content="China")
    new = await correct.correct(resources, old.ref, "Japan")
    found = await graph.subject_graph(resources, "green-tea")
    assert [node.key for node in found.nodes] == ["subject:green_tea", f"fact:{new.ref}", f"fact:{old.ref}"]
    assert found.center.subject_label == "Green Tea"
    assert (f"fact:{new.ref}", "supersedes", f"fact:{old.ref}") in ties(found)
    assert [node.validity for node in found.nodes[1:]] == ["active", "superseded"]


async def test_an_episode_stands_in_its_session(resources: Resources, clock: Any) -> None:
    """The turns before and after follow one another."""
    turns = []
    for content in ("one", "two", "three"):
        clock.move(minutes=1)
        turns.append(await said(resources, content, session_id="s"))
    found = await graph.memory_graph(resources, "episode", turns[1].ref)
    names = [f"episode:{turn.ref}" for turn in turns]
    assert ties(found) == {(names[1], "follows", names[0]), (names[2], "follows", names[1])}


async def test_of_an_episode_that_is_gone_its_name_is_left(resources: Resources, clock: Any) -> None:
    """Evidence that was deleted is shown as such, on the map and among the links."""
    source = await said(resources, "Ana likes tea.")
    fact = await know(resources, "Ana", "tea", source_episode=source.ref, permanence="stable")
    clock.move(days=30)
    await sweep.sweep(resources)
    found = await graph.memory_graph(resources, "fact", fact.ref)
    gone = next(node for node in found.nodes if node.kind == "episode")
    assert (gone.key, gone.is_gone, gone.content) == (f"episode:{source.ref}", True, None)
    beside = await graph.memory_links(resources, "fact", fact.ref)
    assert [(one.link.availability, one.other.ref) for one in beside.joined] == [("expired", source.ref)]


async def test_links_come_with_what_they_lead_to(resources: Resources) -> None:
    """From both ends, with the beginning of the words."""
    source = await said(resources, "x" * 5000)
    fact = await know(resources, "Ana", "tea", source_episode=source.ref)
    [to_source] = (await graph.memory_links(resources, "fact", fact.ref)).joined
    assert to_source.other.content == "x" * 600
    [to_fact] = (await graph.memory_links(resources, "episode", source.ref)).joined
    assert (to_fact.other.content, to_fact.other.predicate_label) == ("Ana tea", "tea")


async def test_nobody_sees_what_belongs_to_another_butler(resources: Resources, agent: Agent) -> None:
    """Neither facts of a subject, nor episodes, nor their names; only how many links there are."""
    mine, theirs = agent("health"), agent("travel")
    source = await said(resources, "Ana flies.", theirs, butler="travel")
    shared = await know(resources, "Ana", "flies", theirs, source_episode=source.ref)
    await know(resources, "Ana", "seat", theirs, scope="travel")
    await know(resources, "Secret trip", "goes to", theirs, scope="travel")
    found = await graph.memory_graph(resources, "fact", shared.ref, mine)
    assert [node.key for node in found.nodes] == [f"fact:{shared.ref}", "subject:ana"]
    assert found.hidden == 1
    beside = await graph.memory_links(resources, "fact", shared.ref, mine)
    assert (beside.joined, beside.hidden) == ((), 1)
    assert [(one.label, one.facts) for one in await graph.subjects(resources, mine)] == [("Ana", 1)]
    assert [one.label for one in await graph.subjects(resources, theirs)] == ["Ana", "Secret trip"]
    with pytest.raises(NotFound, match="no fact about 'Secret trip'"):
        await graph.subject_graph(resources, "Secret trip", mine)
    with pytest.raises(NotFound):
        await graph.memory_graph(resources, "episode", source.ref, mine)


async def test_a_map_has_its_bounds(resources: Resources, monkeypatch: pytest.MonkeyPatch) -> None:
    """What finds no room is left out, together with its ties, and it is said that there is more."""
    for name, bound in (("MAX_NODES", 4), ("SUBJECT_FACTS", 3)):
        monkeypatch.setattr(graph, name, bound)
    for number in range(3):
        source = await said(resources, f"said {number}")
        await know(resources, "Ana", f"p{number}", source_episode=source.ref)
    found = await graph.subject_graph(resources, "Ana")
    assert [node.kind for node in found.nodes] == ["subject", "fact", "fact", "fact"]
    assert {edge.relation for edge in found.edges} == {"about"}
    assert found.more
    monkeypatch.setattr(graph, "MAX_NODES", 70)
    assert not (await graph.subject_graph(resources, "Ana")).more
    monkeypatch.setattr(graph, "SUBJECT_FACTS", 2)
    assert (await graph.subject_graph(resources, "Ana")).more


async def test_subjects_are_found_by_any_of_their_names(resources: Resources) -> None:
    """Those with most facts in use first; by a part of the name, whatever its case, or of another name."""
    for predicate in ("tea", "seat"):
        await know(resources, "Ana Lopes", predicate, aliases=("Anita",))
    await know(resources, "Rui", "tea")
    gone = await know(resources, "Old house", "colour")
    await forget.forget(resources, "fact", gone.ref)
    assert [(one.subject, one.label, one.facts) for one in await graph.subjects(resources)] == [
        ("ana_lopes", "Ana Lopes", 2),
        ("rui", "Rui", 1),
    ]
    for words in ("LOPES", "anit"):
        assert [one.label for one in await graph.subjects(resources, words=words)] == ["Ana Lopes"]
    assert await graph.subjects(resources, words="100%") == []
    assert len(await graph.subjects(resources, limit=1)) == 1
    with pytest.raises(InvalidInput):
        await graph.subjects(resources, limit=0)


async def test_looking_around_leaves_no_trace(
    resources: Resources, rows: Callable[[str], list[dict[str, Any]]]
) -> None:
    """Nothing counts as used."""
    fact = await know(resources, "Ana", "tea")
    before = rows("memory_events")
    await graph.memory_graph(resources, "fact", fact.ref)
    await graph.subject_graph(resources, "Ana")
    await graph.memory_links(resources, "fact", fact.ref)
    assert rows("memory_events") == before
