"""Worker threads that run one model for all callers.

The threads group queued texts of similar length into small slices, so that a query never waits for a bulk load and no
bulk load starves another. One thread runs one slice: two threads on two slices have more throughput than two threads
on one slice, where each step of one waits for the other.
"""

import asyncio
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from memory_butler.errors import InternalError, InvalidInput, MemoryButlerError, OverloadRejected, TargetUnavailable
from memory_butler.metrics import model_runs

Vectors = npt.NDArray[np.float32]

# Bounds the wait of a query: half the time of 256 tokens, at the same cost per text.
SLICE_TOKENS = 128
# From this size on a slice has full throughput, so a longer text is not added if others would need padding.
FULL_RATE_TOKENS = 96
# A larger window has more texts of equal length.
WINDOW_TEXTS = 128
SHARE_TEXTS = 8
MAX_WAITING_TEXTS = 100_000
# A thread that is downloading is not waited for: it is a daemon and ends with the process.
CLOSE_TIMEOUT_SECONDS = 10.0


class Model(Protocol):
    """A model for the threads; several threads may run it at once.

    The model defines the types of its inputs (texts, pairs of texts) and of their tokens.
    """

    dimensions: int
    failures: tuple[type[BaseException], ...]

    def tokenize(self, text: Any) -> Sized: ...

    def run(self, rows: Sequence[Any]) -> Vectors: ...


@dataclass(eq=False)
class _Request:
    texts: Sequence[Any]
    future: "Future[Vectors]" = field(default_factory=Future)
    rows: dict[int, Vectors] = field(default_factory=dict)
    taken: int = 0
    # Two threads may finish the last two rows at the same time.
    answering: threading.Lock = field(default_factory=threading.Lock)

    @property
    def settled(self) -> bool:
        """True if answered, failed or cancelled."""
        return self.future.done()

    def add(self, index: int, vector: Vectors) -> None:
        """Add a row; the last one completes the request."""
        self.rows[index] = vector
        if len(self.rows) == len(self.texts):
            self.answer(np.stack([self.rows[index] for index in range(len(self.texts))]))

    def answer(self, vectors: Vectors) -> None:
        with self.answering:
            if not self.settled and self.future.set_running_or_notify_cancel():
                self.future.set_result(vectors)

    def fail(self, error: MemoryButlerError) -> None:
        with self.answering:
            if not self.settled and self.future.set_running_or_notify_cancel():
                self.future.set_exception(error)


@dataclass(eq=False)
class _Item:
    request: _Request
    index: int
    tokens: Sized


