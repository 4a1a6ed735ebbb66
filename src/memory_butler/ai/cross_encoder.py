"""Reranking with a cross-encoder: a sequence classifier that scores a query and a text together.

It is more precise than comparing two vectors, and costs one run of the model per text. A deep search uses one, and the
settings can use one for every search. Any model that has been exported to ONNX works: the settings name its folder or
its repository, or `models get` fetches one.
"""

import math
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from tokenizers import Encoding, Tokenizer

from memory_butler.ai.batching import BatchingThread, Vectors
from memory_butler.ai.download import HUB_URL, download, parse_repository
from memory_butler.ai.onnx_session import open_session, padded, runtime_failures
from memory_butler.ai.optional_models.catalog import require_model
from memory_butler.errors import InternalError, InvalidInput, MemoryButlerError, TargetUnavailable

MODEL_FILES = ("model.onnx", "onnx/model.onnx")
TOKENIZER_FILE = "tokenizer.json"
NAME = "cross-encoder"
# Token limits to try at load, largest first. Longer pairs take more time than a search has.
TOKEN_LIMITS = (512, 256, 128, 64)
# Largest share of the tokens for the query, so that a long query leaves room for the text.
QUERY_SHARE = 0.25
# Enough for any real text; cutting earlier bounds the time to tokenize.
CHARACTERS_PER_TOKEN = 16
# Keeps a score strictly between 0 and 1: a float of a larger logit would round to 0 or 1.
MAX_LOGIT = 30.0
# After a failed load, searches fail at once for this time instead of loading again.
RETRY_SECONDS = 60.0
# After this time in loading (a download, for example), searches fail at once instead of waiting.
MAX_LOAD_WAIT_SECONDS = 2.0

GET_ONNX = (
    "Choose a model that is published with onnx/model.onnx, or export it with"
    " `optimum-cli export onnx --model <name> <folder>` and configure that folder."
)
MATCHING_TOKENIZER = "Use the tokenizer.json that was published with the model."


@dataclass(frozen=True)
class CrossEncoderSource:
    """A folder, or a repository on the Hugging Face hub (`owner/name` or `owner/name@revision`)."""

    folder: Path | None = None
    repo: str | None = None
    hub_url: str | None = HUB_URL
    # Without a folder and a repository: a model that `models get` fetches.
    name: str | None = None

    def locate(self, cache: Path) -> tuple[Path, Path]:
        """Return the paths of the ONNX file and of the tokenizer; downloads a repository the first time. Blocks."""
        if self.folder is None and self.repo is None and self.name is not None:
            model = require_model(self.name)
            if not model.is_installed(cache):
                raise TargetUnavailable(
                    f"The model {model.name} is not installed; run `memory-butler models get {model.name}`.",
                    recovery=f"Run `memory-butler models get {model.name}`.",
                )
            return _model_file(model.folder(cache)), _tokenizer_file(model.folder(cache))
        if self.folder is not None:
            return _model_file(self.folder), _tokenizer_file(self.folder)
        if self.repo is None:
            raise InvalidInput(
                "No cross-encoder is configured.",
                recovery="Set MEMORY_BUTLER_RETRIEVAL__RERANK__CROSS_ENCODER__FOLDER or …__REPO.",
            )
        downloaded = cache / NAME / "@".join(parse_repository(self.repo)).replace("/", "--")
        try:
            return _model_file(downloaded), _tokenizer_file(downloaded)
        except TargetUnavailable:
            if self.hub_url is None:
                raise TargetUnavailable(
                    f"The cross-encoder {self.repo} is not downloaded yet, and downloads are switched off.",
                    recovery="Start Memory Butler once with a network, or put the model into a folder and configure"
                    " that folder.",
                ) from None
        download(self.repo, [MODEL_FILES, [TOKENIZER_FILE]], downloaded, self.hub_url)
        return _model_file(downloaded), _tokenizer_file(downloaded)


