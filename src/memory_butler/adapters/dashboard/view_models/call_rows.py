"""Query parameters of the page of calls, and its rows and figures."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from memory_butler.adapters.dashboard.components.elements import visible_text
from memory_butler.adapters.dashboard.server.page_url import url_for
from memory_butler.adapters.dashboard.server.routes import memory_path
from memory_butler.adapters.dashboard.view_models.phrases import count_text, state_label, truncate
from memory_butler.models import LIVE
from memory_butler.models.calls import CallDay, CallFilter, CallKind, LoggedCall, ReturnedMemory
from memory_butler.policy.memories.sentence import fact_sentence

Props = dict[str, Any]
Query = dict[str, str]
PATH = "/calls"
PARAMS = ("kind", "butler", "client", "answered", "q")
DAYS = 30
_CHARACTERS = 300
_LINE_CHARACTERS = 160
_ANSWERED = {"yes": True, "no": False}


def parse(query: Mapping[str, Any]) -> Query:
    """The known parameters; a value that is none of its choices is left out."""
    found = {name: str(query.get(name) or "").strip()[:_CHARACTERS] for name in PARAMS}
    choices: dict[str, Sequence[str]] = {"kind": tuple(CallKind), "answered": tuple(_ANSWERED)}
    return {name: value for name, value in found.items() if value and value in choices.get(name, (value,))}


def filter_of(query: Query, *, time_from: datetime | None = None) -> CallFilter:
    return CallFilter(
        kind=CallKind(query["kind"]) if "kind" in query else None,
        butler=query.get("butler"),
        client=query.get("client"),
        answered=_ANSWERED.get(query.get("answered", "")),
        contains=query.get("q"),
        time_from=time_from,
    )


def rows(calls: Sequence[LoggedCall], memories: Mapping[str, ReturnedMemory]) -> list[Props]:
    return [_row(call, memories) for call in calls]


def _row(call: LoggedCall, memories: Mapping[str, ReturnedMemory]) -> Props:
    figures = [count_text(len(call.refs), "memory", "memories")]
    if call.tokens is not None:
        figures.append(f"{call.tokens:,} of {call.token_budget:,} tokens")
    figures.append(f"{call.milliseconds:,.0f} ms")
    replay = {
        "prompt": call.prompt,
        "butler": call.butler,
        "budget": str(call.token_budget or ""),
        "as_of": call.asked_at.isoformat(),
    }
    return {
        "id": str(call.id),
        "at": call.asked_at.isoformat(),
        "kind": str(call.kind),
        "butler": visible_text(call.butler),
        "client": visible_text(call.client),
        "prompt": visible_text(call.prompt),
        "figures": " · ".join(figures),
        "replay": url_for("/playground", replay),
        "memories": [_memory(ref, memories.get(ref)) for ref in call.refs],
        "degraded": [visible_text(one) for one in call.degraded],
    }


def _memory(ref: str, memory: ReturnedMemory | None) -> Props:
    if memory is None:
        return {"ref": ref, "kind": ref.partition(":")[0], "text": "deleted or not visible", "href": ""}
    said = fact_sentence(memory.subject_label, memory.predicate_label, memory.content)
    return {
        "ref": ref,
        "kind": str(memory.type),
        "text": truncate(said, _LINE_CHARACTERS),
        "href": memory_path(memory.type, memory.ref),
        "state": "" if memory.validity in LIVE else state_label(memory.validity),
    }


def figures(days: Sequence[CallDay]) -> list[Props]:
    """Totals over the days."""
    calls = sum(day.calls for day in days)
    if not calls:
        return []
    answered = sum(day.answered for day in days)
    slowest = max(day.p95_ms for day in days)
    return [
        {"label": f"Calls in {DAYS} days", "value": f"{calls:,}"},
        {"label": "Returned memories", "value": f"{100 * answered / calls:.0f}%"},
        {"label": "Tokens in briefings", "value": f"{sum(day.tokens for day in days):,}"},
        {"label": "p95 of the slowest day", "value": f"{slowest:,.0f} ms"},
    ]


def bars(days: Sequence[CallDay], today: datetime) -> list[Props]:
    """One bar for each of the last days, also for those without calls."""
    by_day = {day.day.date(): day for day in days}
    dates = [today.date() - timedelta(days=back) for back in reversed(range(DAYS))]
    result = []
    for date in dates:
        day, label = by_day.get(date), f"{date.day} {date:%b}"
        calls, answered = (day.calls, day.answered) if day else (0, 0)
        words = f"{label}: {count_text(calls, 'call')}, {answered:,} returned memories" if calls else f"{label}: none"
        result.append({"label": label, "calls": calls, "answered": answered, "words": words})
    return result
