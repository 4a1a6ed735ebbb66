"""JSON Schema of answers, from the same types that encode them."""

import types
from datetime import datetime
from enum import Enum
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin
from uuid import UUID

from memory_butler.errors import ERROR_CLASSES
from memory_butler.models.wire.codec import RecordField, is_record, record_fields, type_tag

Schema = dict[str, Any]
_SCALARS: dict[Any, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    datetime: {"type": "string", "format": "date-time"},
    UUID: {"type": "string", "format": "uuid"},
}
REFERENCE: Schema = {"type": "string", "examples": ["fact:k3f7"]}
REQUEST_ID: Schema = {"type": "string", "description": "Id of the request."}
ERROR_PROPERTIES: dict[str, Schema] = {
    "error": {"type": "string", "enum": list(ERROR_CLASSES)},
    "message": {"type": "string"},
    "retryable": {"type": "boolean"},
    "recovery": {"type": "string", "description": "What to do."},
}


def answer_schema(kind: Any) -> Schema:
    """Schema of a whole answer, which ends with the id of its request."""
    schema = schema_of(kind)
    return {
        **schema,
        "properties": {**schema["properties"], "request_id": REQUEST_ID},
        "required": sorted({*schema["required"], "request_id"}),
    }


def output_schema(kind: Any) -> Schema:
    """Schema of a tool's structured content: its answer or an error.

    Some MCP clients validate errors against it, too. So the properties are those of both, and what is required depends
    on which of the two it is. The request id is in it if the caller passed one.
    """
    schema = schema_of(kind)
    return {
        "type": "object",
        "properties": {**ERROR_PROPERTIES, **schema["properties"], "request_id": REQUEST_ID},
        "anyOf": [{"required": schema["required"]}, {"required": list(ERROR_PROPERTIES)}],
    }


@cache
def schema_of(kind: Any) -> Schema:  # noqa: PLR0911 (one return for each kind of type)
    """Schema of any type that an answer may hold. Objects may have more fields than those named."""
    if get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    if kind in _SCALARS:
        return _SCALARS[kind]
    if is_record(get_origin(kind) or kind):
        return _object(kind)
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return {"anyOf": [schema_of(one) for one in inner]}
    if origin is Literal:
        return {"type": "string", "enum": list(inner)}
    if origin in (tuple, list):
        return {"type": "array", "items": schema_of(inner[0])}
    if origin is not None and issubclass(origin, dict):
        return {"type": "object", "additionalProperties": schema_of(inner[1])}
    if isinstance(kind, type) and issubclass(kind, Enum):
        return {"type": "string", "enum": [one.value for one in kind]}
    return {}


def _object(kind: Any) -> Schema:
    visible = [field for field in record_fields(kind) if not field.mark.hidden]
    merged = next((schema_of(field.hint) for field in visible if field.mark.inline and not is_record(field.hint)), None)
    if merged is not None:
        # A union merged into an object: each of its members with the other fields.
        rest = [field for field in visible if is_record(field.hint) or not field.mark.inline]
        return {"anyOf": [_with(one, rest) for one in merged["anyOf"]]}
    tag = type_tag(get_origin(kind) or kind)
    tagged = {} if tag is None else {"type": {"type": "string", "enum": [tag]}}
    return _with({"type": "object", "properties": tagged, "required": list(tagged)}, visible)


def _with(schema: Schema, more: list[RecordField]) -> Schema:
    properties, required = dict(schema["properties"]), {*schema["required"]}
    for field in more:
        if field.mark.inline:
            nested = schema_of(field.hint)
            properties |= nested["properties"]
            required |= {*nested["required"]}
            continue
        properties[field.name] = REFERENCE if field.mark.prefix is not None else schema_of(field.hint)
        if field.is_required or field.mark.always:
            required.add(field.name)
    return {"type": "object", "properties": properties, "required": sorted(required)}
