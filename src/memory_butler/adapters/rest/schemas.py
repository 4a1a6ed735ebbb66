"""OpenAPI pieces that FastAPI does not generate: request bodies, responses and errors."""

from collections.abc import Collection
from typing import Any

from starlette.responses import Response

from memory_butler.adapters.http.problems import MEDIA_TYPE, STATUS, TOO_LARGE, UNAUTHENTICATED, WRONG_CONTENT_TYPE
from memory_butler.adapters.wire.json_schema import ERROR_PROPERTIES, Schema, answer_schema
from memory_butler.errors import ERROR_CLASSES

TEXT: Schema = {"type": "string"}
PROBLEM: Schema = {
    "description": "An error: what went wrong and what to do.",
    "type": "object",
    "properties": {
        "type": {"type": "string", "format": "uri"},
        "title": TEXT,
        "status": {"type": "integer"},
        "detail": TEXT,
        **ERROR_PROPERTIES,
        "request_id": {"type": "string", "description": "Id of the request, also in the header X-Request-Id."},
    },
    "required": ["detail", "error", "message", "recovery", "retryable", "status", "title", "type"],
}
# Fields of a page that lists without a count leave out.
TOTALS = ("total", "total_at_least")
COMPONENTS: dict[str, Schema] = {"Problem": PROBLEM}

_DESCRIPTIONS: dict[int, str] = {
    UNAUTHENTICATED: "The request is not authenticated.",
    TOO_LARGE: "The request is too large.",
    WRONG_CONTENT_TYPE: "The content type of the body is not JSON.",
    STATUS["conflict"]: "The request contradicts what is stored, or would break an invariant of the store.",
}


def request_body(schema: Schema, *, required: bool) -> Schema:
    return {"required": required, "content": {"application/json": {"schema": schema}}}


def documented(answer: Any, status: int = 200, *, omits: Collection[str] = ()) -> dict[str, Any]:
    """Arguments for FastAPI that describe a route whose response the route encodes itself.

    `omits` names optional fields of the type that this route never returns.
    """
    schema = answer_schema(answer)
    properties = {name: about for name, about in schema["properties"].items() if name not in omits}
    ok = {"description": "Success.", "content": {"application/json": {"schema": {**schema, "properties": properties}}}}
    return {"response_class": Response, "status_code": status, "responses": {status: ok, **problems()}}


def problems() -> dict[int | str, Schema]:
    """The error responses, which are the same for every route."""
    by_status: dict[int, str] = {}
    for name, status in STATUS.items():
        by_status.setdefault(status, (ERROR_CLASSES[name].__doc__ or "").strip())
    reference = {"schema": {"$ref": "#/components/schemas/Problem"}}
    return {
        status: {"description": description, "content": {MEDIA_TYPE: reference}}
        for status, description in sorted({**by_status, **_DESCRIPTIONS}.items())
    }
