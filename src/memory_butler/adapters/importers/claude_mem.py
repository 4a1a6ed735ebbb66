"""The database of claude-mem (`~/.claude-mem/claude-mem.db`).

| there | here |
|---|---|
| an observation: title, narrative, facts | a fact about its project, beside the others |
| its type and concepts | tags |
| the summary of a session | an episode, which waits for consolidation like any other |
"""

from pathlib import Path
from typing import Any

from memory_butler.adapters.importers.notes import clean_tags, json_of, moment, notes, words
from memory_butler.models import NewEpisode
from memory_butler.operations.adopt import Parsed
from memory_butler.policy.admission import EPISODE_CHARACTERS
from memory_butler.store import foreign

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
    found = Parsed(NAME)
    for row in foreign.claude_mem_observations(path):
        text = _observation(row)
        if not text:
            found.left_out["has no words"] += 1
            continue
        tags = [row.get("type") or "", *_list(row.get("concepts"))]
        found.items += notes(words(row.get("project")) or butler, text, tags=tags, metadata=_origin(row))
    for row in foreign.claude_mem_summaries(path):
        said = [f"{label}: {words(row.get(part))}" for part, label in _PARTS.items() if words(row.get(part))]
        if not said:
            found.left_out["has no words"] += 1
            continue
        found.items.append(
            NewEpisode(
                content="\n".join(said)[:EPISODE_CHARACTERS],
                butler=butler,
                session_id=_session(row),
                observed_at=moment(row.get("created_at_epoch"), per_second=1000),
                tags=clean_tags([row.get("project") or ""]),
                metadata=_origin(row),
            )
        )
    return found


def _observation(row: dict[str, Any]) -> str:
    head = ". ".join(part.rstrip(".") for name in ("title", "subtitle") if (part := words(row.get(name))))
    body = words(row.get("narrative")) or words(row.get("text"))
    facts = [f"- {words(fact)}" for fact in _list(row.get("facts")) if words(fact)]
    return "\n".join(part for part in (head, body, *facts) if part)


def _list(given: object) -> list[Any]:
    found = json_of(given) if isinstance(given, str) else given
    return found if isinstance(found, list) else []


def _session(row: dict[str, Any]) -> str | None:
    """Earlier versions call it by another name."""
    return words(row.get("memory_session_id")) or words(row.get("sdk_session_id")) or None


def _origin(row: dict[str, Any]) -> dict[str, Any]:
    at = moment(row.get("created_at_epoch"), per_second=1000)
    return {"imported_from": NAME, "id": row.get("id"), **({"said_at": at.isoformat()} if at else {})}
