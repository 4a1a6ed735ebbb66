"""A cross-encoder: a sequence classifier that reads a query and a text together and says how well they belong together.

It sees what two vectors cannot, and costs a run of the model for every text. It is used only if it is asked for.
"""

import hashlib
import math
import re
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
from tokenizers import Encoding, Tokenizer

from memory_butler.ai.batching import BatchingThread, Vectors
from memory_butler.ai.classifiers import ReadClassifier, read_classifier
from memory_butler.ai.hub import HUB_URL, fetch_repository, split_repository
from memory_butler.ai.onnx_graph import GRAPH_VERSION, build_graph, kept_graph
from memory_butler.ai.onnx_session import open_session, padded, runtime_failures
from memory_butler.errors import InternalError, InvalidInput, MemoryButlerError, TargetUnavailable

CONFIG_FILE, WEIGHTS_FILE, TOKENIZER_FILE = "config.json", "model.safetensors", "tokenizer.json"
FILES = (CONFIG_FILE, TOKENIZER_FILE, WEIGHTS_FILE)
NAME = "cross-encoder"
# Longer pairs cost more time than a search has, whatever the model could look at.
MAX_TOKENS = 512
# The longest query leaves most of the room to the text.
QUERY_SHARE = 0.25
# Enough for any real text; beyond it only the time to tokenise would grow.
CHARACTERS_PER_TOKEN = 16
# A score is a probability strictly between 0 and 1, also where a float would be rounded to one of them.
MAX_LOGIT = 30.0
# A model that cannot be loaded is not tried again for every single search.
RETRY_SECONDS = 60.0
# Loading that takes longer (a download, say) is not waited for by searches.
LOADING_PATIENCE_SECONDS = 2.0


@dataclass(frozen=True)
class CrossEncoderSource:
    """Where the model is: a folder, or a repository on the hub (`owner/name` or `owner/name@revision`)."""

    folder: Path | None = None
    repo: str | None = None
    hub_url: str | None = HUB_URL

    def locate(self, cache: Path) -> Path:
        """The folder with the model's files; fetched from the hub the first time. Blocks: not for the event loop."""
        if self.folder is not None:
            missing = [name for name in FILES if not (self.folder / name).is_file()]
            if missing:
                raise TargetUnavailable(
                    f"The cross-encoder was not found: no {' and no '.join(missing)} in {self.folder}.",
                    recovery=f"Put {', '.join(FILES)} of a sequence classifier into that folder, or name another one.",
                )
            return self.folder
        if self.repo is None:
            raise InvalidInput("No cross-encoder is set.", recovery="Set its folder, or its repository on the hub.")
        downloaded = cache / NAME / "@".join(split_repository(self.repo)).replace("/", "--")
        if not all((downloaded / name).is_file() for name in FILES):
            if self.hub_url is None:
                raise TargetUnavailable(
                    f"The cross-encoder {self.repo} was not downloaded yet, and downloads are switched off.",
                    recovery="Allow the download once, or put its files into a folder and name that.",
                )
            fetch_repository(self.repo, FILES, downloaded, self.hub_url, f"the cross-encoder {self.repo}")
        return downloaded


class CrossEncoder:
    """Scores texts for a query, in a thread of its own that loads the model at the first text or at `start`."""

    def __init__(self, source: CrossEncoderSource, *, cache: Path, threads: int = 2) -> None:
        self._source, self._cache, self._threads = source, cache, threads
        self._thread = BatchingThread(self._load, NAME)
        self._lock = threading.Lock()
        self._loading_since: float | None = None
        self._failure: tuple[float, MemoryButlerError] | None = None

    async def start(self) -> None:
        """Load the model now, however long it takes."""
        await self._thread.vectors((), urgent=True)

    async def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """For each text the probability that it belongs to the query, in (0, 1).

        Giving up waiting stops the work after the few texts that are being looked at.
        """
        if not texts:
            return []
        with self._lock:
            since = self._loading_since
        if since is not None and time.monotonic() - since > LOADING_PATIENCE_SECONDS:
            raise TargetUnavailable("The cross-encoder is still being loaded.", recovery="Try again a little later.")
        return _probabilities(await self._thread.vectors([(query, text) for text in texts], urgent=False))

    async def close(self) -> None:
        await self._thread.close()

    def _load(self) -> "PairModel":
        """In the thread: find the files, build or find the graph, open it."""
        if self._failure is not None and time.monotonic() - self._failure[0] < RETRY_SECONDS:
            raise _again(self._failure[1])
        with self._lock:
            self._loading_since = time.monotonic()
        try:
            return PairModel(self._source.locate(self._cache), self._cache, self._threads)
        except (MemoryButlerError, OSError) as failure:
            known = failure if isinstance(failure, MemoryButlerError) else _unreadable(failure)
            self._failure = time.monotonic(), known
            raise known from None
        finally:
            with self._lock:
                self._loading_since = None


