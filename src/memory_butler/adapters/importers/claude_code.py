"""Transcripts of Claude Code (`~/.claude/projects`): a file of JSON Lines for each session.

| there | here |
|---|---|
| the last exchanges of a session | one episode of its project's butler, like that of a hook |
| tool calls and results, thinking, text added by the client, subagents | left out |
"""

import json
from pathlib import Path
from typing import Any

from memory_butler.adapters.hooks.project import project_of
from memory_butler.adapters.hooks.transcript import TAIL_BYTES, turns_at_end
from memory_butler.adapters.importers.notes import clean_text, parse_time
from memory_butler.errors import InvalidInput
from memory_butler.models import NewEpisode
from memory_butler.operations.transfer.import_foreign import Parsed
from memory_butler.policy.agent_sessions.observations import Exchange, episode_of_exchanges
from memory_butler.policy.agent_sessions.projects import project_butler

NAME = "claude-code"


def parse(path: Path, butler: str) -> Parsed:
    files = [path] if path.is_file() else sorted(path.rglob("*.jsonl")) if path.is_dir() else []
    if not files:
        raise InvalidInput(f"There are no transcripts in {path}.", recovery="Pass ~/.claude/projects or a subfolder.")
    parsed = Parsed(NAME)
    for file in files:
        _session(file, butler, parsed)
    return parsed


def _session(file: Path, butler: str, parsed: Parsed) -> None:
    turns = [Exchange(turn.role, turn.text, turn.tools) for turn in turns_at_end(str(file))]
    episode = episode_of_exchanges(turns)
    if episode is None:
        parsed.left_out["has nothing to remember"] += 1
        return
    last = _last_entry(file)
    folder = clean_text(last.get("cwd"))
    parsed.items.append(
        NewEpisode(
            content=episode.content,
            butler=project_butler(*project_of(folder)) if folder else butler,
            session_id=clean_text(last.get("sessionId")) or file.stem,
            observed_at=parse_time(last.get("timestamp")),
            tags=episode.tags,
            metadata={"imported_from": NAME},
        )
    )


def _last_entry(file: Path) -> dict[str, Any]:
    """Return the last message, which has the session's id, folder and time."""
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
