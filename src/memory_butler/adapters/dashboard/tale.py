"""What the timeline's address says, and what is shown of a day of the past. Nothing is drawn here.

An address holds: what (happened), of (what kind), by (whom), scope, ref, group, and day and q for a look back.
"""

from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from memory_butler.adapters.dashboard.address import unknown_in
from memory_butler.adapters.dashboard.elements import text_of
from memory_butler.adapters.dashboard.places import memory_path
from memory_butler.adapters.dashboard.saying import state_of
from memory_butler.models import LIVE, MemoryType
from memory_butler.models.days import DayStanding, FoundThen
from memory_butler.models.history import TimelineFilter
from memory_butler.operations.days import GONE, parse_day
from memory_butler.operations.undo import KINDS
from memory_butler.policy.activity import done_to, said_alike
from memory_butler.policy.wording import about_of

Drawn = dict[str, Any]
Wanted = dict[str, str]
LONGEST = 2000
NAMES = ("what", "of", "by", "scope", "ref", "group", "day", "q")
FILTERS = NAMES[:6]
CHANGES = tuple(str(kind) for kind in KINDS)
_ACTIONS = (
    *("created", "confirmed", "superseded", "faded", "expired", "retracted", "restored", "undone", "promoted"),
    *("helpful", "harmful", "matured", "reversed", "pinned", "unpinned", "consolidated", "set_back"),
    *("dead_lettered", "requeued", "deleted", "imported"),
)
_KINDS = {
    "": "All that changed",
    "fact": "Facts",
    "rule": "Rules",
    "episode": "Episodes",
    "alias": "Other names",
    "reads": "Reads",
    "all": "Everything, with reads",
}
_READS = ("reference", "access")
_TYPES = {MemoryType.FACT: "Facts", MemoryType.RULE: "Rules", MemoryType.EPISODE: "Episodes"}


def actions() -> list[Drawn]:
    return [{"name": name, "label": done_to(name).capitalize()} for name in _ACTIONS]


def kinds(*, governs: bool) -> list[Drawn]:
    """What can be asked about. That something was read, and names, are for those who govern."""
    hidden = () if governs else ("alias", "reads", "all")
    return [{"name": name, "label": label} for name, label in _KINDS.items() if name not in hidden]


def read(query: Mapping[str, Any]) -> Wanted:
    return {name: str(query[name])[:LONGEST].strip() for name in NAMES if str(query.get(name) or "").strip()}


def unknown(query: Mapping[str, Any]) -> tuple[str, ...]:
    """What an address asks for that the timeline does not know."""
    return unknown_in(query, NAMES)


def filter_of(wanted: Wanted) -> TimelineFilter:
    kind = wanted.get("of", "")
    chosen = {"": CHANGES, "all": (), "reads": _READS}.get(kind, (kind,))
    return TimelineFilter(
        actions=said_alike(wanted["what"]) if "what" in wanted else (),
        kinds=chosen,
        actor=wanted.get("by"),
        scope=wanted.get("scope"),
        ref=wanted.get("ref"),
        group=wanted.get("group"),
        until=end_of(parse_day(wanted["day"])) if "day" in wanted else None,
    )


def end_of(day: date) -> datetime:
    """The first moment of the day after."""
    return datetime.combine(day, time.min, UTC) + timedelta(days=1)


def types(found: DayStanding) -> list[Drawn]:
    """What was in use of each type then and is now, and in which states the rest was."""
    return [
        {
            "name": str(kind),
            "label": label,
            "then": _in_use(found.then[kind]),
            "now": _in_use(found.now[kind]),
            "states": ", ".join(f"{count:,} {state_of(state)}" for state, count in found.then[kind].items()),
        }
        for kind, label in _TYPES.items()
    ]


def since(found: DayStanding) -> str:
    """What has happened since, the most first."""
    ordered = sorted(found.since.items(), key=lambda one: (-one[1], one[0]))
    if not ordered:
        return "Nothing has changed since."
    return f"Since then: {', '.join(f'{count:,} {done_to(action)}' for action, count in ordered)}."


def rows(found: FoundThen) -> list[Drawn]:
    """What was found in the past, each with what has become of it."""
    drawn = []
    for ranked, now in found.results:
        hit = ranked.hit
        name = f"{about_of(hit.subject_label, hit.predicate_label)}: " if hit.subject_label else ""
        drawn.append(
            {
                "ref": f"{hit.type}:{hit.ref}",
                "kind": str(hit.type),
                "href": "" if now == GONE else memory_path(hit.type, hit.ref),
                "words": text_of(f"{name}{hit.content}"[:LONGEST]),
                "state": now,
                "became": "as it is now" if now == hit.validity else f"now {state_of(now)}",
            }
        )
    return drawn


def _in_use(states: Mapping[str, int]) -> int:
    return sum(states.get(state, 0) for state in LIVE)
