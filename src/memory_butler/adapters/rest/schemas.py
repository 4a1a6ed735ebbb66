"""What goes in and out, as JSON schemas for the OpenAPI page."""

from typing import Any

from memory_butler.adapters.problems import MEDIA_TYPE, STATUS, TOO_LARGE, UNAUTHENTICATED, WRONG_CONTENT_TYPE
from memory_butler.errors import ERROR_CLASSES
from memory_butler.models import MemoryType

Schema = dict[str, Any]
TEXT: Schema = {"type": "string"}
MOMENT: Schema = {"type": "string", "format": "date-time"}
ID: Schema = {"type": "string", "format": "uuid"}
WHOLE: Schema = {"type": "integer", "minimum": 0}
SHARE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
REF: Schema = {"type": "string", "examples": ["fact:k3f7"]}
TYPE: Schema = {"type": "string", "enum": [str(kind) for kind in MemoryType]}
REQUEST_ID: Schema = {"type": "string", "description": "The id of the request, also in the header X-Request-Id."}
ANYTHING: Schema = {"type": "object", "additionalProperties": True}


def nullable(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def listed(schema: Schema) -> Schema:
    return {"type": "array", "items": schema}


def shape(required: dict[str, Schema], optional: dict[str, Schema] | None = None) -> Schema:
    """An object with these fields; there may be more."""
    return {"type": "object", "properties": {**required, **(optional or {})}, "required": sorted(required)}


def answered(required: dict[str, Schema], optional: dict[str, Schema] | None = None) -> Schema:
    """An answer: it always names its request."""
    return shape({**required, "request_id": REQUEST_ID}, optional)


PROBLEM: Schema = {
    "description": "What went wrong, and what to do about it.",
    **shape(
        {
            "type": {"type": "string", "format": "uri"},
            "title": TEXT,
            "status": {"type": "integer"},
            "detail": TEXT,
            "error": {"type": "string", "enum": list(ERROR_CLASSES)},
            "message": TEXT,
            "retryable": {"type": "boolean", "description": "Whether a retry can help."},
            "recovery": {"type": "string", "description": "What to do."},
        },
        {"request_id": REQUEST_ID},
    ),
}
COMPONENTS: dict[str, Schema] = {"Problem": PROBLEM}

_SAID: dict[int, str] = {
    UNAUTHENTICATED: "The server does not know who is calling.",
    TOO_LARGE: "The request is too large.",
    WRONG_CONTENT_TYPE: "The body is not said to be JSON.",
    STATUS["conflict"]: "It contradicts what is stored, or would break one of the store's invariants.",
}


def body(schema: Schema, *, required: bool) -> Schema:
    return {"required": required, "content": {"application/json": {"schema": schema}}}


def ok(schema: Schema, status: int = 200, said: str = "Done.") -> dict[int | str, Schema]:
    return {status: {"description": said, "content": {"application/json": {"schema": schema}}}}


def problems() -> dict[int | str, Schema]:
    """Everything that can go wrong: the same at every route."""
    by_status: dict[int, str] = {}
    for name, status in STATUS.items():
        by_status.setdefault(status, (ERROR_CLASSES[name].__doc__ or "").strip())
    reference = {"schema": {"$ref": "#/components/schemas/Problem"}}
    return {
        status: {"description": said, "content": {MEDIA_TYPE: reference}}
        for status, said in sorted({**by_status, **_SAID}.items())
    }
