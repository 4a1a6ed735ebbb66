"""How a memory fades. The only formula; the database mirrors it as `effective_confidence`, held equal by a test."""

import math
from datetime import datetime, timedelta

from memory_butler.models import Permanence

DECAY_RATE_PER_DAY: dict[Permanence, float] = {
    Permanence.PERMANENT: 0.0,
    Permanence.STABLE: 0.002,
    Permanence.STANDARD: 0.008,
    Permanence.VOLATILE: 0.03,
    Permanence.EPHEMERAL: 0.1,
}
RULE_DECAY_RATE_PER_DAY = DECAY_RATE_PER_DAY[Permanence.STANDARD]
NEW_FACT_CONFIDENCE = 1.0
NEW_RULE_CONFIDENCE = 0.5
FADING_BELOW = 0.2
EXPIRED_BELOW = 0.05
SECONDS_PER_DAY = 86400
LONGEST_DAYS = 365_000


def anchor(created_at: datetime, last_confirmed_at: datetime | None) -> datetime:
    """The moment decay is counted from."""
    return last_confirmed_at or created_at


def effective_confidence(confidence: float, decay_rate: float, anchored_at: datetime, now: datetime) -> float:
    days = max(0.0, (now - anchored_at).total_seconds() / SECONDS_PER_DAY)
    return confidence * math.exp(-decay_rate * days)


def falls_below(threshold: float, confidence: float, decay_rate: float, anchored_at: datetime) -> datetime | None:
    """When effective confidence falls below a threshold if nothing happens; None if never (in a thousand years)."""
    if confidence < threshold:
        return anchored_at
    if decay_rate == 0:
        return None
    days = math.log(confidence / threshold) / decay_rate
    return anchored_at + timedelta(days=days) if days < LONGEST_DAYS else None
