"""An export of mem0: the JSON that `get_all` answers, as it is or as a list of several answers.

| there | here |
|---|---|
| a memory | a fact about its user (else its agent, else this butler), beside the others |
| its categories | tags |
| a relation of the graph | a fact about where it starts |
"""

from pathlib import Path
from typing import Any

from memory_butler.adapters.importers.notes import json_of, moment, notes, relation, text_of, words
from memory_butler.errors import InvalidInput
from memory_butler.operations.adopt import Parsed

NAME = "mem0"
WITHOUT_WORDS = "has no words"


def parse(path: Path, butler: str) -> Parsed:
    given = json_of(text_of(path))
    found = Parsed(NAME)
    for answer in given if isinstance(given, list) else [given]:
        _answer(answer, butler, found)
    if not found.items:
        raise InvalidInput(f"{path} holds no memories of mem0.", recovery="Save what get_all() returns as JSON.")
    return found


def _answer(answer: Any, butler: str, found: Parsed) -> None:
    if not isinstance(answer, dict):
        found.left_out[WITHOUT_WORDS] += 1
        return
    if "results" not in answer and "relations" not in answer:
        _memory(answer, butler, found)
        return
    for row in _list(answer.get("results")):
        _memory(row, butler, found)
    for row in _list(answer.get("relations")):
        ends = row if isinstance(row, dict) else {}
        source, name = words(ends.get("source")), words(ends.get("relationship"))
        target = words(ends.get("target")) or words(ends.get("destination"))
        if source and name and target:
            found.items.append(relation(source, name, target, {"imported_from": NAME}))
        else:
            found.left_out["is no relation"] += 1


def _list(given: object) -> list[Any]:
    return given if isinstance(given, list) else []


def _memory(row: Any, butler: str, found: Parsed) -> None:
    text = words(row.get("memory")) if isinstance(row, dict) else ""
    if not text:
        found.left_out[WITHOUT_WORDS] += 1
        return
    subject = words(row.get("user_id")) or words(row.get("agent_id")) or butler
    metadata: dict[str, Any] = {"imported_from": NAME, "id": words(row.get("id"))}
    said = moment(row.get("created_at"))
    if said:
        metadata["said_at"] = said.isoformat()
    tags = row.get("categories")
    found.items += notes(subject, text, tags=tags if isinstance(tags, list) else (), metadata=metadata)
