"""Batches of episodes without a database."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from memory_butler.models import Batch, ConsolidationStatus, Episode, KnownMemory, Validity


def episode_of(text: str, *, number: int, ref: str, observed_at: datetime) -> Episode:
    return Episode(
        id=UUID(int=number),
        tenant_id="default",
        ref=ref,
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


def batch_of(
    texts: Sequence[str], *, refs: Sequence[str], at: Sequence[datetime], known: Sequence[KnownMemory], now: datetime
) -> Batch:
    """Returns episodes with these texts, references and observation times, numbered from one."""
    episodes = tuple(
        episode_of(text, number=place + 1, ref=refs[place], observed_at=at[place]) for place, text in enumerate(texts)
    )
    return Batch(
        butler="main",
        episodes=episodes,
        texts={episode.id: episode.content for episode in episodes},
        known=tuple(known),
        now=now,
    )
