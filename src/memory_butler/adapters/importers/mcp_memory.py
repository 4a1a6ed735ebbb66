"""The graph of the reference MCP memory server: a file of JSON Lines with entities and relations.

| there | here |
|---|---|
| an observation of an entity | a fact about it; replaces no other |
| the type of an entity | a fact with the predicate `is_a` |
| a relation | a fact about its source |
"""

from pathlib import Path

from memory_butler.adapters.importers import notes
from memory_butler.errors import InvalidInput
from memory_butler.models import NewFact
from memory_butler.operations.transfer.import_foreign import Parsed

NAME = "mcp-memory"
FROM = {"imported_from": NAME}
UNREADABLE = "neither an entity nor a relation"


def parse(path: Path, butler: str) -> Parsed:
    parsed = Parsed(NAME)
    # Not splitlines(): JSON may contain other line separators unescaped.
    for line in notes.read_text_file(path).split("\n"):
        if line.strip():
            _read(line, parsed)
    if not parsed.items and parsed.left_out:
        raise InvalidInput(f"{path} contains no entities or relations.", recovery="Pass the server's memory.jsonl.")
    return parsed


def _read(line: str, parsed: Parsed) -> None:
    row = notes.parse_json(line)
    kind = row.get("type") if isinstance(row, dict) else None
    if kind == "entity" and notes.clean_text(row.get("name")):
        name, type_name = notes.clean_text(row["name"]), notes.clean_text(row.get("entityType"))
        if type_name:
            parsed.items.append(NewFact(subject=name, predicate="is_a", content=type_name, metadata=FROM))
        for observation in notes.as_list(row.get("observations")):
            parsed.items += notes.note_facts(name, notes.clean_text(observation), metadata=FROM)
    elif kind == "relation" and all(notes.clean_text(row.get(end)) for end in ("from", "to", "relationType")):
        parsed.items.append(
            notes.relation_fact(
                notes.clean_text(row["from"]), notes.clean_text(row["relationType"]), notes.clean_text(row["to"]), FROM
            )
        )
    else:
        parsed.left_out[UNREADABLE] += 1
