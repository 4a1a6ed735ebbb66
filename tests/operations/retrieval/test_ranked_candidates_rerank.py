"""The second look at the candidates: the judge, a cross-encoder or none, as the settings say."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.ai import tiny_classifier as tiny

from memory_butler.ai.embedding import FakeEmbedder
from memory_butler.ai.reranking import rerank
from memory_butler.models import Answer, Mode, NewFact, Question
from memory_butler.operations.retrieval import search
from memory_butler.operations.writing import remember
from memory_butler.policy.memories.text import indexed_text
from memory_butler.resources import Resources, open_resources
from memory_butler.settings import load_settings

TEXTS = ("tea in the morning", "coffee at eight", "the user likes tea", "what does the train drink", "eight coffee tea")
QUERY = "what tea does the user drink in the morning ?"


@asynccontextmanager
async def opened(home: Path, tenant: str, **rerank: Any) -> AsyncIterator[Resources]:
    # Only how well it fits counts, so that the order is that of the second look.
    weights = {"fit": 1.0, "importance": 0.0, "recency": 0.0, "confidence": 0.0}
    settings = load_settings(home=home, tenant=tenant, retrieval={"rerank": rerank, "weights": weights})
    async with open_resources(settings, embedder=FakeEmbedder()) as resources:
        yield resources


async def stock(resources: Resources) -> None:
    for number, text in enumerate(TEXTS):
        await remember.fact(resources, NewFact(subject="user", predicate=f"says:{number}", content=text))


async def ask(resources: Resources, **given: Any) -> Answer:
    return await search.search(resources, Question(query=QUERY, min_relevance=0, **given), bump=False)


def contents(found: Answer) -> list[str]:
    return [entry.hit.content for entry in found.results]


async def test_a_cross_encoder_decides_the_order(home: Path, tenant: str, tmp_path: Path) -> None:
    """Results come in the order of the model's own scores, which is another one than the fused."""
    async with opened(home, tenant, method="off") as plain:
        await stock(plain)
        fused = await ask(plain)
    chosen = {"folder": tiny.write(tmp_path / "model")}
    async with opened(home, tenant, method="cross_encoder", cross_encoder=chosen, milliseconds=10_000) as resources:
        found = await ask(resources)
        assert resources.reranker is not None
        hits = [entry.hit for entry in found.results]
        texts = [indexed_text(hit.type, hit.subject_label, hit.predicate_label, hit.content) for hit in hits]
        scores = await rerank(resources.reranker, QUERY, texts, limit=30, milliseconds=10_000)
    assert found.degraded == ()
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == len(TEXTS)
    assert sorted(contents(found)) == sorted(contents(fused))
    assert contents(found) != contents(fused)


async def test_it_looks_at_the_best_of_the_fused_order_only(home: Path, tenant: str, tmp_path: Path) -> None:
    """With two candidates allowed, the first two of the fused order change places at most; the rest stand."""
    async with opened(home, tenant, method="off") as plain:
        await stock(plain)
        fused = contents(await ask(plain))
    chosen = {"folder": tiny.write(tmp_path / "model")}
    limits = {"candidates": 2, "milliseconds": 10_000}
    async with opened(home, tenant, method="cross_encoder", cross_encoder=chosen, **limits) as resources:
        found = contents(await ask(resources))
    assert set(found[:2]) == set(fused[:2])
    assert found[2:] == fused[2:]


async def test_too_slow_is_the_fused_order_and_says_so(home: Path, tenant: str, tmp_path: Path) -> None:
    """A search waits for it no longer than it may and still answers."""
    async with opened(home, tenant, method="off") as plain:
        await stock(plain)
        fused = await ask(plain)
    chosen = {"folder": tiny.write(tmp_path / "model")}
    async with opened(home, tenant, method="cross_encoder", cross_encoder=chosen, milliseconds=1e-6) as resources:
        found = await ask(resources)
    assert contents(found) == contents(fused)
    (said,) = found.degraded
    assert said.startswith("not reranked: ")
    assert "longer than" in said


async def test_a_broken_model_is_the_fused_order_and_says_so(home: Path, tenant: str, tmp_path: Path) -> None:
    """One that is not there costs its help and nothing else; the answer names what is wrong."""
    async with opened(home, tenant, method="off") as plain:
        await stock(plain)
        fused = await ask(plain)
    chosen = {"folder": tmp_path / "nowhere"}
    async with opened(home, tenant, method="cross_encoder", cross_encoder=chosen) as resources:
        found = await ask(resources)
    assert contents(found) == contents(fused)
    (said,) = found.degraded
    assert said.startswith("not reranked: ")


async def test_a_search_by_one_list_asks_no_model(home: Path, tenant: str, tmp_path: Path) -> None:
    """Semantic and keyword are the bare lists: a model that is not there is not missed."""
    chosen = {"folder": tmp_path / "nowhere"}
    async with opened(home, tenant, method="cross_encoder", cross_encoder=chosen) as resources:
        await stock(resources)
        for mode in (Mode.SEMANTIC, Mode.KEYWORD):
            assert (await ask(resources, mode=mode)).degraded == ()


async def test_off_leaves_the_fused_order_and_the_judge_changes_it(home: Path, tenant: str) -> None:
    """Off, the places are those of the fusion of both lists; by default the judge weighs more than places."""
    async with opened(home, tenant, method="off") as plain:
        await stock(plain)
        found = await ask(plain)
        retrieval = plain.settings.retrieval
        votes = [
            retrieval.semantic_weight / (60 + (entry.parts.semantic_rank or 10**9))
            + retrieval.keyword_weight / (60 + (entry.parts.keyword_rank or 10**9))
            for entry in found.results
        ]
        assert votes == sorted(votes, reverse=True)
        default = load_settings(home=home).retrieval.rerank
        assert default.method == "judge"
        judged = replace(
            plain,
            settings=plain.settings.model_copy(update={"retrieval": retrieval.model_copy(update={"rerank": default})}),
        )
        assert sorted(contents(await ask(judged))) == sorted(contents(found))
