"""A tiny cross-encoder as an ONNX file: embeddings, a masked mean and a dense layer, with weights from a seed."""

import string
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx.helper
import onnx.numpy_helper
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing

WORDS = ["tea", "coffee", "the", "user", "likes", "in", "morning", "what", "does", "drink", "train", "at", "eight", "?"]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
WIDTH, POSITIONS, VOCABULARY = 16, 64, 100
INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def tokenizer() -> Tokenizer:
    letters = list(string.ascii_lowercase)
    vocabulary = [*SPECIAL, *WORDS, *letters, *(f"##{letter}" for letter in letters), *string.digits]
    ids = {token: number for number, token in enumerate(vocabulary)}
    made = Tokenizer(WordPiece(ids, unk_token="[UNK]"))
    made.normalizer, made.pre_tokenizer = BertNormalizer(), BertPreTokenizer()
    made.add_special_tokens(SPECIAL)
    made.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", ids["[CLS]"]), ("[SEP]", ids["[SEP]"])],
    )
    # As in many published files; a reader that obeyed it would cut too early and pad too much.
    made.enable_truncation(16)
    made.enable_padding(length=16)
    return made


def weights(labels: int = 1) -> dict[str, npt.NDArray[np.float32]]:
    random = np.random.default_rng(7)
    shapes = {
        "words": (VOCABULARY, WIDTH),
        "positions": (POSITIONS, WIDTH),
        "segments": (2, WIDTH),
        "dense": (WIDTH, WIDTH),
        "labels": (WIDTH, labels),
    }
    made = {name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    return made | {"bias": np.zeros(labels, np.float32)}


def logits(ids: list[int], segments: list[int], labels: int = 1) -> Any:
    """The same model in numpy, for one pair."""
    w = weights(labels)
    hidden = w["words"][ids] + w["positions"][: len(ids)] + w["segments"][segments]
    return np.tanh(hidden.mean(axis=0) @ w["dense"]) @ w["labels"] + w["bias"]


def graph(labels: int = 1, inputs: tuple[str, ...] = INPUTS, integers: str = "INT64", **changed: Any) -> bytes:
    """The ONNX file; `changed` replaces weights. Without token_type_ids, every token is of the first segment."""
    constants = {
        **weights(labels),
        **changed,
        "zero": np.array([0], np.int64),
        "one": np.array([1], np.int64),
        "two": np.array([2], np.int64),
    }
    make = onnx.helper.make_node
    nodes = [
        make("Gather", ["words", "input_ids"], ["words.found"]),
        make("Shape", ["input_ids"], ["shape"]),
        make("Slice", ["shape", "one", "two"], ["length"]),
        make("Slice", ["positions", "zero", "length", "zero"], ["positions.found"]),
        make("Add", ["words.found", "positions.found"], ["placed"]),
        make("Cast", ["attention_mask"], ["mask"], to=onnx.TensorProto.FLOAT),
        make("Unsqueeze", ["mask", "two"], ["mask.column"]),
        make("Mul", ["hidden", "mask.column"], ["masked"]),
        make("ReduceSum", ["masked", "one"], ["summed"], keepdims=0),
        make("ReduceSum", ["mask", "one"], ["count"], keepdims=1),
        make("Div", ["summed", "count"], ["mean"]),
        make("MatMul", ["mean", "dense"], ["wide"]),
        make("Tanh", ["wide"], ["active"]),
        make("MatMul", ["active", "labels"], ["product"]),
        make("Add", ["product", "bias"], ["logits"]),
    ]
    if "token_type_ids" in inputs:
        segments = make("Gather", ["segments", "token_type_ids"], ["segments.found"])
        nodes[5:5] = [segments, make("Add", ["placed", "segments.found"], ["hidden"])]
    else:
        nodes.insert(5, make("Identity", ["placed"], ["hidden"]))
    kind = getattr(onnx.TensorProto, integers)
    value = onnx.helper.make_tensor_value_info
    model = onnx.helper.make_model(
        onnx.helper.make_graph(
            nodes,
            "tiny",
            [value(name, kind, ["batch", "length"]) for name in inputs],
            [value("logits", onnx.TensorProto.FLOAT, ["batch", labels])],
            [onnx.numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()],
        ),
        opset_imports=[onnx.helper.make_opsetid("", 17)],
        ir_version=8,
    )
    content: bytes = model.SerializeToString()
    return content


def write(folder: Path, name: str = "model.onnx", **changed: Any) -> Path:
    """Write a folder with the two files of a cross-encoder; `changed` goes to `graph`."""
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(graph(**changed))
    tokenizer().save(str(folder / "tokenizer.json"))
    return folder
