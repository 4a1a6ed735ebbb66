"""Finding: what was learned of the names in a question is used, until the store says otherwise."""

from typing import Any

import pytest

from memory_butler.models import NewFact, Question
from memory_butler.operations.retrieval import ranked_candidates, search
from memory_butler.operations.retrieval.candidate_source import fetch_candidates
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The words of each question to the store, in their order."""
    seen: list[str] = []

    async def noted(resources: Resources, caller: Any, probe: Any, *given: Any, **more: Any) -> Any:
        seen.append(probe.words)
        return await fetch_candidates(resources, caller, probe, *given, **more)

    monkeypatch.setattr(ranked_candidates, "fetch_candidates", noted)
    return seen


async def test_what_only_looks_like_a_name_is_taken_for_one_once(resources: Resources, asked: list[str]) -> None:
    """Nobody is called Naxos here: the question is asked again with the word, and the next one at once with it."""
    await remember.fact(
        resources, NewFact(subject="trip", predicate="plan", content="the ferry to Naxos leaves at nine")
    )
    for words, times in (("When does the ferry to Naxos leave?", 2), ("Who booked the ferry to Naxos?", 1)):
        asked.clear()
        found = await search.search(resources, Question(query=words))
        assert len(asked) == times and "Naxos" in asked[-1]
        assert found.results[0].hit.content.startswith("the ferry")


async def test_a_name_that_came_to_be_is_noticed(resources: Resources, asked: list[str]) -> None:
    """Ben was nobody when he was first asked about; later he is, and that is learned with one question more."""
    await search.search(resources, Question(query="Does Ben like coffee?"))
    await remember.fact(resources, NewFact(subject="Ben", predicate="coffee", content="likes it black"))
    for words, times in (("Does Ben like tea?", 2), ("Does Ben like milk?", 1)):
        asked.clear()
        await search.search(resources, Question(query=words))
        assert len(asked) == times and "Ben" not in asked[-1]


async def test_where_capitals_are_nobodys_names_they_are_not_taken_for_such(
    resources: Resources, asked: list[str]
) -> None:
    """After a first city that was nobody, the next ones cost no second question; Ben, whom the store knows, costs one
    the first time and is then known; and after two people who were known, a third is believed to be."""
    for name in ("Ben", "Carla", "David"):
        await remember.fact(resources, NewFact(subject=name, predicate="home", content="lives by the sea"))
    for words, times in (
        ("How was the weather in Seattle?", 2),
        ("How was the weather in Chicago?", 1),
        ("How was the weather in Oregon on the day of the storm?", 1),
        ("Does Ben live there?", 2),
        ("Where does Ben live?", 1),
        ("Does Carla live there?", 2),
        ("Which songs does David like?", 1),
    ):
        asked.clear()
        await search.search(resources, Question(query=words))
        assert (words, len(asked)) == (words, times)


async def test_only_what_may_be_a_name_is_kept(resources: Resources) -> None:
    """Of a dozen words of a question that could be names, only Anna looks like one."""
    await remember.fact(resources, NewFact(subject="Anna", predicate="tea", content="likes green tea"))
    before = len(resources.name_predictor._is_name)
    await search.search(resources, Question(query="Which tea does Anna like on New Year's Eve?"))
    assert len(resources.name_predictor._is_name) == before + 1
