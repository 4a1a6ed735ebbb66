"""The database of claude-mem (`~/.claude-mem/claude-mem.db`).

| there | here |
|---|---|
| an observation: title, narrative, facts | a fact about its project; replaces no other |
| its type and concepts | tags |
| the summary of a session | an episode, to be consolidated |
"""

from pathlib import Path
from typing import Any

from memory_butler.adapters.importers import notes
from memory_butler.models import NewEpisode
from memory_butler.operations.transfer.import_foreign import Parsed
from memory_butler.policy.memories.validation import EPISODE_CHARACTERS
from memory_butler.store.transfer import foreign_databases

NAME = "claude-mem"
_PARTS = {
    "request": "Asked for",
    "investigated": "Looked into",
    "learned": "Learned",
    "completed": "Done",
    "next_steps": "Next",
    "notes": "Notes",
}


def parse(path: Path, butler: str) -> Parsed:
    result = Parsed(NAME)
    for row in foreign_databases.claude_mem_observations(path):
        text = _observation(row)
        if not text:
            result.left_out["has no text"] += 1
            continue
        tags = [row.get("type") or "", *_list(row.get("concepts"))]
        result.items += notes.note_facts(
            notes.clean_text(row.get("project")) or butler, text, tags=tags, metadata=_origin(row)
        )
    for row in foreign_databases.claude_mem_summaries(path):
        lines = [
            f"{label}: {notes.clean_text(row.get(part))}"
            for part, label in _PARTS.items()
            if notes.clean_text(row.get(part))
        ]
        if not lines:
            result.left_out["has no text"] += 1
            continue
        result.items.append(
            NewEpisode(
                content="\n".join(lines)[:EPISODE_CHARACTERS],
                butler=butler,
                session_id=_session(row),
                observed_at=notes.parse_time(row.get("created_at_epoch"), per_second=1000),
                tags=notes.normalized_tags([row.get("project") or ""]),
                metadata=_origin(row),
            )
        )
    return result


def _observation(row: dict[str, Any]) -> str:
    head = ". ".join(part.rstrip(".") for name in ("title", "subtitle") if (part := notes.clean_text(row.get(name))))
    body = notes.clean_text(row.get("narrative")) or notes.clean_text(row.get("text"))
    facts = [f"- {notes.clean_text(fact)}" for fact in _list(row.get("facts")) if notes.clean_text(fact)]
    return "\n".join(part for part in (head, body, *facts) if part)


def _list(value: object) -> list[Any]:
    return notes.as_list(notes.parse_json(value) if isinstance(value, str) else value)


def _session(row: dict[str, Any]) -> str | None:
    """Return the session id; earlier versions have it in another column."""
    return notes.clean_text(row.get("memory_session_id")) or notes.clean_text(row.get("sdk_session_id")) or None


def _origin(row: dict[str, Any]) -> dict[str, Any]:
    return notes.origin(NAME, row.get("id"), notes.parse_time(row.get("created_at_epoch"), per_second=1000))
