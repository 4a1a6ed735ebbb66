"""The model's files come from where they are, and only if they are the right ones."""

import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.ai.stand_in_hub import COMMIT, Hub

from memory_butler.ai import weights
from memory_butler.ai.weights import MODEL_FILE, MODEL_FILES, TOKENIZER_FILE, ModelFile, resolve_weights
from memory_butler.errors import IntegrityViolation, TargetUnavailable

CONTENT = {"tokenizer.json": b"{}", "model.safetensors": b"weights" * 1000}


@pytest.fixture
def small_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiny files in the place of the real ones, and no installed package."""
    files = tuple(ModelFile(name, hashlib.sha256(data).hexdigest()) for name, data in CONTENT.items())
    monkeypatch.setattr(weights, "MODEL_FILES", files)
    for name in ("MODEL_PACKAGE", "READY_PACKAGE"):
        monkeypatch.setattr(weights, name, "no_such_package_here")


@pytest.fixture
def hub() -> Iterator[Hub]:
    with Hub(CONTENT, weights.MODEL_NAME).running() as server:
        yield server


def fill(folder: Path, **changed: bytes) -> Path:
    folder.mkdir(exist_ok=True)
    for name, content in CONTENT.items():
        (folder / name).write_bytes(changed.get(name.partition(".")[0], content))
    return folder


def test_the_installed_package_is_found_without_importing_it(tmp_path: Path) -> None:
    found = resolve_weights(None, tmp_path, hub_url=None, precision="float32")
    assert found.source == "package"
    assert weights.MODEL_PACKAGE not in sys.modules
    assert {file.name for file in MODEL_FILES} <= {path.name for path in found.folder.iterdir()}
    assert len(found.read(TOKENIZER_FILE)) == 466_247
    assert len(found.read(MODEL_FILE)) == 90_868_376


@pytest.mark.usefixtures("small_model")
def test_a_configured_folder_comes_first(tmp_path: Path, hub: Hub) -> None:
    found = resolve_weights(fill(tmp_path / "mine"), tmp_path / "cache", hub_url=hub.url)
    assert (found.folder, found.source) == (tmp_path / "mine", "folder")
    assert hub.requests == []


@pytest.mark.usefixtures("small_model")
@pytest.mark.parametrize("name", ["tokenizer", "model"])
def test_a_wrong_hash_is_an_error_that_names_the_file(tmp_path: Path, hub: Hub, name: str) -> None:
    folder = fill(tmp_path / "mine", **{name: b"something else"})
    with pytest.raises(IntegrityViolation, match=rf"mine.{name}\."):
        resolve_weights(folder, tmp_path / "cache", hub_url=hub.url).verify()
    assert hub.requests == []


@pytest.mark.usefixtures("small_model")
def test_a_file_changed_after_it_was_found_is_noticed_when_it_is_read(tmp_path: Path) -> None:
    found = resolve_weights(fill(tmp_path / "mine"), tmp_path / "cache", hub_url=None)
    fill(tmp_path / "mine", tokenizer=b"[]")
    with pytest.raises(IntegrityViolation, match=r"tokenizer\.json"):
        found.read(weights.MODEL_FILES[0])


@pytest.mark.usefixtures("small_model")
def test_the_hub_is_asked_once_and_the_files_are_kept(tmp_path: Path, hub: Hub) -> None:
    found = resolve_weights(tmp_path / "empty", tmp_path / "cache", hub_url=hub.url)
    assert found.source == "hub"
    assert {path.name: path.read_bytes() for path in found.folder.iterdir()} == CONTENT
    assert hub.requests[1:] == [f"/{weights.MODEL_NAME}/resolve/{COMMIT}/{name}" for name in CONTENT]
    assert resolve_weights(None, tmp_path / "cache", hub_url=None) == found
    assert len(hub.requests) == 1 + len(CONTENT)


@pytest.mark.usefixtures("small_model")
@pytest.mark.parametrize("served", [b"tampered", CONTENT["model.safetensors"] * 3, b""])
@pytest.mark.parametrize("listed", [True, False])
def test_a_wrong_download_is_refused_and_not_kept(tmp_path: Path, hub: Hub, served: bytes, listed: bool) -> None:
    """The hash is pinned: it does not help that the hub lists the wrong content itself."""
    hub.served["model.safetensors"] = served
    if listed:
        hub.files["model.safetensors"] = served
        hub.listing["siblings"] = [hub.entry(name) for name in CONTENT]
    with pytest.raises(IntegrityViolation, match=r"model\.safetensors"):
        resolve_weights(None, tmp_path, hub_url=hub.url)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


@pytest.mark.usefixtures("small_model")
@pytest.mark.parametrize("hub_url", [None, "http://127.0.0.1:9", "file:///etc", "not an address"])
def test_without_any_source_the_error_names_the_attempts_and_both_fixes(tmp_path: Path, hub_url: str | None) -> None:
    with pytest.raises(TargetUnavailable) as caught:
        resolve_weights(tmp_path / "empty", tmp_path / "cache", hub_url=hub_url)
    for part in ("folder:", "package: not installed", "hub:"):
        assert part in caught.value.message
    assert "pip install memory-butler-model" in caught.value.recovery
    assert "MEMORY_BUTLER_EMBEDDING__FOLDER" in caught.value.recovery


@pytest.mark.usefixtures("small_model")
def test_a_file_that_the_hub_does_not_have_is_unavailable(tmp_path: Path, hub: Hub) -> None:
    hub.listing["siblings"] = [hub.entry("tokenizer.json")]
    with pytest.raises(TargetUnavailable, match=r"no model\.safetensors"):
        resolve_weights(None, tmp_path, hub_url=hub.url)


@pytest.mark.usefixtures("small_model")
def test_a_listed_file_that_is_gone_is_unavailable_and_nothing_is_kept(tmp_path: Path, hub: Hub) -> None:
    del hub.served["model.safetensors"]
    with pytest.raises(TargetUnavailable, match="404"):
        resolve_weights(None, tmp_path, hub_url=hub.url)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
