"""Where undoing leads, as tables."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.support.lifecycle_rules import DECAY

from memory_butler.models import ConsolidationStatus, Maturity, MemoryState, MemoryType, UndoCandidate, Validity
from memory_butler.policy.history.undo import (
    BACK_TO_CANDIDATE,
    CHANGED,
    FADES_AGAIN,
    ONE_STEP,
    RENEWED,
    RETENTION_RESTARTED,
    Resolution,
    UndoWalk,
    Unreachable,
    resolve,
)
from memory_butler.policy.lifecycle.transitions import TRANSITIONS, may_follow

NOW = datetime(2026, 3, 1, 9, tzinfo=UTC)
FACT, RULE, EPISODE = MemoryType.FACT, MemoryType.RULE, MemoryType.EPISODE


def standing(validity: str, *, days_old: float = 10, **given: Any) -> MemoryState:
    return MemoryState(validity=Validity(validity), created_at=NOW - timedelta(days=days_old), **given)


def undone(kind: MemoryType, now: MemoryState, before: MemoryState | None, *, confirmation: bool = False) -> Any:
    return resolve(kind, now, before, NOW, DECAY, takes_back_confirmation=confirmation)


@pytest.mark.parametrize(
    ("stands", "before", "becomes", "renews", "remarks"),
    [
        ("active", None, "retracted", False, ()),
        ("fading", "active", "active", False, ()),
        ("active", "fading", "fading", False, ()),
        ("retracted", "active", "active", False, ()),
        ("superseded", "active", "active", False, ()),
        ("active", "superseded", "superseded", False, ()),
        ("active", "retracted", "retracted", False, ()),
        ("active", "expired", "expired", False, ()),
        ("retracted", "fading", "active", False, (FADES_AGAIN,)),
        ("superseded", "fading", "active", False, (FADES_AGAIN,)),
        ("expired", "active", "active", True, (RENEWED,)),
        ("expired", "fading", "active", True, (RENEWED,)),
    ],
)
def test_a_fact_goes_back_where_it_may(
    stands: str, before: str | None, becomes: str, renews: bool, remarks: tuple[str, ...]
) -> None:
    """Exactly to what was before if that is allowed, else to what is nearest, and it is said."""
    found = undone(FACT, standing(stands), standing(before) if before else None)
    assert (found.validity, found.renews, found.remarks) == (becomes, renews, remarks)


@pytest.mark.parametrize(
    ("stands", "before", "becomes", "remarks"),
    [
        ("established", "candidate", "candidate", ()),
        ("candidate", "established", "established", ()),
        ("candidate", "anti_pattern", "anti_pattern", ()),
        ("anti_pattern", "candidate", "candidate", ()),
        ("anti_pattern", "established", "candidate", (BACK_TO_CANDIDATE,)),
        ("anti_pattern", "proven", "candidate", (BACK_TO_CANDIDATE,)),
        ("candidate", "proven", "established", (ONE_STEP,)),
        ("proven", "candidate", "candidate", ()),
    ],
)
def test_a_rule_goes_back_where_it_may(stands: str, before: str, becomes: str, remarks: tuple[str, ...]) -> None:
    """Its maturity as near as the transitions reach."""
    now, was = (standing("active", maturity=Maturity(maturity)) for maturity in (stands, before))
    found = undone(RULE, now, was)
    assert (found.validity, found.maturity, found.remarks) == ("active", becomes, remarks)


@pytest.mark.parametrize(
    ("case", "stands", "before", "confirmation", "renews"),
    [
        ("forgotten while it decayed", "retracted", {"days_old": 400}, False, True),
        ("forgotten and worth a little still", "retracted", {"days_old": 370}, False, False),
        ("confirmed long ago, so worth something", "retracted",
         {"days_old": 900, "last_confirmed_at": NOW - timedelta(days=9)}, False, False),
        ("it takes back the confirmation it lives by", "active", {"days_old": 400}, True, False),
        ("it takes back something else", "active", {"days_old": 400}, False, True),
        ("restored, though by an event that confirmed it", "superseded", {"days_old": 400}, True, True),
        ("pinned", "expired", {"days_old": 400, "pinned": True}, False, False),
    ],
)  # fmt: skip
def test_what_would_be_gone_the_next_morning_is_renewed(
    case: str, stands: str, before: dict[str, Any], confirmation: bool, renews: bool
) -> None:
    """Unless it is the confirmation itself that is taken back, or it does not decay at all."""
    found = undone(FACT, standing(stands), standing("active", **before), confirmation=confirmation)
    assert (found.validity, found.renews) == ("active", renews), case


def test_a_warning_is_not_renewed() -> None:
    """It does not decay."""
    before = standing("active", days_old=900, maturity=Maturity.ANTI_PATTERN)
    found = undone(RULE, standing("active", maturity=Maturity.CANDIDATE), before)
    assert (found.maturity, found.renews) == ("anti_pattern", False)


@pytest.mark.parametrize(("hours", "pinned", "renews"), [(1, False, False), (0, False, True), (-1, True, False)])
def test_an_episode_gets_its_days_anew_if_they_are_over(hours: int, pinned: bool, renews: bool) -> None:
    """At the very moment they are over, and not if it is pinned."""
    before = standing("active", pinned=pinned, expires_at=NOW + timedelta(hours=hours))
    found = undone(EPISODE, standing("retracted"), before)
    assert (found.validity, found.renews, found.remarks) == ("active", renews, (RETENTION_RESTARTED,) if renews else ())


def test_a_state_that_cannot_be_reached_at_all_is_not() -> None:
    """Neither on the axis of validity nor on that of consolidation."""
    assert isinstance(undone(FACT, standing("retracted"), standing("superseded")), Unreachable)
    failed, done = ConsolidationStatus.FAILED, ConsolidationStatus.CONSOLIDATED
    now, was = standing("active", consolidation=done), standing("active", consolidation=failed)
    assert undone(EPISODE, now, was) == Unreachable("consolidated cannot become failed")


VALIDITIES = st.tuples(st.sampled_from(Validity), st.sampled_from(Validity))
MATURITIES = st.tuples(st.sampled_from(Maturity), st.sampled_from(Maturity))


@given(kind=st.sampled_from(MemoryType), states=VALIDITIES, trust=MATURITIES, days=st.integers(0, 1000))
def test_undoing_never_makes_a_transition_that_is_not_allowed(
    kind: MemoryType, states: tuple[Validity, Validity], trust: tuple[Maturity, Maturity], days: int
) -> None:
    """Whatever is undone, the database would take it."""
    known = {state for pair in TRANSITIONS[kind, "validity"] for state in pair}
    assume(known.issuperset(states))
    now, was = (
        standing(state, days_old=days, maturity=maturity if kind is RULE else None)
        for state, maturity in zip(states, trust, strict=True)
    )
    found = undone(kind, now, was)
    if isinstance(found, Resolution):
        assert may_follow(kind, "validity", now.validity, found.validity)
        assert kind is not RULE or may_follow(kind, "maturity", trust[0], str(found.maturity))


# --- a walk through several events ------------------------------------------------------------------


def past(seq: int, memory: int, stands: str, before: str | None, **given: Any) -> UndoCandidate:
    return UndoCandidate(
        seq=seq,
        id=UUID(int=seq),
        event_type="fact.changed",
        entity_type="fact",
        entity_id=UUID(int=1000 + memory),
        occurred_at=NOW,
        ref=f"f{memory}",
        source_id=UUID(int=seq),
        current=standing(stands),
        before=standing(before) if before else None,
        **given,
    )


def holder(memory: int) -> dict[str, Any]:
    return {"holder_id": UUID(int=1000 + memory), "holder_ref": f"fact:f{memory}"}


def judged(*pasts: UndoCandidate) -> tuple[list[int], dict[int, str]]:
    undoing, staying = UndoWalk(lambda butler: DECAY).decide(pasts, NOW)
    return [event.seq for event, _ in undoing], {event.seq: why for event, why in staying}


def test_a_place_is_free_if_its_holder_leaves_by_the_same_undo() -> None:
    """In whichever order the two were written down."""
    taken = past(1, 1, "superseded", "active", **holder(2))
    assert judged(taken) == ([], {1: "fact:f2 is now the current value"})
    assert judged(past(2, 2, "active", None), taken) == ([2, 1], {})
    assert judged(replace(taken, seq=3, id=UUID(int=3)), past(2, 2, "active", None)) == ([3, 2], {})


def test_a_holder_that_stays_keeps_the_place() -> None:
    """One refusal leads to the next, however long the chain is."""
    first = past(1, 1, "superseded", "active", **holder(2))
    second = past(2, 2, "active", None)
    assert judged(replace(second, is_unchanged=False), first) == (
        [],
        {2: CHANGED, 1: "fact:f2 is now the current value"},
    )
    newer = past(3, 2, "superseded", "active", **holder(9))
    assert judged(newer, second, first) == (
        [],
        {3: "fact:f9 is now the current value", 2: CHANGED, 1: "fact:f2 is now the current value"},
    )


def test_what_is_older_than_an_event_that_stays_stays_too() -> None:
    """Also in a later part of the same walk; other memories are not concerned."""
    walk = UndoWalk(lambda butler: DECAY)
    walk.decide([past(9, 1, "active", "fading", is_unchanged=False)], NOW)
    undoing, staying = walk.decide([past(8, 1, "fading", "active"), past(7, 2, "fading", "active")], NOW)
    assert [event.seq for event, _ in undoing] == [7]
    assert [(event.seq, why) for event, why in staying] == [(8, CHANGED)]


def test_a_name_is_in_use_or_withdrawn() -> None:
    """Another name of a subject goes back to what it was, whatever the time; one that was new is withdrawn."""
    given = replace(past(1, 1, "active", "active"), entity_type="alias", before=None)
    withdrawn = replace(past(2, 2, "retracted", "active"), entity_type="alias")
    changed = replace(past(3, 3, "active", "active", is_unchanged=False), entity_type="alias")
    undoing, staying = UndoWalk(lambda butler: DECAY).decide([given, withdrawn, changed], NOW)
    assert [(event.seq, settled) for event, settled in undoing] == [
        (1, Resolution("retracted")),
        (2, Resolution("active")),
    ]
    assert [(event.seq, why) for event, why in staying] == [(3, CHANGED)]
