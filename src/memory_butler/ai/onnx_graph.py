"""Turns a BERT-style model's safetensors into an ONNX graph, once, and keeps it as a file.

The graph takes token ids and a mask. An embedder's gives unit vectors: mean pooling and normalisation are inside it.
A classifier's takes the tokens' segments too, if the model knows them, and gives one raw number for each label.

In int8 the products of an encoder's layers, which are nearly all of its work, are of whole numbers: weights scaled by
column, once, and values by row, each time. A token's row has nothing to do with other texts, so neither has a vector.
"""

import json
import os
import struct
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from memory_butler.ai.weights import MODEL_FILE

GRAPH_VERSION = 2
DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8"}

Tensors = dict[str, npt.NDArray[Any]]
Activation = Literal["gelu", "gelu_tanh", "relu", "tanh"]
Precision = Literal["int8", "float32"]

# A pair of products of 255 and 64 still fits into 16 bits, in which processors without VNNI add them up.
WEIGHT_STEPS = 64
# What comes out of each activation is at least this, so all 256 steps can be above it.
LEAST = {"gelu": -0.17, "gelu_tanh": -0.1701, "relu": 0.0}


@dataclass(frozen=True)
class Classifier:
    """What follows the encoder in a classifier: a dense layer on the first token, unless it has none, then labels."""

    labels: int
    activation: Activation | None


@dataclass(frozen=True)
class Architecture:
    """Everything about a model but its weights, whose names are always those of BERT."""

    layers: int
    heads: int
    dimensions: int
    epsilon: float = 1e-12
    activation: Activation = "gelu"
    segments: bool = False
    classifier: Classifier | None = None


MINILM = Architecture(layers=6, heads=12, dimensions=384)
DIMENSIONS = MINILM.dimensions


def graph_name(precision: Precision) -> str:
    return f"minilm-{MODEL_FILE.sha256[:12]}-{precision}-g{GRAPH_VERSION}.onnx"


def cached_graph(cache: Path, precision: Precision, read_safetensors: Callable[[], bytes]) -> Path:
    """The embedder's graph in `cache`, built if it is not there."""

    def build() -> bytes:
        for outdated in cache.glob("minilm-*.onnx"):
            if not outdated.stem.endswith(f"-g{GRAPH_VERSION}"):
                outdated.unlink(missing_ok=True)
        return build_graph(read_tensors(read_safetensors()), precision=precision)

    return kept_graph(cache / graph_name(precision), build)


def kept_graph(target: Path, build: Callable[[], bytes]) -> Path:
    """The graph's file, built if it is not there.

    Two processes may build at once: each writes its own file, the rename decides, and both files are the same.
    """
    if not target.is_file():
        content = build()
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
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
    """The tensors of a safetensors file: a length, a JSON header, then the raw numbers.

    Those in a kind of number that no graph is built from (quantised ones, for example) are left out.
    """
    (header_length,) = struct.unpack_from("<Q", content)
    header = json.loads(content[8 : 8 + header_length])
    body = memoryview(content)[8 + header_length :]
    tensors: Tensors = {}
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] in DTYPES:
            numbers = np.frombuffer(body[slice(*entry["data_offsets"])], DTYPES[entry["dtype"]])
            if entry["dtype"] == "BF16":  # the upper half of a float32
                numbers = (numbers.astype("<u4") << 16).view("<f4")
            tensors[name] = numbers.reshape(entry["shape"])
    return tensors


class _Graph:
    """Nodes and constants on their way into a graph; every method answers with the name of what it added."""

    def __init__(self, precision: Precision) -> None:
        # Imported here: only the first start of all builds a graph, every other one need not wait for the package.
        import onnx.helper  # noqa: PLC0415
        import onnx.numpy_helper  # noqa: PLC0415

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
        """`value` times `weight`; no number in `value` is below `least`, if that is given."""
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


def build_graph(tensors: Tensors, model: Architecture = MINILM, precision: Precision = "float32") -> bytes:
    """The whole model as a serialised ONNX graph."""
    graph = _Graph(precision)
    helper = graph.onnx.helper
    hidden = _embeddings(graph, tensors, model)
    for layer in range(model.layers):
        hidden = _layer(graph, tensors, f"encoder.layer.{layer}.", hidden, model)
    if model.classifier is None:
        name, output, width = "minilm", _pooling(graph, hidden), model.dimensions
    else:
        name, output, width = "classifier", _labels(graph, tensors, hidden, model.classifier), model.classifier.labels
    inputs = ("ids", "mask", "segments") if model.segments else ("ids", "mask")
    shape = ["batch", "length"]
    serialised = helper.make_model(
        helper.make_graph(
            graph.nodes,
            name,
            [helper.make_tensor_value_info(name, graph.onnx.TensorProto.INT32, shape) for name in inputs],
            [helper.make_tensor_value_info(output, graph.onnx.TensorProto.FLOAT, ["batch", width])],
            list(graph.constants.values()),
        ),
        opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)],
        ir_version=8,
        producer_name="memory-butler",
    )
    content: bytes = serialised.SerializeToString(deterministic=True)
    return content


