"""Browse: lists that can be gone through both ways, and what narrows them down."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.conftest import MovingClock

from memory_butler.errors import InvalidInput
from memory_butler.models import Caller, MemoryType, NewEpisode, NewFact, NewRule
from memory_butler.models.listings import ListedMemory, Listing, Page, Sort
from memory_butler.operations.browse import listings
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources

COUNT, SIZE = 11, 3


async def _fill(resources: Resources, clock: MovingClock) -> None:
    for number in range(COUNT):
        clock.move(hours=1)
        # Several have the same importance: then the id decides.
        fact = NewFact(subject="ada", predicate=f"p{number}", content=f"fact {number}", importance=1 + number % 3)
        await remember.fact(resources, fact)
        await remember.rule(resources, NewRule(content=f"rule {number}"))
        await remember.episode(
            resources, NewEpisode(content=f"episode {number}", butler="main", importance=1 + number % 3)
        )


def _said(page: Page[ListedMemory]) -> list[str]:
    return [one.memory.content for one in page.items]


async def test_every_list_can_be_gone_through_and_back(resources: Resources, clock: MovingClock) -> None:
    """Whatever it is sorted by: the pages back are the pages that were seen on the way, with the same numbers."""
    await _fill(resources, clock)
    for kind, sorts in listings.SORTS.items():
        for sort in sorts:
            for descending in (True, False):
                listing = Listing(type=kind, sort=sort, descending=descending)
                seen: list[tuple[int, list[str]]] = []
                page = await listings.memories(resources, listing, limit=SIZE)
                assert page.back is None
                while True:
                    seen.append((page.start, _said(page)))
                    assert page.total == COUNT
                    if page.cursor is None:
                        break
                    page = await listings.memories(resources, listing, limit=SIZE, cursor=page.cursor)
                assert [start for start, _ in seen] == [0, 3, 6, 9]
                assert len({words for _, said in seen for words in said}) == COUNT
                back = [seen[-1]]
                while page.back:
                    page = await listings.memories(resources, listing, limit=SIZE, cursor=page.back)
                    back.append((page.start, _said(page)))
                assert back[::-1] == seen, (kind, sort, descending)
                again = await listings.memories(resources, listing, limit=SIZE, cursor=page.cursor)
                assert (again.start, _said(again)) == seen[1]


async def test_going_back_finds_what_came_meanwhile(resources: Resources, clock: MovingClock) -> None:
    """What is stored while somebody looks at the second page stands on the way back, and the first page says so."""
    await _fill(resources, clock)
    listing = Listing(type=MemoryType.FACT)
    first = await listings.memories(resources, listing, limit=SIZE)
    second = await listings.memories(resources, listing, limit=SIZE, cursor=first.cursor)
    clock.move(hours=1)
    await remember.fact(resources, NewFact(subject="ada", predicate="new", content="just now"))
    before = await listings.memories(resources, listing, limit=SIZE, cursor=second.back)
    assert _said(before) == _said(first)
    assert (before.start, before.back is not None) == (1, True)
    newest = await listings.memories(resources, listing, limit=SIZE, cursor=before.back)
    assert (newest.start, _said(newest), newest.back) == (0, ["just now"], None)


async def test_who_learned_it_narrows_facts_and_rules(resources: Resources, agent: Callable[..., Caller]) -> None:
    """A fact or rule is found by the butler that stored it, whatever its scope; an episode has another name for it."""
    chef = agent("chef")
    await remember.fact(resources, NewFact(subject="ada", predicate="tea", content="jasmine"), chef)
    await remember.fact(resources, NewFact(subject="ada", predicate="city", content="Porto"))
    await remember.rule(resources, NewRule(content="Ask first."), chef)
    for kind, expected in ((MemoryType.FACT, ["jasmine"]), (MemoryType.RULE, ["Ask first."])):
        assert _said(await listings.memories(resources, Listing(type=kind, learned_by="chef"))) == expected
        assert _said(await listings.memories(resources, Listing(type=kind, learned_by="nobody"))) == []
    with pytest.raises(InvalidInput):
        await listings.memories(resources, Listing(type=MemoryType.EPISODE, learned_by="chef"))


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({"contains": "100%"}, ["is 100% sure_of it"]),
        ({"contains": "0_0"}, []),
        ({"contains": "e_o"}, ["is 100% sure_of it"]),
        ({"contains": "\\"}, [r"C:\temp"]),
        ({"words": "c: TEMP"}, [r"C:\temp"]),
        ({"words": "sure_ 100"}, ["is 100% sure_of it"]),
        ({"words": "%"}, ["is 100% sure_of it"]),
        ({"contains": "ÉTÉ"}, ["un été"]),
    ],
)
async def test_a_search_means_what_it_says(resources: Resources, asked: dict[str, Any], found: list[str]) -> None:
    """Percent signs, underscores and backslashes are looked for as they are, whatever the case of letters."""
    for number, content in enumerate(["is 100% sure_of it", "is 100 surely of it", r"C:\temp", "un été"]):
        await remember.fact(resources, NewFact(subject="x", predicate=f"p{number}", content=content))
    assert _said(await listings.memories(resources, Listing(type=MemoryType.FACT, sort=Sort.CREATED, **asked))) == found
