"""Budgets are counted exactly, with the tokenizer that the settings name."""

import json
import sys
import types
from pathlib import Path

import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from memory_butler.ai.tokens import DEFAULT_SPEC, TokenCounter, open_token_counter
from memory_butler.ai.weights import resolve_weights
from memory_butler.errors import IntegrityViolation, InvalidInput


@pytest.fixture(scope="module")
def weights_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return resolve_weights(None, tmp_path_factory.mktemp("models"), hub_url=None).folder


@pytest.fixture(scope="module")
def counter(weights_folder: Path) -> TokenCounter:
    return open_token_counter(DEFAULT_SPEC, weights_folder)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("   \n", 0),
        ("hello", 1),
        ("Hello, world!", 4),
        ("embeddings", 4),
        ("漢字", 2),
        ("[SEP]", 1),
        ("x" * 100, 50),
        ("x" * 1000, 500),
    ],
)
def test_wordpiece_counts(counter: TokenCounter, text: str, tokens: int) -> None:
    assert counter.count(text) == tokens


def test_long_text_is_neither_truncated_nor_padded(counter: TokenCounter) -> None:
    assert counter.count("hello world, ") == 3
    assert counter.count("hello world, " * 20_000) == 60_000


def test_text_that_is_not_unicode_is_refused(counter: TokenCounter) -> None:
    with pytest.raises(InvalidInput):
        counter.count("\ud800")


def test_a_wrong_tokenizer_in_the_models_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(IntegrityViolation, match=r"tokenizer\.json"):
        open_token_counter(DEFAULT_SPEC, tmp_path)


def test_another_tokenizer_counts_its_own_way(tmp_path: Path, weights_folder: Path) -> None:
    tokenizer = Tokenizer(WordLevel({"?": 0}, unk_token="?"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.enable_truncation(2)
    path = tmp_path / "words.json"
    tokenizer.save(str(path))
    counter = open_token_counter(str(path), weights_folder)
    assert counter.name == str(path)
    assert counter.count("one embeddings three") == 3


@pytest.mark.parametrize("content", [None, b"not json", b"[]", json.dumps({"model": 1}).encode(), b"\xff"])
def test_a_file_that_is_no_tokenizer_is_refused(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "tokenizer.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InvalidInput, match="token counter"):
        open_token_counter(str(path), tmp_path)


def test_tiktoken_is_optional_and_its_absence_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    with pytest.raises(InvalidInput, match="tiktoken") as caught:
        open_token_counter("tiktoken:cl100k_base", tmp_path)
    assert "pip install tiktoken" in caught.value.recovery


def test_tiktoken_counts_when_it_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Encoding:
        def encode(self, text: str, disallowed_special: tuple[str, ...]) -> list[str]:
            assert disallowed_special == ()
            return text.split()

    def get_encoding(name: str) -> Encoding:
        if name != "by_words":
            raise ValueError(f"Unknown encoding {name}")
        return Encoding()

    module = types.ModuleType("tiktoken")
    monkeypatch.setattr(module, "get_encoding", get_encoding, raising=False)
    monkeypatch.setitem(sys.modules, "tiktoken", module)
    counter = open_token_counter("tiktoken:by_words", tmp_path)
    assert (counter.name, counter.count("one two three")) == ("tiktoken:by_words", 3)
    with pytest.raises(InvalidInput, match="Unknown encoding"):
        open_token_counter("tiktoken:nothing", tmp_path)
