"""How a rule earns trust and loses it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_butler.models import Maturity, MemoryType
from memory_butler.policy.lifecycle import may_follow
from memory_butler.policy.maturity import IMPORTANCE_OF_MATURITY, Evidence, effectiveness, mature, warning

C, E, P, A = Maturity.CANDIDATE, Maturity.ESTABLISHED, Maturity.PROVEN, Maturity.ANTI_PATTERN
TRUST = (A, C, E, P)

TABLE = {
    "no evidence": (C, 0, 0, 100, C),
    "4 successes are too few": (C, 4, 0, 100, C),
    "5 successes establish": (C, 5, 0, 0, E),
    "exactly 0.6 establishes: 6 of 6 + 4 x 1": (C, 6, 1, 0, E),
    "just under 0.6 does not: 5 of 5 + 4 x 1": (C, 5, 1, 0, C),
    "0.5998 does not: 1,499 of 1,499 + 4 x 250": (C, 1_499, 250, 0, C),
    "14 successes do not prove": (E, 14, 0, 100, E),
    "15 successes prove": (E, 15, 0, 30, P),
    "29.99 days are too young": (E, 15, 0, 29.99, E),
    "30 days are old enough": (E, 15, 0, 30, P),
    "exactly 0.8 proves: 16 of 16 + 4 x 1": (E, 16, 1, 30, P),
    "just under 0.8 does not: 15 of 15 + 4 x 1": (E, 15, 1, 30, E),
    "a candidate is established before it is proven": (C, 100, 0, 365, E),
    "a proven rule stays proven": (P, 15, 0, 30, P),
    "a proven rule steps back once": (P, 15, 1, 365, E),
    "a proven rule steps back twice": (P, 15, 3, 365, C),
    "an established rule steps back": (E, 5, 1, 10, C),
    "2 harmful marks do not invert": (C, 0, 2, 10, C),
    "3 harmful marks invert": (C, 0, 3, 10, A),
    "exactly 0.3 does not invert: 12 of 12 + 4 x 7": (E, 12, 7, 10, C),
    "just under 0.3 inverts: 11 of 11 + 4 x 7": (E, 11, 7, 10, A),
    "an established rule inverts": (E, 5, 3, 10, A),
    "a proven rule inverts": (P, 15, 9, 365, A),
    "an anti-pattern stays one whatever helps": (A, 1_000, 3, 365, A),
}


@pytest.mark.parametrize(("current", "successes", "harmful", "age", "expected"), TABLE.values(), ids=TABLE)
def test_maturity_follows_the_evidence(
    current: Maturity, successes: int, harmful: int, age: float, expected: Maturity
) -> None:
    """Each boundary of the contract, from both sides."""
    assert mature(current, Evidence(successes, harmful, age)) is expected


def test_effectiveness_counts_harm_fourfold() -> None:
    """Successes over successes plus four times the harm; undefined, not zero, before any evidence."""
    assert effectiveness(0, 0) is None
    assert effectiveness(1, 0) == 1.0
    assert effectiveness(0, 1) == 0.0
    assert effectiveness(4, 1) == 0.5
    assert effectiveness(6, 1) == 0.6


def test_one_helpful_mark_does_not_wipe_out_a_harmful_one() -> None:
    """After one harm and one help a rule is at a fifth, not at a half."""
    assert effectiveness(1, 1) == pytest.approx(0.2)


counts = st.integers(0, 60)
ages = st.floats(0, 400)
maturities = st.sampled_from(list(Maturity))


@given(current=maturities, successes=counts, harmful=counts, age=ages)
def test_every_step_is_an_allowed_transition(current: Maturity, successes: int, harmful: int, age: float) -> None:
    """Whatever the evidence says, policy never asks the database for a forbidden move."""
    after = mature(current, Evidence(successes, harmful, age))
    assert may_follow(MemoryType.RULE, "maturity", current, after)


@given(current=maturities, successes=counts, harmful=counts, age=ages, more=st.integers(1, 20))
def test_more_harm_never_raises_trust(current: Maturity, successes: int, harmful: int, age: float, more: int) -> None:
    """With the same successes, more harm leaves a rule where it is or lower."""
    before = mature(current, Evidence(successes, harmful, age))
    after = mature(current, Evidence(successes, harmful + more, age))
    assert TRUST.index(after) <= TRUST.index(before)


@given(current=maturities, successes=counts, harmful=counts, age=ages, more=st.integers(1, 20))
def test_more_success_never_lowers_trust(
    current: Maturity, successes: int, harmful: int, age: float, more: int
) -> None:
    """With the same harm, more successes leave a rule where it is or higher."""
    before = mature(current, Evidence(successes, harmful, age))
    after = mature(current, Evidence(successes + more, harmful, age))
    assert TRUST.index(after) >= TRUST.index(before)


@given(current=st.sampled_from([C, E, P]), successes=counts, harmful=counts, age=ages)
def test_judging_the_same_evidence_again_settles(current: Maturity, successes: int, harmful: int, age: float) -> None:
    """Two judgements of the same evidence reach a maturity that a third does not change."""
    evidence = Evidence(successes, harmful, age)
    settled = mature(mature(current, evidence), evidence)
    assert mature(settled, evidence) is settled


def test_trust_orders_importance_and_a_warning_counts() -> None:
    """A rule's importance grows with its trust, and a warning weighs more than a candidate."""
    assert IMPORTANCE_OF_MATURITY[C] < IMPORTANCE_OF_MATURITY[E] < IMPORTANCE_OF_MATURITY[P] <= 10
    assert IMPORTANCE_OF_MATURITY[A] > IMPORTANCE_OF_MATURITY[C]


def test_a_warning_reads_as_the_contract_says() -> None:
    """The words of an anti-pattern, with one, several and no reasons."""
    assert warning("Retry at once.", ["it took the service down"]) == (
        "ANTI-PATTERN: Do NOT Retry at once. This caused problems because: it took the service down."
    )
    assert warning("Retry at once", ["a", "b."]).endswith("This caused problems because: a; b.")
    assert "because: it was reported as harmful." in warning("Retry at once", [])
