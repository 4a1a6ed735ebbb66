"""The head of the home page: one sentence, figures with a line of the last weeks, and what changed since a visit."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from memory_butler.adapters.dashboard.view_models.phrases import count_text
from memory_butler.models import LIVE
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
        "title": "Learned in 7 days",
        "href": "/timeline",
        "count": sum(learned[-len(week) :]) if week else 0,
        "unit": "memories",
        "parts": [],
        "note": f"{sum(forgotten[-len(week) :]) if week else 0:,} replaced, expired or forgotten",
        "spark": learned,
    }


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