@dataclass(frozen=True)
class Pair:
    """The tokens of a query and a text together; `segments` says which of the two each belongs to."""

    ids: list[int]
    segments: list[int]

    def __len__(self) -> int:
        return len(self.ids)


class PairModel:
    """The tokenizer and the ONNX session, for one thread."""

    def __init__(self, folder: Path, cache: Path, threads: int) -> None:
        self.failures = runtime_failures()
        config, weights = ((folder / name).read_bytes() for name in (CONFIG_FILE, WEIGHTS_FILE))
        read = read_classifier(config, weights, str(folder))
        assert read.model.classifier is not None
        self.dimensions = read.model.classifier.labels
        self.max_tokens = min(MAX_TOKENS, read.positions)
        self._segments = read.model.segments
        self._tokenizer = _tokenizer(folder, read)
        self._room = self.max_tokens - self._tokenizer.num_special_tokens_to_add(True)
        if self._room < 2:
            raise InvalidInput(f"{folder} looks at {self.max_tokens} tokens only: too few for a query and a text.")
        digest = hashlib.sha256(hashlib.sha256(config).digest() + hashlib.sha256(weights).digest()).hexdigest()
        target = cache / f"{NAME}-{digest[:16]}-g{GRAPH_VERSION}.onnx"
        del config, weights
        try:
            self._session = open_session(
                lambda: kept_graph(target, lambda: build_graph(read.tensors, read.model)), threads
            )
        except self.failures as failure:
            raise InvalidInput(f"{folder} cannot be run: {failure}", recovery="Choose another cross-encoder.") from None

    def tokenize(self, pair: tuple[str, str]) -> Pair:
        """The query first, cut to its share, then as much of the text as there is room for."""
        query, text = (self._encoded(part) for part in pair)
        query.truncate(max(1, int(self._room * QUERY_SHARE)))
        text.truncate(self._room - len(query))
        both = self._tokenizer.post_process(query, text)
        return Pair(both.ids, both.type_ids)

    def run(self, rows: Sequence[Pair]) -> Vectors:
        inputs = {"ids": padded([row.ids for row in rows]), "mask": padded([[1] * len(row) for row in rows])}
        if self._segments:
            inputs["segments"] = padded([row.segments for row in rows])
        return cast("Vectors", self._session.run(None, inputs)[0])

    def _encoded(self, text: str) -> Encoding:
        return self._tokenizer.encode(text[: self.max_tokens * CHARACTERS_PER_TOKEN], add_special_tokens=False)


def _tokenizer(folder: Path, read: ReadClassifier) -> Tokenizer:
    try:
        tokenizer = Tokenizer.from_buffer((folder / TOKENIZER_FILE).read_bytes())
    except ValueError as fault:
        raise InvalidInput(f"{folder / TOKENIZER_FILE} cannot be read: {fault}", recovery=_OWN_TOKENIZER) from fault
    tokenizer.no_padding()
    tokenizer.no_truncation()
    # A text that says [SEP] is a text about [SEP].
    tokenizer.encode_special_tokens = True
    known = len(read.tensors["embeddings.word_embeddings.weight"])
    if tokenizer.get_vocab_size() > known:
        raise InvalidInput(
            f"{folder}: the tokenizer knows {tokenizer.get_vocab_size()} tokens, the model {known}.",
            recovery=_OWN_TOKENIZER,
        )
    if not tokenizer.num_special_tokens_to_add(True):
        raise InvalidInput(
            f"{folder / TOKENIZER_FILE} does not say how two texts are put together.", recovery=_OWN_TOKENIZER
        )
    return tokenizer


_OWN_TOKENIZER = "Use the tokenizer.json that was published with the model."


def _again(failure: MemoryButlerError) -> MemoryButlerError:
    return type(failure)(failure.message, recovery=failure.recovery)


def _unreadable(failure: OSError) -> TargetUnavailable:
    return TargetUnavailable(
        f"The cross-encoder cannot be read: {failure}", recovery="Check the folder that the settings name."
    )


def _probabilities(logits: Vectors) -> list[float]:
    """One label: how sure it is. Two labels: how sure it is of the second."""
    if not np.isfinite(logits).all():
        raise InternalError("The cross-encoder failed: it gave numbers that are no scores.")
    spread = logits[:, 0] if logits.shape[1] == 1 else logits[:, 1] - logits[:, 0]
    return [1 / (1 + math.exp(-min(MAX_LOGIT, max(-MAX_LOGIT, float(logit))))) for logit in spread]


class FakeCrossEncoder:
    """For tests that need no model: the more of the query's words a text has, the higher its score."""

    async def start(self) -> None:
        return None

    async def score(self, query: str, texts: Sequence[str]) -> list[float]:
        asked = set(re.findall(r"\w+", query.lower()))
        shared = [len(asked & set(re.findall(r"\w+", text.lower()))) for text in texts]
        return [(count + 0.5) / (len(asked) + 1) for count in shared]

    async def close(self) -> None:
        return None
