"""Ids made by the program: UUID version 7, so that they sort by the time they were made."""

import random
from collections.abc import Callable
from datetime import datetime
from uuid import UUID

MakeId = Callable[[datetime], UUID]


def id_maker(randomness: random.Random | None = None) -> MakeId:
    """A maker of ids; give it a seeded source of randomness and the ids repeat."""
    source = randomness or random.SystemRandom()

    def make(now: datetime) -> UUID:
        milliseconds = int(now.timestamp() * 1000) & (1 << 48) - 1
        tail = source.getrandbits(74)
        high = milliseconds << 16 | 0x7000 | tail >> 62
        low = 0b10 << 62 | tail & (1 << 62) - 1
        return UUID(int=high << 64 | low)

    return make