def _embeddings(graph: _Graph, tensors: Tensors, model: Architecture) -> str:
    positions = tensors["embeddings.position_embeddings.weight"]
    segments = tensors.get("embeddings.token_type_embeddings.weight")
    if segments is not None and not model.segments:
        # Every token is of the first segment, so the segment's vector can be part of the position's.
        positions = positions + segments[0]
    constants = [
        graph.constant("words", tensors["embeddings.word_embeddings.weight"]),
        graph.constant("positions", positions),
        graph.constant("segments.table", tensors["embeddings.token_type_embeddings.weight"]) if model.segments else "",
    ]
    norm = [graph.constant(f"norm.{part}", tensors[f"embeddings.LayerNorm.{part}"]) for part in ("weight", "bias")]
    inputs = ["ids", "segments" if model.segments else "", *constants, *norm]
    hidden = graph.fused("EmbedLayerNormalization", inputs, "embedded", "unused", epsilon=model.epsilon)
    if "embeddings_project.weight" in tensors:
        hidden = _dense(graph, tensors, "embeddings_project", hidden)
    return hidden


def _layer(graph: _Graph, tensors: Tensors, prefix: str, hidden: str, model: Architecture) -> str:
    def weight(name: str) -> npt.NDArray[Any]:
        return tensors[f"{prefix}{name}.weight"].T

    def bias(name: str) -> str:
        return graph.constant(f"{prefix}{name}.bias", tensors[f"{prefix}{name}.bias"])

    def add_and_normalise(part: str, addend: str, skip: str) -> str:
        scale = graph.constant(f"{prefix}{part}.scale", tensors[f"{prefix}{part}.LayerNorm.weight"])
        inputs = [addend, skip, scale, bias(f"{part}.LayerNorm"), bias(f"{part}.dense")]
        return graph.fused("SkipLayerNormalization", inputs, f"{prefix}{part}.normalised", epsilon=model.epsilon)

    parts = [f"attention.self.{name}" for name in ("query", "key", "value")]
    joined = graph.product(hidden, np.concatenate([weight(part) for part in parts], axis=1), f"{prefix}joined")
    joined_bias = np.concatenate([tensors[f"{prefix}{part}.bias"] for part in parts])
    thirds = graph.constant("thirds", np.full(3, joined_bias.size // 3, np.int64))
    asked = [f"{prefix}{part}" for part in parts]
    graph.add("Split", [joined, thirds], *asked, axis=2)
    asked += [graph.constant(f"{prefix}joined.bias", joined_bias), "mask"]
    context = graph.fused("MultiHeadAttention", asked, f"{prefix}context", num_heads=model.heads)
    projected = graph.product(context, weight("attention.output.dense"), f"{prefix}projected")
    attended = add_and_normalise("attention.output", projected, hidden)
    widened = graph.product(attended, weight("intermediate.dense"), f"{prefix}widened")
    active = _activated(graph, model.activation, widened, bias("intermediate.dense"), f"{prefix}active")
    least = LEAST.get(model.activation)
    narrowed = graph.product(active, weight("output.dense"), f"{prefix}narrowed", least=least)
    return add_and_normalise("output", narrowed, attended)


def _activated(graph: _Graph, activation: Activation, value: str, bias: str, output: str) -> str:
    if activation == "gelu":
        return graph.fused("BiasGelu", [value, bias], output)
    if activation == "gelu_tanh":
        return graph.fused("FastGelu", [value, bias], output)
    return graph.add(activation.title(), [graph.add("Add", [value, bias], f"{output}.biased")], output)


def _dense(graph: _Graph, tensors: Tensors, name: str, value: str, activation: Activation | None = None) -> str:
    weight = graph.constant(name, tensors[f"{name}.weight"].T)
    bias = graph.constant(f"{name}.bias", tensors[f"{name}.bias"])
    product = graph.add("MatMul", [value, weight], f"{name}.product")
    if activation is None:
        return graph.add("Add", [product, bias], f"{name}.out")
    return _activated(graph, activation, product, bias, f"{name}.out")


def _labels(graph: _Graph, tensors: Tensors, hidden: str, classifier: Classifier) -> str:
    """One raw number for each label, from what the first token has gathered."""
    first = graph.add("Gather", [hidden, graph.constant("first", np.array(0, np.int64))], "first.token", axis=1)
    if classifier.activation is not None:
        first = _dense(graph, tensors, "pooler.dense", first, classifier.activation)
    return _dense(graph, tensors, "classifier", first)


def _pooling(graph: _Graph, hidden: str) -> str:
    """The mean over real tokens, brought to length one; dividing by the count would cancel out, so it is left out."""
    row = graph.add("Unsqueeze", ["mask", graph.constant("axis.1", np.array([1], np.int64))], "mask.row")
    weights = graph.add("Cast", [row], "mask.weights", to=graph.onnx.TensorProto.FLOAT)
    summed = graph.add("MatMul", [weights, hidden], "summed")
    flat = graph.add("Squeeze", [summed, "axis.1"], "flat")
    return graph.add("LpNormalization", [flat], "vectors", axis=1, p=2)
