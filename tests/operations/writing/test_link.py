"""Links that callers write: events like any other change, undone and redone, and rebuilt from the log."""

from collections.abc import Callable
from typing import Any

import pytest

from memory_butler.errors import InvalidInput, NotFound
from memory_butler.models import Caller, NewEpisode, NewFact, NewRule, Question, Stored
from memory_butler.operations.history.replay import replay
from memory_butler.operations.history.undo import undo
from memory_butler.operations.retrieval import get, search
from memory_butler.operations.writing import link, pin, remember
from memory_butler.resources import Resources


async def fact(resources: Resources, content: str, **more: Any) -> Stored:
    return await remember.fact(resources, NewFact(subject="Ana", predicate=f"note:{content}", content=content, **more))


async def links_of(resources: Resources, one: Stored) -> list[tuple[str, str]]:
    detail = await get.get(resources, one.type, str(one.id), bump=False)
    return [(str(entry.relation), "out" if entry.source_id == one.id else "in") for entry in detail.links]


async def last_event(resources: Resources, one: Stored) -> tuple[str, str]:
    line = (await get.get(resources, one.type, str(one.id), bump=False)).story[-1]
    return str(line.event.id), line.words


async def agrees(resources: Resources) -> bool:
    """Rebuilding the store from its log gives the same rows."""
    return (await replay(resources)).equal


def name(one: Stored) -> str:
    return f"{one.type}:{one.ref}"


async def test_a_link_is_an_event_that_can_be_undone_and_redone(resources: Resources) -> None:
    """Seen from both ends; a second time it changes nothing. The log rebuilds every state."""
    tea, rule = await fact(resources, "Ana likes tea."), await remember.rule(resources, NewRule(content="Offer tea."))
    done = await link.link(resources, name(tea), "supports", name(rule))
    assert (done.id, done.outcome) == (tea.id, "linked")
    assert await links_of(resources, tea) == [("supports", "out")]
    assert await links_of(resources, rule) == [("supports", "in")]
    assert (await link.link(resources, name(tea), "supports", name(rule))).outcome == "already_linked"
    event, words = await last_event(resources, tea)
    assert words == "Linked by main: supports another memory."
    assert await agrees(resources)
    await undo(resources, event)
    assert await links_of(resources, tea) == await links_of(resources, rule) == []
    assert await agrees(resources)
    event, _ = await last_event(resources, tea)
    await undo(resources, event)
    assert await links_of(resources, tea) == [("supports", "out")]
    assert await agrees(resources)
    event, _ = await last_event(resources, tea)
    await undo(resources, event)
    assert await links_of(resources, tea) == []
    assert (await link.link(resources, name(tea), "supports", name(rule))).outcome == "linked"
    assert await agrees(resources)


async def test_a_fact_comes_with_its_links(resources: Resources) -> None:
    """One group, which undo takes back as a whole; stating it again adds those that are new."""
    old, other = await fact(resources, "Ana eats meat."), await fact(resources, "Ana cooks.")
    links: Any = {"contradicts": [name(old)], "related_to": [name(other)]}
    new = await fact(resources, "Ana is a vegetarian.", links=links)
    assert sorted(await links_of(resources, new)) == [("contradicts", "out"), ("related_to", "out")]
    found = await search.search(resources, Question(query="Ana meat vegetarian", min_relevance=0), bump=False)
    assert [entry.hit.id for entry in found.results if entry.hit.since_changed] == [old.id]
    detail = await get.get(resources, new.type, str(new.id), bump=False)
    group = detail.events[-1].group_id
    assert group and group == detail.events[0].group_id
    again = await fact(resources, "Ana is a vegetarian.", links={"supports": [name(other)], **links})
    assert again.outcome == "confirmed"
    assert len(await links_of(resources, new)) == 3
    assert await agrees(resources)


async def test_undoing_a_group_withdraws_its_links(resources: Resources) -> None:
    old = await fact(resources, "Ana eats meat.")
    new = await fact(resources, "Ana is a vegetarian.", links={"contradicts": (name(old),)})
    group = (await get.get(resources, new.type, str(new.id), bump=False)).events[-1].group_id
    report = await undo(resources, str(group))
    assert report.undone == 2
    assert await links_of(resources, old) == []
    assert await agrees(resources)


async def test_links_of_other_relations_are_not_withdrawn_by_hand(resources: Resources) -> None:
    """Supersession and provenance write their own, which stay when a fact is undone."""
    episode = await remember.episode(resources, NewEpisode(content="Ana told it.", butler="main"))
    one = await fact(resources, "Ana swims.", source_episode=name(episode))
    event, _ = await last_event(resources, one)
    await undo(resources, event)
    assert await links_of(resources, one) == [("derived_from", "out")]
    assert await agrees(resources)


REFUSED = {
    "supersedes": "cannot be written",
    "derived_from": "cannot be written",
    "loves": "relation",
}


@pytest.mark.parametrize("relation", REFUSED)
async def test_a_relation_that_cannot_be_written_is_refused(resources: Resources, relation: str) -> None:
    one, two = await fact(resources, "one"), await fact(resources, "two")
    with pytest.raises(InvalidInput, match=REFUSED[relation]):
        await link.link(resources, name(one), relation, name(two))
    with pytest.raises(InvalidInput, match=REFUSED[relation]):
        await fact(resources, "three", links={relation: (name(two),)})


async def test_what_is_not_there_or_not_visible_cannot_be_linked(
    resources: Resources, agent: Callable[..., Caller]
) -> None:
    """Nor a memory with itself."""
    one, secret = await fact(resources, "one"), await fact(resources, "secret", scope="main")
    chef = agent("chef")
    with pytest.raises(NotFound):
        await link.link(resources, name(one), "supports", "fact:zzzz")
    with pytest.raises(NotFound):
        await link.link(resources, name(one), "supports", name(secret), chef)
    with pytest.raises(NotFound):
        await link.link(resources, name(secret), "supports", name(one), chef)
    with pytest.raises(InvalidInput, match="itself"):
        await link.link(resources, name(one), "supports", name(one))
    with pytest.raises(InvalidInput, match="itself"):
        await link.link(resources, one.ref, "supports", str(one.id))


async def test_a_link_is_undone_before_what_came_before_it(resources: Resources) -> None:
    """As any other change of a memory."""
    one, two = await fact(resources, "one"), await fact(resources, "two")
    await pin.pin(resources, one.type, str(one.id))
    await link.link(resources, name(one), "related_to", name(two))
    event, _ = await last_event(resources, one)
    await undo(resources, event)
    detail = await get.get(resources, one.type, str(one.id), bump=False)
    assert detail.memory.pinned
    assert [line.undone for line in detail.story] == [False, False, True, False]
