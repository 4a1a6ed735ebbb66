"""What a failure makes of an episode: whether and when it is tried again, and in how large a company.

A batch that fails as a whole may have one poisonous episode. Each time it is tried in a smaller batch, until it stands
alone and the others are free of it.
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
class Failed:
    """What a failed try makes of an episode, what the log calls it, and when it may be tried again; at once if it is
    not said."""

    status: ConsolidationStatus
    event: str
    attempts: int
    retry_at: datetime | None = None


def after_failure(episode_id: UUID, attempts: int, now: datetime, *, is_alone: bool, can_work: bool = True) -> Failed:
    """After so many failures before this one. In company nobody knows whose fault it was: it is tried again at once, in
    a smaller batch. Alone it waits, or is given up at once where no try can ever work."""
    attempts += 1
    if is_alone and not can_work:
        return Failed(ConsolidationStatus.FAILED, "failed", attempts)
    if attempts >= DEAD_AFTER:
        return Failed(ConsolidationStatus.DEAD_LETTER, "dead_lettered", attempts)
    again = retry_at(now, attempts, episode_id) if is_alone else None
    return Failed(ConsolidationStatus.PENDING, "set_back", attempts, again)


def together(failures: Sequence[int]) -> int:
    """How many of those first in line are tried together, by how often each has failed: only its like go with the
    first, and fewer of them the more often they failed."""
    if not failures:
        return 0
    alike = next((place for place, one in enumerate(failures) if one != failures[0]), len(failures))
    return batch_size(alike, failures[0])


def batch_size(base: int, attempts: int) -> int:
    """Most episodes to try together, by how often one of them has failed: all, a quarter, a sixteenth, then one."""
    if attempts >= ALONE_AFTER:
        return 1
    return max(1, base >> 2 * max(0, attempts))


def retry_at(now: datetime, attempts: int, episode_id: UUID) -> datetime:
    """When to try again after so many failures: later each time, and not all episodes at the same moment."""
    doubled = min(max(0, attempts - 1), LONGEST_DELAY_MINUTES.bit_length())
    minutes = min(LONGEST_DELAY_MINUTES, FIRST_DELAY_MINUTES * 2**doubled)
    digest = hashlib.sha256(f"{episode_id}:{attempts}".encode()).digest()
    chance = int.from_bytes(digest[:8]) / 2**64
    return now + timedelta(minutes=minutes * (1 + JITTER * (2 * chance - 1)))
