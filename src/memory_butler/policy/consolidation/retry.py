"""Retry policy of consolidation: whether and when an episode is retried, and in how large a batch.

A batch that fails as a whole may contain one poison episode. Each retry uses a smaller batch, until the episode is
alone and no longer affects the others.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from memory_butler.models import ConsolidationStatus

DEAD_AFTER = 5
FIRST_DELAY_MINUTES = 5
LONGEST_DELAY_MINUTES = 6 * 60
JITTER = 0.2
ALONE_AFTER = 3


@dataclass(frozen=True, slots=True)
class FailureOutcome:
    """New status of an episode, its event, and the earliest time of the retry; None means at once."""

    status: ConsolidationStatus
    event: str
    attempts: int
    retry_at: datetime | None = None


def after_failure(
    episode_id: UUID, attempts: int, now: datetime, *, is_alone: bool, can_work: bool = True, gives_up: bool = True
) -> FailureOutcome:
    """Returns the outcome of a failure after `attempts` earlier ones. In a batch the cause is unknown, so the episode
    is retried at once in a smaller batch. Alone it is retried with backoff, or fails if no retry can work. Without
    `gives_up` the retries do not end: the cause is outside of the episode."""
    attempts = attempts + 1 if gives_up else min(attempts + 1, DEAD_AFTER - 1)
    if is_alone and not can_work:
        return FailureOutcome(ConsolidationStatus.FAILED, "failed", attempts)
    if attempts >= DEAD_AFTER:
        return FailureOutcome(ConsolidationStatus.DEAD_LETTER, "dead_lettered", attempts)
    retry = retry_at(now, attempts, episode_id) if is_alone else None
    return FailureOutcome(ConsolidationStatus.PENDING, "set_back", attempts, retry)


def next_batch_size(failures: Sequence[int]) -> int:
    """Returns the size of the next batch, given the failures of each episode in the queue: only episodes with as many
    failures as the first one, and fewer of them the more often they failed."""
    if not failures:
        return 0
    alike = next((place for place, one in enumerate(failures) if one != failures[0]), len(failures))
    return batch_size(alike, failures[0])


def batch_size(base: int, attempts: int) -> int:
    """Maximum batch size after `attempts` failures: all, a quarter, a sixteenth, then one."""
    if attempts >= ALONE_AFTER:
        return 1
    return max(1, base >> 2 * max(0, attempts))


def retry_at(now: datetime, attempts: int, episode_id: UUID) -> datetime:
    """Time of the next retry: exponential backoff with jitter derived from the episode id."""
    doubled = min(max(0, attempts - 1), LONGEST_DELAY_MINUTES.bit_length())
    minutes = min(LONGEST_DELAY_MINUTES, FIRST_DELAY_MINUTES * 2**doubled)
    digest = hashlib.sha256(f"{episode_id}:{attempts}".encode()).digest()
    fraction = int.from_bytes(digest[:8]) / 2**64
    return now + timedelta(minutes=minutes * (1 + JITTER * (2 * fraction - 1)))
