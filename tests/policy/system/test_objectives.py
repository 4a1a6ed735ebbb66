"""Whether measurements meet the objectives."""

import math
import random

import pytest

from memory_butler.metrics.service_levels import EDGES, Measurements
from memory_butler.policy.system.objectives import OBJECTIVES, Objective, Unit, level, percentile, quantile

LATENCY = Objective(name="latency", title="Latency", share=0.95, limit=2.0)
WRITES = Objective(name="writes", title="Writes", share=0.999, unit=Unit.SUCCESS)
SCALE = (1.0, 2.0, 4.0)


def test_the_objectives_are_measured_on_scales_that_tell_their_limit() -> None:
    """The five of the service, each with the numbers that it is held to."""
    assert {one.name for one in OBJECTIVES} == set(EDGES)
    assert all(one.limit in EDGES[one.name] if one.limit else EDGES[one.name] == () for one in OBJECTIVES)
    assert {one.name: (one.share, one.limit) for one in OBJECTIVES} == {
        "context_latency": (0.95, 0.25),
        "search_latency": (0.95, 0.35),
        "episode_writes": (0.999, None),
        "consolidation_freshness": (0.95, 6 * 3600),
        "sweep_duration": (0.99, 30 * 60),
    }


@pytest.mark.parametrize(
    ("counts", "good", "is_met", "budget"),
    [([95, 0, 5, 0], 95, True, 0.0), ([50, 45, 3, 2], 95, True, 0.0), ([94, 0, 6, 0], 94, False, -0.2),
     ([100, 0, 0, 0], 100, True, 1.0)],
)  # fmt: skip
def test_a_limit_is_met_by_a_share(counts: list[int], good: int, is_met: bool, budget: float) -> None:
    found = level(LATENCY, SCALE, counts)
    assert (found.total, found.good, found.is_met) == (100, good, is_met)
    assert found.budget_left == pytest.approx(budget)


def test_successes_are_a_share() -> None:
    found = level(WRITES, (), [9990, 10])
    assert (found.value, found.is_met, found.total) == (0.999, True, 10_000)
    assert level(WRITES, (), [9989, 11]).is_met is False


def test_without_measurements_nothing_is_said() -> None:
    for one in (level(LATENCY, SCALE, [0, 0, 0, 0]), level(WRITES, (), [0, 0])):
        assert (one.total, one.value, one.is_met, one.budget_left) == (0, None, None, None)


def test_what_the_scale_cannot_tell_is_said() -> None:
    found = level(LATENCY, SCALE, [0, 0, 0, 3])
    assert found.value == math.inf and found.is_beyond


def test_a_quantile_lies_in_the_step_of_the_true_one() -> None:
    """For any measurements, the interpolated value is in the step where the true one is."""
    chance, edges = random.Random(1), EDGES["context_latency"]
    for _ in range(50):
        values = [chance.lognormvariate(-3, 1) for _ in range(chance.randrange(1, 200))]
        measured = Measurements()
        for value in values:
            measured.value("context_latency", value)
        share = chance.choice([0.5, 0.95, 0.99])
        found, true = quantile(edges, measured.take()["context_latency"], share), percentile(values, share)
        above = min((edge for edge in edges if edge >= true), default=math.inf)
        below = max((edge for edge in edges if edge < true), default=0.0)
        assert found is not None and below <= found <= above


def test_percentiles_of_values() -> None:
    assert [percentile([3, 1, 2, 4], share) for share in (0.5, 0.95, 1)] == [2, 4, 4]
    assert percentile([], 0.5) == 0
