"""Rules of the sweep: promotion, maturity steps, eviction and the lifetime of episodes."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from memory_butler.models import Maturity, MemoryType, Permanence
from memory_butler.policy.lifecycle.confidence import DecayRules, fact_rate, rule_rate
from memory_butler.policy.lifecycle.maturity import Evidence, MaturityRules, mature
from memory_butler.policy.lifecycle.tiers import Members


class Duty(StrEnum):
    """The duties of a sweep in their order. Promotion comes before decay, so that use outweighs age."""

    PROMOTE = "promote_facts"
    MATURE = "mature_rules"
    RATES = "update_decay_rates"
    REVIVE = "revive"
    FADE = "fade"
    EXPIRE = "expire"
    DELETE = "delete_expired_episodes"
    EDEN = "keep_eden_within_capacity"
    MID = "evict_from_mid"
    LONG = "evict_from_long"
    KEYS = "drop_old_keys"


# One class at a time, and never to permanent: only a caller makes a fact permanent.
NEXT_PERMANENCE: dict[Permanence, Permanence] = {
    Permanence.EPHEMERAL: Permanence.VOLATILE,
    Permanence.VOLATILE: Permanence.STANDARD,
    Permanence.STANDARD: Permanence.STABLE,
}
# Too important to evict, however long ago it was used. Pinned memories are protected too.
PROTECTED = Members(
    (MemoryType.FACT, MemoryType.RULE), (Permanence.PERMANENT,), (Maturity.PROVEN, Maturity.ANTI_PATTERN)
)

# Added to the importance of a fact whose source episode several agent sessions referenced.
WELL_REFERENCED_BONUS = 1
MOST_IMPORTANT = 10

_TRUST = [Maturity.CANDIDATE, Maturity.ESTABLISHED, Maturity.PROVEN]


@dataclass(frozen=True, slots=True)
class Use:
    """Number of references to a memory since its last promotion, and the time of the first and the last."""

    times: int
    first: datetime | None
    last: datetime | None


def first_importance(given: int, *, well_referenced: bool) -> int:
    """Importance of a new fact, derived from that of its source episode."""
    return min(MOST_IMPORTANT, given + WELL_REFERENCED_BONUS) if well_referenced else given


def promoted(permanence: Permanence, use: Use, *, after_references: int, spread: timedelta) -> Permanence | None:
    """The permanence class that a fact is promoted to, if its use qualifies for one."""
    if use.times < after_references or use.first is None or use.last is None or use.last - use.first < spread:
        return None
    return NEXT_PERMANENCE.get(permanence)


def maturity_steps(current: Maturity, evidence: Evidence, rules: MaturityRules) -> list[Maturity]:
    """The steps from a rule's maturity to the one its evidence supports; empty if they are the same."""
    steps = [current]
    while (following := mature(steps[-1], evidence, rules)) is not steps[-1]:
        steps.append(following)
    return steps[1:]


def maturity_change(before: Maturity, after: Maturity) -> str:
    """The kind of a change of maturity: `promoted`, `demoted` or `inverted`."""
    if after is Maturity.ANTI_PATTERN:
        return "inverted"
    return "promoted" if before in _TRUST and _TRUST.index(after) > _TRUST.index(before) else "demoted"


def is_kept_beyond_ttl(*, pinned: bool, active: bool, pending: bool, reference_count: int, protected_from: int) -> bool:
    """Whether an episode is kept after its TTL: it is pinned, or it is referenced often and waits for consolidation.

    A retracted episode and a dead letter are never consolidated, so they are deleted.
    """
    return pinned or (active and pending and reference_count >= protected_from)


def surplus(held: int, capacity: int, stale: int = 0) -> int:
    """Number of memories to evict, least recently used first. The stale ones come first in that order."""
    return max(0, held - capacity, stale)


def decay_rate_of(grade: str, rules: DecayRules) -> float:
    """Decay rate per day of a fact of this permanence class, or of a rule of this maturity."""
    if grade == Maturity.ANTI_PATTERN:
        return 0.0
    return fact_rate(Permanence(grade), rules) if grade in set(Permanence) else rule_rate(rules)
