"""An embedding model in a folder gives unit vectors, with its prefixes and pooling; others are refused."""

from pathlib import Path

import numpy as np
import pytest
from tests.ai.optional_models import tiny_embedding

from memory_butler.ai.optional_models.folder_embedder import open_folder_embedder
from memory_butler.errors import InvalidInput, TargetUnavailable
from memory_butler.resources import open_resources
from memory_butler.settings import Embedding, load_settings


async def vectors(settings: Embedding, models: Path, *texts: str) -> tuple[np.ndarray, np.ndarray]:
    """The first text as a question, and all of them as passages."""
    embedder = open_folder_embedder(settings, models)
    try:
        return await embedder.embed_query(texts[0]), await embedder.embed(texts)
    finally:
        await embedder.close()


async def test_vectors_have_length_one_and_one_size(tmp_path: Path) -> None:
    folder = tiny_embedding.write(tmp_path / "mine")
    question, passages = await vectors(Embedding(model=str(folder)), tmp_path, "tea in the morning", "coffee", "tea")
    assert passages.shape == (3, 384)
    assert np.allclose(np.linalg.norm(passages, axis=1), 1, atol=1e-5)
    assert np.allclose(question, passages[0], atol=1e-6)


async def test_prefixes_tell_questions_and_passages_apart(tmp_path: Path) -> None:
    folder = tiny_embedding.write(tmp_path / "mine")
    settings = Embedding(model=str(folder), query_prefix="the ", passage_prefix="user ")
    question, passages = await vectors(settings, tmp_path, "tea")
    plain = Embedding(model=str(folder))
    assert np.allclose(question, (await vectors(plain, tmp_path, "the tea"))[0], atol=1e-6)
    assert np.allclose(passages[0], (await vectors(plain, tmp_path, "user tea"))[0], atol=1e-6)


async def test_pooling_and_prefixes_are_part_of_the_version(tmp_path: Path) -> None:
    """Otherwise, vectors that cannot be compared would be."""
    folder = str(tiny_embedding.write(tmp_path / "mine"))
    chosen = [
        Embedding(model=folder),
        Embedding(model=folder, pooling="cls"),
        Embedding(model=folder, query_prefix="query: "),
    ]
    assert len({open_folder_embedder(one, tmp_path).version.digest for one in chosen}) == len(chosen)
    mean, cls = [await vectors(one, tmp_path, "coffee at eight") for one in chosen[:2]]
    assert not np.allclose(mean[0], cls[0], atol=0.01)


async def test_the_model_tells_the_size_of_its_vectors(tmp_path: Path) -> None:
    folder = tiny_embedding.write(tmp_path / "wide", dimensions=512)
    assert open_folder_embedder(Embedding(model=str(folder)), tmp_path).version.dimensions == 512
    question, passages = await vectors(Embedding(model=str(folder)), tmp_path, "tea")
    assert (question.shape, passages.shape) == ((512,), (1, 512))


def test_larger_vectors_than_the_database_can_index_are_refused(tmp_path: Path) -> None:
    folder = tiny_embedding.write(tmp_path / "wide", dimensions=4001)
    with pytest.raises(InvalidInput, match="1×4001"):
        open_folder_embedder(Embedding(model=str(folder)), tmp_path)


def test_a_missing_model_names_the_command(tmp_path: Path) -> None:
    with pytest.raises(TargetUnavailable) as problem:
        open_folder_embedder(Embedding(model="multilingual-e5-small"), tmp_path)
    assert "memory-butler models get multilingual-e5-small" in problem.value.recovery


@pytest.mark.parametrize("model", ["ms-marco-MiniLM-L-12-v2", "/nowhere/at-all"])
def test_what_is_no_embedding_model_is_refused(tmp_path: Path, model: str) -> None:
    with pytest.raises(InvalidInput):
        open_folder_embedder(Embedding(model=model), tmp_path)


async def test_another_model_has_its_own_embedding_version(home: Path, tenant: str, tmp_path: Path) -> None:
    """So the worker embeds all memories again."""
    folder = tiny_embedding.write(tmp_path / "mine")
    async with open_resources(load_settings(home=home, tenant=tenant)) as default:
        first = default.embedding_version
    async with open_resources(load_settings(home=home, tenant=tenant, embedding={"model": str(folder)})) as other:
        assert other.embedding_version != first
        assert other.embedder.version.name == "mine"
