"""An embedding model in a folder: tokenizer.json and a ready ONNX file."""

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from tokenizers import Tokenizer

from memory_butler.ai.batching import Vectors
from memory_butler.ai.embedding import BatchingEmbedder, EmbeddingVersion
from memory_butler.ai.onnx_graph import DIMENSIONS
from memory_butler.ai.onnx_session import open_session, padded, runtime_failures
from memory_butler.ai.optional_models.catalog import (
    TOKENIZER_FILE,
    CatalogModel,
    Pooling,
    catalog,
    find_model,
)
from memory_butler.ai.optional_models.packed_e5 import CONVERSION_VERSION
from memory_butler.errors import InvalidInput, TargetUnavailable
from memory_butler.policy.retrieval.calibration import UNCALIBRATED, Calibration
from memory_butler.settings import Embedding

MODEL_FILES = ("model.onnx", "onnx/model.onnx", "model_quantized.onnx")
MAX_TOKENS = 256
MAX_CHARACTERS = 16_384
ID_INPUTS = frozenset({"ids", "input_ids"})
MASK_INPUTS = frozenset({"mask", "attention_mask"})
SEGMENT_INPUTS = frozenset({"token_type_ids"})
USE_ANOTHER = "Use a model with its own tokenizer.json; `memory-butler models list` shows some."
# More fit into no index of the database.
MAX_DIMENSIONS = 4000
# Folder with a note on each opened model, to find it again after a change of the model.
NOTES = "opened"


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderModelOptions:
    """The files of a model, and how its vectors are made."""

    model: Path
    tokenizer: Path
    name: str
    digest: str
    pooling: Pooling = "mean"
    query_prefix: str = ""
    passage_prefix: str = ""
    calibration: Calibration = UNCALIBRATED
    # None: read from the model.
    dimensions: int | None = None


def open_folder_embedder(settings: Embedding, models: Path) -> BatchingEmbedder:
    """The embedder of `embedding.model`, which is the name of a known model or a folder. A known model is loaded with
    the first text, any other now: only the model tells its dimensions."""
    options = resolve_model(settings, models)
    loaded = FolderModel(options) if options.dimensions is None else None
    dimensions = loaded.dimensions if loaded else options.dimensions or DIMENSIONS
    digest = version_digest(options)
    _leave_note(models / NOTES / f"{digest}.json", settings, options)
    return BatchingEmbedder(
        EmbeddingVersion(options.name, dimensions, digest, options.calibration),
        lambda: loaded or FolderModel(options),
        threads=settings.threads,
        cached_queries=settings.query_cache,
        query_prefix=options.query_prefix,
        passage_prefix=options.passage_prefix,
    )


def version_digest(options: FolderModelOptions) -> str:
    """Identity of the vectors: of the weights, the pooling and the prefixes."""
    prefixes = hashlib.sha256(f"{options.query_prefix}\0{options.passage_prefix}".encode()).hexdigest()[:6]
    return f"{options.digest[:16]}-{options.pooling}-{prefixes}"


def _leave_note(note: Path, settings: Embedding, options: FolderModelOptions) -> None:
    assert settings.model
    model = settings.model if find_model(settings.model) else str(Path(settings.model).expanduser().absolute())
    prefixes = {"query_prefix": options.query_prefix, "passage_prefix": options.passage_prefix}
    content = json.dumps({"model": model, "pooling": options.pooling, **prefixes})
    if not note.is_file() or note.read_text(encoding="utf-8") != content:
        note.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        part = note.with_suffix(f".{os.getpid()}")
        part.write_text(content, encoding="utf-8")
        part.replace(note)


def resolve_model(settings: Embedding, models: Path) -> FolderModelOptions:
    """Find the files of the configured model. Settings override what is known about it."""
    assert settings.model
    known = find_model(settings.model)
    found = _of_catalog(known, models) if known else _of_folder(Path(settings.model).expanduser())
    return replace(
        found,
        pooling=settings.pooling or found.pooling,
        query_prefix=found.query_prefix if settings.query_prefix is None else settings.query_prefix,
        passage_prefix=found.passage_prefix if settings.passage_prefix is None else settings.passage_prefix,
    )


def _of_catalog(known: CatalogModel, models: Path) -> FolderModelOptions:
    if known.kind != "embedding":
        raise InvalidInput(
            f"{known.name} is a {known.kind}, not an embedding model.",
            recovery="Set embedding.model to an embedding model of `memory-butler models list`.",
        )
    folder = known.folder(models)
    if not known.is_installed(models):
        raise TargetUnavailable(
            f"The embedding model {known.name} is not installed: {folder} has no files.",
            recovery=f"Run `memory-butler models get {known.name}`, or unset embedding.model.",
        )
    conversion = f"c{CONVERSION_VERSION}" if known.packed else ""
    return _options(known, folder, known.digest[:14] + conversion)