def _model_file(folder: Path) -> Path:
    for name in MODEL_FILES:
        if (folder / name).is_file():
            return folder / name
    raise TargetUnavailable(
        f"The cross-encoder was not found: {folder} has no {' and no '.join(MODEL_FILES)}.", recovery=GET_ONNX
    )


def _tokenizer_file(folder: Path) -> Path:
    path = folder / TOKENIZER_FILE
    if not path.is_file():
        raise TargetUnavailable(
            f"The cross-encoder was not found: {folder} has no {TOKENIZER_FILE}.",
            recovery=f"Put the model's {TOKENIZER_FILE} into that folder.",
        )
    return path


class CrossEncoder:
    """Scores texts for a query, in its own thread, which loads the model at the first text or at `start`."""

    def __init__(self, source: CrossEncoderSource, *, cache: Path, threads: int = 2) -> None:
        self._source, self._cache, self._threads = source, cache, threads
        self._thread = BatchingThread(self._load, NAME)
        self._lock = threading.Lock()
        self._loading_since: float | None = None
        self._failure: tuple[float, MemoryButlerError] | None = None

    async def start(self) -> None:
        """Load the model now and wait until it is loaded."""
        await self._thread.vectors((), urgent=True)

    async def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return for each text the probability, in (0, 1), that it answers the query.

        Cancelling stops the work after the texts that are being scored.
        """
        if not texts:
            return []
        with self._lock:
            since = self._loading_since
        if since is not None and time.monotonic() - since > MAX_LOAD_WAIT_SECONDS:
            raise TargetUnavailable("The cross-encoder is still loading.", recovery="Try again in a minute.")
        return _probabilities(await self._thread.vectors([(query, text) for text in texts], urgent=False))

    async def close(self) -> None:
        await self._thread.close()

    def _load(self) -> "PairModel":
        """Locate the files and open the model; runs in the thread."""
        if self._failure is not None and time.monotonic() - self._failure[0] < RETRY_SECONDS:
            failure = self._failure[1]
            raise type(failure)(failure.message, recovery=failure.recovery)
        with self._lock:
            self._loading_since = time.monotonic()
        try:
            return PairModel(*self._source.locate(self._cache), self._threads)
        except (MemoryButlerError, OSError) as failure:
            known = failure if isinstance(failure, MemoryButlerError) else _unreadable(failure)
            self._failure = time.monotonic(), known
            raise known from None
        finally:
            with self._lock:
                self._loading_since = None


@dataclass(frozen=True)
class Pair:
    """The tokens of a query and a text; `segments` is 0 for tokens of the query and 1 for those of the text."""

    ids: list[int]
    segments: list[int]

    def __len__(self) -> int:
        return len(self.ids)


class PairModel:
    """The tokenizer and the ONNX session, for one thread."""

    def __init__(self, model: Path, tokenizer: Path, threads: int) -> None:
        self.failures = runtime_failures()
        self._tokenizer = _open_tokenizer(tokenizer)
        try:
            self._session = open_session(model, threads)
        except self.failures as failure:
            raise InvalidInput(f"ONNX Runtime cannot open {model}: {failure}", recovery=GET_ONNX) from None
        self._inputs = {entry.name: _number_type(entry.type) for entry in self._session.get_inputs()}
        unknown = self._inputs.keys() - {"input_ids", "attention_mask", "token_type_ids"}
        if unknown or "input_ids" not in self._inputs:
            raise InvalidInput(
                f"{model} is not a cross-encoder: its inputs are {', '.join(sorted(self._inputs)) or 'empty'}, "
                "expected input_ids, attention_mask and token_type_ids.",
                recovery=GET_ONNX,
            )
        self.dimensions = self._labels(model, tokenizer)
        self.max_tokens = self._token_limit(model)
        self._room = self.max_tokens - self._tokenizer.num_special_tokens_to_add(True)

    def tokenize(self, pair: tuple[str, str]) -> Pair:
        """Cut the query to its share, then fill the rest with the text."""
        query, text = (self._encode(part) for part in pair)
        query.truncate(max(1, int(self._room * QUERY_SHARE)))
        text.truncate(self._room - len(query))
        both = self._tokenizer.post_process(query, text)
        return Pair(both.ids, both.type_ids)

    def run(self, rows: Sequence[Pair]) -> Vectors:
        arrays = {
            "input_ids": padded([row.ids for row in rows]),
            "attention_mask": padded([[1] * len(row) for row in rows]),
            "token_type_ids": padded([row.segments for row in rows]),
        }
        inputs = {name: arrays[name].astype(number_type) for name, number_type in self._inputs.items()}
        return cast("Vectors", self._session.run(None, inputs)[0]).astype(np.float32, copy=False)

    def _encode(self, text: str) -> Encoding:
        return self._tokenizer.encode(text[: self.max_tokens * CHARACTERS_PER_TOKEN], add_special_tokens=False)

    def _labels(self, model: Path, tokenizer: Path) -> int:
        """Run the last token of the vocabulary, which fails if the model knows fewer; return the number of labels."""
        last = self._tokenizer.get_vocab_size() - 1
        try:
            logits = self.run([Pair([last] * 2, [0, 0])])
        except self.failures as failure:
            raise InvalidInput(
                f"{model} cannot read the {last + 1} tokens of {tokenizer}: {failure}", recovery=MATCHING_TOKENIZER
            ) from None
        if logits.ndim != 2 or logits.shape[1] not in (1, 2):
            raise InvalidInput(
                f"{model} is not a cross-encoder: its output for one pair has the shape "
                f"{'×'.join(map(str, logits.shape))}, expected 1×1 or 1×2.",
                recovery="Choose a sequence classifier with one or two labels.",
            )
        return int(logits.shape[1])

    def _token_limit(self, model: Path) -> int:
        """Return the longest input that the model accepts: an ONNX file does not say it."""
        for limit in TOKEN_LIMITS:
            try:
                self.run([Pair([0] * limit, [0] * limit)])
            except self.failures:
                continue
            return limit
        raise InvalidInput(
            f"{model} accepts fewer than {TOKEN_LIMITS[-1]} tokens: too few for a query and a text.",
            recovery="Choose another cross-encoder.",
        )


def _number_type(onnx_type: str) -> Any:
    return np.int32 if onnx_type == "tensor(int32)" else np.int64


def _open_tokenizer(path: Path) -> Tokenizer:
    try:
        tokenizer = Tokenizer.from_buffer(path.read_bytes())
    except ValueError as fault:
        raise InvalidInput(f"{path} cannot be read: {fault}", recovery=MATCHING_TOKENIZER) from fault
    tokenizer.no_padding()
    tokenizer.no_truncation()
    # "[SEP]" in a text is text, never a separator.
    tokenizer.encode_special_tokens = True
    if not tokenizer.num_special_tokens_to_add(True):
        raise InvalidInput(f"{path} has no template for a pair of texts.", recovery=MATCHING_TOKENIZER)
    return tokenizer


def _unreadable(failure: OSError) -> TargetUnavailable:
    return TargetUnavailable(
        f"The cross-encoder cannot be read: {failure}", recovery="Check the permissions of the configured folder."
    )


def _probabilities(logits: Vectors) -> list[float]:
    """One label: its sigmoid. Two labels: the softmax of the second."""
    if not np.isfinite(logits).all():
        raise InternalError("The cross-encoder failed: its scores are not finite numbers.")
    differences = logits[:, 0] if logits.shape[1] == 1 else logits[:, 1] - logits[:, 0]
    return [1 / (1 + math.exp(-min(MAX_LOGIT, max(-MAX_LOGIT, float(logit))))) for logit in differences]
