"""A tiny embedding model as an ONNX file: one random vector per token; and wheels that hold files."""

import zipfile
from pathlib import Path

import numpy as np
import onnx.helper
import onnx.numpy_helper
from tests.ai import tiny_classifier as tiny


def graph(dimensions: int = 384) -> bytes:
    words = np.random.default_rng(5).standard_normal((tiny.VOCABULARY, dimensions)).astype(np.float32)
    value, kind = onnx.helper.make_tensor_value_info, onnx.TensorProto
    model = onnx.helper.make_model(
        onnx.helper.make_graph(
            [onnx.helper.make_node("Gather", ["words", "input_ids"], ["hidden"])],
            "tiny",
            [value(name, kind.INT64, ["batch", "length"]) for name in ("input_ids", "attention_mask")],
            [value("hidden", kind.FLOAT, ["batch", "length", dimensions])],
            [onnx.numpy_helper.from_array(words, "words")],
        ),
        opset_imports=[onnx.helper.make_opsetid("", 17)],
        ir_version=8,
    )
    content: bytes = model.SerializeToString()
    return content


def write(folder: Path, dimensions: int = 384) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(graph(dimensions))
    tiny.tokenizer().save(str(folder / "tokenizer.json"))
    return folder


def wheel(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path