def _options(known: CatalogModel, folder: Path, digest: str) -> FolderModelOptions:
    return FolderModelOptions(
        model=_model_file(folder),
        tokenizer=folder / TOKENIZER_FILE,
        name=known.name,
        digest=digest,
        pooling=known.pooling,
        query_prefix=known.query_prefix,
        passage_prefix=known.passage_prefix,
        calibration=known.calibration,
        dimensions=DIMENSIONS,
    )


def _of_folder(folder: Path) -> FolderModelOptions:
    """A model of the user. A known one is recognized by its hash."""
    if not folder.is_dir():
        raise InvalidInput(
            f"embedding.model {str(folder)!r} is neither a known model nor a folder.",
            recovery=f"Known models: {', '.join(name for name, one in catalog().items() if one.kind == 'embedding')}.",
        )
    model, tokenizer = _model_file(folder), folder / TOKENIZER_FILE
    if not tokenizer.is_file():
        raise TargetUnavailable(f"{folder} has no {TOKENIZER_FILE}.", recovery=USE_ANOTHER)
    with model.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    for known in catalog().values():
        if known.kind == "embedding" and known.digest == digest:
            return _options(known, folder, digest[:14])
    return FolderModelOptions(model=model, tokenizer=tokenizer, name=folder.name, digest=digest)


def _model_file(folder: Path) -> Path:
    for name in MODEL_FILES:
        if (folder / name).is_file():
            return folder / name
    raise TargetUnavailable(f"{folder} has no {' and no '.join(MODEL_FILES)}.", recovery=USE_ANOTHER)


class FolderModel:
    """The tokenizer and the ONNX session; each run uses one thread."""

    def __init__(self, options: FolderModelOptions) -> None:
        self.failures = runtime_failures()
        self._pooling = options.pooling
        try:
            self._tokenizer = Tokenizer.from_buffer(options.tokenizer.read_bytes())
        except ValueError as fault:
            raise InvalidInput(f"{options.tokenizer} cannot be read: {fault}", recovery=USE_ANOTHER) from None
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(MAX_TOKENS)
        try:
            self._session = open_session(options.model, threads=1)
            self._inputs = {entry.name: _number_type(entry.type) for entry in self._session.get_inputs()}
            vectors = self.run([self.tokenize("one text")]) if self._is_known() else np.zeros((0, 0))
        except self.failures as failure:
            raise InvalidInput(f"ONNX Runtime cannot run {options.model}: {failure}", recovery=USE_ANOTHER) from None
        shape = vectors.shape
        if len(shape) != 2 or shape[0] != 1 or not 0 < shape[1] <= MAX_DIMENSIONS:
            raise InvalidInput(
                f"{options.model} is no embedding model with up to {MAX_DIMENSIONS} dimensions: its inputs are "
                f"{', '.join(self._inputs)}, its vectors have the shape {'×'.join(map(str, shape))}.",
                recovery=USE_ANOTHER,
            )
        self.dimensions = shape[1]

    def tokenize(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(text[:MAX_CHARACTERS]).ids)

    def run(self, rows: Sequence[list[int]]) -> Vectors:
        ids, mask = padded(rows), padded([[1] * len(row) for row in rows])
        inputs = {
            name: (ids if name in ID_INPUTS else mask if name in MASK_INPUTS else np.zeros_like(ids)).astype(kind)
            for name, kind in self._inputs.items()
        }
        output = cast("Vectors", self._session.run(None, inputs)[0]).astype(np.float32, copy=False)
        pooled = output if output.ndim == 2 else self._pooled(output, mask)
        norms = np.linalg.norm(pooled, axis=1, keepdims=True)
        return np.asarray(pooled / np.where(norms > 0, norms, 1), np.float32)

    def _pooled(self, hidden: Vectors, mask: Any) -> Vectors:
        """The vector of a text from those of its tokens: that of the first one, or their mean."""
        if self._pooling == "cls":
            return hidden[:, 0]
        weights = mask[:, :, None].astype(np.float32)
        return np.asarray((hidden * weights).sum(axis=1) / weights.sum(axis=1), np.float32)

    def _is_known(self) -> bool:
        return bool(ID_INPUTS & self._inputs.keys()) and self._inputs.keys() <= ID_INPUTS | MASK_INPUTS | SEGMENT_INPUTS


def _number_type(onnx_type: str) -> Any:
    return np.int32 if onnx_type == "tensor(int32)" else np.int64
