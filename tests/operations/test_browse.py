"""Browse: lists that can be gone through both ways, and what narrows them down."""

from collections.abc import Callable

import pytest
from tests.conftest import MovingClock

from memory_butler.butler import Butler
from memory_butler.errors import InvalidInput
from memory_butler.models import Caller, MemoryType, NewEpisode, NewFact, NewRule
from memory_butler.models.listings import Listed, Listing, Page, Sort
from memory_butler.operations import browse, remember

COUNT, SIZE = 11, 3


async def _fill(butler: Butler, clock: MovingClock) -> None:
    for number in range(COUNT):
        clock.move(hours=1)
        # Several have the same importance: then the id decides.
        fact = NewFact(subject="ada", predicate=f"p{number}", content=f"fact {number}", importance=1 + number % 3)
        await remember.fact(butler, fact)
        await remember.rule(butler, NewRule(content=f"rule {number}"))
        await remember.episode(
            butler, NewEpisode(content=f"episode {number}", butler="main", importance=1 + number % 3)
        )


def _said(page: Page[Listed]) -> list[str]:
    return [one.memory.content for one in page.items]


async def test_every_list_can_be_gone_through_and_back(butler: Butler, clock: MovingClock) -> None:
    """Whatever it is sorted by: the pages back are the pages that were seen on the way, with the same numbers."""
    await _fill(butler, clock)
    for kind, sorts in browse.SORTS.items():
        for sort in sorts:
            for descending in (True, False):
                listing = Listing(type=kind, sort=sort, descending=descending)
                seen: list[tuple[int, list[str]]] = []
                page = await browse.memories(butler, listing, limit=SIZE)
                assert page.back is None
                while True:
                    seen.append((page.start, _said(page)))
                    assert page.total == COUNT
                    if page.cursor is None:
                        break
                    page = await browse.memories(butler, listing, limit=SIZE, cursor=page.cursor)
                assert [start for start, _ in seen] == [0, 3, 6, 9]
                assert len({words for _, said in seen for words in said}) == COUNT
                back = [seen[-1]]
                while page.back:
                    page = await browse.memories(butler, listing, limit=SIZE, cursor=page.back)
                    back.append((page.start, _said(page)))
                assert back[::-1] == seen, (kind, sort, descending)
                again = await browse.memories(butler, listing, limit=SIZE, cursor=page.cursor)
                assert (again.start, _said(again)) == seen[1]


async def test_going_back_finds_what_came_meanwhile(butler: Butler, clock: MovingClock) -> None:
    """What is stored while somebody looks at the second page stands on the way back, and the first page says so."""
    await _fill(butler, clock)
    listing = Listing(type=MemoryType.FACT)
    first = await browse.memories(butler, listing, limit=SIZE)
    second = await browse.memories(butler, listing, limit=SIZE, cursor=first.cursor)
    clock.move(hours=1)
    await remember.fact(butler, NewFact(subject="ada", predicate="new", content="just now"))
    before = await browse.memories(butler, listing, limit=SIZE, cursor=second.back)
    assert _said(before) == _said(first)
    assert (before.start, before.back is not None) == (1, True)
    newest = await browse.memories(butler, listing, limit=SIZE, cursor=before.back)
    assert (newest.start, _said(newest), newest.back) == (0, ["just now"], None)


async def test_who_learned_it_narrows_facts_and_rules(butler: Butler, agent: Callable[..., Caller]) -> None:
    """A fact or rule is found by the butler that stored it, whatever its scope; an episode has another name for it."""
    chef = agent("chef")
    await remember.fact(butler, NewFact(subject="ada", predicate="tea", content="jasmine"), chef)
    await remember.fact(butler, NewFact(subject="ada", predicate="city", content="Porto"))
    await remember.rule(butler, NewRule(content="Ask first."), chef)
    for kind, expected in ((MemoryType.FACT, ["jasmine"]), (MemoryType.RULE, ["Ask first."])):
        assert _said(await browse.memories(butler, Listing(type=kind, learned_by="chef"))) == expected
        assert _said(await browse.memories(butler, Listing(type=kind, learned_by="nobody"))) == []
    with pytest.raises(InvalidInput):
        await browse.memories(butler, Listing(type=MemoryType.EPISODE, learned_by="chef"))


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
async def test_a_search_means_what_it_says(butler: Butler, asked: dict[str, str], found: list[str]) -> None:
    """Percent signs, underscores and backslashes are looked for as they are, whatever the case of letters."""
    for number, content in enumerate(["is 100% sure_of it", "is 100 surely of it", r"C:\temp", "un été"]):
        await remember.fact(butler, NewFact(subject="x", predicate=f"p{number}", content=content))
    assert _said(await browse.memories(butler, Listing(type=MemoryType.FACT, sort=Sort.CREATED, **asked))) == found
