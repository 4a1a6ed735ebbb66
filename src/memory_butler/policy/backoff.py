"""When an episode that could not be distilled is tried again, and in how large a company.

A batch that fails as a whole may have one poisonous episode. Each time it is tried in a smaller batch, until it stands
alone and the others are free of it.
"""

import hashlib
from datetime import datetime, timedelta
from uuid import UUID

DEAD_AFTER = 5
FIRST_DELAY_MINUTES = 5
LONGEST_DELAY_MINUTES = 6 * 60
JITTER = 0.2
ALONE_AFTER = 3


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
