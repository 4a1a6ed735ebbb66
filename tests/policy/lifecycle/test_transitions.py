"""Which state may follow which."""

from itertools import product

import pytest

from memory_butler.models import ConsolidationStatus, Maturity, MemoryType, Validity
from memory_butler.policy.lifecycle.transitions import TRANSITIONS, may_follow

LIVE = ("active", "fading")
GONE = ("expired", "retracted")

EXPECTED: dict[tuple[MemoryType, str], set[tuple[str, str]]] = {
    (MemoryType.FACT, "validity"): {
        ("active", "fading"),
        ("fading", "active"),
        *product(LIVE, (*GONE, "superseded")),
        *product((*GONE, "superseded"), ("active",)),
    },
    (MemoryType.RULE, "validity"): {
        ("active", "fading"),
        ("fading", "active"),
        *product(LIVE, GONE),
        *product(GONE, ("active",)),
    },
    (MemoryType.RULE, "maturity"): {
        ("candidate", "established"),
        ("established", "proven"),
        ("established", "candidate"),
        ("proven", "established"),
        ("proven", "candidate"),
        ("candidate", "anti_pattern"),
        ("established", "anti_pattern"),
        ("proven", "anti_pattern"),
        ("anti_pattern", "candidate"),
    },
    (MemoryType.EPISODE, "validity"): {("active", "retracted"), ("retracted", "active")},
    (MemoryType.EPISODE, "consolidation"): {
        ("pending", "consolidated"),
        ("pending", "failed"),
        ("pending", "dead_letter"),
        ("consolidated", "pending"),
        ("failed", "pending"),
        ("dead_letter", "pending"),
    },
}
STATES = {"validity": Validity, "maturity": Maturity, "consolidation": ConsolidationStatus}


def test_the_table_is_the_contracts_and_nothing_else() -> None:
    """Exactly the allowed transitions of the contract are there."""
    assert TRANSITIONS == EXPECTED


@pytest.mark.parametrize(("memory_type", "axis"), TRANSITIONS)
def test_every_pair_of_states_is_allowed_or_refused(memory_type: MemoryType, axis: str) -> None:
    """Staying as it is is always allowed; any other pair exactly if it is in the table."""
    for before, after in product(STATES[axis], repeat=2):
        expected = before == after or (before.value, after.value) in EXPECTED[memory_type, axis]
        assert may_follow(memory_type, axis, before, after) is expected


def test_every_state_that_can_be_left_behind_can_be_come_back_to() -> None:
    """Nothing is lost for good by a transition: from every state a path leads back to where memories start."""
    starts = {"validity": "active", "maturity": "candidate", "consolidation": "pending"}
    for (_, axis), pairs in TRANSITIONS.items():
        back = {starts[axis]}
        while grown := {before for before, after in pairs if after in back} - back:
            back |= grown
        assert back == {state for pair in pairs for state in pair}
