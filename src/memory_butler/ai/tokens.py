"""Token counters for budgets.

The count is exact for the named tokenizer at any length, without special tokens, padding and truncation.
"""

import json
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.pre_tokenizers import BertPreTokenizer, FixedLength, Sequence

from memory_butler.ai.weights import MODEL_NAME, TOKENIZER_FILE, Weights
from memory_butler.errors import InvalidInput, TargetUnavailable

DEFAULT_SPEC = "wordpiece"
CACHED_WORDS = 65_536
CACHED_LINES = 16_384
TIKTOKEN_PREFIX = "tiktoken:"
MAX_WORD_CHARACTERS = 100


class TokenCounter(Protocol):
    """Counts the tokens of a text; may be shared between threads."""

    @property
    def name(self) -> str: ...

    def count(self, text: str) -> int: ...


def open_token_counter(spec: str, weights_folder: Path) -> TokenCounter:
    """Open the counter that `spec` names: "wordpiece", the path of a tokenizer.json, or "tiktoken:<encoding>".

    `weights_folder` holds the embedding model's files (`resolve_weights(...).folder`); only "wordpiece" reads it.
    """
    if spec == DEFAULT_SPEC:
        return TokenizerCounter(MODEL_NAME, Weights(weights_folder, "folder").read(TOKENIZER_FILE))
    if spec.startswith(TIKTOKEN_PREFIX):
        return TiktokenCounter(spec)
    return TokenizerCounter(spec, _read_tokenizer(spec))


class TokenizerCounter:
    """Counts with a tokenizer.json of Hugging Face's format."""

    def __init__(self, name: str, content: bytes) -> None:
        self.name = name
        self._tokenizer = Tokenizer.from_buffer(content)
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._is_countable_by_word = False
        if isinstance(self._tokenizer.model, WordPiece) and self._tokenizer.pre_tokenizer is not None:
            # WordPiece counts any word above 100 characters as one unknown token: a pasted blob would count as 1.
            parts = [self._tokenizer.pre_tokenizer, FixedLength(length=MAX_WORD_CHARACTERS)]
            # BERT's pre-tokenizer always splits at spaces and line breaks, so words can be counted one by one. Caches
            # hold the counts of words, and of lines because briefings repeat them.
            self._is_countable_by_word = isinstance(self._tokenizer.pre_tokenizer, BertPreTokenizer)
            self._tokenizer.pre_tokenizer = Sequence(parts)
        self._count_word = lru_cache(CACHED_WORDS)(self._count_whole)
        self._count_line = lru_cache(CACHED_LINES)(self._count_words)

    def count(self, text: str) -> int:
        if not self._is_countable_by_word:
            return self._count_whole(text)
        return sum(map(self._count_line, text.split("\n")))

    def _count_words(self, line: str) -> int:
        return sum(map(self._count_word, line.split(" ")))

    def _count_whole(self, text: str) -> int:
        if not text:
            return 0
        try:
            return len(self._tokenizer.encode_batch_fast([text], add_special_tokens=False)[0].ids)
        except (TypeError, UnicodeError):
            raise _not_unicode() from None


class TiktokenCounter:
    """Counts with an encoding of the optional package tiktoken."""

    def __init__(self, spec: str) -> None:
        try:
            import tiktoken  # noqa: PLC0415 - an optional package
        except ImportError:
            raise InvalidInput(
                f"The token counter {spec} needs the package tiktoken, which is not installed.",
                recovery="Run `pip install tiktoken`, or set the token counter to wordpiece.",
            ) from None
        self.name = spec
        try:
            self._encoding: Any = tiktoken.get_encoding(spec.removeprefix(TIKTOKEN_PREFIX))
        except ValueError as error:
            raise InvalidInput(f"The token counter {spec} is unknown: {error}") from None
        except OSError as error:
            raise TargetUnavailable(
                f"The token counter {spec} could not be fetched: {error}",
                recovery="Fetch it once with a network (TIKTOKEN_CACHE_DIR keeps it), or set the counter to wordpiece.",
            ) from error

    def count(self, text: str) -> int:
        try:
            return len(self._encoding.encode(text, disallowed_special=()))
        except UnicodeError:
            raise _not_unicode() from None


def _read_tokenizer(spec: str) -> bytes:
    recovery = 'Set the token counter to "wordpiece", the path of a tokenizer.json, or "tiktoken:<encoding>".'
    try:
        content = Path(spec).expanduser().read_bytes()
        described = json.loads(content)
    except (OSError, ValueError) as error:
        raise InvalidInput(f"The token counter {spec!r} cannot be read: {error}", recovery=recovery) from error
    if not isinstance(described, dict) or not isinstance(described.get("model"), dict):
        raise InvalidInput(f"The token counter {spec!r} is not a tokenizer.json.", recovery=recovery)
    return content


def _not_unicode() -> InvalidInput:
    return InvalidInput("The text is not valid Unicode text, so its tokens cannot be counted.")
