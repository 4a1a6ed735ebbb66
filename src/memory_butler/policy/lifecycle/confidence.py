"""Decay of confidence. The database mirrors `effective_confidence` as a function; a test compares the two."""

import math
from datetime import datetime, timedelta
from typing import Protocol

from memory_butler.models import Permanence

NEW_FACT_CONFIDENCE = 1.0
NEW_RULE_CONFIDENCE = 0.5
SECONDS_PER_DAY = 86400
LONGEST_DAYS = 365_000


class DecayRules(Protocol):
    """Decay rates by permanence class and confidence thresholds: the settings under `lifecycle.decay`."""

    @property
    def permanent_per_day(self) -> float: ...
    @property
    def stable_per_day(self) -> float: ...
    @property
    def standard_per_day(self) -> float: ...
    @property
    def volatile_per_day(self) -> float: ...
    @property
    def ephemeral_per_day(self) -> float: ...
    @property
    def fading_below(self) -> float: ...
    @property
    def expired_below(self) -> float: ...


def fact_rate(permanence: Permanence, rules: DecayRules) -> float:
    """Decay rate per day of a fact of this permanence class."""
    return {
        Permanence.PERMANENT: rules.permanent_per_day,
        Permanence.STABLE: rules.stable_per_day,
        Permanence.STANDARD: rules.standard_per_day,
        Permanence.VOLATILE: rules.volatile_per_day,
        Permanence.EPHEMERAL: rules.ephemeral_per_day,
    }[permanence]


def rule_rate(rules: DecayRules) -> float:
    """Decay rate per day of a rule, whatever its maturity."""
    return rules.standard_per_day


def anchor(created_at: datetime, last_confirmed_at: datetime | None) -> datetime:
    """The start of decay: the last confirmation, or the creation if there is none."""
    return last_confirmed_at or created_at


def effective_confidence(confidence: float, decay_rate: float, anchored_at: datetime, now: datetime) -> float:
    if not decay_rate:
        return confidence
    days = max(0.0, (now - anchored_at).total_seconds() / SECONDS_PER_DAY)
    return confidence * math.exp(-decay_rate * days)


def falls_below(threshold: float, confidence: float, decay_rate: float, anchored_at: datetime) -> datetime | None:
    """The moment effective confidence falls below a threshold without a confirmation; None if not in 1,000 years."""
    if confidence < threshold:
        return anchored_at
    if decay_rate == 0 or threshold == 0:
        return None
    days = math.log(confidence / threshold) / decay_rate
    return anchored_at + timedelta(days=days) if days < LONGEST_DAYS else None
