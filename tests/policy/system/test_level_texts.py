"""Objectives in words."""

import pytest

from memory_butler.policy.system import level_texts as texts
from memory_butler.policy.system.objectives import OBJECTIVES, level


def test_goals_read_as_they_are_agreed() -> None:
    assert [texts.goal_text(one) for one in OBJECTIVES] == [
        "p95 ≤ 250 ms",
        "p95 ≤ 350 ms",
        "≥ 99.9 %",
        "p95 ≤ 6 h",
        "p99 ≤ 30 min",
    ]


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.0042, "4.2 ms"), (0.25, "250 ms"), (1, "1 s"), (90, "1.5 min"), (21_600, "6 h")]
)
def test_durations_have_a_unit_that_suits_them(seconds: float, text: str) -> None:
    assert texts.span_text(seconds) == text


def test_a_missed_goal_never_reads_as_if_it_were_met() -> None:
    """999 of 1,000 meet 99.9 %, one less does not, and the text says so."""
    writes = OBJECTIVES[2]
    met, missed = level(writes, (), [99_900, 100]), level(writes, (), [99_899, 101])
    assert (texts.value_text(met), texts.verdict_text(met)) == ("99.9 %", "met")
    assert (texts.value_text(missed), texts.verdict_text(missed)) == ("99.899 %", "missed")


def test_no_data_and_failures_are_said() -> None:
    latency = OBJECTIVES[0]
    assert texts.value_text(level(latency, (0.25,), [0, 0])) == "no data"
    assert texts.value_text(level(latency, (0.25,), [0, 1])) == "failed"
    assert texts.budget_text(level(latency, (0.25,), [0, 0])) == texts.good_text(level(latency, (0.25,), [0, 0])) == ""
