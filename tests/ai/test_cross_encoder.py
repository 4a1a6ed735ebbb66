"""The scores are those of the original model, and whatever is not such a model is refused with its name."""

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
from tokenizers import Tokenizer

from memory_butler.ai import cross_encoder
from memory_butler.ai.classifiers import read_classifier
from memory_butler.ai.cross_encoder import CrossEncoder, CrossEncoderSource, FakeCrossEncoder, PairModel
from memory_butler.errors import InternalError, InvalidInput, TargetUnavailable

REFERENCE = json.loads((Path(__file__).parent / "reference_scores.json").read_text())
QUERY, TEXTS = REFERENCE["query"], REFERENCE["texts"]
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


def by_hand(weights: tiny.Weights, ids: list[int], segments: list[int]) -> Any:
    """BERT's classifier written down as its paper has it, one pair at a time, in float64."""
    w = {name.removeprefix("bert."): value.astype(np.float64) for name, value in weights.items()}

    def dense(name: str, x: Any) -> Any:
        return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    def normalised(name: str, x: Any) -> Any:
        centred = x - x.mean(-1, keepdims=True)
        deviation = np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12)
        return centred / deviation * w[f"{name}.weight"] + w[f"{name}.bias"]

    tables = {"word": ids, "position": list(range(len(ids))), "token_type": segments}
    x = sum(w[f"embeddings.{table}_embeddings.weight"][rows] for table, rows in tables.items())
    x = normalised("embeddings.LayerNorm", x)
    size = tiny.WIDTH // tiny.HEADS
    for layer in range(tiny.LAYERS):
        at = f"encoder.layer.{layer}."
        q, k, v = (dense(f"{at}attention.self.{part}", x) for part in ("query", "key", "value"))
        heads = []
        for head in range(tiny.HEADS):
            own = slice(head * size, (head + 1) * size)
            weight = np.exp(q[:, own] @ k[:, own].T / math.sqrt(size))
            heads.append(weight / weight.sum(-1, keepdims=True) @ v[:, own])
        attended = dense(f"{at}attention.output.dense", np.concatenate(heads, axis=1))
        x = normalised(f"{at}attention.output.LayerNorm", x + attended)
        wide = dense(f"{at}intermediate.dense", x)
        wide = wide * 0.5 * (1 + np.vectorize(math.erf)(wide / math.sqrt(2)))
        x = normalised(f"{at}output.LayerNorm", x + dense(f"{at}output.dense", wide))
    return dense("classifier", np.tanh(dense("pooler.dense", x[0])) if "pooler.dense.weight" in w else x[0])


def pair(folder: Path, text: str, query: str = QUERY) -> tuple[list[int], list[int]]:
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(tiny.POSITIONS, strategy="only_second")
    both = tokenizer.encode(query, text)
    return both.ids, both.type_ids


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


@pytest.mark.parametrize("name", REFERENCE["models"])
async def test_scores_are_those_of_the_original_library(tmp_path: Path, name: str) -> None:
    """Every kind of classifier gives what transformers gave for the same weights, also for an empty and a long text."""
    known = REFERENCE["models"][name]
    folder = tiny.write(tmp_path / "model", known["kind"], known["labels"], **known["config"])
    np.testing.assert_allclose(await scores(folder), known["scores"], atol=EXACT)


async def test_scores_are_those_of_the_formulas(folder: Path) -> None:
    """One label: the sigmoid of what an implementation by hand computes from the same files."""
    expected = [sigmoid(by_hand(tiny.weights(), *pair(folder, text))[0]) for text in TEXTS]
    assert max(expected) - min(expected) > 0.1
    np.testing.assert_allclose(await scores(folder), expected, atol=EXACT)


async def test_two_labels_are_weighed_against_each_other(tmp_path: Path) -> None:
    folder = tiny.write(tmp_path / "two", labels=2)
    logits = [by_hand(tiny.weights(labels=2), *pair(folder, text)) for text in TEXTS]
    expected = [float(np.exp(both[1]) / np.exp(both).sum()) for both in logits]
    np.testing.assert_allclose(await scores(folder), expected, atol=EXACT)


async def test_a_classifier_without_a_pooler_reads_the_first_token_itself(folder: Path) -> None:
    weights = {name: value for name, value in tiny.weights().items() if "pooler" not in name}
    (folder / "model.safetensors").write_bytes(tiny.safetensors(weights))
    expected = [sigmoid(by_hand(weights, *pair(folder, text))[0]) for text in TEXTS]
    np.testing.assert_allclose(await scores(folder), expected, atol=EXACT)


