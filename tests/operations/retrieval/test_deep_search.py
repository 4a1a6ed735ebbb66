"""A deep search: a cross-encoder looks at the best candidates; without one the search answers and says so."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.ai import tiny_classifier as tiny

from memory_butler.ai.embedding import FakeEmbedder
from memory_butler.models import Answer, BriefRequest, Mode, NewFact, Question
from memory_butler.operations.briefing.brief import brief
from memory_butler.operations.retrieval import search
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
    assert "longer than" in note


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
