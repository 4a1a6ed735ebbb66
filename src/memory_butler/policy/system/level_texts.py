"""Objectives and their levels in words, for the command line and the dashboard."""

from memory_butler.policy.system.objectives import Level, Objective, Unit

_SPANS = ((3600.0, "h"), (60.0, "min"), (1.0, "s"))


def goal_text(objective: Objective) -> str:
    """The goal of an objective: `p95 ≤ 250 ms`, `≥ 99.9 %`."""
    if objective.limit is None:
        return f"≥ {share_text(objective.share)}"
    return f"p{100 * objective.share:g} ≤ {span_text(objective.limit)}"


def value_text(level: Level) -> str:
    """What was measured, in the unit of the goal."""
    if level.value is None:
        return "no data"
    if level.objective.unit is Unit.SUCCESS:
        return share_text(level.value)
    return "failed" if level.is_beyond else span_text(level.value)


def good_text(level: Level) -> str:
    """The share of good measurements."""
    return share_text(level.good / level.total) if level.total else ""


def budget_text(level: Level) -> str:
    """What is left of the error budget, in percent; negative if it is overspent."""
    return "" if level.budget_left is None else f"{100 * level.budget_left:.0f} %"


def verdict_text(level: Level) -> str:
    return {True: "met", False: "missed", None: "no data"}[level.is_met]


def share_text(share: float) -> str:
    """A share in percent, cut and not rounded: what misses a goal never reads as if it met it."""
    return f"{int(share * 100_000 + 1e-6) / 1000:g} %"


def span_text(seconds: float) -> str:
    """A duration in a unit that suits it."""
    if seconds < 1:
        return f"{1000 * seconds:.3g} ms"
    for size, unit in _SPANS:
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"
