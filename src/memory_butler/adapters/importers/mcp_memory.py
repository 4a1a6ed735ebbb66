"""The graph of the reference MCP memory server: a file of JSON Lines with entities and relations.

| there | here |
|---|---|
| an observation of an entity | a fact about it, beside its other ones |
| the type of an entity | a fact, its property `is_a` |
| a relation | a fact about where it starts |
"""

from pathlib import Path

from memory_butler.adapters.importers.notes import json_of, notes, relation, text_of, words
from memory_butler.errors import InvalidInput
from memory_butler.models import NewFact
from memory_butler.operations.adopt import Parsed

NAME = "mcp-memory"
FROM = {"imported_from": NAME}
UNREADABLE = "not a line of such a file"


def parse(path: Path, butler: str) -> Parsed:
    found = Parsed(NAME)
    # Other breaks than this one may stand unescaped in what a line says.
    for line in text_of(path).split("\n"):
        if line.strip():
            _read(line, found)
    if not found.items and found.left_out:
        raise InvalidInput(f"{path} holds no entities and relations.", recovery="Pass the server's memory.jsonl.")
    return found


def _read(line: str, found: Parsed) -> None:
    row = json_of(line)
    kind = row.get("type") if isinstance(row, dict) else None
    if kind == "entity" and words(row.get("name")):
        name, type_name = words(row["name"]), words(row.get("entityType"))
        if type_name:
            found.items.append(NewFact(subject=name, predicate="is_a", content=type_name, metadata=FROM))
        given = row.get("observations")
        for observation in given if isinstance(given, list) else []:
            found.items += notes(name, words(observation), metadata=FROM)
    elif kind == "relation" and all(words(row.get(end)) for end in ("from", "to", "relationType")):
        found.items.append(relation(words(row["from"]), words(row["relationType"]), words(row["to"]), FROM))
    else:
        found.left_out[UNREADABLE] += 1
