"""A deep search: a cross-encoder looks at the best candidates; without one the search answers and says so."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.ai import tiny_classifier as tiny

from memory_butler.ai.embedding import FakeEmbedder
from memory_butler.models import Answer, BriefRequest, Mode, NewFact, Question
from memory_butler.operations.briefing.brief import brief
from memory_butler.operations.retrieval import explain, search
from memory_butler.operations.retrieval.deep_search import load_ahead
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources, open_resources
from memory_butler.settings import load_settings

# Scores depend on the time since a memory was stored.
NOW = datetime(2026, 3, 1, 9, tzinfo=UTC)
TEXTS = ("tea in the morning", "coffee at eight", "the user likes tea", "what does the train drink", "eight coffee tea")
QUERY = "what tea does the user drink in the morning ?"
COMMAND = "memory-butler models get ms-marco-MiniLM-L-12-v2"


@asynccontextmanager
async def opened(home: Path, tenant: str, folder: Path | None = None, **deep: Any) -> AsyncIterator[Resources]:
    retrieval = {"deep": deep, "rerank": {"cross_encoder": {"folder": folder}}}
    settings = load_settings(home=home, tenant=tenant, retrieval=retrieval)
    async with open_resources(settings, embedder=FakeEmbedder(), clock=lambda: NOW) as resources:
        yield resources


async def stock(resources: Resources) -> None:
    for number, text in enumerate(TEXTS):
        await remember.fact(resources, NewFact(subject="user", predicate=f"says:{number}", content=text))


async def ask(resources: Resources, **given: Any) -> Answer:
    return await search.search(resources, Question(query=QUERY, min_relevance=0, **given), bump=False)


def relevances(found: Answer) -> dict[str, float]:
    return {entry.hit.content: entry.parts.relevance for entry in found.results}


async def test_it_changes_the_relevance(home: Path, tenant: str, tmp_path: Path) -> None:
    async with opened(home, tenant, tiny.write(tmp_path / "model"), milliseconds=30_000) as resources:
        await stock(resources)
        plain, deep, again = await ask(resources), await ask(resources, deep=True), await ask(resources, deep=True)
    assert deep.degraded == ()
    assert relevances(deep).keys() == relevances(plain).keys()
    assert relevances(deep) != relevances(plain)
    assert deep == again


async def test_without_the_model_the_usual_answer_names_the_command(home: Path, tenant: str) -> None:
    async with opened(home, tenant) as resources:
        await stock(resources)
        plain, deep = await ask(resources), await ask(resources, deep=True)
    assert deep.results == plain.results
    (note,) = deep.degraded
    assert note.startswith("no deep look: ")
    assert COMMAND in note


async def test_too_slow_is_the_usual_order_and_says_so(home: Path, tenant: str, tmp_path: Path) -> None:
    async with opened(home, tenant, tiny.write(tmp_path / "model"), milliseconds=1e-6) as resources:
        await stock(resources)
        plain, deep = await ask(resources), await ask(resources, deep=True)
    assert deep.results == plain.results
    (note,) = deep.degraded
    assert note == "no deep look: The cross-encoder is still loading."


class SlowToLoad:
    """A cross-encoder whose model is loaded when the test says so; loading survives a caller that stops waiting."""

    def __init__(self) -> None:
        self.loaded = asyncio.Event()
        self.scored = 0

    async def start(self) -> None:
        await self.loaded.wait()

    async def score(self, query: str, texts: Sequence[str]) -> list[float]:
        self.scored += 1
        return [0.9 / (1 + place) for place, _ in enumerate(texts)]

    async def close(self) -> None:
        pass


async def test_the_limit_covers_loading_and_a_later_search_has_the_model(home: Path, tenant: str) -> None:
    """The first search answers as usual within the limit and says that the model is loading."""
    slow = SlowToLoad()
    async with opened(home, tenant, milliseconds=1) as impatient:
        resources = replace(impatient, deep_look=slow)
        await stock(resources)
        plain, first = await ask(resources), await ask(resources, deep=True)
        assert (first.results, slow.scored) == (plain.results, 0)
        assert first.degraded == ("no deep look: The cross-encoder is still loading.",)
    async with opened(home, tenant, milliseconds=30_000) as patient:
        resources = replace(patient, deep_look=slow)
        slow.loaded.set()
        later = await ask(resources, deep=True)
        assert (later.degraded, slow.scored) == ((), 1)


async def test_a_process_with_one_search_loads_the_model_first(home: Path, tenant: str, tmp_path: Path) -> None:
    """Without a model it goes on, and the search says what is missing."""
    async with opened(home, tenant, tiny.write(tmp_path / "model"), milliseconds=30_000) as resources:
        await stock(resources)
        await load_ahead(resources)
        assert (await ask(resources, deep=True)).degraded == ()
    async with opened(home, tenant) as resources:
        await load_ahead(resources)
        assert COMMAND in str((await ask(resources, deep=True)).degraded)
    async with opened(home, tenant) as resources:
        await load_ahead(replace(resources, deep_look=None))


async def test_an_explanation_tells_of_the_deep_look(home: Path, tenant: str, tmp_path: Path) -> None:
    """The cross-encoder's score, the relevance after it, and the same place as in the search."""
    async with opened(home, tenant, tiny.write(tmp_path / "model"), milliseconds=30_000, candidates=3) as resources:
        await stock(resources)
        found = await ask(resources, deep=True)
        question = Question(query=QUERY, min_relevance=0, deep=True)
        told = {entry.hit.ref: await explain.explain(resources, question, entry.hit.ref) for entry in found.results}
        plain = await explain.explain(resources, replace(question, deep=False), found.results[0].hit.ref)
    for place, entry in enumerate(found.results, start=1):
        one = told[entry.hit.ref]
        assert one.second_look and one.gate
        assert (one.place, one.gate.relevance, one.second_look.method) == (place, entry.parts.relevance, "deep")
    scores = [one.second_look.cross_encoder_score for one in told.values() if one.second_look]
    assert len([score for score in scores if score is not None]) == 3
    assert any("not among the best 3" in one.second_look.why for one in told.values() if one.second_look)
    assert plain.second_look and plain.second_look.method == "judge"


