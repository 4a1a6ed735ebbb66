"""How a rule earns trust and loses it."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.lifecycle_rules import MATURITY

from memory_butler.models import Maturity, MemoryType
from memory_butler.policy.lifecycle.maturity import IMPORTANCE_OF_MATURITY, Evidence, effectiveness, mature
from memory_butler.policy.lifecycle.transitions import may_follow

C, E, P, A = Maturity.CANDIDATE, Maturity.ESTABLISHED, Maturity.PROVEN, Maturity.ANTI_PATTERN
TRUST = (A, C, E, P)

TABLE = {
    "no evidence": (C, 0, 0, 100, C),
    "no evidence for what was established": (E, 0, 0, 100, C),
    "no evidence for what was proven": (P, 0, 0, 100, C),
    # established: 5 successes, 0.6
    "4 successes are too few": (C, 4, 0, 100, C),
    "5 successes establish": (C, 5, 0, 0, E),
    "a day-old rule can be established": (C, 5, 0, 1, E),
    "exactly 0.6 establishes: 6 of 6 + 4 x 1": (C, 6, 1, 0, E),
    "0.5556 does not: 5 of 5 + 4 x 1": (C, 5, 1, 0, C),
    "0.59996 does not: 5,999 of 5,999 + 4 x 1,000": (C, 5_999, 1_000, 0, C),
    "0.6 does, however much evidence: 6,000 of 6,000 + 4 x 1,000": (C, 6_000, 1_000, 0, E),
    # proven: 15 successes, 0.8, 30 days
    "14 successes do not prove": (E, 14, 0, 100, E),
    "15 successes prove": (E, 15, 0, 30, P),
    "29 days are too young": (E, 15, 0, 29, E),
    "29.9999 days are too young": (E, 15, 0, 29.9999, E),
    "30 days are old enough": (E, 15, 0, 30, P),
    "exactly 0.8 proves: 16 of 16 + 4 x 1": (E, 16, 1, 30, P),
    "0.7895 does not: 15 of 15 + 4 x 1": (E, 15, 1, 30, E),
    "0.7999 does not: 1,599 of 1,599 + 4 x 100": (E, 1_599, 100, 30, E),
    "0.8 does, however much evidence: 1,600 of 1,600 + 4 x 100": (E, 1_600, 100, 30, P),
    "a candidate is established before it is proven": (C, 100, 0, 365, E),
    "a proven rule stays proven": (P, 15, 0, 30, P),
    # and back
    "ten helpful, then two harmful: 0.5556, a candidate again": (E, 10, 2, 10, C),
    "ten helpful and one harmful are 0.7143, still established": (E, 10, 1, 10, E),
    "an established rule steps back": (E, 5, 1, 10, C),
    "a proven rule steps back once: 0.7895": (P, 15, 1, 365, E),
    "a proven rule with 14 successes left steps back once": (P, 14, 0, 365, E),
    "a proven rule that is too young after all steps back once": (P, 15, 0, 29, E),
    "a proven rule steps back twice: 0.5556": (P, 15, 3, 365, C),
    "a proven rule with 4 successes left steps back twice": (P, 4, 0, 365, C),
    # a warning: 3 harmful, below 0.3
    "2 harmful marks do not invert, even at 0": (C, 0, 2, 10, C),
    "3 harmful marks invert": (C, 0, 3, 10, A),
    "exactly 0.3 does not invert: 12 of 12 + 4 x 7": (E, 12, 7, 10, C),
    "0.2821 inverts: 11 of 11 + 4 x 7": (E, 11, 7, 10, A),
    "0.29998 inverts: 11,999 of 11,999 + 4 x 7,000": (E, 11_999, 7_000, 10, A),
    "0.3 does not, however much evidence: 12,000 of 12,000 + 4 x 7,000": (E, 12_000, 7_000, 10, C),
    "5 helpful and 3 harmful invert: 0.2941": (E, 5, 3, 10, A),
    "6 helpful and 3 harmful do not: 0.3333": (E, 6, 3, 10, C),
    "a proven rule inverts": (P, 15, 9, 365, A),
    "an anti-pattern stays one whatever helps": (A, 1_000, 3, 365, A),
    "an anti-pattern stays one without any evidence": (A, 0, 0, 365, A),
}


@pytest.mark.parametrize(("current", "successes", "harmful", "age", "expected"), TABLE.values(), ids=TABLE)
def test_maturity_follows_the_evidence(
    current: Maturity, successes: int, harmful: int, age: float, expected: Maturity
) -> None:
    """Each boundary of the contract, from both sides."""
    assert mature(current, Evidence(successes, harmful, age), MATURITY) is expected


def test_effectiveness_counts_harm_fourfold() -> None:
    """Successes over successes plus four times the harm; undefined, not zero, before any evidence."""
    assert effectiveness(0, 0) is None
    assert effectiveness(1, 0) == 1.0
    assert effectiveness(0, 1) == 0.0
    assert effectiveness(4, 1) == 0.5
    assert effectiveness(6, 1) == 0.6


def test_the_shares_the_table_speaks_of_are_what_it_says() -> None:
    """The boundaries are approached as closely as their names claim."""
    assert effectiveness(10, 2) == pytest.approx(0.5556, abs=5e-5)
    assert 0.5999 < (effectiveness(5_999, 1_000) or 0) < 0.6 == effectiveness(6_000, 1_000)
    assert 0.7998 < (effectiveness(1_599, 100) or 0) < 0.8 == effectiveness(1_600, 100)
    assert 0.2999 < (effectiveness(11_999, 7_000) or 0) < 0.3 == effectiveness(12_000, 7_000)


def test_one_helpful_mark_does_not_wipe_out_a_harmful_one() -> None:
    """After one harm and one help a rule is at a fifth, not at a half."""
    assert effectiveness(1, 1) == pytest.approx(0.2)


counts = st.integers(0, 60)
ages = st.floats(0, 400)
maturities = st.sampled_from(list(Maturity))


@given(current=maturities, successes=counts, harmful=counts, age=ages)
def test_every_step_is_an_allowed_transition(current: Maturity, successes: int, harmful: int, age: float) -> None:
    """Whatever the evidence says, policy never asks the database for a forbidden move."""
    after = mature(current, Evidence(successes, harmful, age), MATURITY)
    assert may_follow(MemoryType.RULE, "maturity", current, after)


@given(current=maturities, successes=counts, harmful=counts, age=ages, more=st.integers(1, 20))
def test_more_harm_never_raises_trust(current: Maturity, successes: int, harmful: int, age: float, more: int) -> None:
    """With the same successes, more harm leaves a rule where it is or lower."""
    before = mature(current, Evidence(successes, harmful, age), MATURITY)
    after = mature(current, Evidence(successes, harmful + more, age), MATURITY)
    assert TRUST.index(after) <= TRUST.index(before)


@given(current=maturities, successes=counts, harmful=counts, age=ages, more=st.integers(1, 20))
def test_more_success_never_lowers_trust(
    current: Maturity, successes: int, harmful: int, age: float, more: int
) -> None:
    """With the same harm, more successes leave a rule where it is or higher."""
    before = mature(current, Evidence(successes, harmful, age), MATURITY)
    after = mature(current, Evidence(successes + more, harmful, age), MATURITY)
    assert TRUST.index(after) >= TRUST.index(before)


@given(current=st.sampled_from([C, E, P]), successes=counts, harmful=counts, age=ages)
def test_judging_the_same_evidence_again_settles(current: Maturity, successes: int, harmful: int, age: float) -> None:
    """Two judgements of the same evidence reach a maturity that a third does not change."""
    evidence = Evidence(successes, harmful, age)
    settled = mature(mature(current, evidence, MATURITY), evidence, MATURITY)
    assert mature(settled, evidence, MATURITY) is settled


def grown(marks: list[bool], age: float) -> list[Maturity]:
    """What a new rule is after each mark; true is a helpful one."""
    seen, current = [], C
    for count in range(1, len(marks) + 1):
        current = mature(current, Evidence(sum(marks[:count]), count - sum(marks[:count]), age), MATURITY)
        seen.append(current)
    return seen


@given(current=maturities, marks=st.lists(st.booleans(), max_size=60), age=ages, chance=st.randoms())
def test_the_order_of_evidence_never_matters(
    current: Maturity, marks: list[bool], age: float, chance: random.Random
) -> None:
    """A judgement sees what was reported, not when: the same marks in any order give the same maturity."""
    shuffled = list(marks)
    chance.shuffle(shuffled)
    judged = [
        mature(current, Evidence(sum(given), len(given) - sum(given), age), MATURITY) for given in (marks, shuffled)
    ]
    assert judged[0] is judged[1]


@given(helpful=st.integers(0, 40), harmful=st.integers(0, 12), age=ages, chance=st.randoms())
def test_the_way_to_a_maturity_does_not_matter_unless_it_led_through_harm(
    helpful: int, harmful: int, age: float, chance: random.Random
) -> None:
    """Judged at every mark, as marks come in, a rule ends up the same in any order that never makes it a warning."""
    marks = [True] * helpful + [False] * harmful
    ends = []
    for _ in range(3):
        chance.shuffle(marks)
        seen = grown(marks, age)
        if A not in seen:
            ends += seen[-1:]
    assert len(set(ends)) <= 1


@given(successes=counts, harmful=counts, age=ages)
def test_an_anti_pattern_stays_one(successes: int, harmful: int, age: float) -> None:
    """No evidence makes a warning a rule again: only an administrator does."""
    assert mature(A, Evidence(successes, harmful, age), MATURITY) is A


def test_trust_orders_importance_and_a_warning_counts() -> None:
    """A rule's importance grows with its trust, and a warning weighs more than a candidate."""
    assert IMPORTANCE_OF_MATURITY[C] < IMPORTANCE_OF_MATURITY[E] < IMPORTANCE_OF_MATURITY[P] <= 10
    assert IMPORTANCE_OF_MATURITY[A] > IMPORTANCE_OF_MATURITY[C]
