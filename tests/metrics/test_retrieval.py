"""Quality of reads: each answer adds to its series, and the memory of briefings is bounded."""

from uuid import uuid4

import pytest

from memory_butler.metrics.registry import REGISTRY
from memory_butler.metrics.retrieval import BriefedMemories
from memory_butler.models import BriefRequest, NewFact, Question
from memory_butler.operations.briefing.brief import brief
from memory_butler.operations.retrieval.get import get
from memory_butler.operations.retrieval.search import search
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources


def value(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(f"memory_butler_{name}", labels) or 0


async def test_an_empty_store_is_told_from_a_search_that_finds_nothing_relevant(resources: Resources) -> None:
    """Both answers are empty; the metric says which is a matter of the gate."""
    empty, below = (value("answers_total", read="search", result=one) for one in ("empty", "below_gate"))
    await search(resources, Question(query="zebra"))
    assert value("answers_total", read="search", result="empty") == empty + 1
    await remember.fact(resources, NewFact(subject="user", predicate="likes", content="The user likes tea."))
    await search(resources, Question(query="tea", min_relevance=1.0, mode="semantic"))
    assert value("answers_total", read="search", result="below_gate") == below + 1


async def test_results_add_their_relevance_confidence_and_diversity(resources: Resources) -> None:
    """Two facts about one subject have a diversity of a half."""
    for kind in ("tea", "green tea"):
        content = f"Ana drinks {kind}."
        await remember.fact(resources, NewFact(subject="Ana", predicate=f"drinks:{kind}", content=content))
    names = ("top_relevance_count", "result_confidence_count", "result_diversity_count", "result_diversity_sum")
    before = [value(name, read="search") for name in names]
    answer = await search(resources, Question(query="what tea does Ana drink?", min_relevance=0.0))
    assert len(answer.results) == 2
    grown = [value(name, read="search") - old for name, old in zip(names, before, strict=True)]
    assert grown == pytest.approx([1, 2, 1, 0.5])


async def test_a_briefed_memory_that_is_looked_up_later_counts_once(resources: Resources) -> None:
    """The hit-rate proxy: briefed, referenced, and not again until the next briefing."""
    stored = await remember.fact(
        resources, NewFact(subject="user", predicate="allergic_to:nuts", content="The user is allergic to nuts.")
    )
    before = value("briefed_memories_total"), value("briefed_memories_referenced_total")
    briefing = await brief(resources, BriefRequest(trigger_prompt="Is the user allergic to nuts?", butler="main"))
    assert f"fact:{stored.ref}" in briefing.text
    for _ in range(2):
        await get(resources, "fact", stored.ref)
    after = value("briefed_memories_total"), value("briefed_memories_referenced_total")
    assert (after[0] - before[0], after[1] - before[1]) == (1, 1)


def test_the_memory_of_briefings_is_bounded() -> None:
    """Old briefings are dropped first."""
    briefed, ids = BriefedMemories(most=3), [uuid4() for _ in range(5)]
    briefed.add(ids)
    before = value("briefed_memories_referenced_total")
    briefed.referenced(ids)
    assert value("briefed_memories_referenced_total") == before + 3
    assert len(briefed) == 0
