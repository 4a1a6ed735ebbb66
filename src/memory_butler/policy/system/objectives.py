"""The objectives of the service, and whether measurements meet them."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Unit(StrEnum):
    """What is measured: a duration that should stay below a limit, or a share of successes."""

    SECONDS = "seconds"
    SUCCESS = "success"


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """At least `share` of the measurements are good: at most `limit` seconds, or successful."""

    name: str
    title: str
    share: float
    unit: Unit = Unit.SECONDS
    limit: float | None = None


OBJECTIVES: Final = (
    Objective(name="context_latency", title="Briefing latency", share=0.95, limit=0.25),
    Objective(name="search_latency", title="Search latency", share=0.95, limit=0.35),
    Objective(name="episode_writes", title="Stored episodes", share=0.999, unit=Unit.SUCCESS),
    Objective(name="consolidation_freshness", title="Backlog age", share=0.95, limit=6 * 3600.0),
    Objective(name="sweep_duration", title="Daily sweep", share=0.99, limit=30 * 60.0),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """What was measured: `good` of `total`. `value` is the quantile that the objective names, or the share of
    successes; None without measurements. `is_beyond`: more than the scale can tell."""

    objective: Objective
    total: int
    good: int
    value: float | None
    is_beyond: bool = False

    @property
    def is_met(self) -> bool | None:
        """None without measurements."""
        return self.good >= self.objective.share * self.total if self.total else None

    @property
    def budget_left(self) -> float | None:
        """The share of the error budget that is left: 1 if everything was good, 0 at the objective, negative below."""
        if not self.total:
            return None
        return 1 - (self.total - self.good) / (self.total * (1 - self.objective.share))


def level(objective: Objective, edges: Sequence[float], counts: Sequence[int]) -> Level:
    """Judge counts per step of a scale with these upper edges."""
    total = sum(counts)
    if objective.limit is None:
        good = counts[0] if counts else 0
        return Level(objective=objective, total=total, good=good, value=good / total if total else None)
    good = sum(counts[: edges.index(objective.limit) + 1])
    value = quantile(edges, counts, objective.share)
    return Level(
        objective=objective, total=total, good=good, value=value, is_beyond=value is not None and value > edges[-1]
    )


def quantile(edges: Sequence[float], counts: Sequence[int], share: float) -> float | None:
    """The value that this share of the measurements does not exceed, interpolated inside a step; infinite beyond the
    last edge, None without measurements."""
    total = sum(counts)
    if not total:
        return None
    wanted, below = share * total, 0
    for number, count in enumerate(counts):
        if count and below + count >= wanted:
            if number >= len(edges):
                return float("inf")
            start = edges[number - 1] if number else 0.0
            return start + (edges[number] - start) * (wanted - below) / count
        below += count
    return float("inf")


def percentile(values: Sequence[float], share: float) -> float:
    """The value that this share of the values does not exceed (nearest rank); 0 without values."""
    ordered = sorted(values)
    return ordered[max(0, -int(-share * len(ordered) // 1) - 1)] if ordered else 0.0
