"""A packed model becomes an ONNX file and a tokenizer that compute the same as its numbers."""

import struct
from pathlib import Path

import numpy as np
import pytest

from memory_butler.ai.optional_models import packed_e5
from memory_butler.ai.optional_models.folder_embedder import FolderModel, FolderModelOptions
from memory_butler.errors import InvalidInput

WIDTH, INNER, POSITIONS = 384, 64, 16
PIECES = ["<s>", "<pad>", "</s>", "<unk>", "▁tea", "▁green", "▁", "t", "e", "a"]


def blocks(rows: int, columns: int, random: np.random.Generator) -> bytes:
    """Blocks of 32 numbers of 4 bits with a scale of 16 bits."""
    raw = np.empty((rows, columns // 32, 18), np.uint8)
    raw[..., :2] = np.frombuffer(np.float16(0.01).tobytes(), np.uint8)
    raw[..., 2:] = random.integers(0, 256, (rows, columns // 32, 16))
    return raw.tobytes()


def packed() -> bytes:
    """One layer with random weights, in the format of the wheel."""
    random = np.random.default_rng(2)

    def plain(count: int, value: float = 0.0) -> bytes:
        return np.full(count, value, "<f4").tobytes()

    tensors = {
        "emb.word": blocks(len(PIECES), WIDTH, random),
        "emb.pos": plain(POSITIONS * WIDTH),
        "emb.type": plain(WIDTH),
        "emb.ln.w": plain(WIDTH, 1.0),
        "emb.ln.b": plain(WIDTH),
    }
    for name in packed_e5.LAYER_PARTS:
        rows, columns = {"fi": (INNER, WIDTH), "fo": (WIDTH, INNER)}.get(name, (WIDTH, WIDTH))
        is_norm = name.endswith("ln")
        tensors[f"l0.{name}.w"] = plain(WIDTH, 1.0) if is_norm else blocks(rows, columns, random)
        tensors[f"l0.{name}.b"] = plain(rows)
    text = [piece.encode() for piece in PIECES]
    offsets = np.cumsum([0, *map(len, text)]).astype("<u4").tobytes()
    head = b"E5Q4" + struct.pack("<I7ifi", 1, WIDTH, 1, 12, INNER, len(PIECES), POSITIONS, 1, 1e-12, 32)
    head += struct.pack("<5iQ", len(PIECES), 0, 2, 1, 3, sum(map(len, text))) + offsets
    head += np.array([0, 0, 0, 0, -1, -1, -5, -6, -6, -6], "<f4").tobytes() + b"".join(text) + struct.pack("<iI", 0, 0)
    head += struct.pack("<i", len(tensors))
    at = len(head) + sum(2 + len(name) + 21 for name in tensors)
    for name, content in tensors.items():
        head += struct.pack("<H", len(name)) + name.encode() + struct.pack("<BIQQ", 0, 0, at, len(content))
        at += len(content)
    return head + b"".join(tensors.values())


def unpacked(folder: Path, content: bytes) -> FolderModel:
    (folder / "packed.bin").write_bytes(content)
    paths = folder / "model.onnx", folder / "tokenizer.json"
    packed_e5.unpack(folder / "packed.bin", *paths)
    return FolderModel(FolderModelOptions(model=paths[0], tokenizer=paths[1], name="tiny", digest="0"))


def test_it_becomes_a_model(tmp_path: Path) -> None:
    model = unpacked(tmp_path, packed())
    assert model.tokenize("green  tea") == [0, 5, 4, 2]
    tea, green, both = model.run([[0, 4, 2], [0, 5, 2], [0, 5, 4, 2]])
    assert np.allclose(np.linalg.norm([tea, green, both], axis=1), 1, atol=1e-5)
    assert tea @ both > tea @ green


def test_another_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="not a packed e5 model"):
        unpacked(tmp_path, packed()[:200])
