"""Ids: UUIDs of version 7, which sort by creation time, and digests of tenant names."""

import hashlib
import random
from collections.abc import Callable
from datetime import datetime
from uuid import UUID

MakeId = Callable[[datetime], UUID]

TAIL_BITS = 74


def tenant_digest(tenant: str) -> str:
    """Return a short name for the tenant: its own may be too long for the name of an index or of a channel."""
    return hashlib.sha256(tenant.encode()).hexdigest()[:24]


def id_maker(randomness: random.Random | None = None) -> MakeId:
    """Return a function that makes ids. Ids of one millisecond sort in creation order too.

    A seeded source of randomness makes them repeatable.
    """
    source = randomness or random.SystemRandom()
    last_milliseconds, last_tail = -1, 0

    def make(now: datetime) -> UUID:
        nonlocal last_milliseconds, last_tail
        milliseconds = int(now.timestamp() * 1000) & (1 << 48) - 1
        # The first id of a millisecond leaves half of the range free for the following ones.
        is_next = milliseconds == last_milliseconds
        tail = last_tail + 1 + source.getrandbits(32) if is_next else source.getrandbits(TAIL_BITS - 1)
        last_milliseconds, last_tail = milliseconds, tail
        high = milliseconds << 16 | 0x7000 | tail >> 62 & 0xFFF
        low = 0b10 << 62 | tail & (1 << 62) - 1
        return UUID(int=high << 64 | low)

    return make
