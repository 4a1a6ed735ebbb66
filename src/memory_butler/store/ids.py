"""Ids made by the program: UUID version 7, so that they sort by the time they were made."""

import random
from collections.abc import Callable
from datetime import datetime
from uuid import UUID

MakeId = Callable[[datetime], UUID]


TAIL_BITS = 74


def id_maker(randomness: random.Random | None = None) -> MakeId:
    """A maker of ids; give it a seeded source of randomness and the ids repeat. Those of one millisecond, too, sort in
    the order they were made in."""
    source = randomness or random.SystemRandom()
    last_milliseconds, last_tail = -1, 0

    def make(now: datetime) -> UUID:
        nonlocal last_milliseconds, last_tail
        milliseconds = int(now.timestamp() * 1000) & (1 << 48) - 1
        # Half of the room stays free for what comes in the same millisecond.
        is_next = milliseconds == last_milliseconds
        tail = last_tail + 1 + source.getrandbits(32) if is_next else source.getrandbits(TAIL_BITS - 1)
        last_milliseconds, last_tail = milliseconds, tail
        high = milliseconds << 16 | 0x7000 | tail >> 62 & 0xFFF
        low = 0b10 << 62 | tail & (1 << 62) - 1
        return UUID(int=high << 64 | low)

    return make
