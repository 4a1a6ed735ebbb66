"""Forecast of a memory's confidence if it is neither confirmed nor used, with the store's own formula."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from memory_butler.adapters.dashboard.components import charts
from memory_butler.models import LIVE, Episode, Memory, MemoryDetails, Permanence, Validity
from memory_butler.policy.lifecycle import confidence
from memory_butler.policy.lifecycle.transitions import is_exempt

POINTS = 80
# The curve continues this factor beyond its end, so that the end is visible.
OVERSHOOT = 1.12
SHORTEST_DAYS = 1.0
# Share of the width left free before the start, for its label.
BEFORE = 0.05


@dataclass(frozen=True, slots=True)
class Curve:
    """`points` are times with the confidence in per cent; `marks` are labelled dates."""

    points: list[tuple[datetime, float]]
    marks: list[tuple[str, datetime]]
    today: datetime
    percent: float
    fading_below: float
    expired_below: float


def curve(portrait: MemoryDetails, now: datetime, rules: confidence.DecayRules) -> Curve | None:
    """The curve from the last confirmation until after expiry; None if the memory does not decay."""
    memory = portrait.memory
    if isinstance(memory, Episode) or no_decay_reason(memory):
        return None
    start = confidence.anchor(memory.created_at, memory.last_confirmed_at)
    rated = memory.confidence, memory.decay_rate, start
    fades_at = confidence.falls_below(rules.fading_below, *rated)
    expires_at = confidence.falls_below(rules.expired_below, *rated)
    if expires_at is None:
        return None
    days = max((expires_at - start).days, (now - start).days, SHORTEST_DAYS) * OVERSHOOT
    moments = [start + timedelta(days=days * step / POINTS) for step in range(POINTS + 1)]
    marks = [(word, at) for word, at in (("fades", fades_at), ("expires", expires_at)) if at and at > start]
    return Curve(
        [(at, _percent(*rated, at)) for at in moments],
        marks,
        now,
        _percent(*rated, now),
        rules.fading_below,
        rules.expired_below,
    )


def no_decay_reason(memory: Memory) -> str:
    """The reason why a memory does not decay; empty if it does."""
    if isinstance(memory, Episode):
        return "Episodes do not decay. They are deleted when their retention time is over."
    if memory.validity not in LIVE and memory.validity is not Validity.EXPIRED:
        state = "quarantined and not" if memory.quarantine_reason else "no longer"
        return f"It is {state} in use, so it does not decay any further."
    if memory.pinned:
        return "It is pinned, so it does not decay."
    if is_exempt(memory):
        return "It is a warning. Warnings do not decay."
    if memory.decay_rate == 0:
        kind = "permanent" if getattr(memory, "permanence", None) is Permanence.PERMANENT else "set not to decay"
        return f"It is {kind}, so it does not decay."
    return ""


def chart_options(curve: Curve) -> charts.Options:
    first, last = curve.points[0][0], curve.points[-1][0]
    days = [
        _day(curve.today, "today", charts.BLUE, "solid"),
        *(_day(at, word, charts.BRASS if word == "fades" else charts.RED, "dashed") for word, at in curve.marks),
    ]
    thresholds = [
        _level(curve.fading_below, "fading below", charts.BRASS),
        _level(curve.expired_below, "expired below", charts.RED),
    ]
    return {
        "grid": {"left": 4, "right": 20, "top": 30, "bottom": 4, "containLabel": True},
        "tooltip": charts.tooltip(trigger="axis"),
        "xAxis": charts.axis(
            "time",
            min=(first - (last - first) * BEFORE).isoformat(),
            splitNumber=4,
            axisLabel={"color": charts.MUTED, "hideOverlap": True},
        ),
        "yAxis": charts.axis(
            "value", min=0, max=100, interval=25, axisLabel={"color": charts.MUTED, "formatter": "{value}%"}
        ),
        "series": [
            {
                "type": "line",
                "name": "Confidence (%)",
                "showSymbol": False,
                "smooth": False,
                "lineStyle": {"width": 2.5, "color": charts.GREEN},
                "itemStyle": {"color": charts.GREEN},
                "areaStyle": {"color": charts.GREEN, "opacity": 0.1},
                "data": [[at.isoformat(), percent] for at, percent in curve.points],
                "markLine": {"symbol": "none", "silent": True, "animation": False, "data": [*thresholds, *days]},
                "markPoint": {
                    "symbol": "circle",
                    "symbolSize": 11,
                    "silent": True,
                    "label": {"show": False},
                    "itemStyle": {"color": charts.BLUE},
                    "data": [{"coord": [curve.today.isoformat(), curve.percent]}],
                },
            }
        ],
    }


def _day(at: datetime, word: str, colour: str, line: str) -> dict[str, Any]:
    return {
        "xAxis": at.isoformat(),
        "lineStyle": {"color": colour, "type": line, "width": 1.3},
        "label": {"formatter": word, "position": "end", "color": colour, "fontSize": 11},
    }


def _level(percent: float, word: str, colour: str) -> dict[str, Any]:
    return {
        "yAxis": percent * 100,
        "lineStyle": {"color": colour, "type": "dotted", "width": 1},
        "label": {
            "formatter": word,
            "position": "insideStartTop",
            "distance": [26, 1],
            "color": colour,
            "fontSize": 10,
        },
    }


def _percent(stored: float, decay_rate: float, anchored_at: datetime, at: datetime) -> float:
    return round(100 * confidence.effective_confidence(stored, decay_rate, anchored_at, at), 2)
