"""The backups that this home folder knows of: one line of JSON for each backup file and each archive."""

import json
import os
from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from memory_butler.errors import InvalidInput
from memory_butler.store.archive.layout import Archive

FILE = "backups.jsonl"
_ASIDE = ("database.before-*", "database.old-*")
# Nothing deletes backup files but the person who made them.
_BY_OWNER = "until deleted by its owner"


def note_backup(home: Path, path: Path, made_at: datetime) -> None:
    """Remember where a backup was written, so that the receipt of a later purge can name it."""
    _note(home, {"path": str(path.absolute()), "made_at": made_at.isoformat()})


def note_archive(home: Path, folder: Path, *, keep: timedelta, base_every: timedelta) -> None:
    """Remember an archive and how long it keeps what it has; the last note of an archive counts."""
    said = {"archive": str(folder), "keep_seconds": keep.total_seconds(), "base_seconds": base_every.total_seconds()}
    if said not in _notes(home):
        _note(home, said)


def known_backups(home: Path, until: datetime, slots: Iterable[str] = ()) -> list[dict[str, Any]]:
    """The backups made up to a time, archives with their base backups and logs, and older stores that were put aside;
    each with whether it still exists, and how long it is kept. `slots`: the replication slots of archives; one that
    belongs to no archive known here is named by itself."""
    unknown = set(slots)
    found: dict[str, dict[str, Any]] = {}
    for entry in _notes(home):
        try:
            if "archive" in entry:
                found |= _archived(entry, until, unknown)
                continue
            path, made_at = str(entry["path"]), datetime.fromisoformat(entry["made_at"])
        except (ValueError, KeyError, TypeError):
            continue
        if made_at <= until:
            found[path] = _entry(path, made_at.isoformat(), Path(path).exists(), _BY_OWNER)
    for pattern in _ASIDE:
        for folder in sorted(home.glob(pattern)):
            found[str(folder)] = _entry(str(folder), None, True, _BY_OWNER)
    for slot in unknown:
        found[slot] = _entry(f"archive of the replication slot {slot}", None, True, "as set where it is written")
    return [entry for _, entry in sorted(found.items())]


def _archived(entry: dict[str, Any], until: datetime, unknown: set[str]) -> dict[str, dict[str, Any]]:
    """The base backups and logs of one archive. What it holds of the past ends with the first base backup after it."""
    folder = str(entry["archive"])
    keep, base_every = timedelta(seconds=entry["keep_seconds"]), timedelta(seconds=entry["base_seconds"])
    gone = (until + keep + base_every).isoformat(timespec="minutes")
    kept = f"until about {gone}, deleted by `memory-butler backup --continuous` while it runs"
    try:
        archive = Archive.open(Path(folder))
        generations = archive.generations()
        bases = [base for generation in generations for base in generation.bases()]
    except InvalidInput:
        return {folder: _entry(folder, None, False, kept)}
    unknown.discard(archive.slot)
    found = {str(base.file): _entry(str(base.file), base.finished_at.isoformat(), True, kept) for base in bases}
    return found | {str(one.wal): _entry(str(one.wal), one.started_at.isoformat(), True, kept) for one in generations}


def _entry(path: str, made_at: str | None, exists: bool, retention: str) -> dict[str, Any]:
    return {"path": path, "made_at": made_at, "exists": exists, "retention": retention}


def _notes(home: Path) -> list[dict[str, Any]]:
    """All readable lines."""
    file = home / FILE
    notes = []
    for line in file.read_text(encoding="utf-8").splitlines() if file.is_file() else ():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict):
            notes.append(entry)
    return notes


def _note(home: Path, said: dict[str, Any]) -> None:
    with open(home / FILE, "a", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(json.dumps(said, ensure_ascii=False) + "\n")