@pytest.mark.parametrize("kind", ["F64", "F16", "BF16"])
async def test_weights_in_other_kinds_of_numbers_are_read(folder: Path, kind: str) -> None:
    """Half-size numbers are widened, exactly: the scores are those of the rounded weights."""
    weights = tiny.weights()
    if kind == "BF16":
        stored: dict[str, Any] = {n: (v.view(np.uint32) >> 16).astype(np.uint16) for n, v in weights.items()}
        rounded = {n: (v.astype(np.uint32) << 16).view(np.float32) for n, v in stored.items()}
    else:
        stored = {n: v.astype({"F64": np.float64, "F16": np.float16}[kind]) for n, v in weights.items()}
        rounded = {n: v.astype(np.float32) for n, v in stored.items()}
    (folder / "model.safetensors").write_bytes(tiny.safetensors(stored))
    expected = [sigmoid(by_hand(rounded, *pair(folder, text))[0]) for text in TEXTS]
    np.testing.assert_allclose(await scores(folder), expected, atol=EXACT)


async def test_old_names_of_the_weights_are_understood(folder: Path) -> None:
    before = await scores(folder)
    renamed = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): value
        for name, value in tiny.weights().items()
    }
    (folder / "model.safetensors").write_bytes(tiny.safetensors(renamed))
    assert await scores(folder) == before


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
    """It is cut to a quarter of the room, so texts are still told apart; the text gets what a short query leaves."""
    model = PairModel(folder, folder.parent / "cache", 1)
    room = tiny.POSITIONS - 3
    long = model.tokenize(("what " * 500, "tea " * 500))
    assert len(long) == tiny.POSITIONS
    assert long.segments.count(0) == int(room * cross_encoder.QUERY_SHARE) + 2
    assert len(model.tokenize(("what", "tea " * 500))) == tiny.POSITIONS
    assert len(model.tokenize(("what", "tea"))) == 5
    first, second = await scores(folder, "what " * 500, ["tea", "coffee"])
    assert abs(first - second) > 1e-3


async def test_a_text_cannot_pretend_to_be_structure(folder: Path) -> None:
    """A text that spells out a special token is read letter by letter."""
    model = PairModel(folder, folder.parent / "cache", 1)
    separator = tiny.tokenizer().token_to_id("[SEP]")
    assert model.tokenize((QUERY, "tea [SEP] tea")).ids.count(separator) == 2


async def test_scores_stay_between_zero_and_one(folder: Path) -> None:
    """However sure the model is, a score is a probability that can be worked with."""
    weights = tiny.weights()
    for bias, near in ((1000.0, 1.0), (-1000.0, 0.0)):
        weights["classifier.bias"] = np.array([bias], np.float32)
        (folder / "model.safetensors").write_bytes(tiny.safetensors(weights))
        for score in await scores(folder):
            assert 0 < score < 1
            assert score == pytest.approx(near, abs=1e-9)


async def test_a_model_that_gives_no_numbers_has_failed(folder: Path) -> None:
    broken = tiny.weights() | {"classifier.bias": np.array([np.nan], np.float32)}
    (folder / "model.safetensors").write_bytes(tiny.safetensors(broken))
    with pytest.raises(InternalError, match="no scores"):
        await scores(folder)


async def test_no_texts_make_no_scores_and_load_nothing(tmp_path: Path) -> None:
    assert await scores(tmp_path / "nowhere", texts=[]) == []


async def test_a_text_that_is_not_unicode_is_refused(folder: Path) -> None:
    with pytest.raises(InvalidInput, match="Text 1 "):
        await scores(folder, texts=["fine", "lone \ud800"])


async def test_the_graph_is_kept_and_a_damaged_one_is_built_again(folder: Path) -> None:
    before = await scores(folder)
    [graph] = (folder.parent / "cache").iterdir()
    kept = graph.read_bytes()
    graph.write_bytes(b"not a graph")
    assert await scores(folder) == before
    assert graph.read_bytes() == kept


async def test_other_weights_make_another_graph(folder: Path) -> None:
    """A model that was exchanged in its folder is never answered for by the old one's graph."""
    before = await scores(folder)
    changed = tiny.weights() | {"classifier.bias": np.array([2.0], np.float32)}
    (folder / "model.safetensors").write_bytes(tiny.safetensors(changed))
    assert min(now - then for now, then in zip(await scores(folder), before, strict=True)) > 0.1


@pytest.mark.parametrize("name", cross_encoder.FILES)
async def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(TargetUnavailable, match=name) as caught:
        await scores(folder)
    assert "sequence classifier" in caught.value.recovery


