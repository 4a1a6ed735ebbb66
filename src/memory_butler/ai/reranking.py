"""Reranking: a model scores the best candidates of a search again, bounded in number and time.

A search never fails because of it: after a timeout or an error the original order is used.
"""

import asyncio
import threading
from collections.abc import Callable, Sequence
from typing import Protocol

from memory_butler.errors import DeadlinePassed, MemoryButlerError, TargetUnavailable


class Reranker(Protocol):
    """Scores texts for a query; may be shared between tasks, event loops and threads."""

    async def start(self) -> None:
        """Load the model now instead of at the first text."""

    async def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return for each text, in order, the probability that it answers the query. Cancelling stops the work."""

    async def close(self) -> None:
        """Close the model; pending requests fail. May be called twice."""


class LazyReranker:
    """Opens a reranker at its first use: opening one takes longer than most commands, and few need it."""

    def __init__(self, open_it: Callable[[], Reranker]) -> None:
        self._open = open_it
        self._opened: Reranker | None = None
        self._lock = threading.Lock()

    async def start(self) -> None:
        await self._reranker().start()

    async def score(self, query: str, texts: Sequence[str]) -> list[float]:
        return await self._reranker().score(query, texts)

    async def close(self) -> None:
        if self._opened is not None:
            await self._opened.close()

    def _reranker(self) -> Reranker:
        with self._lock:
            if self._opened is None:
                self._opened = self._open()
            return self._opened


class RerankTooSlow(DeadlinePassed):
    """The reranker exceeded its time limit."""


class RerankFailed(TargetUnavailable):
    """The reranker is unavailable. This does not mean that there are no memories."""


async def rerank(
    reranker: Reranker, query: str, texts: Sequence[str], *, limit: int, milliseconds: float
) -> list[float]:
    """Return scores of the first `limit` texts, in order; raises `RerankTooSlow` or `RerankFailed`."""
    chosen = texts[:limit]
    try:
        async with asyncio.timeout(milliseconds / 1000):
            return await reranker.score(query, chosen)
    except TimeoutError:
        raise RerankTooSlow(
            f"{len(chosen)} candidates took the reranker longer than {milliseconds:g} ms.",
            recovery="Give it fewer candidates or more time in the settings under retrieval.rerank.",
        ) from None
    except MemoryButlerError as problem:
        raise RerankFailed(problem.message, recovery=problem.recovery) from problem


async def load(reranker: Reranker, seconds: float) -> None:
    """Wait until the model is loaded; raises `RerankTooSlow` or `RerankFailed`. Loading goes on after a timeout."""
    try:
        async with asyncio.timeout(seconds):
            await reranker.start()
    except TimeoutError:
        raise RerankTooSlow("The cross-encoder is still loading.", recovery="Try again in a minute.") from None
    except MemoryButlerError as problem:
        raise RerankFailed(problem.message, recovery=problem.recovery) from problem


async def rerank_if_possible(
    reranker: Reranker, query: str, texts: Sequence[str], *, limit: int, milliseconds: float
) -> tuple[list[float] | None, tuple[str, ...]]:
    """Return the scores, or None and the reason."""
    try:
        return await rerank(reranker, query, texts, limit=limit, milliseconds=milliseconds), ()
    except (RerankTooSlow, RerankFailed) as problem:
        return None, (f"not reranked: {problem.message}",)
