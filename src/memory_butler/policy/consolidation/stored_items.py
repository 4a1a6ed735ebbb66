"""JSON form of proposal items, stored for display and for a later decision."""

import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any
from uuid import UUID

from memory_butler.models import Item, ItemKind, MemoryType, Permanence

SHOWN_CHARACTERS = 300
SHOWN_ENTRIES = 20
_KEYS = ("target", "subject", "predicate", "content", "permanence", "importance", "tags", "valid_at", "evidence")
_OPTIONAL = ("target", "target_type", "mentions")


def item_to_json(item: Item) -> dict[str, Any]:
    """Returns an item as plain JSON; the inverse of `item_from_json`."""
    stored: dict[str, Any] = {"kind": item.kind.value, "evidence": [str(one) for one in item.evidence]}
    is_fact = item.kind is ItemKind.FACT
    for one in fields(Item):
        value = getattr(item, one.name)
        if one.name not in stored and ((is_fact and one.name not in _OPTIONAL) or value != one.default):
            stored[one.name] = _plain(value)
    return stored


def item_from_json(stored: Mapping[str, Any]) -> Item:
    """Returns the item of its JSON form."""
    makers: dict[str, Callable[[Any], Any]] = {
        "kind": ItemKind,
        "evidence": lambda ids: tuple(UUID(one) for one in ids),
        "target": UUID,
        "target_type": MemoryType,
        "permanence": Permanence,
        "tags": tuple,
        "mentions": tuple,
        "valid_at": datetime.fromisoformat,
    }
    return Item(
        **{
            name: makers[name](value) if name in makers and value is not None else value
            for name, value in stored.items()
        }
    )


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return list(value) if isinstance(value, tuple) else value if isinstance(value, int | None) else str(value)


def excerpt(entry: object) -> dict[str, Any]:
    """Returns the storable part of a refused entry: known keys, short texts, small numbers."""
    if not isinstance(entry, dict):
        return {}
    return {key: value for key in _KEYS if key in entry and (value := _presentable(entry[key])) is not None}


def _presentable(value: object) -> Any:
    if isinstance(value, str):
        safe = "".join(
            char if char == "\n" or unicodedata.category(char) not in ("Cc", "Cs") else "�"
            for char in value[:SHOWN_CHARACTERS]
        )
        return safe if len(value) <= SHOWN_CHARACTERS else f"{safe}…"
    if isinstance(value, int) and abs(value) < 10**9:
        return value
    if isinstance(value, list):
        return [entry for entry in map(_presentable, value[:SHOWN_ENTRIES]) if isinstance(entry, str | int)]
    return None
