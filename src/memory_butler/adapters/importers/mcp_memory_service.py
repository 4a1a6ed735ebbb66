"""The database of mcp-memory-service (`sqlite_vec.db`).

| there | here |
|---|---|
| a memory that is not deleted | a note of this butler, beside the others |
| its tags and its type | tags |
"""

from pathlib import Path
from typing import Any

from memory_butler.adapters.importers.notes import json_of, moment, notes, words
from memory_butler.operations.adopt import Parsed
from memory_butler.store import foreign

NAME = "mcp-memory-service"


def parse(path: Path, butler: str) -> Parsed:
    found = Parsed(NAME)
    for row in foreign.mcp_memory_service_memories(path):
        if row.get("deleted_at") is not None:
            found.left_out["was deleted there"] += 1
            continue
        if not words(row.get("content")):
            found.left_out["has no words"] += 1
            continue
        at = moment(row.get("created_at")) or moment(row.get("created_at_iso"))
        metadata: dict[str, Any] = {"imported_from": NAME, "id": row.get("content_hash")}
        if at:
            metadata["said_at"] = at.isoformat()
        found.items += notes(butler, row["content"], tags=_tags(row), metadata=metadata)
    return found


def _tags(row: dict[str, Any]) -> list[str]:
    """Words between commas or, from early versions, a JSON list; with the type of the memory."""
    given = words(row.get("tags"))
    listed = json_of(given) if given.startswith("[") else None
    tags = [str(tag) for tag in listed] if isinstance(listed, list) else given.split(",")
    return [*tags, words(row.get("memory_type"))]
