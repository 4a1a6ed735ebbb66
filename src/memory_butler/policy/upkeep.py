"""Upkeep: what time and use do to memories by themselves. The sweep asks here, and does as it is told."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from memory_butler.models import Maturity, MemoryType, Permanence
from memory_butler.policy.confidence import DECAY_RATE_PER_DAY, RULE_DECAY_RATE_PER_DAY
from memory_butler.policy.maturity import Evidence, mature
from memory_butler.policy.tiers import Members


class Duty(StrEnum):
    """What a sweep does, in the order it does it: what use has earned comes before what time takes away."""

    PROMOTE = "promote_facts"
    MATURE = "mature_rules"
    FADE = "fade"
    EXPIRE = "expire"
    DELETE = "delete_expired_episodes"
    EDEN = "keep_eden_within_capacity"
    MID = "evict_from_mid"
    LONG = "evict_from_long"
    KEYS = "drop_old_keys"


# One class at a time, and never to permanent: that is for somebody to say, not for use to earn.
NEXT_PERMANENCE: dict[Permanence, Permanence] = {
    Permanence.EPHEMERAL: Permanence.VOLATILE,
    Permanence.VOLATILE: Permanence.STANDARD,
    Permanence.STANDARD: Permanence.STABLE,
}
# What matters too much to be evicted, however long ago it was used; so does whatever is pinned.
PROTECTED = Members(
    (MemoryType.FACT, MemoryType.RULE), (Permanence.PERMANENT,), (Maturity.PROVEN, Maturity.ANTI_PATTERN)
)

# What comes from an episode that several sessions referred to starts this much more important.
WELL_REFERENCED_BONUS = 1
MOST_IMPORTANT = 10

_TRUST = [Maturity.CANDIDATE, Maturity.ESTABLISHED, Maturity.PROVEN]


@dataclass(frozen=True, slots=True)
class Use:
    """How often a memory was referred to since it was last promoted, and over which time."""

    times: int
    first: datetime | None
    last: datetime | None


def first_importance(given: int, *, well_referenced: bool) -> int:
    """The importance a fact starts with, by that of the episode it comes from."""
    return min(MOST_IMPORTANT, given + WELL_REFERENCED_BONUS) if well_referenced else given


def promoted(permanence: Permanence, use: Use, *, after_references: int, spread: timedelta) -> Permanence | None:
    """The permanence that a fact's use has earned it, if it has earned another one."""
    if use.times < after_references or use.first is None or use.last is None or use.last - use.first < spread:
        return None
    return NEXT_PERMANENCE.get(permanence)


def maturity_steps(current: Maturity, evidence: Evidence) -> list[Maturity]:
    """The way from what a rule is to what its evidence supports, a step at a time; empty if it is there already."""
    steps: list[Maturity] = []
    while (following := mature(steps[-1] if steps else current, evidence)) is not (steps[-1] if steps else current):
        steps.append(following)
    return steps


def trust_gained(before: Maturity, after: Maturity) -> str:
    """What a change of maturity is: `promoted`, `demoted` or `inverted`."""
    if after is Maturity.ANTI_PATTERN:
        return "inverted"
    return "promoted" if before in _TRUST and _TRUST.index(after) > _TRUST.index(before) else "demoted"


def outlives_its_time(
    *, pinned: bool, active: bool, consolidated: bool, reference_count: int, protected_from: int
) -> bool:
    """Is an episode kept although its time is over? What is pinned is; what is used often is, until it is consolidated.

    One that was forgotten will never be consolidated, and goes.
    """
    return pinned or (active and not consolidated and reference_count >= protected_from)


def surplus(held: int, capacity: int, stale: int = 0) -> int:
    """How many have to go, the least recently used first. The stale ones are the first of those."""
    return max(0, held - capacity, stale)


def decay_rate_of(grade: str) -> float:
    """How fast a memory of this permanence or maturity decays."""
    if grade == Maturity.ANTI_PATTERN:
        return 0.0
    return DECAY_RATE_PER_DAY[Permanence(grade)] if grade in set(Permanence) else RULE_DECAY_RATE_PER_DAY
