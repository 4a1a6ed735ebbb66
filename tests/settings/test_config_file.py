"""Errors of config.toml name the file, the line and the setting that was probably meant."""

from pathlib import Path

import pytest

from memory_butler.errors import InvalidInput
from memory_butler.settings import load_settings


@pytest.mark.parametrize(
    ("text", "line", "words", "advice"),
    [
        ("# mine\n\n[retrieval]\nlimt = 5\n", 4, "retrieval.limt is not a setting", "Did you mean retrieval.limit?"),
        ('host = "127.0.0.1"\nprot = 8150\n', 2, "prot is not a setting", "Did you mean port?"),
        ('port = "abc"\n', 1, "port: Input should be a valid integer", "config.toml"),
        ("[retrieval]\nlimit = 1\n[retrieval.rerank]\nmethod = 'best'\n", 4, "retrieval.rerank.method", "config.toml"),
        ("retrieval.limit = 'x'\n", 1, "retrieval.limit", "config.toml"),
    ],
)
def test_a_setting_that_does_not_fit(tmp_path: Path, text: str, line: int, words: str, advice: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(text)
    with pytest.raises(InvalidInput) as caught:
        load_settings(home=tmp_path)
    assert f"{file}, line {line}: {words}" in caught.value.message
    assert advice in caught.value.recovery


@pytest.mark.parametrize(("text", "place"), [("[retrieval\nx = 1\n", ", line 1, column 11"), ("x = 'a", ", ")])
def test_a_file_that_is_not_toml(tmp_path: Path, text: str, place: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(text)
    with pytest.raises(InvalidInput) as caught:
        load_settings(home=tmp_path)
    assert f"{file}{place}" in caught.value.message and "(at" not in caught.value.message
    assert "remove the file" in caught.value.recovery


def test_a_variable_has_no_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_BUTLER_PORT", "none")
    with pytest.raises(InvalidInput) as caught:
        load_settings(home=tmp_path)
    assert "line" not in caught.value.message and "port: " in caught.value.message
