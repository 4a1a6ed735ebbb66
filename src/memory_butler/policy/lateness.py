"""Who spoke last: what was said earlier does not take the place of what was said later.

Episodes are not always distilled in the order in which things were said. One fails and is tried again when others have
gone on, one that others refer to goes first, one is stored long after it was observed.
"""

from datetime import datetime


def told_at(observed_at: datetime, stored_at: datetime) -> datetime:
    """When an episode says what it says. Nobody stores what is yet to be observed: such a clock is wrong."""
    return min(observed_at, stored_at)


def stands_since(created_at: datetime, told: datetime | None, *, is_distilled: bool) -> datetime:
    """The moment that a fact speaks for: when the last of its episodes told it. What somebody stored directly was said
    as it was stored, and may have been told again since."""
    if told is None:
        return created_at
    return told if is_distilled else max(created_at, told)


def is_late(told: datetime, stands: datetime) -> bool:
    """Whether another value was told before the one that is known. Of two told at once, the one that comes later is
    the later one."""
    return told < stands
