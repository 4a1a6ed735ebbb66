"""A second look at the candidates has its bounds, and a search goes on without it."""

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from tests.ai.fake_cross_encoder import FakeCrossEncoder

from memory_butler.ai import cross_encoder
from memory_butler.ai.batching import Vectors
from memory_butler.ai.cross_encoder import CrossEncoder, CrossEncoderSource
from memory_butler.ai.reranking import RerankFailed, RerankTooSlow, rerank, rerank_if_possible
from memory_butler.errors import InternalError

TEXTS = [f"text {number}" for number in range(40)]


class GatedModel:
    """Every text is a batch of its own, and a batch waits for leave; a text that says so breaks the model."""

    dimensions = 1
    failures: tuple[type[BaseException], ...] = (ZeroDivisionError,)

    def __init__(self) -> None:
        self.may_run = threading.Event()
        self.running = threading.Event()
        self.seen: list[str] = []

    def tokenize(self, pair: tuple[str, str]) -> str:
        return f"{pair[0]}|{pair[1]}".ljust(200)

    def run(self, rows: Sequence[str]) -> Vectors:
        self.seen += [row.strip() for row in rows]
        self.running.set()
        assert self.may_run.wait(10)
        if any("break" in row for row in rows):
            raise ZeroDivisionError("broken")
        return np.array([[float(row.split()[-1])] for row in rows], np.float32)


@pytest.fixture
def model() -> GatedModel:
    return GatedModel()


@pytest.fixture
def encoder(model: GatedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CrossEncoder:
    monkeypatch.setattr(CrossEncoderSource, "locate", lambda *_: (tmp_path, tmp_path))
    monkeypatch.setattr(cross_encoder, "PairModel", lambda *_: model)
    return CrossEncoder(CrossEncoderSource(), cache=tmp_path)


async def test_scores_come_in_the_order_of_the_texts() -> None:
    scores = await rerank(FakeCrossEncoder(), "b", ["a", "b", "c"], limit=10, milliseconds=1000)
    assert max(scores) == scores[1]
    assert len(scores) == 3


async def test_no_more_candidates_than_allowed_are_looked_at(encoder: CrossEncoder, model: GatedModel) -> None:
    model.may_run.set()
    scores = await rerank(encoder, "q", TEXTS, limit=7, milliseconds=10_000)
    assert scores == sorted(scores)
    assert sorted(model.seen) == [f"q|{text}" for text in TEXTS[:7]]
    await encoder.close()


async def test_too_slow_is_given_up_in_time_and_the_work_stops(encoder: CrossEncoder, model: GatedModel) -> None:
    """The caller goes on at its deadline; of forty texts at most the one being looked at is finished."""
    await encoder.start()
    scores, degraded = await asyncio.wait_for(
        rerank_if_possible(encoder, "q", TEXTS, limit=40, milliseconds=50), timeout=5
    )
    assert scores is None
    assert degraded == ("not reranked: 40 candidates took the reranker longer than 50 ms.",)
    model.may_run.set()
    assert len(await rerank(encoder, "next", TEXTS, limit=3, milliseconds=10_000)) == 3
    # Within 50 ms a busy machine may not even have begun.
    assert [seen for seen in model.seen if seen.startswith("q|")] in ([], ["q|text 0"])
    await encoder.close()


async def test_searches_that_were_given_up_do_not_pile_up(encoder: CrossEncoder, model: GatedModel) -> None:
    """While one batch blocks the model, twenty more searches come and go; none of their texts is ever looked at."""
    first = asyncio.create_task(rerank(encoder, "first", TEXTS, limit=1, milliseconds=10_000))
    assert await asyncio.to_thread(model.running.wait, 10)
    for number in range(20):
        with pytest.raises(RerankTooSlow):
            await rerank(encoder, f"late {number}", TEXTS, limit=40, milliseconds=1)
    assert not encoder._thread._bulk, "texts that nobody waits for are let go"
    model.may_run.set()
    assert len(await first) == 1
    assert len(await rerank(encoder, "last", TEXTS, limit=2, milliseconds=10_000)) == 2
    assert {seen.split("|")[0] for seen in model.seen} == {"first", "last"}
    await encoder.close()


async def test_a_broken_model_is_done_without(encoder: CrossEncoder, model: GatedModel) -> None:
    """The search is told why, and the next one may have more luck."""
    model.may_run.set()
    scores, degraded = await rerank_if_possible(encoder, "q", ["break 1"], limit=5, milliseconds=10_000)
    assert scores is None
    assert degraded == ("not reranked: The cross-encoder failed: broken",)
    assert await rerank_if_possible(encoder, "q", ["fine 0"], limit=5, milliseconds=10_000) == ([0.5], ())
    await encoder.close()


async def test_a_model_that_is_not_there_is_done_without(tmp_path: Path) -> None:
    encoder = CrossEncoder(CrossEncoderSource(tmp_path / "nowhere"), cache=tmp_path)
    with pytest.raises(RerankFailed, match="not found") as caught:
        await rerank(encoder, "q", TEXTS, limit=5, milliseconds=10_000)
    assert "folder" in caught.value.recovery
    await encoder.close()


async def test_a_fault_inside_is_told_as_a_failure() -> None:
    class Faulty(FakeCrossEncoder):
        async def score(self, query: str, texts: Sequence[str]) -> list[float]:
            raise InternalError("Something fell over.")

    with pytest.raises(RerankFailed, match="fell over"):
        await rerank(Faulty(), "q", TEXTS, limit=5, milliseconds=1000)


async def test_giving_up_from_outside_is_not_mistaken_for_slowness(encoder: CrossEncoder, model: GatedModel) -> None:
    """A caller whose own deadline has passed is cancelled as usual, and the work stops all the same."""
    task = asyncio.create_task(rerank_if_possible(encoder, "q", TEXTS, limit=40, milliseconds=60_000))
    assert await asyncio.to_thread(model.running.wait, 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    model.may_run.set()
    await rerank(encoder, "next", TEXTS, limit=1, milliseconds=10_000)
    assert len([seen for seen in model.seen if seen.startswith("q|")]) == 1
    await encoder.close()
