"""Batches to distil, made without a store; and waiting for something to be so."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from memory_butler.models import Batch, ConsolidationStatus, Episode, Known, Validity

NOW = datetime(2026, 3, 4, 10, 0, tzinfo=UTC)  # a Wednesday
PROPOSAL: dict[str, Any] = {
    "version": 1,
    "facts": [
        {"subject": "user", "predicate": "works_at", "content": "Acme", "evidence": ["episode:ep00"]},
        {"subject": 7, "content": None},
    ],
}


def episode(number: int, text: str, observed_at: datetime = NOW) -> Episode:
    return Episode(
        id=UUID(int=number + 1),
        tenant_id="default",
        ref=f"ep{number:02}",
        butler="main",
        session_id=None,
        content=text,
        importance=5,
        tags=[],
        validity=Validity.ACTIVE,
        consolidation_status=ConsolidationStatus.PENDING,
        consolidated=False,
        consolidation_attempts=0,
        last_consolidation_error=None,
        next_consolidation_retry_at=None,
        observed_at=observed_at,
        created_at=observed_at,
        expires_at=observed_at + timedelta(days=7),
        last_referenced_at=None,
        reference_count=0,
        metadata={},
        request_id=None,
        pinned=False,
    )


def batch(*texts: str, known: Sequence[Known] = (), at: Sequence[datetime] = ()) -> Batch:
    """Episodes ep00, ep01 … with these texts, observed one after the other unless it is said when."""
    times = at or [NOW + timedelta(minutes=number) for number in range(len(texts))]
    episodes = tuple(episode(number, text, times[number]) for number, text in enumerate(texts))
    return Batch(
        butler="main",
        episodes=episodes,
        texts={one.id: one.content for one in episodes},
        known=tuple(known),
        now=NOW + timedelta(hours=1),
    )


async def until(condition: Callable[[], object], seconds: float = 20) -> None:
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 (only another thread or process knows when)
            await asyncio.sleep(0.005)
