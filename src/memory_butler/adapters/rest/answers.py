"""What the routes answer, as JSON schemas made from the types of the answers themselves.

The types of the client say what is shown to callers, where the core's own hold more than that; a reader of this page
and the client read the same.
"""

from dataclasses import MISSING, fields, is_dataclass
from typing import Any, get_args, get_type_hints

from fastmcp.utilities.json_schema import dereference_refs
from pydantic import TypeAdapter

from memory_butler.adapters.rest.schemas import (
    ANYTHING,
    ID,
    MOMENT,
    PROBLEM,
    REF,
    SHARE,
    TEXT,
    WHOLE,
    Schema,
    answered,
    listed,
    nullable,
    shape,
)
from memory_butler.client.answers import (
    Beside,
    Concerned,
    Forgotten,
    Happened,
    Happenings,
    Result,
    Seen,
    SeenEvent,
    SeenFact,
    SeenLink,
    Shown,
)
from memory_butler.client.shaping import NAMES
from memory_butler.models import Episode, Fact, Lineage, Receipt, Rule, ScoreParts, Stored, UndoReport
from memory_butler.models.explanation import Explanation
from memory_butler.operations.diff import DiffLine


def told(kind: Any, *, without: tuple[str, ...] = (), **instead: Schema) -> Schema:
    """An object with the fields of a dataclass or named tuple. What may be nothing may be left out, and there may be
    more; `instead` are fields that are said in another way."""
    hints = get_type_hints(kind)
    if is_dataclass(kind):
        known = {one.name: one.default is MISSING and one.default_factory is MISSING for one in fields(kind)}
    else:
        known = {name: name not in kind._field_defaults for name in kind._fields}
    needed, optional = dict[str, Schema](), dict[str, Schema]()
    for name, is_needed in known.items():
        if name not in without:
            place = needed if is_needed and type(None) not in get_args(hints[name]) else optional
            place[name] = instead[name] if name in instead else _schema(hints[name])
    return shape(needed, optional)


def _schema(hint: Any) -> Schema:
    found: Schema = dereference_refs(TypeAdapter(hint).json_schema(mode="serialization"))
    return {name: value for name, value in found.items() if name not in ("$defs", "title")}


def named(schema: Schema) -> Schema:
    """The same as a whole answer, which names its request."""
    properties = dict(schema["properties"])
    needed = {name: properties.pop(name) for name in schema["required"]}
    return answered(needed, properties)


def more(schema: Schema, **fields_: Schema) -> Schema:
    """The same with these fields besides."""
    return {
        **schema,
        "properties": {**schema["properties"], **fields_},
        "required": sorted({*schema["required"], *fields_}),
    }


def kept(**besides: Schema) -> Schema:
    """A memory of any type, as it is stored."""
    return {"anyOf": [memory(kind, **besides) for kind in (Fact, Rule, Episode)]}


def memory(kind: type[Fact] | type[Rule] | type[Episode], **besides: Schema) -> Schema:
    """A memory of one type, as it is stored. It does not say in which tenant."""
    return more(told(kind, without=("tenant_id",)), type={"type": "string", "enum": [str(kind.type)]}, **besides)


def _labelled(kind: Any) -> Schema:
    """Where a memory is shown rather than as it is stored, its labels are its names."""
    found = told(kind, without=tuple(NAMES.values()), ref=REF)
    labels = {outside: _schema(get_type_hints(kind)[inside]) for outside, inside in NAMES.items()}
    return {**found, "properties": {**found["properties"], **labels}}


