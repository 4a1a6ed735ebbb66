"""Query parameters of the timeline page, and the rows of its as-of panel.

Parameters: `what` (action), `of` (type), `by` (actor), `scope`, `ref`, `group`; `day` and `q` for the as-of panel.
"""

from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from memory_butler.adapters.dashboard.components.elements import visible_text
from memory_butler.adapters.dashboard.server.page_url import unknown_params
from memory_butler.adapters.dashboard.server.routes import memory_path
from memory_butler.adapters.dashboard.view_models.phrases import state_label
from memory_butler.models import LIVE, MemoryType
from memory_butler.models.days import DaySnapshot, PastResults
from memory_butler.models.history import TimelineFilter
from memory_butler.operations.history.days import GONE, parse_day
from memory_butler.operations.history.undo import KINDS
from memory_butler.policy.history.activity import actions_with_same_label, past_participle
from memory_butler.policy.memories.text import subject_and_predicate

Props = dict[str, Any]
Query = dict[str, str]
MAX_CHARACTERS = 2000
PARAMS = ("what", "of", "by", "scope", "ref", "group", "day", "q")
FILTERS = PARAMS[:6]
CHANGES = tuple(str(kind) for kind in KINDS)
_ACTIONS = (
    *("created", "confirmed", "superseded", "faded", "expired", "retracted", "restored", "undone", "promoted"),
    *("revived", "rate_changed"),
    *("helpful", "harmful", "matured", "reversed", "pinned", "unpinned", "updated", "reworded", "linked"),
    *("consolidated", "set_back"),
    *("dead_lettered", "requeued", "deleted", "purged", "imported"),
)
_KINDS = {
    "": "Changes",
    "fact": "Facts",
    "rule": "Rules",
    "episode": "Episodes",
    "alias": "Aliases",
    "reads": "Reads",
    "all": "Changes and reads",
}
_READS = ("reference", "access")
_TYPES = {MemoryType.FACT: "Facts", MemoryType.RULE: "Rules", MemoryType.EPISODE: "Episodes"}


def action_choices() -> list[Props]:
    return [{"name": name, "label": past_participle(name).capitalize()} for name in _ACTIONS]


def kind_choices(*, governs: bool) -> list[Props]:
    """Choices for the type filter. Only admins see aliases and reads."""
    hidden = () if governs else ("alias", "reads", "all")
    return [{"name": name, "label": label} for name, label in _KINDS.items() if name not in hidden]


def parse(query: Mapping[str, Any]) -> Query:
    return {name: str(query[name])[:MAX_CHARACTERS].strip() for name in PARAMS if str(query.get(name) or "").strip()}


def unknown(query: Mapping[str, Any]) -> tuple[str, ...]:
    """Query parameters that the timeline does not support."""
    return unknown_params(query, PARAMS)


def filter_of(query: Query) -> TimelineFilter:
    kind = query.get("of", "")
    chosen = {"": CHANGES, "all": (), "reads": _READS}.get(kind, (kind,))
    return TimelineFilter(
        actions=actions_with_same_label(query["what"]) if "what" in query else (),
        kinds=chosen,
        actor=query.get("by"),
        scope=query.get("scope"),
        ref=query.get("ref"),
        group=query.get("group"),
        until=end_of(parse_day(query["day"])) if "day" in query else None,
    )


def end_of(day: date) -> datetime:
    """The start of the next day."""
    return datetime.combine(day, time.min, UTC) + timedelta(days=1)


def type_counts(result: DaySnapshot) -> list[Props]:
    """Counts per type: in use then, in use now, and all states then."""
    return [
        {
            "name": str(kind),
            "label": label,
            "then": _in_use(result.then[kind]),
            "now": _in_use(result.now[kind]),
            "states": ", ".join(f"{count:,} {state_label(state)}" for state, count in result.then[kind].items()),
        }
        for kind, label in _TYPES.items()
    ]


def changes_since(result: DaySnapshot) -> str:
    """Counts of the events since then, most frequent first."""
    ordered = sorted(result.since.items(), key=lambda one: (-one[1], one[0]))
    if not ordered:
        return "No changes since then."
    return f"Since then: {', '.join(f'{count:,} {past_participle(action)}' for action, count in ordered)}."


def result_rows(result: PastResults) -> list[Props]:
    """The search results of a past day, each with its current state."""
    rows = []
    for ranked, now in result.results:
        hit = ranked.hit
        about = subject_and_predicate(hit.subject_label, hit.predicate_label, hit.content)
        name = f"{about}: " if hit.subject_label else ""
        rows.append(
            {
                "ref": f"{hit.type}:{hit.ref}",
                "kind": str(hit.type),
                "href": "" if now == GONE else memory_path(hit.type, hit.ref),
                "text": visible_text(f"{name}{hit.content}"[:MAX_CHARACTERS]),
                "state": now,
                "state_label": "unchanged" if now == hit.validity else f"now {state_label(now)}",
            }
        )
    return rows


def _in_use(states: Mapping[str, int]) -> int:
    return sum(states.get(state, 0) for state in LIVE)