class BatchingThread:
    """The queue and its threads. The first request starts one thread, which loads the model and starts the others."""

    def __init__(self, load: Callable[[], Model], name: str = "embedding model", threads: int = 1) -> None:
        self._load = load
        self._name = name
        self._threads = threads
        self._changed = threading.Condition()
        self._urgent: deque[_Request] = deque()
        self._bulk: deque[_Request] = deque()
        self._urgent_slices: deque[list[_Item]] = deque()
        self._slices: deque[list[_Item]] = deque()
        self._broken = False
        self._waiting_texts = 0
        self._unanswered: dict[int, _Request] = {}
        self._thread: threading.Thread | None = None
        self._closed = False

    async def vectors(self, texts: Sequence[Any], *, urgent: bool) -> Vectors:
        """Return the vectors of `texts`. Cancelling removes the request from the queue; others are not affected."""
        request = _Request(texts)
        with self._changed:
            if self._closed:
                raise self._closed_error()
            if self._waiting_texts + len(texts) > MAX_WAITING_TEXTS:
                raise OverloadRejected(f"{self._waiting_texts} texts already wait for the {self._name}.")
            self._waiting_texts += len(texts)
            model_runs.WAITING.labels(self._name).inc(len(texts))
            self._unanswered[id(request)] = request
            request.future.add_done_callback(lambda _: self._remove(request))
            (self._urgent if urgent else self._bulk).append(request)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run_first_thread, name=f"memory-butler {self._name}", daemon=True
                )
                self._thread.start()
            # One thread puts the texts into slices and wakes others for them.
            self._changed.notify()
        return await asyncio.wrap_future(request.future)

    async def close(self) -> None:
        with self._changed:
            self._closed = True
            thread = self._thread
            self._changed.notify_all()
        if thread is not None:
            await asyncio.to_thread(thread.join, CLOSE_TIMEOUT_SECONDS)

    def _remove(self, request: _Request) -> None:
        with self._changed:
            self._waiting_texts -= len(request.texts)
            model_runs.WAITING.labels(self._name).dec(len(request.texts))
            del self._unanswered[id(request)]
            if request.future.cancelled():
                # While a model loads for a long time, the texts of cancelled requests must not fill the memory.
                for queue in (self._urgent, self._bulk):
                    if request in queue:
                        queue.remove(request)

    def _run_first_thread(self) -> None:
        """Main function of the first thread. However it ends, all pending requests fail, and the next request starts a
        new thread."""
        error: MemoryButlerError = InternalError(f"The thread of the {self._name} stopped unexpectedly.")
        others: list[threading.Thread] = []
        try:
            model = self._load()
            for number in range(2, self._threads + 1):
                name = f"memory-butler {self._name} {number}"
                others.append(threading.Thread(target=self._work, args=(model,), name=name, daemon=True))
                others[-1].start()
            self._work(model)
            error = self._closed_error() if self._closed else error
        except MemoryButlerError as failure:
            error = failure
        except OSError as failure:
            error = TargetUnavailable(f"The {self._name} could not be loaded: {failure}")
        finally:
            for other in others:
                other.join()
            with self._changed:
                self._thread, self._broken = None, False
                left = list(self._unanswered.values())
                for queue in (self._urgent, self._bulk, self._urgent_slices, self._slices):
                    queue.clear()
            for request in left:
                request.fail(error)

    def _work(self, model: Model) -> None:
        """Run slices until closed. An unexpected exception stops all threads."""
        _lower_priority()
        done = False
        try:
            while self._step(model):
                pass
            done = True
        finally:
            with self._changed:
                self._broken = self._broken or not done
                self._changed.notify_all()

    def _step(self, model: Model) -> bool:
        """Run one slice, urgent ones first, or put the next texts into slices. Returns False once closed."""
        with self._changed:
            self._changed.wait_for(self._has_work)
            if self._closed or self._broken:
                return False
            ready = self._urgent_slices if self._urgent_slices or self._urgent else self._slices
            part = ready.popleft() if ready else []
            chosen = [] if part else self._take_urgent() if self._urgent else self._take_window()
        if part:
            self._run(model, part)
            return True
        for request, _ in chosen:
            if not request.texts:
                request.answer(np.empty((0, model.dimensions), np.float32))
        slices = _slices(list(_tokenize(model, [one for one in chosen if one[0].texts])), self._threads)
        # Urgent texts are begun at once: to queue them would take two more turns of the lock.
        first = slices.pop(0) if slices and ready is self._urgent_slices else []
        with self._changed:
            ready.extend(slices)
            self._changed.notify(len(slices))
        if first:
            self._run(model, first)
        return True

    def _has_work(self) -> bool:
        queues = (self._urgent_slices, self._urgent, self._slices, self._bulk)
        return self._closed or self._broken or any(queues)

    def _take_urgent(self) -> list[tuple[_Request, int]]:
        """Take all urgent texts. A request without texts counts as one, so that it is answered, too."""
        urgent = list(self._urgent)
        self._urgent.clear()
        return [(request, index) for request in urgent for index in range(len(request.texts) or 1)]

    def _take_window(self) -> list[tuple[_Request, int]]:
        """Take the next bulk texts, round-robin: at most SHARE_TEXTS from each request in turn."""
        chosen: list[tuple[_Request, int]] = []
        while self._bulk and len(chosen) < WINDOW_TEXTS:
            request = self._bulk.popleft()
            if request.settled:
                continue
            share = range(request.taken, min(request.taken + SHARE_TEXTS, len(request.texts)))
            chosen.extend((request, index) for index in share)
            request.taken = share.stop
            if request.taken < len(request.texts):
                self._bulk.append(request)
        return chosen

    def _run(self, model: Model, part: list[_Item]) -> None:
        part = [item for item in part if not item.request.settled]
        if not part:
            return
        model_runs.TEXTS.labels(self._name).observe(len(part))
        try:
            with model_runs.SECONDS.labels(self._name).time():
                vectors = model.run([item.tokens for item in part])
        except model.failures as failure:
            for item in part:
                item.request.fail(InternalError(f"The {self._name} failed: {failure}"))
            return
        for item, vector in zip(part, vectors, strict=True):
            item.request.add(item.index, vector)

    def _closed_error(self) -> MemoryButlerError:
        return TargetUnavailable(f"The {self._name} is closed.")


def _lower_priority() -> None:
    """Use batch scheduling, if available, so that this thread does not preempt the event loop."""
    with suppress(AttributeError, OSError):
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


def _tokenize(model: Model, chosen: Iterable[tuple[_Request, int]]) -> Iterator[_Item]:
    for request, index in chosen:
        if request.settled:
            continue
        try:
            yield _Item(request, index, model.tokenize(request.texts[index]))
        except (TypeError, UnicodeError):
            request.fail(InvalidInput(f"Text {index} is not valid Unicode text."))


def _slices(items: list[_Item], parts: int) -> list[list[_Item]]:
    """Group items of similar length into slices of at most SLICE_TOKENS tokens after padding, or of one item.

    A slice has at most 1/`parts` of all items, so that no thread is idle.
    """
    slices: list[list[_Item]] = []
    share = -(-len(items) // parts)
    for item in sorted(items, key=lambda item: len(item.tokens)):
        if slices and len(slices[-1]) < share and _fits(item, slices[-1]):
            slices[-1].append(item)
        else:
            slices.append([item])
    return slices


def _fits(item: _Item, part: list[_Item]) -> bool:
    size, longest = len(item.tokens), len(part[-1].tokens)
    if size * (len(part) + 1) > SLICE_TOKENS:
        return False
    return size == longest or longest * len(part) < FULL_RATE_TOKENS
