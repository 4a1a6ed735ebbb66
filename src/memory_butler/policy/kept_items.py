"""What is kept of the items of a proposal, to be shown and decided on later: plain JSON."""

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


def shown(item: Item) -> dict[str, Any]:
    """What is kept of an item: plain JSON, from which `item_from` makes it again."""
    kept: dict[str, Any] = {"kind": item.kind.value, "evidence": [str(one) for one in item.evidence]}
    is_fact = item.kind is ItemKind.FACT
    for one in fields(Item):
        value = getattr(item, one.name)
        if one.name not in kept and ((is_fact and not one.name.startswith("target")) or value != one.default):
            kept[one.name] = _plain(value)
    return kept


def item_from(kept: Mapping[str, Any]) -> Item:
    """The item again from what was kept of it."""
    given = dict(kept)
    makers: dict[str, Callable[[Any], Any]] = {
        "kind": ItemKind,
        "evidence": lambda ids: tuple(UUID(one) for one in ids),
        "target": UUID,
        "target_type": MemoryType,
        "permanence": Permanence,
        "tags": tuple,
        "valid_at": datetime.fromisoformat,
    }
    return Item(
        **{
            name: makers[name](value) if name in makers and value is not None else value
            for name, value in given.items()
        }
    )


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return list(value) if isinstance(value, tuple) else value if isinstance(value, int | None) else str(value)


def as_given(given: object) -> dict[str, Any]:
    """As much of a refused item as can be kept and shown: known keys, short texts, small numbers."""
    if not isinstance(given, dict):
        return {}
    return {key: kept for key in _KEYS if key in given and (kept := _presentable(given[key])) is not None}


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
