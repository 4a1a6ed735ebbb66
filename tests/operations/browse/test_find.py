"""Find: the search of agents for the list of a person, and its filters."""

from tests.conftest import MovingClock

from memory_butler.models import MemoryType, NewEpisode, NewFact, NewRule
from memory_butler.models.listings import Listing, Sort
from memory_butler.operations.browse import facets, find, listings
from memory_butler.operations.writing import forget, pin, remember
from memory_butler.resources import Resources


async def _fill(resources: Resources, clock: MovingClock) -> None:
    for number, (subject, predicate, content) in enumerate(
        (("Ana", "allergic to", "peanuts"), ("Bruno", "allergic to", "penicillin"), ("Ana", "tea", "Jasmine"))
    ):
        clock.move(minutes=1)
        tags = ("health",) if number < 2 else ()
        await remember.fact(resources, NewFact(subject=subject, predicate=predicate, content=content, tags=tags))
    clock.move(minutes=1)
    await remember.rule(resources, NewRule(content="Ask about every allergy before you cook."))
    clock.move(minutes=1)
    await remember.episode(resources, NewEpisode(content="Ana bought some tea.", butler="main"))


def _said(found: find.Found) -> list[str]:
    return [one.memory.content for one in found.items]


async def test_memories_are_found_by_forms_of_a_word(resources: Resources, clock: MovingClock) -> None:
    """Of all types or of one, with the filters of the list, and without counting as used."""
    await _fill(resources, clock)
    found = await find.find(resources, Listing(type=None, words="teas"))
    assert {*_said(found)[: found.with_words]} == {"Jasmine", "Ana bought some tea."}
    facts = await find.find(resources, Listing(type=MemoryType.FACT, words="teas", subject="ana"))
    assert _said(facts)[: facts.with_words] == ["Jasmine"]
    assert all(one.memory.reference_count == 0 for one in found.items)


async def test_what_only_contains_the_words_is_found_too(resources: Resources, clock: MovingClock) -> None:
    """A part of a word, and memories that are out of use, which agents do not find."""
    await _fill(resources, clock)
    assert "penicillin" in _said(await find.find(resources, Listing(type=None, words="nicill")))
    fact = await remember.fact(resources, NewFact(subject="Ana", predicate="car", content="a red Fiat"))
    await forget.forget(resources, "fact", fact.ref)
    assert "a red Fiat" not in _said(await find.find(resources, Listing(type=None, words="fiat", validity=("active",))))
    assert _said(await find.find(resources, Listing(type=None, words="fiat", validity=("retracted",)))) == [
        "a red Fiat"
    ]


async def test_all_types_make_one_list(resources: Resources, clock: MovingClock) -> None:
    """Newest first across the types, page by page and back; a filter leaves the types that have it."""
    await _fill(resources, clock)
    for descending in (True, False):
        listing = Listing(type=None, descending=descending)
        whole = await listings.memories(resources, listing)
        first = await listings.memories(resources, listing, limit=2)
        second = await listings.memories(resources, listing, limit=2, cursor=first.cursor)
        back = await listings.memories(resources, listing, limit=2, cursor=second.back)
        assert (*first.items, *second.items) == whole.items[:4]
        assert back.items == first.items
        assert (whole.total, first.total) == (5, 5)
    assert [one.memory.type for one in whole.items] == [*["fact"] * 3, "rule", "episode"]
    assert await listings.counts(resources, Listing(type=None, subject="Ana")) == {MemoryType.FACT: 2}
    used = await listings.memories(resources, Listing(type=None, sort=Sort.LAST_REFERENCED))
    assert len(used.items) == 5


async def test_pinned_and_unused_memories_are_listed(resources: Resources, clock: MovingClock) -> None:
    await _fill(resources, clock)
    [newest, *_] = (await listings.memories(resources, Listing(type=MemoryType.FACT))).items
    await pin.pin(resources, "fact", newest.memory.ref)
    pinned = await listings.memories(resources, Listing(type=None, pinned=True))
    assert [one.memory.ref for one in pinned.items] == [newest.memory.ref]
    assert (await listings.memories(resources, Listing(type=None, unused=True))).total == 5


async def test_values_of_a_filter_are_counted(resources: Resources, clock: MovingClock) -> None:
    """The most frequent first; those that contain what is typed; of what is in use."""
    await _fill(resources, clock)

    async def values(facet: facets.Facet, words: str = "") -> list[tuple[str, int]]:
        return [(one.value, one.count) for one in await facets.values(resources, facet, words=words)]

    assert await values(facets.Facet.SUBJECT) == [("Ana", 2), ("Bruno", 1)]
    assert await values(facets.Facet.SUBJECT, "bru") == [("Bruno", 1)]
    assert await values(facets.Facet.TAG) == [("health", 2)]
    assert await values(facets.Facet.PREDICATE) == [("allergic to", 2), ("tea", 1)]
    assert await values(facets.Facet.SCOPE) == [("global", 4)]
    assert await values(facets.Facet.BUTLER) == [("main", 5)]
