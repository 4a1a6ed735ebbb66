"""The database of mcp-memory-service (`sqlite_vec.db`).

| there | here |
|---|---|
| a memory that is not deleted | a fact about this butler; replaces no other |
| its tags and its type | tags |
"""

from pathlib import Path
from typing import Any

from memory_butler.adapters.importers.notes import clean_text, note_facts, origin, parse_json, parse_time
from memory_butler.operations.transfer.import_foreign import Parsed
from memory_butler.store.transfer import foreign_databases

NAME = "mcp-memory-service"


def parse(path: Path, butler: str) -> Parsed:
    parsed = Parsed(NAME)
    for row in foreign_databases.mcp_memory_service_memories(path):
        if row.get("deleted_at") is not None:
            parsed.left_out["is deleted"] += 1
            continue
        if not clean_text(row.get("content")):
            parsed.left_out["has no text"] += 1
            continue
        at = parse_time(row.get("created_at")) or parse_time(row.get("created_at_iso"))
        metadata = origin(NAME, row.get("content_hash"), at)
        parsed.items += note_facts(butler, row["content"], tags=_tags(row), metadata=metadata)
    return parsed


def _tags(row: dict[str, Any]) -> list[str]:
    """Parse the tags (comma-separated, or a JSON list in early versions) and add the type of the memory."""
    text = clean_text(row.get("tags"))
    listed = parse_json(text) if text.startswith("[") else None
    tags = [str(tag) for tag in listed] if isinstance(listed, list) else text.split(",")
    return [*tags, clean_text(row.get("memory_type"))]
