"""The model of an earlier embedding version is found by its name and digest, wherever it came from."""

from pathlib import Path
from typing import Any

import pytest
from tests.ai.optional_models import tiny_embedding

from memory_butler.ai.embedding import OnnxEmbedder
from memory_butler.ai.optional_models.earlier import open_earlier_model
from memory_butler.ai.optional_models.folder_embedder import open_folder_embedder
from memory_butler.ai.weights import Precision
from memory_butler.settings import Embedding


def found(models: Path, name: str, digest: str, **settings: Any) -> str | None:
    """The digest of the model that is opened."""
    model = open_earlier_model(Embedding(**settings), models, name, digest)
    return model.version.digest if model else None


@pytest.mark.parametrize("precision", ["int8", "float32"])
def test_the_default_model_is_opened_in_the_precision_of_the_vectors(tmp_path: Path, precision: Precision) -> None:
    """Also after an upgrade that converts it otherwise: its vectors are nearly the same. Other weights are another
    model."""
    version = OnnxEmbedder(cache=tmp_path, precision=precision).version
    assert found(tmp_path, version.name, version.digest) == version.digest
    older = version.digest.rpartition("-g")[0] + "-g1"
    assert found(tmp_path, version.name, older) == version.digest
    assert found(tmp_path, version.name, f"0000{version.digest[4:]}") is None


def test_a_folder_that_was_used_from_this_home_is_found_again(tmp_path: Path) -> None:
    """With the pooling and the prefixes it had; a folder with other weights by now is another model."""
    folder = tiny_embedding.write(tmp_path / "mine", 48)
    used = open_folder_embedder(Embedding(model=str(folder), pooling="cls", query_prefix="q "), tmp_path / "home")
    name, digest = used.version.name, used.version.digest
    assert found(tmp_path / "home", name, digest) == digest
    assert found(tmp_path / "home", name, digest, model="other", query_prefix="p ") == digest
    assert found(tmp_path / "another", name, digest) is None
    tiny_embedding.write(folder, 64)
    assert found(tmp_path / "home", name, digest) is None


def test_a_folder_of_the_settings_is_found(tmp_path: Path) -> None:
    """For a machine that never used the model itself."""
    folder = str(tiny_embedding.write(tmp_path / "mine", 48))
    used = open_folder_embedder(Embedding(model=folder, query_prefix="q "), tmp_path / "home")
    earlier = [{"model": "/nowhere"}, {"model": folder}, {"model": folder, "query_prefix": "q "}]
    name, digest = used.version.name, used.version.digest
    assert found(tmp_path / "another", name, digest, earlier=earlier) == digest
    assert found(tmp_path / "third", name, digest, earlier=earlier[:2]) is None


def test_a_model_that_is_not_fetched_is_not_found(tmp_path: Path) -> None:
    assert found(tmp_path, "bge-small-en-v1.5", "6c9c6101a956d6-cls-000000") is None
