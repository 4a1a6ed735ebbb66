"""Measurements of the service's objectives in a process."""

import math

import pytest

from memory_butler.errors import ERROR_CLASSES
from memory_butler.metrics.service_levels import (
    CONTEXT,
    EDGES,
    FAULTS,
    FRESHNESS,
    OBJECTIVE_OF,
    SEARCH,
    SWEEP,
    WRITES,
    Measurements,
    steps,
)


@pytest.mark.parametrize("objective", EDGES)
def test_scales_rise(objective: str) -> None:
    assert list(EDGES[objective]) == sorted(set(EDGES[objective]))


def test_a_value_falls_into_the_step_that_ends_with_it_or_after_it() -> None:
    """So that an edge that is a limit still counts as within it."""
    measured = Measurements()
    for value in (0.0, 0.25, 0.2501, math.inf):
        measured.value(CONTEXT, value)
    counts, edge = measured.take()[CONTEXT], EDGES[CONTEXT].index(0.25)
    assert (counts[0], counts[edge], counts[edge + 1], counts[-1]) == (1, 1, 1, 1)
    assert len(counts) == steps(CONTEXT) and sum(counts) == 4


def test_calls_are_measured_by_their_tool_and_outcome() -> None:
    """A fault of the service is never quick enough; a caller's mistake and other tools are not measured."""
    measured = Measurements()
    measured.call("memory_context", "ok", 0.01)
    measured.call("memory_context", "target_unavailable", 0.01)
    measured.call("memory_context", "validation_error", 9)
    measured.call("memory_stats", "ok", 9)
    measured.call("memory_search", "timeout", 5)
    measured.call("memory_store_episode", "ok", 9)
    measured.call("memory_store_episode", "overload_rejected", 0)
    taken = measured.take()
    assert (taken[CONTEXT][1], taken[CONTEXT][-1], sum(taken[CONTEXT])) == (1, 1, 2)
    assert taken[SEARCH][-1] == sum(taken[SEARCH]) == 1
    assert taken[WRITES] == [1, 1] and set(taken) == {CONTEXT, SEARCH, WRITES}


def test_what_is_taken_is_taken_once_and_can_be_given_back() -> None:
    measured = Measurements()
    measured.success(WRITES, succeeded=True)
    taken = measured.take()
    assert measured.take() == {}
    measured.success(WRITES, succeeded=False)
    measured.give_back(taken)
    assert measured.take() == {WRITES: [1, 1]}


def test_faults_are_classes_of_errors() -> None:
    assert set(ERROR_CLASSES) > FAULTS
    assert set(OBJECTIVE_OF.values()) | {FRESHNESS, SWEEP} == set(EDGES)
