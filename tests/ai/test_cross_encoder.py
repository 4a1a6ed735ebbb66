"""A cross-encoder scores as its ONNX file computes; a file that is no cross-encoder is refused with a reason."""

import asyncio
import json
import math
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.ai import tiny_classifier as tiny
from tests.ai.fake_cross_encoder import FakeCrossEncoder
from tokenizers import Tokenizer

from memory_butler.ai import cross_encoder
from memory_butler.ai.cross_encoder import CrossEncoder, CrossEncoderSource, PairModel
from memory_butler.errors import InternalError, InvalidInput, TargetUnavailable

QUERY = "what does the user drink in the morning?"
TEXTS = ["the user likes tea", "coffee at eight", "", "train " * 40, "tea"]
EXACT = 1e-6


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tiny.write(tmp_path / "model")


def opened(folder: Path) -> CrossEncoder:
    return CrossEncoder(CrossEncoderSource(folder), cache=folder.parent / "cache", threads=1)


async def scores(folder: Path, query: str = QUERY, texts: list[str] = TEXTS) -> list[float]:
    encoder = opened(folder)
    try:
        return await encoder.score(query, texts)
    finally:
        await encoder.close()


def pair_model(folder: Path) -> PairModel:
    return PairModel(folder / "model.onnx", folder / "tokenizer.json", 1)


def pair(folder: Path, text: str, query: str = QUERY) -> tuple[list[int], list[int]]:
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(tiny.POSITIONS, strategy="only_second")
    both = tokenizer.encode(query, text)
    return both.ids, both.type_ids


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


@pytest.mark.parametrize("name", cross_encoder.MODEL_FILES)
@pytest.mark.parametrize("integers", ["INT64", "INT32"])
async def test_one_label_is_a_sigmoid(tmp_path: Path, name: str, integers: str) -> None:
    """The scores are those of the same model in numpy, also for an empty and for a long text."""
    folder = tiny.write(tmp_path / "model", name, integers=integers)
    expected = [sigmoid(tiny.logits(*pair(folder, text))[0]) for text in TEXTS]
    assert max(expected) - min(expected) > 0.1
    np.testing.assert_allclose(await scores(folder), expected, atol=EXACT)


async def test_two_labels_are_weighed_against_each_other(tmp_path: Path) -> None:
    folder = tiny.write(tmp_path / "two", labels=2)
    logits = [tiny.logits(*pair(folder, text), labels=2) for text in TEXTS]
    expected = [float(np.exp(both[1]) / np.exp(both).sum()) for both in logits]
    np.testing.assert_allclose(await scores(folder), expected, atol=EXACT)


async def test_a_model_without_segments_gets_none(tmp_path: Path) -> None:
    """RoBERTa-style exports have no token_type_ids."""
    folder = tiny.write(tmp_path / "model", inputs=("input_ids", "attention_mask"))
    assert len(set(await scores(folder))) == len(TEXTS)


async def test_a_score_does_not_depend_on_its_neighbours(folder: Path) -> None:
    """Alone, in a batch, in another order and beside other queries: the same within 1e-6."""
    mixed = [text * times for times in (1, 2, 5) for text in TEXTS]
    encoder = opened(folder)
    together = await encoder.score(QUERY, mixed)
    backwards = (await encoder.score(QUERY, mixed[::-1]))[::-1]
    beside, _ = await asyncio.gather(encoder.score(QUERY, mixed), encoder.score("the train", mixed))
    for row, text in enumerate(mixed):
        [alone] = await encoder.score(QUERY, [text])
        assert max(abs(other[row] - alone) for other in (together, backwards, beside)) <= EXACT
    await encoder.close()


async def test_a_long_query_leaves_room_for_the_text(folder: Path) -> None:
    """It is cut to a quarter of the room, so texts are still told apart; the text gets what a short query leaves.

    The model has 64 positions, which is found out by trying: the ONNX file does not say it.
    """
    model = pair_model(folder)
    room = tiny.POSITIONS - 3
    long = model.tokenize(("what " * 500, "tea " * 500))
    assert len(long) == model.max_tokens == tiny.POSITIONS
    assert long.segments.count(0) == int(room * cross_encoder.QUERY_SHARE) + 2
    assert len(model.tokenize(("what", "tea " * 500))) == tiny.POSITIONS
    assert len(model.tokenize(("what", "tea"))) == 5
    first, second = await scores(folder, "what " * 500, ["tea", "coffee"])
    assert abs(first - second) > 1e-3


async def test_long_inputs_are_bounded_whatever_the_model_accepts(tmp_path: Path) -> None:
    positions = np.ones((5000, tiny.WIDTH), np.float32)
    model = pair_model(tiny.write(tmp_path / "model", positions=positions))
    assert len(model.tokenize((QUERY, "tea " * 5000))) == 512


async def test_a_text_cannot_pretend_to_be_structure(folder: Path) -> None:
    """A text that spells out a special token is read letter by letter."""
    separator = tiny.tokenizer().token_to_id("[SEP]")
    assert separator is not None
    assert pair_model(folder).tokenize((QUERY, "tea [SEP] tea")).ids.count(separator) == 2


