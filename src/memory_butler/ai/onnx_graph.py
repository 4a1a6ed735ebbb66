"""Converts the tensors of a BERT encoder to an ONNX graph; that of all-MiniLM-L6-v2 once, cached as a file.

The graph takes token ids and an attention mask and returns unit vectors: mean pooling and normalization are inside it.

In int8, the matrix products of the layers, which are nearly all of the work, use integers. Weights are scaled by column
when the graph is built, activations by row at run time. A row belongs to one token of one text, so a vector does not
depend on the other texts of its batch. Word vectors are stored as integers, with a scale for each block of a vector.
"""

import json
import os
import struct
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from memory_butler.ai.weights import MODEL_FILE, Precision
from memory_butler.errors import TargetUnavailable

GRAPH_VERSIONS: dict[Precision, int] = {"int8": 3, "float32": 2}
DTYPES = {"F32": "<f4", "I64": "<i8"}

Tensors = dict[str, npt.NDArray[Any]]

HEADS = 12
DIMENSIONS = 384
EPSILON = 1e-12

# Tensors of word vectors in blocks, in place of the plain ones.
WORD_STEPS = "embeddings.word_embeddings.steps"
WORD_SCALES = "embeddings.word_embeddings.scales"

# Numbers of a word vector that share a scale. The vectors of texts are as close to those of float32 as with plain word
# vectors (mean cosine 0.9961 for 600 sentences both ways), and the file has 24 MB instead of 59.
WORD_BLOCK = 32
WORD_MAX = 127

# Two products of at most 255 × 64 add up within 16 bits, which is how processors without VNNI sum them.
WEIGHT_STEPS = 64
# The minimum of GELU: its output can use all 256 steps above it.
GELU_MINIMUM = -0.17


def graph_name(precision: Precision) -> str:
    return f"minilm-{MODEL_FILE.sha256[:12]}-{precision}-g{GRAPH_VERSIONS[precision]}.onnx"


def cached_graph(cache: Path, precision: Precision, read_safetensors: Callable[[], bytes]) -> Path:
    """Return the path of the graph in `cache`; build it first if it is missing.

    Two processes may build at once: each writes its own file and renames it, and both files are identical.
    """
    target = cache / graph_name(precision)
    if not target.is_file():
        for outdated in set(cache.glob("minilm-*.onnx")) - {cache / graph_name(one) for one in GRAPH_VERSIONS}:
            outdated.unlink(missing_ok=True)
        content = build_graph(read_tensors(read_safetensors()), precision)
        cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=cache)
        temporary = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
    return target


def read_tensors(content: bytes) -> Tensors:
    """Parse a safetensors file: the length of a JSON header, the header, then the raw numbers."""
    (header_length,) = struct.unpack_from("<Q", content)
    header = json.loads(content[8 : 8 + header_length])
    body = memoryview(content)[8 + header_length :]
    return {
        name: np.frombuffer(body[slice(*entry["data_offsets"])], DTYPES[entry["dtype"]]).reshape(entry["shape"])
        for name, entry in header.items()
        if name != "__metadata__"
    }


