"""An export of mem0: the JSON that `get_all` returns, or a list of several.

| there | here |
|---|---|
| a memory | a fact about its user (else its agent, else this butler); replaces no other |
| its categories | tags |
| a relation of the graph | a fact about its source |
"""

from pathlib import Path
from typing import Any

from memory_butler.adapters.importers import notes
from memory_butler.errors import InvalidInput
from memory_butler.operations.transfer.import_foreign import Parsed

NAME = "mem0"
NO_TEXT = "has no text"


def parse(path: Path, butler: str) -> Parsed:
    export = notes.parse_json(notes.read_text_file(path))
    parsed = Parsed(NAME)
    for answer in export if isinstance(export, list) else [export]:
        _answer(answer, butler, parsed)
    if not parsed.items:
        raise InvalidInput(f"{path} contains no memories of mem0.", recovery="Save the result of get_all() as JSON.")
    return parsed


def _answer(answer: Any, butler: str, parsed: Parsed) -> None:
    if not isinstance(answer, dict):
        parsed.left_out[NO_TEXT] += 1
        return
    if "results" not in answer and "relations" not in answer:
        _memory(answer, butler, parsed)
        return
    for row in notes.as_list(answer.get("results")):
        _memory(row, butler, parsed)
    for row in notes.as_list(answer.get("relations")):
        ends = row if isinstance(row, dict) else {}
        source, name = notes.clean_text(ends.get("source")), notes.clean_text(ends.get("relationship"))
        target = notes.clean_text(ends.get("target")) or notes.clean_text(ends.get("destination"))
        if source and name and target:
            parsed.items.append(notes.relation_fact(source, name, target, {"imported_from": NAME}))
        else:
            parsed.left_out["is an incomplete relation"] += 1


def _memory(row: Any, butler: str, parsed: Parsed) -> None:
    text = notes.clean_text(row.get("memory")) if isinstance(row, dict) else ""
    if not text:
        parsed.left_out[NO_TEXT] += 1
        return
    subject = notes.clean_text(row.get("user_id")) or notes.clean_text(row.get("agent_id")) or butler
    metadata = notes.origin(NAME, notes.clean_text(row.get("id")), notes.parse_time(row.get("created_at")))
    parsed.items += notes.note_facts(subject, text, tags=notes.as_list(row.get("categories")), metadata=metadata)
