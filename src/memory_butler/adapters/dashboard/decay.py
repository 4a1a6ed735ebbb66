"""How a memory's confidence goes on if nothing happens, as a curve: the formula is the one of the store."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from memory_butler.adapters.dashboard import charts
from memory_butler.models import LIVE, Episode, Memory, Permanence, Portrait, Validity
from memory_butler.policy import confidence
from memory_butler.policy.lifecycle import is_exempt

POINTS = 80
# So much longer than the time to its end the curve goes on, so that the end is seen to come.
BEYOND = 1.12
SHORTEST_DAYS = 1.0
# And so much room is left before its beginning, for the word at it.
BEFORE = 0.05


@dataclass(frozen=True, slots=True)
class Curve:
    """`points` are moments with the confidence in per cent; `marks` are the days that matter, with a word each."""

    points: list[tuple[datetime, float]]
    marks: list[tuple[str, datetime]]
    today: datetime
    worth: float


def curve(portrait: Portrait, now: datetime) -> Curve | None:
    """From the last time it was confirmed until after its end; None for what does not fade."""
    memory = portrait.memory
    if isinstance(memory, Episode) or why_flat(memory):
        return None
    start = confidence.anchor(memory.created_at, memory.last_confirmed_at)
    rated = memory.confidence, memory.decay_rate, start
    fades_at = confidence.falls_below(confidence.FADING_BELOW, *rated)
    expires_at = confidence.falls_below(confidence.EXPIRED_BELOW, *rated)
    if expires_at is None:
        return None
    days = max((expires_at - start).days, (now - start).days, SHORTEST_DAYS) * BEYOND
    moments = [start + timedelta(days=days * step / POINTS) for step in range(POINTS + 1)]
    marks = [(word, at) for word, at in (("fades", fades_at), ("expires", expires_at)) if at and at > start]
    return Curve([(at, _worth(*rated, at)) for at in moments], marks, now, _worth(*rated, now))


def why_flat(memory: Memory) -> str:
    """Why there is no curve, in words; empty if there is one."""
    if isinstance(memory, Episode):
        return "An episode is what was said: it does not fade, it is deleted when its time is over."
    if memory.validity not in LIVE and memory.validity is not Validity.EXPIRED:
        return "It is out of use, and what is out of use does not fade any further."
    if memory.pinned:
        return "It is pinned, so it does not fade."
    if is_exempt(memory):
        return "It is a warning, and warnings do not fade."
    if getattr(memory, "permanence", None) is Permanence.PERMANENT:
        return "It is permanent, so it does not fade."
    return ""


def options(shown: Curve) -> charts.Options:
    """The curve as a chart."""
    first, last = shown.points[0][0], shown.points[-1][0]
    days = [
        _day(shown.today, "today", charts.BLUE, "solid"),
        *(_day(at, word, charts.BRASS if word == "fades" else charts.RED, "dashed") for word, at in shown.marks),
    ]
    levels = [
        _level(confidence.FADING_BELOW, "fading below", charts.BRASS),
        _level(confidence.EXPIRED_BELOW, "expired below", charts.RED),
    ]
    return {
        "grid": {"left": 4, "right": 20, "top": 30, "bottom": 4, "containLabel": True},
        "tooltip": charts.tooltip(trigger="axis"),
        "xAxis": charts.axis(
            "time",
            min=(first - (last - first) * BEFORE).isoformat(),
            splitNumber=4,
            axisLabel={"color": charts.QUIET, "hideOverlap": True},
        ),
        "yAxis": charts.axis(
            "value", min=0, max=100, interval=25, axisLabel={"color": charts.QUIET, "formatter": "{value} %"}
        ),
        "series": [
            {
                "type": "line",
                "name": "confidence in %",
                "showSymbol": False,
                "smooth": False,
                "lineStyle": {"width": 2.5, "color": charts.GREEN},
                "itemStyle": {"color": charts.GREEN},
                "areaStyle": {"color": charts.GREEN, "opacity": 0.1},
                "data": [[at.isoformat(), worth] for at, worth in shown.points],
                "markLine": {"symbol": "none", "silent": True, "animation": False, "data": [*levels, *days]},
                "markPoint": {
                    "symbol": "circle",
                    "symbolSize": 11,
                    "silent": True,
                    "label": {"show": False},
                    "itemStyle": {"color": charts.BLUE},
                    "data": [{"coord": [shown.today.isoformat(), shown.worth]}],
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


def _level(worth: float, word: str, colour: str) -> dict[str, Any]:
    return {
        "yAxis": worth * 100,
        "lineStyle": {"color": colour, "type": "dotted", "width": 1},
        "label": {
            "formatter": word,
            "position": "insideStartTop",
            "distance": [26, 1],
            "color": colour,
            "fontSize": 10,
        },
    }


def _worth(stored: float, decay_rate: float, anchored_at: datetime, at: datetime) -> float:
    return round(100 * confidence.effective_confidence(stored, decay_rate, anchored_at, at), 2)
