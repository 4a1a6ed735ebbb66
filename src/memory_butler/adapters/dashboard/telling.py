"""What happened, as a page shows it. Nothing is drawn here."""

import re
from collections.abc import Iterable
from typing import Any

from memory_butler.adapters.dashboard.address import address
from memory_butler.adapters.dashboard.elements import text_of
from memory_butler.adapters.dashboard.places import memory_path
from memory_butler.models import MemoryType
from memory_butler.models.history import Entry, Told

TIMELINE = "/timeline"
Drawn = dict[str, Any]
_RUN = re.compile(r" \(run ([0-9a-f-]{36})\)")
_TONES = {
    "created": "good",
    "confirmed": "good",
    "restored": "good",
    "helpful": "good",
    "promoted": "good",
    "consolidated": "info",
    "superseded": "info",
    "undone": "info",
    "faded": "warn",
    "set_back": "warn",
    "expired": "quiet",
    "deleted": "quiet",
    "referenced": "quiet",
    "retracted": "bad",
    "harmful": "bad",
    "dead_lettered": "bad",
    "failed": "bad",
}


def story(entries: Iterable[Entry], *, with_undo: bool = True) -> list[Drawn]:
    return [_entry(entry, with_undo=with_undo) for entry in entries]


def _entry(entry: Entry, *, with_undo: bool) -> Drawn:
    last = entry.lines[-1].activity.event
    is_group = entry.together > 1
    left = entry.together - len(entry.lines)
    undo = f"Undo all {entry.together:,}" if is_group else "Undo"
    return {
        "key": entry.place,
        "at": last.occurred_at.isoformat(),
        "actor": text_of(f"{last.actor} for {entry.butler}" if entry.butler else last.actor),
        "tone": _TONES.get(last.event_type.partition(".")[2], "plain"),
        "sum": entry.words if is_group else "",
        "lines": [_line(line) for line in entry.lines],
        "more": f"and {left:,} more" if left > 0 else "",
        "moreHref": address(TIMELINE, {"group": str(entry.group_id)}) if is_group else "",
        "undone": entry.undone,
        "undo": undo if with_undo and entry.undo_id else "",
    }


def without_run(words: str) -> tuple[str, str]:
    """What was told without the id of a run, and where that run can be opened: then it need not be read."""
    found = _RUN.search(words)
    return _RUN.sub("", words), address("/consolidation", {"run": found[1]}) if found else ""


def _line(line: Told) -> Drawn:
    event, ref = line.activity.event, line.activity.ref
    kind, _, short = (ref or "").partition(":")
    words, run = without_run(line.activity.words)
    # Of an episode that was deleted only the name is left.
    has_page = kind in tuple(MemoryType) and line.about is not None
    return {
        "key": event.seq,
        "ref": ref or "",
        "kind": kind,
        "href": memory_path(kind, short) if has_page else "",
        "words": text_of(words),
        "run": run,
        "about": text_of(line.about or ""),
        "undone": line.undone,
    }
