"""Words in a large tenant: the rare ones are read, the frequent ones are looked up for the best memories only."""

from dataclasses import replace
from typing import Any

from memory_butler.models import NewFact, Question
from memory_butler.operations.retrieval import search
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources

FREQUENT, LIMIT = 40, 10


def limited(resources: Resources, scan_limit: int) -> Resources:
    """Under a limit that the setting does not allow, for a store that a test can fill."""
    retrieval = resources.settings.retrieval.model_copy(update={"scan_limit": scan_limit})
    return replace(resources, settings=resources.settings.model_copy(update={"retrieval": retrieval}))


async def fill(resources: Resources) -> None:
    for number in range(FREQUENT):
        fact = NewFact(subject=f"s{number}", predicate="does", content=f"paints a boat number {number}")
        await remember.fact(resources, fact)
    for number, content in enumerate(("varnish", "varnish for the boat that he paints", "varnish and a boat")):
        await remember.fact(resources, NewFact(subject=f"v{number}", predicate="needs", content=content))


async def ranked(resources: Resources, text: str, **more: Any) -> list[tuple[str, float]]:
    answer = await search.search(resources, Question(query=text, mode="keyword", limit=50, **more), bump=False)
    return [(entry.hit.content, entry.parts.keyword_score or 0) for entry in answer.results]


async def test_the_best_results_and_their_scores_are_those_of_a_full_search(resources: Resources) -> None:
    """`boat` and `paints` are in more memories than are read; memories with the rare word have their full scores."""
    await fill(resources)
    text = "paints boat varnish"
    full, bounded = await ranked(limited(resources, 10_000), text), await ranked(limited(resources, LIMIT), text)
    assert len(full) > len(bounded) >= 3
    assert [one for one in full if "varnish" in one[0]] == [one for one in bounded if "varnish" in one[0]]
    alone = dict(await ranked(limited(resources, LIMIT), "varnish"))
    assert dict(bounded)["varnish and a boat"] > alone["varnish and a boat"]


async def test_of_one_frequent_word_the_newest_memories_are_read(resources: Resources) -> None:
    await fill(resources)
    found = await ranked(limited(resources, LIMIT), "paints")
    assert len(found) == LIMIT
    assert {content for content, _ in found} == {
        "varnish for the boat that he paints",
        *(f"paints a boat number {number}" for number in range(FREQUENT - LIMIT + 1, FREQUENT)),
    }


async def test_a_memory_near_in_meaning_keeps_its_words(resources: Resources) -> None:
    """It is on the list by meaning although its words are not read: they count all the same."""
    await fill(resources)
    for limit in (10_000, LIMIT):
        answer = await search.search(
            limited(resources, limit), Question(query="paints a boat number 7 varnish", limit=5), bump=False
        )
        found = {entry.hit.content: entry.hit for entry in answer.results}
        assert found["paints a boat number 7"].word_score > 0
