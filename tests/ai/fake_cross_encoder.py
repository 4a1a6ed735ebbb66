"""A reranker for tests that need no model."""

import re
from collections.abc import Sequence


class FakeCrossEncoder:
    """A reranker for tests without a model: the score grows with the number of shared words."""

    async def start(self) -> None:
        return None

    async def score(self, query: str, texts: Sequence[str]) -> list[float]:
        words = set(re.findall(r"\w+", query.lower()))
        shared = [len(words & set(re.findall(r"\w+", text.lower()))) for text in texts]
        return [(count + 0.5) / (len(words) + 1) for count in shared]

    async def close(self) -> None:
        return None
