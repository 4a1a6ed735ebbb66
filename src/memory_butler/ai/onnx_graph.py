"""Turns the model's safetensors into an ONNX graph, once, and keeps it as a file.

The graph takes token ids and a mask and gives unit vectors: mean pooling and normalisation are inside it.
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

from memory_butler.ai.weights import MODEL_FILE

GRAPH_VERSION = 1
LAYERS = 6
HEADS = 12
DIMENSIONS = 384
LAYER_NORM_EPSILON = 1e-12
DTYPES = {"F32": "<f4", "I64": "<i8"}

Tensors = dict[str, npt.NDArray[Any]]


def graph_name() -> str:
    return f"minilm-{MODEL_FILE.sha256[:12]}-g{GRAPH_VERSION}.onnx"


def cached_graph(cache: Path, read_safetensors: Callable[[], bytes]) -> Path:
    """The graph's file in `cache`, built if it is not there.

    Two processes may build at once: each writes its own file, the rename decides, and both files are the same.
    """
    target = cache / graph_name()
    if not target.is_file():
        content = build_graph(read_tensors(read_safetensors()))
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
    """The tensors of a safetensors file: a length, a JSON header, then the raw numbers."""
    (header_length,) = struct.unpack_from("<Q", content)
    header = json.loads(content[8 : 8 + header_length])
    body = memoryview(content)[8 + header_length :]
    return {
        name: np.frombuffer(body[slice(*entry["data_offsets"])], DTYPES[entry["dtype"]]).reshape(entry["shape"])
        for name, entry in header.items()
        if name != "__metadata__"
    }


class _Graph:
    """Nodes and constants on their way into a graph; every method answers with the name of what it added."""

    def __init__(self) -> None:
        # Imported here: only the first start of all builds a graph, every other one need not wait for the package.
        import onnx.helper  # noqa: PLC0415
        import onnx.numpy_helper  # noqa: PLC0415

        self.onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, name: str, value: npt.NDArray[Any]) -> str:
        self.constants.append(self.onnx.numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def add(self, operator: str, inputs: list[str], *outputs: str, **attributes: Any) -> str:
        self.nodes.append(self.onnx.helper.make_node(operator, inputs, outputs, name=outputs[0], **attributes))
        return outputs[0]

    def fused(self, operator: str, inputs: list[str], *outputs: str, **attributes: Any) -> str:
        return self.add(operator, inputs, *outputs, domain="com.microsoft", **attributes)


def build_graph(tensors: Tensors) -> bytes:
    """The whole model as a serialised ONNX graph in float32."""
    graph = _Graph()
    helper = graph.onnx.helper
    hidden = _embeddings(graph, tensors)
    for layer in range(LAYERS):
        hidden = _layer(graph, tensors, f"encoder.layer.{layer}.", hidden)
    _pooling(graph, hidden)
    shape = ["batch", "length"]
    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "minilm",
            [helper.make_tensor_value_info(name, graph.onnx.TensorProto.INT32, shape) for name in ("ids", "mask")],
            [helper.make_tensor_value_info("vectors", graph.onnx.TensorProto.FLOAT, ["batch", DIMENSIONS])],
            graph.constants,
        ),
        opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)],
        ir_version=8,
        producer_name="memory-butler",
    )
    content: bytes = model.SerializeToString(deterministic=True)
    return content


def _embeddings(graph: _Graph, tensors: Tensors) -> str:
    # Every text is a single segment, so the segment's vector can be part of the position's.
    positions = tensors["embeddings.position_embeddings.weight"] + tensors["embeddings.token_type_embeddings.weight"][0]
    constants = [
        graph.constant("words", tensors["embeddings.word_embeddings.weight"]),
        graph.constant("positions", positions),
    ]
    norm = [graph.constant(f"norm.{part}", tensors[f"embeddings.LayerNorm.{part}"]) for part in ("weight", "bias")]
    inputs = ["ids", "", *constants, "", *norm]
    return graph.fused("EmbedLayerNormalization", inputs, "embedded", "unused", epsilon=LAYER_NORM_EPSILON)


def _layer(graph: _Graph, tensors: Tensors, prefix: str, hidden: str) -> str:
    def weight(name: str) -> str:
        return graph.constant(prefix + name, tensors[f"{prefix}{name}.weight"].T)

    def bias(name: str) -> str:
        return graph.constant(f"{prefix}{name}.bias", tensors[f"{prefix}{name}.bias"])

    def add_and_normalise(part: str, addend: str, skip: str) -> str:
        scale = graph.constant(f"{prefix}{part}.scale", tensors[f"{prefix}{part}.LayerNorm.weight"])
        inputs = [addend, skip, scale, bias(f"{part}.LayerNorm"), bias(f"{part}.dense")]
        return graph.fused("SkipLayerNormalization", inputs, f"{prefix}{part}.normalised", epsilon=LAYER_NORM_EPSILON)

    parts = [f"{prefix}attention.self.{name}" for name in ("query", "key", "value")]
    joined = graph.constant(f"{prefix}qkv", np.concatenate([tensors[f"{part}.weight"].T for part in parts], axis=1))
    joined_bias = graph.constant(f"{prefix}qkv.bias", np.concatenate([tensors[f"{part}.bias"] for part in parts]))
    context = graph.fused("Attention", [hidden, joined, joined_bias, "mask"], f"{prefix}context", num_heads=HEADS)
    projected = graph.add("MatMul", [context, weight("attention.output.dense")], f"{prefix}projected")
    attended = add_and_normalise("attention.output", projected, hidden)
    widened = graph.add("MatMul", [attended, weight("intermediate.dense")], f"{prefix}widened")
    active = graph.fused("BiasGelu", [widened, bias("intermediate.dense")], f"{prefix}active")
    narrowed = graph.add("MatMul", [active, weight("output.dense")], f"{prefix}narrowed")
    return add_and_normalise("output", narrowed, attended)


def _pooling(graph: _Graph, hidden: str) -> str:
    """The mean over real tokens, brought to length one; dividing by the count would cancel out, so it is left out."""
    row = graph.add("Unsqueeze", ["mask", graph.constant("axis.1", np.array([1], np.int64))], "mask.row")
    weights = graph.add("Cast", [row], "mask.weights", to=graph.onnx.TensorProto.FLOAT)
    summed = graph.add("MatMul", [weights, hidden], "summed")
    flat = graph.add("Squeeze", [summed, "axis.1"], "flat")
    return graph.add("LpNormalization", [flat], "vectors", axis=1, p=2)