class _Graph:
    """Collects nodes and constants; every method returns the name of the output it added."""

    def __init__(self, precision: Precision) -> None:
        # Imported here: an installation has a finished graph, and only float32 and optional models build one.
        try:
            import onnx.helper  # noqa: PLC0415
            import onnx.numpy_helper  # noqa: PLC0415
        except ImportError:
            raise TargetUnavailable(
                "Building the graph of a model needs the package onnx, which is not installed.",
                recovery='Run `pip install "memory-butler[models]"`, or use the default embedding model in int8.',
            ) from None

        self.onnx = onnx
        self.precision = precision
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}

    def constant(self, name: str, value: npt.NDArray[Any]) -> str:
        self.constants[name] = self.onnx.numpy_helper.from_array(np.asarray(value, order="C"), name)
        return name

    def add(self, operator: str, inputs: list[str], *outputs: str, **attributes: Any) -> str:
        self.nodes.append(self.onnx.helper.make_node(operator, inputs, outputs, name=outputs[0], **attributes))
        return outputs[0]

    def fused(self, operator: str, inputs: list[str], *outputs: str, **attributes: Any) -> str:
        return self.add(operator, inputs, *outputs, domain="com.microsoft", **attributes)

    def product(self, value: str, weight: npt.NDArray[Any], output: str, *, least: float | None = None) -> str:
        """Add `value` × `weight`. `least`: a lower bound of all numbers in `value`, if one is known."""
        if self.precision == "float32":
            return self.add("MatMul", [value, self.constant(f"{output}.weight", weight)], output)
        column_scale = np.abs(weight).max(axis=0) / WEIGHT_STEPS
        whole = np.round(weight / column_scale).astype(np.int8)
        steps = self.constant(f"{output}.steps", whole)
        columns = self.constant(f"{output}.columns", column_scale.astype(np.float32))
        if least is None:
            zero, reach = self.constant("zero.middle", np.array(128, np.uint8)), 127
            size = self.add("Abs", [value], f"{output}.size")
        else:
            zero, reach = self.constant("zero.least", np.array(0, np.uint8)), 255
            value = size = self.add("Sub", [value, self.constant("least", np.array(least, np.float32))], f"{output}.up")
        largest = self.add("ReduceMax", [size], f"{output}.largest", axes=[-1], keepdims=1)
        rows = self.add(
            "Mul", [largest, self.constant(f"one.in.{reach}", np.array(1 / reach, np.float32))], f"{output}.rows"
        )
        scaled = self.add("Div", [value, rows], f"{output}.scaled")
        rounded = self.add(
            "QuantizeLinear", [scaled, self.constant("one", np.array(1, np.float32)), zero], f"{output}.rounded"
        )
        summed = self.add("MatMulInteger", [rounded, steps, zero], f"{output}.summed")
        real = self.add("Cast", [summed], f"{output}.real", to=self.onnx.TensorProto.FLOAT)
        by_row = self.add("Mul", [real, rows], f"{output}.by.row")
        if least is None:
            return self.add("Mul", [by_row, columns], output)
        raised = self.add("Mul", [by_row, columns], f"{output}.raised")
        lift = least * (whole * column_scale).sum(axis=0)
        return self.add("Add", [raised, self.constant(f"{output}.lift", lift.astype(np.float32))], output)


def build_graph(tensors: Tensors, precision: Precision = "float32") -> bytes:
    """Return the model as a serialized ONNX graph."""
    graph = _Graph(precision)
    if precision == "int8" and WORD_STEPS not in tensors:
        tensors = {**tensors, **_word_blocks(tensors["embeddings.word_embeddings.weight"])}
    helper = graph.onnx.helper
    hidden = _embeddings(graph, tensors)
    for layer in range(sum(name.endswith("attention.self.query.weight") for name in tensors)):
        hidden = _layer(graph, tensors, f"encoder.layer.{layer}.", hidden)
    output = _pooling(graph, hidden)
    shape = ["batch", "length"]
    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "minilm",
            [helper.make_tensor_value_info(name, graph.onnx.TensorProto.INT32, shape) for name in ("ids", "mask")],
            [helper.make_tensor_value_info(output, graph.onnx.TensorProto.FLOAT, ["batch", DIMENSIONS])],
            list(graph.constants.values()),
        ),
        opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)],
        ir_version=8,
        producer_name="memory-butler",
    )
    content: bytes = model.SerializeToString(deterministic=True)
    return content


def _word_blocks(words: npt.NDArray[Any]) -> Tensors:
    """Word vectors as small integers, with one scale for each block of a vector."""
    blocks = words.reshape(len(words), -1, WORD_BLOCK)
    scales = (np.abs(blocks).max(axis=2) / WORD_MAX).astype(np.float16)
    divisors = np.maximum(scales, np.finfo(np.float16).smallest_subnormal).astype(np.float32)[..., None]
    steps = np.clip(np.round(blocks / divisors), -WORD_MAX, WORD_MAX)
    return {WORD_STEPS: steps.astype(np.int8).reshape(words.shape), WORD_SCALES: scales}


def _embeddings(graph: _Graph, tensors: Tensors) -> str:
    # Every token is of the first segment, so the segment's vector is added to the positions once.
    segment = tensors["embeddings.token_type_embeddings.weight"][0]
    positions = graph.constant("positions", tensors["embeddings.position_embeddings.weight"] + segment)
    norm = [graph.constant(f"norm.{part}", tensors[f"embeddings.LayerNorm.{part}"]) for part in ("weight", "bias")]
    if WORD_STEPS in tensors:
        placed = graph.add("Add", [_words(graph, tensors), _first_positions(graph, positions)], "placed")
        return graph.add("LayerNormalization", [placed, *norm], "embedded", axis=-1, epsilon=EPSILON)
    words = graph.constant("words", tensors["embeddings.word_embeddings.weight"])
    inputs = ["ids", "", words, positions, "", *norm]
    return graph.fused("EmbedLayerNormalization", inputs, "embedded", "unused", epsilon=EPSILON)


