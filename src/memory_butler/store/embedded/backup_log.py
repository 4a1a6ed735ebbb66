"""The backups that this home folder knows of: one line of JSON for each backup that was made."""

import json
import os
from datetime import datetime
from pathlib import Path
from typing import Any

FILE = "backups.jsonl"
_ASIDE = ("database.before-*", "database.old-*")


def note_backup(home: Path, path: Path, made_at: datetime) -> None:
    """Remember where a backup was written, so that the receipt of a later purge can name it."""
    line = json.dumps({"path": str(path.absolute()), "made_at": made_at.isoformat()}, ensure_ascii=False)
    with open(home / FILE, "a", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(line + "\n")


def known_backups(home: Path, until: datetime) -> list[dict[str, Any]]:
    """The backups made up to a time, and older stores that were put aside, each with whether it still exists."""
    found: dict[str, dict[str, Any]] = {}
    file = home / FILE
    for line in file.read_text(encoding="utf-8").splitlines() if file.is_file() else ():
        try:
            entry = json.loads(line)
            path, made_at = str(entry["path"]), datetime.fromisoformat(entry["made_at"])
        except (ValueError, KeyError, TypeError):
            continue
        if made_at <= until:
            found[path] = {"path": path, "made_at": made_at.isoformat(), "exists": Path(path).exists()}
    for pattern in _ASIDE:
        for folder in sorted(home.glob(pattern)):
            found[str(folder)] = {"path": str(folder), "made_at": None, "exists": True}
    # Nothing deletes backups but the person who made them.
    return [{**entry, "retention": "until deleted by its owner"} for _, entry in sorted(found.items())]