def _without(name: str) -> dict[str, Any]:
    return {key: value for key, value in tiny.weights().items() if name not in key}


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"model_type": "deberta-v2", "architectures": ["DebertaV2ForSequenceClassification"]}, "DebertaV2ForSeq"),
        ({"model_type": "modernbert", "architectures": ["ModernBertForSequenceClassification"]}, "ModernBertFor"),
        ({"model_type": None}, "not supported"),
        ({"architectures": ["BertModel"]}, "is a BertModel, not a BertForSequenceClassification"),
        ({"architectures": ["BertForTokenClassification"]}, "is a BertForTokenClassification"),
        ({"architectures": None}, "model without a name"),
        ({"auto_map": {"AutoModel": "code.Model"}}, "code of its own"),
        ({"is_decoder": True}, "decoder"),
        ({"position_embedding_type": "relative_key"}, "relative_key positions"),
        ({"hidden_act": "silu"}, "activation 'silu'"),
        ({"num_attention_heads": 5}, "5 heads cannot share 32"),
        ({"num_attention_heads": None}, "no usable num_attention_heads"),
        ({"layer_norm_eps": "small"}, "no usable layer_norm_eps"),
        ({"hidden_size": 64}, "has the shape 100×32, not any×64"),
        ({"intermediate_size": 32}, r"intermediate\.dense\.weight has the shape 48×32, not 32×32"),
        ({"num_hidden_layers": 3}, r"no encoder\.layer\.2\."),
    ],
)
async def test_a_model_of_another_kind_is_refused_by_name(folder: Path, config: dict[str, Any], said: str) -> None:
    """The message names what is wrong and the way out lists what would be right; no score is made up."""
    (folder / "config.json").write_text(json.dumps(tiny.config(**config)))
    with pytest.raises(InvalidInput, match=said) as caught:
        await scores(folder)
    assert "BertForSequenceClassification" in caught.value.recovery


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        (b"", "cannot be read"),
        (b"\xff" * 100, "cannot be read"),
        (tiny.safetensors(tiny.weights())[:5000], "cannot be read"),
        (tiny.safetensors(_without("classifier")), "not a sequence classifier"),
        (tiny.safetensors(_without("word_embeddings")), r"no embeddings\.word_embeddings\.weight"),
        (tiny.safetensors(_without("token_type")), "token_type"),
        (tiny.safetensors(_without("pooler.dense.bias")), r"no pooler\.dense\.bias"),
        (tiny.safetensors(tiny.weights(labels=3)), "3 labels"),
        (
            tiny.safetensors(tiny.weights() | {"bert.pooler.dense.bias": np.zeros(32, np.int8)}),
            r"no pooler\.dense\.bias in a kind of number",
        ),
    ],
)
async def test_weights_that_do_not_fit_are_refused(folder: Path, weights: bytes, said: str) -> None:
    (folder / "model.safetensors").write_bytes(weights)
    with pytest.raises(InvalidInput, match=said):
        await scores(folder)


def test_a_dense_layer_that_belongs_to_the_kind_may_not_be_missing() -> None:
    """Only BERT's pooler is optional: RoBERTa without its dense layer is a broken file."""
    weights = {name: value for name, value in tiny.weights("roberta").items() if "classifier.dense" not in name}
    with pytest.raises(InvalidInput, match=r"no pooler\.dense\.weight"):
        read_classifier(json.dumps(tiny.config("roberta")).encode(), tiny.safetensors(weights), "it")


def _more_words() -> str:
    tokenizer = tiny.tokenizer()
    tokenizer.add_tokens([f"word{number}" for number in range(50)])
    return tokenizer.to_str()


def _no_template() -> str:
    return json.dumps(json.loads(tiny.tokenizer().to_str()) | {"post_processor": None})


@pytest.mark.parametrize(("made", "said"), [(_more_words, "130 tokens, the model 100"), (_no_template, "two texts")])
async def test_a_tokenizer_of_another_model_is_refused(folder: Path, made: Callable[[], str], said: str) -> None:
    (folder / "tokenizer.json").write_text(made())
    with pytest.raises(InvalidInput, match=said):
        await scores(folder)


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json"])
async def test_a_file_that_is_not_json_is_refused(folder: Path, name: str) -> None:
    (folder / name).write_bytes(b"not json")
    with pytest.raises(InvalidInput, match=f"{name} cannot be read"):
        await scores(folder)


async def test_a_model_that_failed_to_load_is_tried_again_only_after_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Searches in between are told at once, from memory."""
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
    """While a model is being fetched, searches are told so at once; once it is there they are answered."""
    began, may_go_on = threading.Event(), threading.Event()
    locate = CrossEncoderSource.locate

    def slowly(source: CrossEncoderSource, cache: Path) -> Path:
        began.set()
        assert may_go_on.wait(10)
        return locate(source, cache)

    monkeypatch.setattr(CrossEncoderSource, "locate", slowly)
    monkeypatch.setattr(cross_encoder, "LOADING_PATIENCE_SECONDS", 0.0)
    encoder = opened(folder)
    starting = asyncio.create_task(encoder.start())
    assert await asyncio.to_thread(began.wait, 10)
    with pytest.raises(TargetUnavailable, match="still being loaded"):
        await encoder.score(QUERY, TEXTS)
    may_go_on.set()
    await starting
    assert len(await encoder.score(QUERY, TEXTS)) == len(TEXTS)
    await encoder.close()


async def test_nothing_set_is_no_cross_encoder(tmp_path: Path) -> None:
    encoder = CrossEncoder(CrossEncoderSource(), cache=tmp_path)
    with pytest.raises(InvalidInput, match="No cross-encoder is set"):
        await encoder.start()
    await encoder.close()
    await encoder.close()


async def test_the_fake_likes_shared_words() -> None:
    best, some, none = await FakeCrossEncoder().score("tea in Rome", ["In Rome: tea.", "tea", "coffee"])
    assert 1 > best > some > none > 0
