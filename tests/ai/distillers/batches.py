"""Batches to distil, made without a store; and waiting for something to be so."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.support.batches import batch_of

from memory_butler.models import Batch, KnownMemory

NOW = datetime(2026, 3, 4, 10, 0, tzinfo=UTC)  # a Wednesday
PROPOSAL: dict[str, Any] = {
    "version": 1,
    "facts": [
        {"subject": "user", "predicate": "works_at", "content": "Acme", "evidence": ["episode:ep00"]},
        {"subject": 7, "content": None},
    ],
}


def batch(*texts: str, known: Sequence[KnownMemory] = (), at: Sequence[datetime] = ()) -> Batch:
    """Episodes ep00, ep01 … with these texts, observed one after the other unless it is said when."""
    numbers = range(len(texts))
    times = at or [NOW + timedelta(minutes=number) for number in numbers]
    refs = [f"ep{number:02}" for number in numbers]
    return batch_of(texts, refs=refs, at=times, known=known, now=NOW + timedelta(hours=1))


async def until(condition: Callable[[], object], seconds: float = 20) -> None:
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 (only another thread or process knows when)
            await asyncio.sleep(0.005)
