"""Opens the model of an earlier embedding version: the default model, a fetched one, or a folder.

A folder is found again because a note about it was left when it was opened, or because the settings name it.
"""

import json
import logging
from collections.abc import Iterator
from pathlib import Path

from memory_butler.ai.embedding import Embedder, OnnxEmbedder, same_weights
from memory_butler.ai.optional_models.catalog import find_model
from memory_butler.ai.optional_models.folder_embedder import NOTES, open_folder_embedder, resolve_model, version_digest
from memory_butler.ai.weights import MODEL_NAME
from memory_butler.errors import MemoryButlerError
from memory_butler.settings import Embedding

log = logging.getLogger(__name__)


def open_earlier_model(settings: Embedding, models: Path, name: str, digest: str) -> Embedder | None:
    """The model with this name and digest, or None if it is not on this machine. It loads with the first text."""
    if name == MODEL_NAME:
        return _default_model(settings, models, digest)
    for chosen in _ways(settings, models, name, digest):
        try:
            if version_digest(resolve_model(chosen, models)) == digest:
                return open_folder_embedder(chosen, models)
        except MemoryButlerError as problem:
            log.info("the earlier embedding model %s is not in %s: %s", name, chosen.model, problem.message)
    return None


def _default_model(settings: Embedding, models: Path, digest: str) -> Embedder | None:
    """The default model. Graphs of other program versions give nearly the same vectors."""
    precision = same_weights(digest)
    if precision is None:
        return None
    return OnnxEmbedder(
        cache=models,
        weights_folder=settings.folder,
        precision=precision,
        threads=settings.threads,
        cached_queries=settings.query_cache,
    )


def _ways(settings: Embedding, models: Path, name: str, digest: str) -> Iterator[Embedding]:
    """The settings with which the model may have been opened."""
    plain = {"model": name, "pooling": None, "query_prefix": None, "passage_prefix": None}
    if find_model(name):
        yield settings.model_copy(update=plain)
        yield settings.model_copy(update={"model": name})
    for one in settings.earlier:
        yield settings.model_copy(update=one.model_dump())
    note = models / NOTES / f"{digest}.json"
    if note.is_file():
        yield settings.model_copy(update={**plain, **json.loads(note.read_text(encoding="utf-8"))})
