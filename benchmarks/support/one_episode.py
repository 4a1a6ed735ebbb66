"""A batch with one episode, without a database."""

from datetime import datetime, timedelta
from uuid import UUID

from memory_butler.models import Batch, ConsolidationStatus, Episode, Validity
from memory_butler.models.vocabulary import BY_HAND


def batch_of(content: str, observed_at: datetime, *, by_hand: bool = False) -> Batch:
    episode = Episode(
        id=UUID(int=1),
        tenant_id="default",
        ref="abcdefgh",
        butler="main",
        session_id=None,
        content=content,
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
        metadata={BY_HAND: True} if by_hand else {},
        request_id=None,
        pinned=False,
    )
    return Batch(butler="main", episodes=(episode,), texts={episode.id: content}, known=(), now=observed_at)