async def test_an_explained_briefing_is_deep_too(home: Path, tenant: str) -> None:
    """Without a model the explanation of the search names the command, as the briefing does."""
    async with opened(home, tenant) as resources:
        await stock(resources)
        ref = (await ask(resources)).results[0].hit.ref
        told = await explain.explain(resources, Question(query=QUERY, deep=True), ref, token_budget=500)
    assert told.briefing and COMMAND in str(told.degraded)


async def test_a_search_by_one_list_has_no_deep_look(home: Path, tenant: str) -> None:
    async with opened(home, tenant) as resources:
        await stock(resources)
        assert (await ask(resources, deep=True, mode=Mode.KEYWORD)).degraded == ()


async def test_a_replaced_fact_does_not_come_back(home: Path, tenant: str, tmp_path: Path) -> None:
    async with opened(home, tenant, tiny.write(tmp_path / "model"), milliseconds=30_000) as resources:
        await remember.fact(resources, NewFact(subject="user", predicate="drinks", content="coffee in the morning"))
        await remember.fact(resources, NewFact(subject="user", predicate="drinks", content="tea in the morning"))
        assert list(relevances(await ask(resources, deep=True))) == ["tea in the morning"]


async def test_a_briefing_says_what_it_did_without(home: Path, tenant: str) -> None:
    async with opened(home, tenant) as resources:
        await stock(resources)
        plain = await brief(resources, BriefRequest(trigger_prompt=QUERY, butler="coder"))
        deep = await brief(resources, BriefRequest(trigger_prompt=QUERY, butler="coder", deep=True))
    assert deep.text == plain.text
    assert any(COMMAND in note for note in deep.receipt.degraded)
