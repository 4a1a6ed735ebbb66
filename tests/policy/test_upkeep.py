"""Upkeep: what time and use do to memories by themselves, at every boundary and for any numbers."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_butler.models import Maturity, MemoryType, Permanence, Tier
from memory_butler.policy import upkeep
from memory_butler.policy.confidence import DECAY_RATE_PER_DAY
from memory_butler.policy.lifecycle import may_follow
from memory_butler.policy.maturity import Evidence, mature
from memory_butler.policy.tiers import tier_of
from memory_butler.policy.upkeep import Use

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
    assert upkeep.promoted(Permanence.STANDARD, use, after_references=10, spread=WEEK) == earned


def test_what_was_never_referred_to_is_not_promoted() -> None:
    """Not even where no reference is asked for over no time."""
    assert upkeep.promoted(Permanence.STANDARD, Use(0, None, None), after_references=1, spread=timedelta(0)) is None


@given(st.sampled_from(Permanence), USES, st.integers(1, 20), st.timedeltas(timedelta(0), timedelta(days=30)))
def test_promotion_goes_up_one_class_and_never_to_permanent(
    permanence: Permanence, use: Use, references: int, spread: timedelta
) -> None:
    """What is promoted decays more slowly, by one class; stable and permanent facts stay what they are."""
    earned = upkeep.promoted(permanence, use, after_references=references, spread=spread)
    order = [Permanence.EPHEMERAL, Permanence.VOLATILE, Permanence.STANDARD, Permanence.STABLE]
    if permanence in (Permanence.STABLE, Permanence.PERMANENT):
        assert earned is None
    elif earned:
        assert order.index(earned) == order.index(permanence) + 1
        assert DECAY_RATE_PER_DAY[earned] < DECAY_RATE_PER_DAY[permanence]


@given(st.sampled_from(Permanence), USES, COUNTS, st.timedeltas(timedelta(0), timedelta(days=60)))
def test_more_use_never_loses_a_promotion(permanence: Permanence, use: Use, more: int, longer: timedelta) -> None:
    """Whoever has earned it by some references over some time has earned it by more over longer."""
    rule = {"after_references": 10, "spread": WEEK}
    assert use.last
    if upkeep.promoted(permanence, use, **rule):
        assert upkeep.promoted(permanence, Use(use.times + more, use.first, use.last + longer), **rule)


@given(st.sampled_from(Maturity), EVIDENCE)
def test_the_steps_of_maturity_are_allowed_ones_and_end_where_the_evidence_stands(
    current: Maturity, evidence: Evidence
) -> None:
    """Each step is one that the lifecycle allows, none is repeated, and after the last there is nothing left to do."""
    way = [current, *upkeep.maturity_steps(current, evidence)]
    for before, after in pairwise(way):
        assert before is not after
        assert may_follow(MemoryType.RULE, "maturity", before, after)
    assert mature(way[-1], evidence) is way[-1]
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
    assert upkeep.maturity_steps(current, evidence) == steps


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
    assert upkeep.trust_gained(before, after) == said


@pytest.mark.parametrize(
    ("pinned", "active", "consolidated", "references", "kept"),
    [
        (False, True, False, 2, False),
        (False, True, False, 3, True),
        (False, True, True, 3, False),
        (False, False, False, 3, False),
        (True, True, True, 0, True),
        (True, False, False, 0, True),
    ],
)
def test_an_episode_outlives_its_time_only_for_a_reason(
    pinned: bool, active: bool, consolidated: bool, references: int, kept: bool
) -> None:
    """Pinned, or used often and not yet consolidated; a forgotten one will never be, and goes."""
    assert kept == upkeep.outlives_its_time(
        pinned=pinned, active=active, consolidated=consolidated, reference_count=references, protected_from=3
    )


@pytest.mark.parametrize(
    ("held", "capacity", "stale", "surplus"),
    [(9, 10, 0, 0), (10, 10, 0, 0), (11, 10, 0, 1), (5, 10, 3, 3), (12, 10, 5, 5)],
)
def test_the_surplus_is_what_is_over_or_stale(held: int, capacity: int, stale: int, surplus: int) -> None:
    """A tier that is exactly full has none; the stale are among those that go for lack of room."""
    assert upkeep.surplus(held, capacity, stale) == surplus


@given(st.integers(0, 100), st.integers(1, 100), st.data())
def test_after_the_surplus_is_gone_there_is_none(held: int, capacity: int, data: st.DataObject) -> None:
    """Once so many have gone, the stale first, the tier fits and nothing in it is stale."""
    stale = data.draw(st.integers(0, held))
    gone = upkeep.surplus(held, capacity, stale)
    assert 0 <= gone <= held
    assert upkeep.surplus(held - gone, capacity, max(0, stale - gone)) == 0


def test_protected_is_what_the_contract_names() -> None:
    """Permanent facts, proven rules and warnings; nothing else of any tier."""
    assert upkeep.PROTECTED.permanences == (Permanence.PERMANENT,)
    assert set(upkeep.PROTECTED.maturities) == {Maturity.PROVEN, Maturity.ANTI_PATTERN}
    promoted = {tier_of(MemoryType.FACT, permanence=up) for up in upkeep.NEXT_PERMANENCE.values()}
    assert promoted == {Tier.MID, Tier.LONG}


@pytest.mark.parametrize(
    ("grade", "rate"),
    [(str(kind), rate) for kind, rate in DECAY_RATE_PER_DAY.items()]
    + [("candidate", 0.008), ("established", 0.008), ("proven", 0.008), ("anti_pattern", 0.0)],
)
def test_decay_follows_from_what_a_memory_is(grade: str, rate: float) -> None:
    """A fact's from its permanence; a rule decays at the standard rate, unless it has become a warning."""
    assert upkeep.decay_rate_of(grade) == rate