COUNTS: Schema = {"type": "object", "additionalProperties": WHOLE}
HIDDEN_LINKS: Schema = {**WHOLE, "description": "How many more there are, to what belongs to another butler."}
STORED = answered({**told(Stored, without=("superseded_ref",))["properties"], "ref": REF}, {"supersedes": REF})
RESULT = more(
    _labelled(Shown),
    relevance={"type": "number"},
    score={"type": "number"},
    parts=told(ScoreParts),
)
RESULT["properties"] |= {"also": _schema(get_type_hints(Result)["also"]), "neighbours": listed(_labelled(Beside))}
FOUND = answered({"results": listed(RESULT), "count": WHOLE}, {"degraded": listed(TEXT)})
BRIEFED = answered({"context": TEXT, "receipt": _schema(Receipt)})
EVENT = told(SeenEvent)
LINK = more(told(SeenLink), direction={"type": "string", "enum": ["in", "out"]}, ref=nullable(REF))
PORTRAIT = named(
    more(
        told(
            Seen, without=("memory", "links", "chain", "events"), effective_confidence=SHARE, hidden_links=HIDDEN_LINKS
        ),
        memory=kept(),
        links=listed(LINK),
        chain=listed(told(SeenFact)),
        events=listed(EVENT),
        fades_at=nullable(MOMENT),
        expires_at=nullable(MOMENT),
    )
)
FORGOTTEN = named(told(Forgotten, touched=listed(told(Concerned))))
UNDONE = named(more(told(UndoReport), not_brought_back_count=WHOLE))
EXPLAINED = named(told(Explanation))
_HAPPENED = told(Happened, without=("lineage", "cursor"))
_HAPPENED["properties"] |= told(Lineage)["properties"]
HAPPENED = answered({**told(Happenings, without=("items",))["properties"], "events": listed(_HAPPENED)})
ITEM = told(DiffLine)
DISTILLED = answered(
    {
        "butler": TEXT,
        "distiller": TEXT,
        "state": TEXT,
        "episodes": listed(REF),
        "counts": COUNTS,
        "items": listed(ITEM),
    },
    {"run": ID, "tokens": WHOLE, "dollars": {"type": "number"}, "error": TEXT},
)
CLAIMED = answered(
    {"run": nullable(ID)},
    {
        "note": TEXT,
        "lease_until": MOMENT,
        "episodes": listed(shape({"ref": REF, "observed_at": MOMENT, "text": TEXT})),
        "known": listed(shape({"ref": REF, "content": TEXT})),
        "schema": ANYTHING,
    },
)


def _batch(outcomes: tuple[str, ...], done: Schema) -> Schema:
    """What became of each item of a batch, and how many there are of each outcome."""
    failed = ("error", "message", "retryable", "recovery")
    results = [
        more(done, outcome={"type": "string", "enum": list(outcomes)}),
        shape(
            {
                "outcome": {"type": "string", "enum": ["failed"]},
                **{name: PROBLEM["properties"][name] for name in failed},
            }
        ),
    ]
    return answered({"results": listed({"anyOf": results})}, dict.fromkeys((*outcomes, "failed"), WHOLE))


def _without_request(schema: Schema) -> Schema:
    left = {name: one for name, one in schema["properties"].items() if name != "request_id"}
    return {**schema, "properties": left, "required": [name for name in schema["required"] if name in left]}


ANSWERS: dict[str, Schema] = {
    **dict.fromkeys(
        (
            "memory_store_episode",
            "memory_store_fact",
            "memory_store_rule",
            "memory_store",
            "memory_confirm",
            "memory_mark_helpful",
            "memory_mark_harmful",
            "memory_correct",
            "memory_forget",
            "memory_restore",
            "memory_pin",
            "memory_unpin",
            "memory_reverse",
        ),
        STORED,
    ),
    **dict.fromkeys(("memory_search", "memory_recall"), FOUND),
    "memory_explain": EXPLAINED,
    "memory_get": PORTRAIT,
    # Counts of counts, by type, state and tier: there is no more to it than names and numbers.
    "memory_stats": answered({}),
    "memory_context": BRIEFED,
    "memory_context_batch": _batch(("built",), _without_request(BRIEFED)),
    "memory_ingest_batch": _batch(("stored", "repeated"), _without_request(STORED)),
    "memory_forget_about": FORGOTTEN,
    "memory_undo": UNDONE,
    "memory_activity_stream": HAPPENED,
    "memory_consolidation_claim": CLAIMED,
    "memory_consolidation_submit": DISTILLED,
}


def answer_schema(tool: str) -> Schema:
    """What a tool answers."""
    return ANSWERS[tool]
