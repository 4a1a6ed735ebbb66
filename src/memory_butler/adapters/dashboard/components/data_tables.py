"""Plain tables, collapsible cards, the token form, and secrets that are shown once."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from nicegui import events
from nicegui.element import Element

from memory_butler.adapters.dashboard.actions.error_handling import handle_errors
from memory_butler.adapters.dashboard.components.elements import set_props, visible_text

Cell = dict[str, Any]


def text_cell(text: str, *, note: str | None = None, muted: bool = False, nowrap: bool = False) -> Cell:
    """Text; `nowrap` only for short text of ours."""
    return {
        "text": visible_text(text),
        "note": visible_text(note) if note else None,
        "muted": muted,
        "nowrap": nowrap,
    }


def chip_cell(text: str, tone: str) -> Cell:
    """A coloured label; `tone` is one of ours."""
    return {"text": text, "tone": tone}


def time_cell(at: datetime | None, placeholder: str = "never") -> Cell:
    return {"at": at.isoformat()} if at else text_cell(placeholder, muted=True)


@dataclass(frozen=True, slots=True)
class TableRow:
    """`name` names the row in the label of its action button; inactive rows are greyed out."""

    key: str
    cells: Sequence[Cell]
    name: str = ""
    has_action: bool = False
    is_inactive: bool = False

    def as_props(self) -> Cell:
        return {
            "key": self.key,
            "cells": list(self.cells),
            "name": visible_text(self.name),
            "has_action": self.has_action,
            "is_inactive": self.is_inactive,
        }


class DataTable(Element, component="data_table.js"):
    """A table with these columns; a column whose name begins with `>` holds numbers."""

    def __init__(self, columns: Sequence[str], *, label: str, empty: str = "", action: str = "") -> None:
        super().__init__()
        self.props["columns"] = [{"label": name.removeprefix(">"), "right": name.startswith(">")} for name in columns]
        self.props["rows"] = []
        self.props["label"] = label
        self.props["empty"] = empty
        self.props["action"] = action

    def show(self, rows: Sequence[TableRow]) -> None:
        set_props(self, rows=[row.as_props() for row in rows])

    def on_action(self, handler: Callable[[str], Awaitable[None]]) -> None:
        """Call the handler with a row's key when its button is pressed. The key comes from the browser: look it up."""

        async def on_event(event: events.GenericEventArguments) -> None:
            await handler(str(event.args)[:200])

        self.on("action", handle_errors(on_event))


class CollapsibleCard(Element, component="collapsible_card.js"):
    """A card that can be collapsed; on a phone it starts collapsed."""

    def __init__(self, title: str, description: str = "") -> None:
        super().__init__()
        self.props["title"] = title
        self.props["description"] = description

    def set_note(self, note: str, tone: str = "") -> None:
        """Show a short status beside the title."""
        set_props(self, note=note, tone=tone)


class SecretField(Element, component="secret_field.js"):
    """A secret with a copy button."""

    def __init__(self, secret: str) -> None:
        super().__init__()
        self.props["secret"] = secret


class TokenForm(Element, component="token_form.js"):
    """Form for a new API token. Emits `create` with its values."""

    def __init__(self, **props: Any) -> None:
        super().__init__()
        self._version = 0
        set_props(self, version=0, **props)

    def clear_label(self) -> None:
        self._version += 1
        set_props(self, version=self._version)
