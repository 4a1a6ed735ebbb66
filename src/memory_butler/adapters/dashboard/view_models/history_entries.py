"""Events as entries of the timeline and of the overview."""

import re
from collections.abc import Iterable
from typing import Any

from memory_butler.adapters.dashboard.components.elements import visible_text
from memory_butler.adapters.dashboard.server.page_url import url_for
from memory_butler.adapters.dashboard.server.routes import memory_path
from memory_butler.models import MemoryType
from memory_butler.models.history import TimelineEntry, TimelineLine

TIMELINE = "/timeline"
Props = dict[str, Any]
_RUN = re.compile(r" \(run ([0-9a-f-]{36})\)")
_ACTIONS_OF_TONE = {
    "good": ("created", "confirmed", "restored", "helpful", "promoted", "revived"),
    "info": ("consolidated", "superseded", "undone"),
    "warn": ("faded", "set_back"),
    "quiet": ("expired", "deleted", "rate_changed", "referenced"),
    "bad": ("retracted", "harmful", "dead_lettered", "failed", "purged"),
}
# The effect of undoing an event, where one word says it.
_UNDONE_BY = {"created": "Withdraw", "retracted": "Bring back", "pinned": "Unpin", "unpinned": "Pin again"}
_TONES = {action: tone for tone, actions in _ACTIONS_OF_TONE.items() for action in actions}


def event_entries(entries: Iterable[TimelineEntry], *, with_undo: bool = True) -> list[Props]:
    return [_entry(entry, with_undo=with_undo) for entry in entries]


def _entry(entry: TimelineEntry, *, with_undo: bool) -> Props:
    last = entry.lines[-1].activity.event
    is_group = entry.together > 1
    left = entry.together - len(entry.lines)
    action = last.event_type.partition(".")[2]
    undo = f"Undo all {entry.together:,}" if is_group else _UNDONE_BY.get(action, "Undo")
    return {
        "key": entry.place,
        "at": last.occurred_at.isoformat(),
        "actor": visible_text(f"{last.actor} for {entry.butler}" if entry.butler else last.actor),
        "tone": _TONES.get(action, "plain"),
        "summary": entry.words if is_group else "",
        "lines": [_line(line) for line in entry.lines],
        "more": f"and {left:,} more" if left > 0 else "",
        "moreHref": url_for(TIMELINE, {"group": str(entry.group_id)}) if is_group else "",
        "undone": entry.undone,
        "undo": undo if with_undo and entry.undo_id else "",
    }


def split_run(text: str) -> tuple[str, str]:
    """Split an event's text into the text without its run id, and the URL of that run."""
    match = _RUN.search(text)
    return _RUN.sub("", text), url_for("/consolidation", {"run": match[1]}) if match else ""


def _line(line: TimelineLine) -> Props:
    event, ref = line.activity.event, line.activity.ref
    kind, _, short = (ref or "").partition(":")
    text, run = split_run(line.activity.words)
    # A deleted episode has no page any more.
    has_page = kind in tuple(MemoryType) and line.about is not None
    return {
        "key": event.seq,
        "ref": ref or "",
        "kind": kind,
        "href": memory_path(kind, short) if has_page else "",
        "text": visible_text(text),
        "run": run,
        "about": visible_text(line.about or ""),
        "undone": line.undone,
    }
