"""A few threads that own a model and share it between all callers.

They take what is waiting, put texts of similar length together, and work in small slices, so that a query never waits
behind a bulk load and no bulk load starves another. Each slice is one thread's own: two threads at two slices get more
done than two at one, where each step of one waits for the other.
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

Vectors = npt.NDArray[np.float32]

# The longest that a query waits for its turn: half of what 256 tokens take, at the same cost a text.
SLICE_TOKENS = 128
# From here on a slice has the full rate, and no text is filled up any more to be in it.
FULL_RATE_TOKENS = 96
# The more texts to choose from, the more are of the same length.
WINDOW_TEXTS = 128
SHARE_TEXTS = 8
MAX_WAITING_TEXTS = 100_000
# A thread in the middle of a download is left to itself: it is a daemon and ends with the process.
CLOSE_TIMEOUT_SECONDS = 10.0


class Model(Protocol):
    """What the threads work with. Where there are several, it is run by several at once.

    What it takes (a text, a pair of texts) and what it makes of it (tokens) are its own affair.
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
    # Two threads may have the last two of its rows at the same moment.
    answering: threading.Lock = field(default_factory=threading.Lock)

    @property
    def settled(self) -> bool:
        """Answered, failed, or given up by its caller."""
        return self.future.done()

    def add(self, index: int, vector: Vectors) -> None:
        """One more row; with the last of them the answer is there."""
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
    """The queue and its threads. The first starts with the first request, loads the model and starts the others."""

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
        """The vectors of `texts`. Giving up waiting takes the request out of the queue and harms no other."""
        request = _Request(texts)
        with self._changed:
            if self._closed:
                raise self._is_closed()
            if self._waiting_texts + len(texts) > MAX_WAITING_TEXTS:
                raise OverloadRejected(f"{self._waiting_texts} texts already wait for the {self._name}.")
            self._waiting_texts += len(texts)
            self._unanswered[id(request)] = request
            request.future.add_done_callback(lambda _: self._leave(request))
            (self._urgent if urgent else self._bulk).append(request)
            if self._thread is None:
                self._thread = threading.Thread(target=self._live, name=f"memory-butler {self._name}", daemon=True)
                self._thread.start()
            self._changed.notify_all()
        return await asyncio.wrap_future(request.future)

    async def close(self) -> None:
        with self._changed:
            self._closed = True
            thread = self._thread
            self._changed.notify_all()
        if thread is not None:
            await asyncio.to_thread(thread.join, CLOSE_TIMEOUT_SECONDS)

    def _leave(self, request: _Request) -> None:
        with self._changed:
            self._waiting_texts -= len(request.texts)
            del self._unanswered[id(request)]
            if request.future.cancelled():
                # A model that takes long to load must not keep the texts of everybody who has given up on it.
                for queue in (self._urgent, self._bulk):
                    if request in queue:
                        queue.remove(request)

    def _live(self) -> None:
        """The first thread's whole life. Whatever ends it or another, nobody is left waiting, and the next request
        starts anew."""
        error: MemoryButlerError = InternalError(f"The thread of the {self._name} stopped unexpectedly.")
        others: list[threading.Thread] = []
        try:
            model = self._load()
            for number in range(2, self._threads + 1):
                name = f"memory-butler {self._name} {number}"
                others.append(threading.Thread(target=self._work, args=(model,), name=name, daemon=True))
                others[-1].start()
            self._work(model)
            error = self._is_closed() if self._closed else error
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
        """One slice after the other. A fault that nobody expected ends the work of all threads."""
        _stand_back()
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
        """One slice, the urgent first; or the next texts put into slices. False once it is over."""
        with self._changed:
            self._changed.wait_for(self._has_something)
            if self._closed or self._broken:
                return False
            ready = self._urgent_slices if self._urgent_slices or self._urgent else self._slices
            part = ready.popleft() if ready else []
            chosen = [] if part else self._take_urgent() if self._urgent else self._window()
        if part:
            self._run(model, part)
            return True
        for request, _ in chosen:
            if not request.texts:
                request.answer(np.empty((0, model.dimensions), np.float32))
        slices = _slices(list(_tokenized(model, [one for one in chosen if one[0].texts])), self._threads)
        with self._changed:
            ready.extend(slices)
            self._changed.notify_all()
        return True

    def _has_something(self) -> bool:
        queues = (self._urgent_slices, self._urgent, self._slices, self._bulk)
        return self._closed or self._broken or any(queues)

    def _take_urgent(self) -> list[tuple[_Request, int]]:
        """Everything that is urgent; a request without texts stands for itself, to be answered too."""
        urgent = list(self._urgent)
        self._urgent.clear()
        return [(request, index) for request in urgent for index in range(len(request.texts) or 1)]

    def _window(self) -> list[tuple[_Request, int]]:
        """The next texts of the bulk, a share from each request in turn."""
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
        try:
            vectors = model.run([item.tokens for item in part])
        except model.failures as failure:
            for item in part:
                item.request.fail(InternalError(f"The {self._name} failed: {failure}"))
            return
        for item, vector in zip(part, vectors, strict=True):
            item.request.add(item.index, vector)

    def _is_closed(self) -> MemoryButlerError:
        return TargetUnavailable(f"The {self._name} is closed.")


def _stand_back() -> None:
    """Have this thread wait for a free core instead of interrupting whoever has given it something to do, where the
    system can do that. That is the thread that serves everybody, in the middle of what it has to do for them."""
    with suppress(AttributeError, OSError):
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


def _tokenized(model: Model, chosen: Iterable[tuple[_Request, int]]) -> Iterator[_Item]:
    for request, index in chosen:
        if request.settled:
            continue
        try:
            yield _Item(request, index, model.tokenize(request.texts[index]))
        except (TypeError, UnicodeError):
            request.fail(InvalidInput(f"Text {index} is not valid Unicode text."))


def _slices(items: list[_Item], parts: int) -> list[list[_Item]]:
    """Items of similar length together, each slice with at most SLICE_TOKENS tokens after padding, or one item; and, so
    that nobody is idle while others wait, with at most one of so many parts of them all."""
    slices: list[list[_Item]] = []
    share = -(-len(items) // parts)
    for item in sorted(items, key=lambda item: len(item.tokens)):
        if slices and len(slices[-1]) < share and _belongs(item, slices[-1]):
            slices[-1].append(item)
        else:
            slices.append([item])
    return slices


def _belongs(item: _Item, part: list[_Item]) -> bool:
    size, longest = len(item.tokens), len(part[-1].tokens)
    if size * (len(part) + 1) > SLICE_TOKENS:
        return False
    return size == longest or longest * len(part) < FULL_RATE_TOKENS
