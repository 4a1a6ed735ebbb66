"""Finding: which words of a question are names is known before it is asked, as far as that can be."""

from typing import Any

import pytest

from memory_butler.butler import Butler
from memory_butler.models import NewFact, Question
from memory_butler.operations import find, recall, remember


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The words of each question to the store, in their order."""
    seen: list[str] = []
    candidates = find.candidates

    async def noted(butler: Butler, caller: Any, probe: Any, *given: Any, **more: Any) -> Any:
        seen.append(probe.words)
        return await candidates(butler, caller, probe, *given, **more)

    monkeypatch.setattr(find, "candidates", noted)
    return seen


async def test_what_only_looks_like_a_name_is_no_reason_to_ask_twice(butler: Butler, asked: list[str]) -> None:
    """Nobody is called Naxos here: the word stays in the question, which is asked once, the first time and the next."""
    await remember.fact(butler, NewFact(subject="trip", predicate="plan", content="the ferry to Naxos leaves at nine"))
    for words in ("When does the ferry to Naxos leave?", "Who booked the ferry to Naxos?"):
        asked.clear()
        found = await recall.search(butler, Question(query=words))
        assert len(asked) == 1 and "Naxos" in asked[0]
        assert found.results[0].hit.content.startswith("the ferry")


async def test_a_name_is_taken_out_at_once(butler: Butler, asked: list[str]) -> None:
    """A name that the store knows is no part of what is compared, and that takes one question, too."""
    await remember.fact(butler, NewFact(subject="Anna", predicate="tea", content="likes green tea"))
    await recall.search(butler, Question(query="Which tea does Anna like?"))
    assert len(asked) == 1 and "Anna" not in asked[0]


async def test_a_guess_that_is_wrong_is_made_once(butler: Butler, asked: list[str]) -> None:
    """A name written small is only known from the answer, and one that came to be later, too: the question is asked
    again, and that is remembered."""
    await remember.fact(butler, NewFact(subject="Anna", predicate="tea", content="likes green tea"))
    await recall.search(butler, Question(query="which tea does anna like?"))
    assert len(asked) == 2
    asked.clear()
    await recall.search(butler, Question(query="does anna like coffee?"))
    assert len(asked) == 1
    await recall.search(butler, Question(query="Does Ben like coffee?"))
    await remember.fact(butler, NewFact(subject="Ben", predicate="coffee", content="likes it black"))
    asked.clear()
    await recall.search(butler, Question(query="Does Ben like tea?"))
    assert len(asked) == 2 and "Ben" in asked[0] and "Ben" not in asked[1]
    asked.clear()
    await recall.search(butler, Question(query="Does Ben like milk?"))
    assert len(asked) == 1 and "Ben" not in asked[0]