def _words(graph: _Graph, tensors: Tensors) -> str:
    """Look up word vectors that are stored as small integers, with one scale for each block of a vector."""
    steps, scales = tensors[WORD_STEPS], tensors[WORD_SCALES]
    found = graph.add("Gather", [graph.constant("words", steps), "ids"], "words.found")
    real = graph.add("Cast", [found], "words.real", to=graph.onnx.TensorProto.FLOAT)
    scale = graph.add("Gather", [graph.constant("words.scales", scales), "ids"], "words.scale")
    scale = graph.add("Cast", [scale], "words.scale.real", to=graph.onnx.TensorProto.FLOAT)
    count = scales.shape[1]
    blocks = graph.constant("words.blocks", np.array([0, 0, count, steps.shape[1] // count], np.int64))
    one = graph.constant("words.block", np.array([0, 0, count, 1], np.int64))
    scaled = graph.add(
        "Mul",
        [
            graph.add("Reshape", [real, blocks], "words.real.blocks"),
            graph.add("Reshape", [scale, one], "words.scale.blocks"),
        ],
        "words.scaled",
    )
    whole = graph.constant("words.whole", np.array([0, 0, steps.shape[1]], np.int64))
    return graph.add("Reshape", [scaled, whole], "words.vectors")


def _first_positions(graph: _Graph, positions: str) -> str:
    """As many positions as the texts have tokens."""
    shape = graph.add("Shape", ["ids"], "ids.shape", start=1, end=2)
    zero = graph.constant("position.first", np.array([0], np.int64))
    return graph.add("Slice", [positions, zero, shape, zero], "positions.found")


def _layer(graph: _Graph, tensors: Tensors, prefix: str, hidden: str) -> str:
    def weight(name: str) -> npt.NDArray[Any]:
        return tensors[f"{prefix}{name}.weight"].T

    def bias(name: str) -> str:
        return graph.constant(f"{prefix}{name}.bias", tensors[f"{prefix}{name}.bias"])

    def add_and_normalise(part: str, addend: str, skip: str) -> str:
        scale = graph.constant(f"{prefix}{part}.scale", tensors[f"{prefix}{part}.LayerNorm.weight"])
        inputs = [addend, skip, scale, bias(f"{part}.LayerNorm"), bias(f"{part}.dense")]
        return graph.fused("SkipLayerNormalization", inputs, f"{prefix}{part}.normalised", epsilon=EPSILON)

    parts = [f"attention.self.{name}" for name in ("query", "key", "value")]
    joined = graph.product(hidden, np.concatenate([weight(part) for part in parts], axis=1), f"{prefix}joined")
    joined_bias = np.concatenate([tensors[f"{prefix}{part}.bias"] for part in parts])
    thirds = graph.constant("thirds", np.full(3, joined_bias.size // 3, np.int64))
    inputs = [f"{prefix}{part}" for part in parts]
    graph.add("Split", [joined, thirds], *inputs, axis=2)
    inputs += [graph.constant(f"{prefix}joined.bias", joined_bias), "mask"]
    context = graph.fused("MultiHeadAttention", inputs, f"{prefix}context", num_heads=HEADS)
    projected = graph.product(context, weight("attention.output.dense"), f"{prefix}projected")
    attended = add_and_normalise("attention.output", projected, hidden)
    widened = graph.product(attended, weight("intermediate.dense"), f"{prefix}widened")
    active = graph.fused("BiasGelu", [widened, bias("intermediate.dense")], f"{prefix}active")
    narrowed = graph.product(active, weight("output.dense"), f"{prefix}narrowed", least=GELU_MINIMUM)
    return add_and_normalise("output", narrowed, attended)


def _pooling(graph: _Graph, hidden: str) -> str:
    """Add mean pooling and normalization. Dividing by the token count would cancel out, so it is left out."""
    row = graph.add("Unsqueeze", ["mask", graph.constant("axis.1", np.array([1], np.int64))], "mask.row")
    weights = graph.add("Cast", [row], "mask.weights", to=graph.onnx.TensorProto.FLOAT)
    summed = graph.add("MatMul", [weights, hidden], "summed")
    flat = graph.add("Squeeze", [summed, "axis.1"], "flat")
    return graph.add("LpNormalization", [flat], "vectors", axis=1, p=2)
