"""Stage two of a search with a model: a second look at the best candidates, bounded in their number and in time.

A search never waits for it longer than it may, and never fails because of it: without new scores the order that is
there already stands.
"""

import asyncio
from collections.abc import Sequence
from typing import Protocol

from memory_butler.errors import DeadlinePassed, MemoryButlerError, TargetUnavailable


class Reranker(Protocol):
    """Judges texts for a query; may be shared between tasks, event loops and threads."""

    async def start(self) -> None:
        """Get ready now instead of at the first text."""

    async def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """For each text, in order, the probability that it belongs to the query. Cancelling it stops the work."""

    async def close(self) -> None:
        """Let go of the model; what still waits fails. May be called twice."""


class RerankTooSlow(DeadlinePassed):
    """The reranker took longer than it may."""


class RerankFailed(TargetUnavailable):
    """The reranker cannot be used. This does not mean that there are no memories."""


async def rerank(
    reranker: Reranker, query: str, texts: Sequence[str], *, limit: int, milliseconds: float
) -> list[float]:
    """Scores for the first `limit` texts, in their order; `RerankTooSlow` or `RerankFailed` if there are none."""
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
    """The scores, or None and why the search had to do without them."""
    try:
        return await rerank(reranker, query, texts, limit=limit, milliseconds=milliseconds), ()
    except (RerankTooSlow, RerankFailed) as problem:
        return None, (f"not reranked: {problem.message}",)
