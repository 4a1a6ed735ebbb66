"""Answers of a server as typed values. What does not fit is no answer of ours, whoever sent it."""

import types
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints
from uuid import UUID

Value = TypeVar("Value")
NOTHING = type(None)


class Unreadable(ValueError):
    """This is not what the server was asked for."""


def read(kind: type[Value], given: object) -> Value:
    """A value of this type from plain JSON, by the type's own annotations.

    What the type does not know is passed over, so that a newer server can say more.
    """
    value: Value = _read(kind, given)
    return value


def bare(handle: object) -> str:
    """`k3f7` of `fact:k3f7`: the type is told beside it."""
    if not isinstance(handle, str):
        raise Unreadable("a reference is not text")
    return handle.rpartition(":")[2]


def _read(kind: Any, given: Any) -> Any:
    if kind is Any or isinstance(kind, TypeVar):
        return given
    if get_origin(kind) is not None:
        return _generic(kind, given)
    if kind in (UUID, datetime) or issubclass(kind, Enum):
        return _from_text(kind, given)
    if is_dataclass(kind) or hasattr(kind, "_fields"):
        # One that is read already may stand among what is not.
        return given if type(given) is kind else _record(kind, _of(dict, given))
    if kind is float and isinstance(given, int) and not isinstance(given, bool):
        return float(given)
    return _of(kind, given)


def _generic(kind: Any, given: Any) -> Any:
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return _one_of(inner, given)
    if origin in (tuple, list):
        return origin(_read(inner[0], entry) for entry in _of((list, tuple), given))
    return {name: _read(inner[1], entry) for name, entry in _of(dict, given).items()}


def _of(kind: Any, given: Any) -> Any:
    if not isinstance(given, kind) or (isinstance(given, bool) and kind is int):
        raise Unreadable(f"{getattr(kind, '__name__', 'list')} expected, got {type(given).__name__}")
    return given


def _one_of(kinds: tuple[Any, ...], given: Any) -> Any:
    if given is None and NOTHING in kinds:
        return None
    for kind in kinds:
        if kind is not NOTHING:
            try:
                return _read(kind, given)
            except Unreadable:
                continue
    raise Unreadable("none of the types that it may have")


def _from_text(kind: Any, given: Any) -> Any:
    text = _of(str, given)
    try:
        return datetime.fromisoformat(text) if kind is datetime else kind(text)
    except ValueError as problem:
        raise Unreadable(str(problem)) from None


def _record(kind: Any, given: dict[str, Any]) -> Any:
    hints, defaults = _shape_of(kind)
    values = {}
    for name, hint in hints.items():
        if name in given:
            values[name] = _read(hint, given[name])
        elif name not in defaults:
            # The server leaves out what is not there.
            if NOTHING not in get_args(hint):
                raise Unreadable(f"{name} is missing")
            values[name] = None
    return kind(**values)


@cache
def _shape_of(kind: Any) -> tuple[dict[str, Any], frozenset[str]]:
    """The fields of a record with their types, and which of them may be left out."""
    hints = get_type_hints(kind)
    if is_dataclass(kind):
        known = {field.name: field for field in fields(kind)}
        optional = [
            name
            for name, field in known.items()
            if field.default is not MISSING or field.default_factory is not MISSING
        ]
        return {name: hints[name] for name in known}, frozenset(optional)
    return {name: hints[name] for name in kind._fields}, frozenset(kind._field_defaults)