async def test_scores_stay_between_zero_and_one(tmp_path: Path) -> None:
    """However sure the model is, a score is a probability that can be worked with."""
    for bias, near in ((1000.0, 1.0), (-1000.0, 0.0)):
        folder = tiny.write(tmp_path / "model", bias=np.array([bias], np.float32))
        for score in await scores(folder):
            assert 0 < score < 1
            assert score == pytest.approx(near, abs=1e-9)


async def test_a_model_that_gives_no_numbers_has_failed(tmp_path: Path) -> None:
    with pytest.raises(InternalError, match="not finite"):
        await scores(tiny.write(tmp_path / "model", bias=np.array([np.nan], np.float32)))


async def test_no_texts_make_no_scores_and_load_nothing(tmp_path: Path) -> None:
    assert await scores(tmp_path / "nowhere", texts=[]) == []


async def test_a_text_that_is_not_unicode_is_refused(folder: Path) -> None:
    with pytest.raises(InvalidInput, match="Text 1 "):
        await scores(folder, texts=["fine", "lone \ud800"])


async def test_a_folder_without_an_onnx_file_gets_an_error_that_says_how_to_get_one(folder: Path) -> None:
    (folder / "model.onnx").rename(folder / "model.safetensors")
    with pytest.raises(TargetUnavailable, match=r"no model\.onnx and no onnx/model\.onnx") as caught:
        await scores(folder)
    assert "optimum-cli export onnx" in caught.value.recovery


async def test_a_folder_without_a_tokenizer_is_refused(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()
    with pytest.raises(TargetUnavailable, match=r"no tokenizer\.json"):
        await scores(folder)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"labels": 3}, "shape 1×3, expected 1×1 or 1×2"),
        ({"inputs": ("input_ids", "attention_mask", "pixels")}, "inputs are attention_mask, input_ids, pixels"),
        ({"words": np.ones((50, tiny.WIDTH), np.float32)}, "cannot read the 80 tokens"),
        ({"positions": np.ones((20, tiny.WIDTH), np.float32)}, "fewer than 64 tokens"),
    ],
)
async def test_a_model_of_another_kind_is_refused_with_a_reason(
    tmp_path: Path, changed: dict[str, Any], said: str
) -> None:
    with pytest.raises(InvalidInput, match=said):
        await scores(tiny.write(tmp_path / "model", **changed))


@pytest.mark.parametrize("content", [b"", b"not a graph", tiny.graph()[:2000]])
async def test_a_file_that_is_no_graph_is_refused_and_kept(folder: Path, content: bytes) -> None:
    """It belongs to the user, so it is never deleted."""
    (folder / "model.onnx").write_bytes(content)
    with pytest.raises(InvalidInput, match=r"ONNX Runtime cannot open .*model\.onnx"):
        await scores(folder)
    assert (folder / "model.onnx").read_bytes() == content


def _no_template() -> str:
    return json.dumps(json.loads(tiny.tokenizer().to_str()) | {"post_processor": None})


@pytest.mark.parametrize(("made", "said"), [(lambda: "not json", "cannot be read"), (_no_template, "pair of texts")])
async def test_a_tokenizer_that_does_not_fit_is_refused(folder: Path, made: Callable[[], str], said: str) -> None:
    (folder / "tokenizer.json").write_text(made())
    with pytest.raises(InvalidInput, match=said):
        await scores(folder)


async def test_a_model_that_failed_to_load_is_loaded_again_only_after_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Searches in between fail at once with the same error."""
    encoder = opened(tmp_path / "model")
    with pytest.raises(TargetUnavailable, match="not found"):
        await encoder.score(QUERY, TEXTS)
    tiny.write(tmp_path / "model")
    with pytest.raises(TargetUnavailable, match="not found"):
        await encoder.score(QUERY, TEXTS)
    monkeypatch.setattr(cross_encoder, "RETRY_SECONDS", 0.0)
    assert len(await encoder.score(QUERY, TEXTS)) == len(TEXTS)
    await encoder.close()


async def test_long_loading_is_not_waited_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a model is downloading, searches fail at once; once it is loaded they get scores."""
    began, may_go_on = threading.Event(), threading.Event()
    locate = CrossEncoderSource.locate

    def slowly(source: CrossEncoderSource, cache: Path) -> tuple[Path, Path]:
        began.set()
        assert may_go_on.wait(10)
        return locate(source, cache)

    monkeypatch.setattr(CrossEncoderSource, "locate", slowly)
    monkeypatch.setattr(cross_encoder, "MAX_LOAD_WAIT_SECONDS", 0.0)
    encoder = opened(folder)
    starting = asyncio.create_task(encoder.start())
    assert await asyncio.to_thread(began.wait, 10)
    with pytest.raises(TargetUnavailable, match="still loading"):
        await encoder.score(QUERY, TEXTS)
    may_go_on.set()
    await starting
    assert len(await encoder.score(QUERY, TEXTS)) == len(TEXTS)
    await encoder.close()


async def test_nothing_configured_is_an_error(tmp_path: Path) -> None:
    encoder = CrossEncoder(CrossEncoderSource(), cache=tmp_path)
    with pytest.raises(InvalidInput, match="No cross-encoder is configured"):
        await encoder.start()
    await encoder.close()
    await encoder.close()


async def test_the_fake_scores_shared_words() -> None:
    best, some, none = await FakeCrossEncoder().score("tea in Rome", ["In Rome: tea.", "tea", "coffee"])
    assert 1 > best > some > none > 0
