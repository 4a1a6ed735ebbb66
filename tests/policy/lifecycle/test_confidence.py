"""How a memory fades: the half-lives of the contract, and one consistent picture of them."""

import math
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.lifecycle_rules import DECAY

from memory_butler.models import Permanence
from memory_butler.policy.lifecycle.confidence import (
    NEW_FACT_CONFIDENCE,
    NEW_RULE_CONFIDENCE,
    anchor,
    effective_confidence,
    fact_rate,
    falls_below,
    rule_rate,
)

STORED = datetime(2026, 1, 1, tzinfo=UTC)
RATES = {"permanent": 0.0, "stable": 0.002, "standard": 0.008, "volatile": 0.03, "ephemeral": 0.1}
HALF_LIFE_DAYS = {"stable": 346.57, "standard": 86.64, "volatile": 23.10, "ephemeral": 6.93}


def test_the_rates_are_those_of_the_contract() -> None:
    """Every permanence has the contract's rate, and rules decay at the standard one."""
    assert {str(kind): fact_rate(kind, DECAY) for kind in Permanence} == RATES
    assert rule_rate(DECAY) == 0.008
    assert (NEW_FACT_CONFIDENCE, NEW_RULE_CONFIDENCE) == (1.0, 0.5)
    assert (DECAY.fading_below, DECAY.expired_below) == (0.2, 0.05)


@pytest.mark.parametrize(("permanence", "days"), HALF_LIFE_DAYS.items())
def test_confidence_halves_with_each_half_life(permanence: str, days: float) -> None:
    """After one half-life half is left, after two a quarter."""
    for lives in (1, 2):
        now = STORED + timedelta(days=lives * days)
        left = effective_confidence(0.8, RATES[permanence], STORED, now)
        assert left == pytest.approx(0.8 / 2**lives, rel=1e-3)


def test_a_permanent_fact_never_fades() -> None:
    """After a century a permanent fact is as sure as on its first day."""
    assert effective_confidence(1.0, 0.0, STORED, STORED + timedelta(days=36_500)) == 1.0
    assert falls_below(DECAY.fading_below, 1.0, 0.0, STORED) is None


def test_never_confirmed_counts_from_when_it_was_stored() -> None:
    """A memory that nobody has confirmed is not worth zero: its age is counted from its creation."""
    assert anchor(STORED, None) == STORED
    assert effective_confidence(0.5, 0.008, anchor(STORED, None), STORED) == 0.5


def test_a_confirmation_starts_decay_again() -> None:
    """The latest confirmation is the anchor."""
    confirmed = STORED + timedelta(days=100)
    assert anchor(STORED, confirmed) == confirmed
    assert effective_confidence(1.0, 0.1, anchor(STORED, confirmed), confirmed) == 1.0


def test_a_clock_that_goes_backwards_adds_no_confidence() -> None:
    """Before its anchor a memory is exactly as sure as at it."""
    assert effective_confidence(0.7, 0.1, STORED, STORED - timedelta(days=400)) == 0.7


@pytest.mark.parametrize(
    ("permanence", "fading_day", "expired_day"),
    [("ephemeral", 17, 30), ("volatile", 54, 100), ("standard", 202, 375), ("stable", 805, 1498)],
)
def test_the_day_a_new_fact_fades_and_expires(permanence: str, fading_day: int, expired_day: int) -> None:
    """A new fact is above the threshold on the day before, and below it on the day."""
    for threshold, day in ((DECAY.fading_below, fading_day), (DECAY.expired_below, expired_day)):
        before = effective_confidence(1.0, RATES[permanence], STORED, STORED + timedelta(days=day - 1))
        on = effective_confidence(1.0, RATES[permanence], STORED, STORED + timedelta(days=day))
        assert before >= threshold > on


confidences = st.floats(0.01, 1)
rates = st.sampled_from([rate for rate in RATES.values() if rate])


@given(confidence=confidences, rate=rates, days=st.floats(0, 3000), more=st.floats(0, 3000))
def test_confidence_only_falls_with_time_and_stays_in_range(
    confidence: float, rate: float, days: float, more: float
) -> None:
    """Later is never surer, and nothing leaves the range from 0 to what was stored."""
    earlier = effective_confidence(confidence, rate, STORED, STORED + timedelta(days=days))
    later = effective_confidence(confidence, rate, STORED, STORED + timedelta(days=days + more))
    assert 0 <= later <= earlier <= confidence


@given(confidence=confidences, rate=rates, threshold=st.sampled_from([DECAY.fading_below, DECAY.expired_below]))
def test_the_foretold_moment_is_the_one_at_which_it_happens(confidence: float, rate: float, threshold: float) -> None:
    """A minute before the foretold moment the threshold holds, a minute after it does not."""
    moment = falls_below(threshold, confidence, rate, STORED)
    assert moment is not None
    minute = timedelta(minutes=1)
    assert effective_confidence(confidence, rate, STORED, moment + minute) < threshold
    if confidence >= threshold:
        assert effective_confidence(confidence, rate, STORED, moment - minute) >= threshold or moment - minute < STORED
    else:
        assert moment == STORED


def test_a_fall_that_takes_a_thousand_years_is_none() -> None:
    """A rate so small that no calendar reaches the moment gives no moment instead of an overflow."""
    assert falls_below(DECAY.fading_below, 1.0, 1e-12, STORED) is None
    assert math.isclose(effective_confidence(1.0, 1e-12, STORED, STORED + timedelta(days=365)), 1.0)
