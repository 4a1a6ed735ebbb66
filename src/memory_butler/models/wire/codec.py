"""Convert answers between typed records and JSON. Server, client and schemas all follow the records' annotations.

Three rules describe every answer:

- A field without a default is always written, also when it is null.
- A field with a default is left out when it has that value.
- `Annotated` marks on a field change its JSON name, add the type to a reference, or merge a nested record.
"""

import json
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from typing import Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints, is_typeddict
from uuid import UUID

JsonObject = dict[str, Any]
Value = TypeVar("Value")
NONE = type(None)
_NO_DEFAULT = object()
_SCALARS = frozenset({str, int, float, bool, NONE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """Mark of a field whose JSON form differs from its attribute.

    `name` is the JSON name. `prefix` is the type written in front of a reference; empty means the record's own `type`.
    `inline` merges the fields of a nested record into this one. `hidden` fields are not sent. `always` writes a field
    that has its default value, too.
    """

    name: str | None = None
    prefix: str | None = None
    inline: bool = False
    hidden: bool = False
    always: bool = False


INLINE, HIDDEN, ALWAYS = Wire(inline=True), Wire(hidden=True), Wire(always=True)
# `k3f7` in Python, `fact:k3f7` in JSON.
Reference = Annotated[str, Wire(prefix="")]
FactReference = Annotated[str, Wire(prefix="fact")]


class Unreadable(ValueError):
    """The server's answer does not have the expected form."""


@dataclass(frozen=True, slots=True)
class RecordField:
    """One field of a record: its attribute, JSON name, type, default and mark."""

    attribute: str
    name: str
    hint: Any
    default: Any
    mark: Wire

    @property
    def is_required(self) -> bool:
        return self.default is _NO_DEFAULT


def is_record(kind: Any) -> bool:
    return is_dataclass(kind) or is_typeddict(kind) or (isinstance(kind, type) and hasattr(kind, "_fields"))


def type_tag(kind: Any) -> str | None:
    """The value of `type` in JSON if it follows from the class, as for `Fact`, `Rule` and `Episode`."""
    tag = getattr(kind, "type", None)
    return tag.value if isinstance(tag, Enum) else None


@cache
def record_fields(kind: Any) -> tuple[RecordField, ...]:
    """The fields of a dataclass, named tuple or typed dictionary, in the order of its JSON."""
    origin = get_origin(kind) or kind
    hints = get_type_hints(origin, include_extras=True)
    if is_typeddict(origin):
        defaults = {name: _NO_DEFAULT if name in origin.__required_keys__ else None for name in hints}
    elif is_dataclass(origin):
        defaults = {one.name: _default(one) for one in fields(origin)}
    else:
        defaults = {name: origin._field_defaults.get(name, _NO_DEFAULT) for name in origin._fields}
    result = []
    for attribute, default in defaults.items():
        hint, mark = _unmarked(hints[attribute])
        if get_args(kind) and getattr(hint, "__parameters__", ()):
            hint = hint[get_args(kind)]
        result.append(RecordField(attribute, mark.name or attribute, hint, default, mark))
    return tuple(result)


def _default(one: Any) -> Any:
    # A value from a factory never equals the factory, so it is always written.
    if one.default_factory is not MISSING:
        return one.default_factory
    return _NO_DEFAULT if one.default is MISSING else one.default


def _unmarked(hint: Any) -> tuple[Any, Wire]:
    if get_origin(hint) is Annotated:
        inner, *marks = get_args(hint)
        return inner, next((mark for mark in marks if isinstance(mark, Wire)), Wire())
    return hint, Wire()


def copy_fields(kind: Callable[..., Value], source: Any, **changed: Any) -> Value:
    """A record of this dataclass: each field is changed, else that of the same name of `source`, else its default."""
    names = [one.name for one in fields(cast("Any", kind)) if one.name not in changed]
    return kind(**changed, **{name: getattr(source, name) for name in names if hasattr(source, name)})


def encode(value: Any) -> Any:  # noqa: PLR0911 (one return for each kind of value)
    """Any answer as JSON values: times in ISO format, ids as text."""
    kind = type(value)
    if kind in _SCALARS:
        return value
    if is_dataclass(kind) or hasattr(kind, "_fields"):
        return _encode_record(kind, value)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(encode(key)): encode(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [encode(entry) for entry in value]
    return value


def _encode_record(kind: Any, record: Any) -> JsonObject:
    tag = type_tag(kind)
    body: JsonObject = {} if tag is None else {"type": tag}
    for field in record_fields(kind):
        value, mark = getattr(record, field.attribute), field.mark
        if mark.hidden or (value == field.default and not mark.always):
            continue
        if mark.inline:
            body |= encode(value)
        elif mark.prefix is not None and value is not None:
            body[field.name] = f"{mark.prefix or record.type}:{value}"
        else:
            body[field.name] = encode(value)
    return body


def decode(kind: type[Value], data: object) -> Value:
    """A value of this type from JSON. Fields that the type does not have are ignored: a newer server may send more."""
    value: Value = _decode(kind, data)
    return value


def parse_object(text: str) -> JsonObject:
    """The JSON object in a text."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise Unreadable("no JSON") from None
    if not isinstance(value, dict):
        raise Unreadable("no object")
    return value


def _decode(kind: Any, data: Any) -> Any:
    kind, _ = _unmarked(kind)
    if kind is Any or isinstance(kind, TypeVar):
        return data
    if is_record(get_origin(kind) or kind):
        return _decode_record(kind, _checked(dict, data))
    if get_origin(kind) is not None:
        return _decode_generic(kind, data)
    if kind in (UUID, datetime) or issubclass(kind, Enum):
        return _from_text(kind, data)
    if kind is float and isinstance(data, int) and not isinstance(data, bool):
        return float(data)
    return _checked(kind, data)


def _decode_generic(kind: Any, data: Any) -> Any:
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return _decode_union(inner, data)
    if origin is Literal:
        if data not in inner:
            raise Unreadable(f"none of {', '.join(map(str, inner))}")
        return data
    if origin in (tuple, list):
        return origin(_decode(inner[0], entry) for entry in _checked((list, tuple), data))
    return {name: _decode(inner[1], entry) for name, entry in _checked(dict, data).items()}


def _checked(kind: Any, data: Any) -> Any:
    if not isinstance(data, kind) or (isinstance(data, bool) and kind is int):
        raise Unreadable(f"{getattr(kind, '__name__', 'list')} expected, got {type(data).__name__}")
    return data


def _decode_union(kinds: tuple[Any, ...], data: Any) -> Any:
    if data is None and NONE in kinds:
        return None
    for kind in kinds:
        if kind is not NONE:
            try:
                return _decode(kind, data)
            except Unreadable:
                continue
    raise Unreadable("none of the expected types")


def _from_text(kind: Any, data: Any) -> Any:
    text = _checked(str, data)
    try:
        return datetime.fromisoformat(text) if kind is datetime else kind(text)
    except ValueError as problem:
        raise Unreadable(str(problem)) from None


def _decode_record(kind: Any, data: JsonObject) -> Any:
    tag = type_tag(get_origin(kind) or kind)
    if tag is not None and data.get("type") != tag:
        raise Unreadable(f"type is not {tag}")
    values: JsonObject = {}
    for field in record_fields(kind):
        if field.mark.hidden:
            if field.is_required:
                values[field.attribute] = ""
        elif field.mark.inline:
            values[field.attribute] = _decode(field.hint, data)
        elif field.name in data:
            value = _decode(field.hint, data[field.name])
            is_reference = field.mark.prefix is not None and value is not None
            values[field.attribute] = value.rpartition(":")[2] if is_reference else value
        elif field.is_required:
            # The server leaves out optional values that are not set.
            if NONE not in get_args(field.hint):
                raise Unreadable(f"{field.name} is missing")
            values[field.attribute] = None
    return (get_origin(kind) or kind)(**values)
