"""Transcripts of Claude Code (`~/.claude/projects`): a file of JSON Lines for each session.

| there | here |
|---|---|
| a session: what was said in its last exchanges | one episode of its project's butler, as a hook would have left it |
| tools, their results, thoughts, what the client put in, other agents' work | left out |
"""

import json
from pathlib import Path
from typing import Any

from memory_butler.adapters.hooks.project import project_of
from memory_butler.adapters.hooks.transcript import TAIL_BYTES, turns_at_end
from memory_butler.adapters.importers.notes import moment, words
from memory_butler.errors import InvalidInput
from memory_butler.models import NewEpisode
from memory_butler.operations.adopt import Parsed
from memory_butler.policy.projects import butler_of
from memory_butler.policy.session_episode import Exchange, episode_of_exchanges

NAME = "claude-code"


def parse(path: Path, butler: str) -> Parsed:
    files = [path] if path.is_file() else sorted(path.rglob("*.jsonl")) if path.is_dir() else []
    if not files:
        raise InvalidInput(f"There are no transcripts in {path}.", recovery="Pass ~/.claude/projects or a part of it.")
    found = Parsed(NAME)
    for file in files:
        _session(file, butler, found)
    return found


def _session(file: Path, butler: str, found: Parsed) -> None:
    turns = [Exchange(turn.role, turn.text, turn.tools) for turn in turns_at_end(str(file))]
    episode = episode_of_exchanges(turns)
    if episode is None:
        found.left_out["nothing in it worth keeping"] += 1
        return
    last = _last_entry(file)
    folder = words(last.get("cwd"))
    found.items.append(
        NewEpisode(
            content=episode.content,
            butler=butler_of(*project_of(folder)) if folder else butler,
            session_id=words(last.get("sessionId")) or file.stem,
            observed_at=moment(last.get("timestamp")),
            tags=episode.tags,
            metadata={"imported_from": NAME},
        )
    )


def _last_entry(file: Path) -> dict[str, Any]:
    """What the last line that was said tells of its session: when, where and which one."""
    with file.open("rb") as opened:
        opened.seek(max(0, file.stat().st_size - TAIL_BYTES))
        lines = opened.read().splitlines()
    for line in reversed(lines):
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict) and entry.get("type") in ("user", "assistant") and entry.get("timestamp"):
            return entry
    return {}
