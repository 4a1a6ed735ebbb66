"""The models of memories that the current model has not embedded yet: each is opened when a search needs it."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from memory_butler.ai.embedding import Embedder

# A model that is not on this machine may be fetched while the program runs.
RETRY_SECONDS = 60.0
IDLE_SECONDS = 600.0

OpenModel = Callable[[str, str], Embedder | None]


@dataclass(slots=True)
class _Opened:
    embedder: Embedder | None
    used_at: float


class EarlierModels:
    """Finds the model of an embedding version by its name and digest. Closes models that no search needs any more."""

    def __init__(self, current: Embedder, open_model: OpenModel, clock: Callable[[], float] = time.monotonic) -> None:
        self._current = current
        self._open = open_model
        self._clock = clock
        self._opened: dict[tuple[str, str], _Opened] = {}
        self._lock = asyncio.Lock()

    async def find(self, name: str, digest: str) -> Embedder | None:
        """The model, or None if it is not on this machine. The current one also embeds under other passage policies."""
        version = self._current.version
        if (name, digest) == (version.name, version.digest):
            return self._current
        now, there = self._clock(), self._opened.get((name, digest))
        if there is None or (there.embedder is None and now - there.used_at >= RETRY_SECONDS):
            async with self._lock:
                there = self._opened.get((name, digest))
                if there is None or (there.embedder is None and now - there.used_at >= RETRY_SECONDS):
                    there = _Opened(await asyncio.to_thread(self._open, name, digest), now)
                    self._opened[name, digest] = there
        if there.embedder is not None:
            there.used_at = now
        return there.embedder

    async def close_idle(self) -> None:
        """Close the models that no search has needed for a while."""
        now = self._clock()
        for key, one in list(self._opened.items()):
            if one.embedder is not None and now - one.used_at >= IDLE_SECONDS:
                del self._opened[key]
                await one.embedder.close()

    async def close(self) -> None:
        for one in self._opened.values():
            if one.embedder is not None:
                await one.embedder.close()
        self._opened.clear()
