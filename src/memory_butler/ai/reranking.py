"""Reranking: a model scores the best candidates of a search again, bounded in number and time.

A search never fails because of it: after a timeout or an error the original order is used.
"""

import asyncio
from collections.abc import Sequence
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


async def rerank_if_possible(
    reranker: Reranker, query: str, texts: Sequence[str], *, limit: int, milliseconds: float
) -> tuple[list[float] | None, tuple[str, ...]]:
    """Return the scores, or None and the reason."""
    try:
        return await rerank(reranker, query, texts, limit=limit, milliseconds=milliseconds), ()
    except (RerankTooSlow, RerankFailed) as problem:
        return None, (f"not reranked: {problem.message}",)
