"""Upkeep: what time and use do to memories by themselves, at every boundary and for any numbers."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.lifecycle_rules import DECAY, MATURITY, RATES

from memory_butler.models import Maturity, MemoryType, Permanence, Tier
from memory_butler.policy.lifecycle import sweep
from memory_butler.policy.lifecycle.maturity import Evidence, mature
from memory_butler.policy.lifecycle.sweep import Use
from memory_butler.policy.lifecycle.tiers import tier_of
from memory_butler.policy.lifecycle.transitions import may_follow

BEGIN = datetime(2026, 3, 1, tzinfo=UTC)
WEEK = timedelta(days=7)
JUST = timedelta(microseconds=1)
COUNTS = st.integers(0, 60)
EVIDENCE = st.builds(Evidence, COUNTS, COUNTS, st.floats(0, 400))
USES = st.builds(
    lambda times, span: Use(times, BEGIN, BEGIN + span), COUNTS, st.timedeltas(timedelta(0), timedelta(days=60))
)


@pytest.mark.parametrize(
    ("times", "span", "earned"),
    [
        (10, WEEK, Permanence.STABLE),
        (9, WEEK, None),
        (10, WEEK - JUST, None),
        (11, WEEK + JUST, Permanence.STABLE),
        (1_000, timedelta(0), None),
    ],
)
def test_promotion_takes_enough_references_over_enough_days(
    times: int, span: timedelta, earned: Permanence | None
) -> None:
    """Ten over seven days promote; nine do not, nor do ten over a microsecond less."""
    use = Use(times, BEGIN, BEGIN + span)
    assert sweep.promoted(Permanence.STANDARD, use, after_references=10, spread=WEEK) == earned


def test_what_was_never_referred_to_is_not_promoted() -> None:
    """Not even where no reference is asked for over no time."""
    assert sweep.promoted(Permanence.STANDARD, Use(0, None, None), after_references=1, spread=timedelta(0)) is None


@given(st.sampled_from(Permanence), USES, st.integers(1, 20), st.timedeltas(timedelta(0), timedelta(days=30)))
def test_promotion_goes_up_one_class_and_never_to_permanent(
    permanence: Permanence, use: Use, references: int, spread: timedelta
) -> None:
    """What is promoted decays more slowly, by one class; stable and permanent facts stay what they are."""
    earned = sweep.promoted(permanence, use, after_references=references, spread=spread)
    order = [Permanence.EPHEMERAL, Permanence.VOLATILE, Permanence.STANDARD, Permanence.STABLE]
    if permanence in (Permanence.STABLE, Permanence.PERMANENT):
        assert earned is None
    elif earned:
        assert order.index(earned) == order.index(permanence) + 1
        assert RATES[earned] < RATES[permanence]


@given(st.sampled_from(Permanence), USES, COUNTS, st.timedeltas(timedelta(0), timedelta(days=60)))
def test_more_use_never_loses_a_promotion(permanence: Permanence, use: Use, more: int, longer: timedelta) -> None:
    """Whoever has earned it by some references over some time has earned it by more over longer."""
    rule: dict[str, Any] = {"after_references": 10, "spread": WEEK}
    assert use.last
    if sweep.promoted(permanence, use, **rule):
        assert sweep.promoted(permanence, Use(use.times + more, use.first, use.last + longer), **rule)


@given(st.sampled_from(Maturity), EVIDENCE)
def test_the_steps_of_maturity_are_allowed_ones_and_end_where_the_evidence_stands(
    current: Maturity, evidence: Evidence
) -> None:
    """Each step is one that the lifecycle allows, none is repeated, and after the last there is nothing left to do."""
    way = [current, *sweep.maturity_steps(current, evidence, MATURITY)]
    for before, after in pairwise(way):
        assert before is not after
        assert may_follow(MemoryType.RULE, "maturity", before, after)
    assert mature(way[-1], evidence, MATURITY) is way[-1]
    assert len(way) <= 3


@pytest.mark.parametrize(
    ("current", "evidence", "steps"),
    [
        (Maturity.CANDIDATE, Evidence(15, 0, 30), [Maturity.ESTABLISHED, Maturity.PROVEN]),
        (Maturity.CANDIDATE, Evidence(15, 0, 29.99), [Maturity.ESTABLISHED]),
        (Maturity.ESTABLISHED, Evidence(15, 0, 30), [Maturity.PROVEN]),
        (Maturity.PROVEN, Evidence(10, 2, 90), [Maturity.CANDIDATE]),
        (Maturity.ESTABLISHED, Evidence(1, 3, 1), [Maturity.ANTI_PATTERN]),
        (Maturity.ANTI_PATTERN, Evidence(50, 0, 90), []),
    ],
)
def test_trust_is_earned_a_step_at_a_time(current: Maturity, evidence: Evidence, steps: list[Maturity]) -> None:
    """A candidate is established before it is proven, also within one sweep."""
    assert sweep.maturity_steps(current, evidence, MATURITY) == steps


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (Maturity.CANDIDATE, Maturity.ESTABLISHED, "promoted"),
        (Maturity.ESTABLISHED, Maturity.PROVEN, "promoted"),
        (Maturity.PROVEN, Maturity.ESTABLISHED, "demoted"),
        (Maturity.PROVEN, Maturity.CANDIDATE, "demoted"),
        (Maturity.PROVEN, Maturity.ANTI_PATTERN, "inverted"),
        (Maturity.CANDIDATE, Maturity.ANTI_PATTERN, "inverted"),
    ],
)
def test_a_change_of_maturity_has_a_name(before: Maturity, after: Maturity, said: str) -> None:
    """Reports tell promotions, demotions and inversions apart."""
    assert sweep.maturity_change(before, after) == said


@pytest.mark.parametrize(
    ("pinned", "active", "pending", "references", "kept"),
    [
        (False, True, True, 2, False),
        (False, True, True, 3, True),
        (False, True, False, 3, False),
        (False, False, True, 3, False),
        (True, True, False, 0, True),
        (True, False, True, 0, True),
    ],
)
def test_an_episode_is_kept_beyond_ttl_only_for_a_reason(
    pinned: bool, active: bool, pending: bool, references: int, kept: bool
) -> None:
    """Pinned, or used often and waiting for consolidation; a forgotten one and a dead letter go."""
    assert kept == sweep.is_kept_beyond_ttl(
        pinned=pinned, active=active, pending=pending, reference_count=references, protected_from=3
    )


@pytest.mark.parametrize(
    ("held", "capacity", "stale", "surplus"),
    [(9, 10, 0, 0), (10, 10, 0, 0), (11, 10, 0, 1), (5, 10, 3, 3), (12, 10, 5, 5)],
)
def test_the_surplus_is_what_is_over_or_stale(held: int, capacity: int, stale: int, surplus: int) -> None:
    """A tier that is exactly full has none; the stale are among those that go for lack of room."""
    assert sweep.surplus(held, capacity, stale) == surplus


@given(st.integers(0, 100), st.integers(1, 100), st.data())
def test_after_the_surplus_is_gone_there_is_none(held: int, capacity: int, data: st.DataObject) -> None:
    """Once so many have gone, the stale first, the tier fits and nothing in it is stale."""
    stale = data.draw(st.integers(0, held))
    gone = sweep.surplus(held, capacity, stale)
    assert 0 <= gone <= held
    assert sweep.surplus(held - gone, capacity, max(0, stale - gone)) == 0


def test_protected_is_what_the_contract_names() -> None:
    """Permanent facts, proven rules and warnings; nothing else of any tier."""
    assert sweep.PROTECTED.permanences == (Permanence.PERMANENT,)
    assert set(sweep.PROTECTED.maturities) == {Maturity.PROVEN, Maturity.ANTI_PATTERN}
    promoted = {tier_of(MemoryType.FACT, permanence=up) for up in sweep.NEXT_PERMANENCE.values()}
    assert promoted == {Tier.MID, Tier.LONG}


@pytest.mark.parametrize(
    ("grade", "rate"),
    [(str(kind), rate) for kind, rate in RATES.items()]
    + [("candidate", 0.008), ("established", 0.008), ("proven", 0.008), ("anti_pattern", 0.0)],
)
def test_decay_follows_from_what_a_memory_is(grade: str, rate: float) -> None:
    """A fact's from its permanence; a rule decays at the standard rate, unless it has become a warning."""
    assert sweep.decay_rate_of(grade, DECAY) == rate
