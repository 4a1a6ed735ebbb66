"""The head of the home page: one sentence, figures with a line of the last weeks, and what changed since a visit."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any

from memory_butler.adapters.dashboard.view_models.phrases import count_text
from memory_butler.models import LIVE
from memory_butler.models.calls import CallDay
from memory_butler.models.days import Growth
from memory_butler.models.history import TimelineEntry

Report = Mapping[str, Any]
SPARK_DAYS = 28
LEARNED = ("created", "imported", "restored", "revived")
FORGOTTEN = ("retracted", "expired", "deleted", "superseded")
_CHANGES = {
    "created": "stored",
    "imported": "imported",
    "superseded": "replaced",
    "confirmed": "confirmed",
    "retracted": "forgotten",
    "expired": "expired",
    "faded": "faded",
}


def sentence(report: Report, growth: Growth, subjects: int, most_subjects: int, to_review: int) -> str:
    """The store in a sentence: "Knows 59 facts about 17 subjects; 3 learned today; 4 to review." """
    facts = sum(report["memories"]["facts"].get(state, 0) for state in LIVE)
    over = "over " if subjects >= most_subjects else ""
    learned = sum(growth.days[-1].happened.get(action, 0) for action in LEARNED) if growth.days else 0
    parts = [f"Knows {count_text(facts, 'fact')} about {over}{count_text(subjects, 'subject')}"]
    if learned:
        parts.append(f"{learned:,} learned today")
    if to_review:
        parts.append(f"{to_review:,} to review")
    return f"{'; '.join(parts)}."


def sparks(growth: Growth) -> dict[str, list[int]]:
    """Memories in use at the end of each of the last days, by the name of their card."""
    days = growth.days[-SPARK_DAYS:]
    return {f"{kind}s": [day.in_use.get(kind, 0) for day in days] for kind in ("fact", "rule", "episode")}


def change_card(growth: Growth) -> dict[str, Any]:
    """Memories learned and forgotten in the last seven days."""
    week, days = growth.days[-7:], growth.days[-SPARK_DAYS:]
    learned, forgotten = (
        [sum(day.happened.get(action, 0) for action in actions) for day in days] for actions in (LEARNED, FORGOTTEN)
    )
    return {
        "name": "changes",
        "title": "Learned and forgotten",
        "href": "/timeline",
        "count": sum(learned[-len(week) :]) if week else 0,
        "unit": "learned",
        "parts": [],
        "note": f"{sum(forgotten[-len(week) :]) if week else 0:,} replaced, expired or forgotten in 7 days",
        "spark": learned,
    }


def call_cards(days: Sequence[CallDay], today: date) -> list[dict[str, Any]]:
    """Briefings a day, the share of calls that were answered from memory, and how long calls take."""
    by_day = {day.day.date(): day for day in days}
    shown = [by_day.get(today - timedelta(days=back)) for back in reversed(range(SPARK_DAYS))]
    week = [day for day in shown[-7:] if day]
    calls, briefings = sum(day.calls for day in week), sum(day.briefings for day in week)
    share = f"{100 * sum(day.answered for day in week) / calls:.0f}%" if calls else "–"
    slowest = f"{max(day.p95_ms for day in week):,.0f}" if calls else "–"
    return [
        _call_card(
            "briefings",
            "Briefings a day",
            f"{briefings / 7:.1f}".removesuffix(".0") if calls else "–",
            f"{count_text(calls - briefings, 'search', 'searches')} in 7 days" if calls else "No calls in 7 days",
            [day.briefings if day else 0 for day in shown],
        ),
        _call_card(
            "answered",
            "Answered from memory",
            share,
            f"of {count_text(calls, 'call')} in 7 days" if calls else "",
            [round(100 * day.answered / day.calls) for day in shown if day and day.calls],
        ),
        _call_card(
            "latency",
            "Time of calls (p95)",
            slowest,
            "of the slowest day in 7" if calls else "",
            [round(day.p95_ms) for day in shown if day],
            unit="ms" if calls else "",
        ),
    ]


def _call_card(name: str, title: str, value: str, note: str, spark: list[int], *, unit: str = "") -> dict[str, Any]:
    card: dict[str, Any] = {"name": name, "title": title, "href": "/calls", "value": value, "unit": unit}
    return {**card, "parts": [], "note": note, "spark": spark}


def since_text(entries: Sequence[TimelineEntry], since: datetime, *, is_cut: bool) -> str:
    """The changes since a moment; empty if there are none."""
    counts: Counter[str] = Counter()
    for entry in entries:
        for line in entry.lines:
            event = line.activity.event
            if event.occurred_at > since:
                counts[event.event_type.partition(".")[2]] += 1
    parts = [f"{counts[action]:,} {word}" for action, word in _CHANGES.items() if counts[action]]
    over = "At least " if is_cut and parts else ""
    return f"{over}{', '.join(parts)}." if parts else ""
