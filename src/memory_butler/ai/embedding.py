"""Texts to vectors: the protocol, the default embedder and a fake one without a model."""

import hashlib
import os
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, cast

import numpy as np
from tokenizers import Tokenizer

from memory_butler.ai.batching import BatchingThread, Model, Vectors
from memory_butler.ai.download import HUB_URL
from memory_butler.ai.onnx_graph import DIMENSIONS, GRAPH_VERSIONS, cached_graph
from memory_butler.ai.onnx_session import open_session, padded, runtime_failures
from memory_butler.ai.weights import (
    MODEL_FILE,
    MODEL_NAME,
    TOKENIZER_FILE,
    Precision,
    Weights,
    resolve_weights,
)
from memory_butler.errors import InvalidInput
from memory_butler.policy.retrieval.calibration import UNCALIBRATED, Calibration

MAX_TOKENS = 256
# Enough for 256 tokens of any real text; beyond it only the time to tokenise would grow.
MAX_CHARACTERS = 16_384
DEFAULT_CACHED_QUERIES = 1024


@dataclass(frozen=True)
class EmbeddingVersion:
    """Identifies the model of a vector: vectors of different versions are never compared.

    `calibration` says how to read its cosines.
    """

    name: str
    dimensions: int
    digest: str
    calibration: Calibration = UNCALIBRATED


class Embedder(Protocol):
    """Embeds texts as unit vectors; may be shared between tasks, event loops and threads."""

    @property
    def version(self) -> EmbeddingVersion: ...

    async def start(self) -> None:
        """Load the model now instead of at the first text."""

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text, in order."""

    async def embed_query(self, text: str) -> Vectors:
        """Return the vector of a query: before documents in the queue, cached, read-only."""

    async def close(self) -> None:
        """Close the model; pending requests fail. May be called twice."""


class BatchingEmbedder:
    """Embeds with a model that loads in its own thread, at the first text or at `start`.

    Some models want a prefix that tells questions and passages apart.
    """

    def __init__(
        self,
        version: EmbeddingVersion,
        load: Callable[[], Model],
        *,
        threads: int | None = None,
        cached_queries: int = DEFAULT_CACHED_QUERIES,
        query_prefix: str = "",
        passage_prefix: str = "",
    ) -> None:
        self._version = version
        self._queries = QueryCache(cached_queries)
        self._query_prefix, self._passage_prefix = query_prefix, passage_prefix
        self._thread = BatchingThread(load, threads=threads or min(2, os.cpu_count() or 1))

    @property
    def version(self) -> EmbeddingVersion:
        return self._version

    async def start(self) -> None:
        await self._thread.vectors((), urgent=True)

    async def embed(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.empty((0, self._version.dimensions), np.float32)
        rows = {text: row for row, text in enumerate(dict.fromkeys(texts))}
        vectors = await self._thread.vectors([f"{self._passage_prefix}{text}" for text in rows], urgent=False)
        return vectors if len(rows) == len(texts) else vectors[[rows[text] for text in texts]]

    async def embed_query(self, text: str) -> Vectors:
        vector = self._queries.get(text)
        if vector is None:
            (vector,) = await self._thread.vectors((f"{self._query_prefix}{text}",), urgent=True)
            vector = self._queries.put(text, vector)
        return vector

    async def close(self) -> None:
        await self._thread.close()


class OnnxEmbedder(BatchingEmbedder):
    """all-MiniLM-L6-v2 on ONNX Runtime, the default."""

    def __init__(
        self,
        *,
        cache: Path,
        weights_folder: Path | None = None,
        hub_url: str | None = HUB_URL,
        threads: int | None = None,
        precision: Precision = "int8",
        cached_queries: int = DEFAULT_CACHED_QUERIES,
    ) -> None:
        super().__init__(
            EmbeddingVersion(MODEL_NAME, DIMENSIONS, f"{_graph_of(precision)}{GRAPH_VERSIONS[precision]}"),
            lambda: MiniLm(
                resolve_weights(weights_folder, cache, hub_url=hub_url, precision=precision), cache, precision
            ),
            threads=threads,
            cached_queries=cached_queries,
        )


def _graph_of(precision: Precision) -> str:
    return f"{MODEL_FILE.sha256[:16]}-{precision}-g"


def same_weights(digest: str) -> Precision | None:
    """The precision of a version of the default model, if it has the weights of this one."""
    precisions: tuple[Precision, ...] = ("int8", "float32")
    return next((one for one in precisions if digest.startswith(_graph_of(one))), None)


class MiniLm:
    """The tokenizer and the ONNX session; each run uses one thread."""

    dimensions = DIMENSIONS

    def __init__(self, weights: Weights, cache: Path, precision: Precision) -> None:
        self.failures = runtime_failures()
        # The file asks for 128 tokens and fixed padding; the model was published with 256.
        self._tokenizer = Tokenizer.from_buffer(weights.read(TOKENIZER_FILE))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(MAX_TOKENS)
        if precision == "int8" and weights.has_ready_graph:
            self._session = open_session(weights.ready_graph(), threads=1)
            return
        graph = cached_graph(cache, precision, lambda: weights.read(MODEL_FILE))
        try:
            self._session = open_session(graph, threads=1)
        except self.failures:
            # The cached graph is damaged: build it again, once.
            graph.unlink(missing_ok=True)
            graph = cached_graph(cache, precision, lambda: weights.read(MODEL_FILE))
            self._session = open_session(graph, threads=1)

    def tokenize(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(text[:MAX_CHARACTERS]).ids)

    def run(self, rows: Sequence[list[int]]) -> Vectors:
        inputs = {"ids": padded(rows), "mask": padded([[1] * len(row) for row in rows])}
        return cast("Vectors", self._session.run(None, inputs)[0])


class QueryCache:
    """LRU cache of query vectors."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._vectors: OrderedDict[str, Vectors] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, text: str) -> Vectors | None:
        with self._lock:
            vector = self._vectors.get(text)
            if vector is not None:
                self._vectors.move_to_end(text)
            return vector

    def put(self, text: str, vector: Vectors) -> Vectors:
        vector = vector.copy()
        vector.setflags(write=False)
        with self._lock:
            self._vectors[text] = vector
            self._vectors.move_to_end(text)
            while len(self._vectors) > self._size:
                self._vectors.popitem(last=False)
        return vector


class FakeEmbedder:
    """Bag-of-words embedder for tests: texts with common words are similar."""

    def __init__(self) -> None:
        self._version = EmbeddingVersion("fake-bag-of-words", DIMENSIONS, "1")

    @property
    def version(self) -> EmbeddingVersion:
        return self._version

    async def start(self) -> None:
        return None

    async def embed(self, texts: Sequence[str]) -> Vectors:
        return np.array([self._vector(text) for text in texts], np.float32).reshape(len(texts), DIMENSIONS)

    async def embed_query(self, text: str) -> Vectors:
        return self._vector(text)

    async def close(self) -> None:
        return None

    def _vector(self, text: str) -> Vectors:
        try:
            words = [word.encode() for word in re.findall(r"\w+", text.lower())] or [b"", text.encode()]
        except UnicodeEncodeError:
            raise InvalidInput("The text is not valid Unicode text, so it has no vector.") from None
        total = np.zeros(DIMENSIONS)
        for word in words:
            seed = int.from_bytes(hashlib.sha256(word).digest()[:8])
            total += np.random.default_rng(seed).standard_normal(DIMENSIONS)
        return (total / np.linalg.norm(total)).astype(np.float32)
