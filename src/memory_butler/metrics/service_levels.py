"""Measurements of the service's objectives in this process, until they are added to those in the database.

They are kept apart from the Prometheus metrics, which are lost with the process.
"""

import bisect
from collections.abc import Mapping, Sequence
from typing import Final

CONTEXT, SEARCH, WRITES, FRESHNESS, SWEEP = (
    "context_latency",
    "search_latency",
    "episode_writes",
    "consolidation_freshness",
    "sweep_duration",
)
_CALL: Final = (
    *(0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.05, 0.075, 0.1, 0.125, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.75),
    *(1.0, 1.5, 2.0, 3.0, 5.0),
)
_HOUR: Final = 3600.0
# The upper edges of each scale in seconds; more than the last edge is the last step. Without edges: success, failure.
EDGES: Final[dict[str, tuple[float, ...]]] = {
    CONTEXT: _CALL,
    SEARCH: _CALL,
    WRITES: (),
    FRESHNESS: tuple(_HOUR * hours for hours in (0.25, 0.5, 1, 2, 3, 4, 4.5, 5, 5.5, 6, 7, 8, 10, 12, 18, 24, 48, 168)),
    SWEEP: tuple(60.0 * minutes for minutes in (1, 2, 3, 4, 5, 7.5, 10, 15, 20, 25, 30, 45, 60, 120, 360, 1440)),
}
# Tools whose calls are measured.
OBJECTIVE_OF: Final = {"memory_context": CONTEXT, "memory_search": SEARCH, "memory_store_episode": WRITES}
# Outcomes that are the service's fault. A caller's mistake says nothing about the service.
FAULTS: Final = frozenset({"target_unavailable", "timeout", "overload_rejected", "integrity_error", "internal_error"})


def steps(objective: str) -> int:
    """The number of steps of a scale."""
    return len(EDGES[objective]) + 1 if EDGES[objective] else 2


class Measurements:
    """Counts per step of each objective's scale."""

    def __init__(self) -> None:
        self._counts: dict[str, list[int]] = {}

    def value(self, objective: str, value: float) -> None:
        """Measure one value. Infinite: it failed."""
        self._add(objective, bisect.bisect_left(EDGES[objective], value))

    def success(self, objective: str, *, succeeded: bool) -> None:
        self._add(objective, 0 if succeeded else 1)

    def call(self, tool: str, outcome: str, seconds: float) -> None:
        """Measure a call. One that failed through the service's fault was not answered in time, however quickly."""
        objective, failed = OBJECTIVE_OF.get(tool), outcome in FAULTS
        if objective is None or (outcome != "ok" and not failed):
            return
        if objective == WRITES:
            self.success(objective, succeeded=not failed)
        else:
            self.value(objective, float("inf") if failed else seconds)

    def take(self) -> dict[str, list[int]]:
        """Return the counts and start again."""
        taken, self._counts = self._counts, {}
        return taken

    def give_back(self, counts: Mapping[str, Sequence[int]]) -> None:
        """Add counts that could not be stored."""
        for objective, given in counts.items():
            own = self._counts.setdefault(objective, [0] * steps(objective))
            self._counts[objective] = [one + other for one, other in zip(own, given, strict=True)]

    def _add(self, objective: str, step: int) -> None:
        self._counts.setdefault(objective, [0] * steps(objective))[step] += 1


# Of this process, like the metrics.
MEASURED: Final = Measurements()
