"""Requests of the core as JSON arguments, and JSON answers as the values of the core or of answers.py."""

import json
from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from enum import Enum
from typing import Any
from uuid import UUID

from memory_butler.client.answers import (
    Beside,
    Briefed,
    Forgotten,
    Happened,
    Happenings,
    Ingested,
    Result,
    Results,
    Seen,
    Shape,
    Shown,
)
from memory_butler.client.reading import Unreadable, bare, read
from memory_butler.errors import ERROR_CLASSES, MemoryButlerError
from memory_butler.models import (
    Briefing,
    Episode,
    Fact,
    Lineage,
    Memory,
    MemoryType,
    Rule,
    ScoreParts,
    Stored,
    UndoReport,
)
from memory_butler.models.explanation import Explanation
from memory_butler.models.listings import Listed, Listing

KINDS: dict[MemoryType, type[Episode] | type[Fact] | type[Rule]] = {
    MemoryType.EPISODE: Episode,
    MemoryType.FACT: Fact,
    MemoryType.RULE: Rule,
}
NAMES = {"subject": "subject_label", "predicate": "predicate_label"}


def arguments(request: Any) -> Shape:
    """What a request says beyond what it would mean without saying it."""
    return {
        field.name: plain(value)
        for field in fields(request)
        if (value := getattr(request, field.name)) != field.default and value not in (None, (), {})
    }


def request_context(lineage: Lineage) -> Shape | None:
    return arguments(lineage) or None


def plain(value: Any) -> Any:
    """Any value of a request as JSON."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(name): plain(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(entry) for entry in value]
    return value


def stored(shape: Shape) -> Stored:
    replaced = shape.get("supersedes")
    return read(Stored, {**_unprefixed(shape), "superseded_ref": None if replaced is None else bare(replaced)})


def briefing(shape: Shape) -> Briefing:
    return read(Briefing, {"text": shape.get("context"), "receipt": shape.get("receipt")})


def results(shape: Shape) -> Results:
    entries = objects(shape, "results")
    found = tuple(_result(entry) for entry in entries)
    beside = {
        result.hit.id: tuple(_beside(neighbour) for neighbour in objects(entry, "neighbours"))
        for result, entry in zip(found, entries, strict=True)
        if "neighbours" in entry
    }
    return Results(results=found, degraded=read(tuple[str, ...], shape.get("degraded", [])), neighbours=beside)


def _result(shape: Shape) -> Result:
    return Result(
        hit=read(Shown, _labelled(shape)),
        parts=read(ScoreParts, shape.get("parts")),
        also=read(tuple[str, ...], shape.get("also", [])),
    )


def _beside(shape: Shape) -> Beside:
    return read(Beside, _labelled(shape))


def _labelled(shape: Shape) -> Shape:
    return {NAMES.get(name, name): value for name, value in _unprefixed(shape).items()}


def _unprefixed(shape: Shape) -> Shape:
    return {**shape, "ref": bare(shape.get("ref"))}


def memory(shape: Shape) -> Memory:
    kind = KINDS[read(MemoryType, shape.get("type"))]
    return read(kind, {**_unprefixed(shape), "tenant_id": ""})


def seen(shape: Shape) -> Seen:
    kept = memory(_object(shape, "memory"))
    chain = [_unprefixed(entry) for entry in objects(shape, "chain")]
    # The memory is made above, as its type is told inside.
    hollow = {name: value for name, value in shape.items() if name != "memory"}
    return read(Seen, {**hollow, "memory": kept, "chain": chain})


def forgotten(shape: Shape) -> Forgotten:
    return read(Forgotten, shape)


def undone(shape: Shape) -> UndoReport:
    return read(UndoReport, shape)


def explanation(shape: Shape) -> Explanation:
    return read(Explanation, _unprefixed(shape))


def ingested(shape: Shape) -> list[Ingested]:
    return [
        Ingested(problem=problem_of(entry))
        if entry.get("outcome") == "failed"
        else Ingested(
            stored=stored({**entry, "outcome": "created"}), repeated=read(str, entry.get("outcome")) == "repeated"
        )
        for entry in objects(shape, "results")
    ]


def briefed(shape: Shape) -> list[Briefed]:
    return [
        Briefed(problem=problem_of(entry)) if entry.get("outcome") == "failed" else Briefed(briefing=briefing(entry))
        for entry in objects(shape, "results")
    ]


def happenings(shape: Shape) -> Happenings:
    # The place after each event is known for the last one only.
    items = tuple(happened({**entry, "cursor": None}) for entry in objects(shape, "events"))
    return read(Happenings, {**shape, "items": items})


def happened(shape: Shape) -> Happened:
    return read(Happened, {**shape, "lineage": read(Lineage, shape)})


def said(text: str) -> Shape:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise Unreadable("no JSON") from None
    if not isinstance(found, dict):
        raise Unreadable("no object")
    return found


def problem_of(shape: Shape) -> MemoryButlerError:
    """The error that a server named, as what it was."""
    kind = ERROR_CLASSES.get(str(shape.get("error")))
    message, recovery = shape.get("message"), shape.get("recovery")
    if kind is None or not isinstance(message, str):
        raise Unreadable("an error of no known class")
    return kind(message, recovery=recovery if isinstance(recovery, str) else None)


def listing_params(listing: Listing) -> dict[str, str | list[str]]:
    """A listing as the query of an address."""
    asked = {name: value for name, value in arguments(listing).items() if name not in ("type", "descending")}
    if "tags" in asked:
        asked["tag"] = asked.pop("tags")
    if not listing.descending:
        asked["order"] = "asc"
    return {name: value if isinstance(value, list) else str(value) for name, value in asked.items()}


def listed(shape: Shape) -> Listed:
    return read(Listed, {**shape, "memory": memory(shape)})


def _object(shape: Shape, key: str) -> Shape:
    found = shape.get(key)
    if not isinstance(found, dict):
        raise Unreadable(f"{key} is no object")
    return found


def objects(shape: Shape, key: str) -> list[Shape]:
    found = shape.get(key)
    if not isinstance(found, list) or not all(isinstance(entry, dict) for entry in found):
        raise Unreadable(f"{key} is no list of objects")
    return found
