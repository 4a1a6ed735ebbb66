"""Plain tables, collapsible cards, the token form, and secrets that are shown once."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Any

from nicegui import events

from memory_butler.adapters.dashboard.actions.error_handling import handle_errors
from memory_butler.adapters.dashboard.components.elements import VueComponent, visible_text

Cell = dict[str, Any]
Row = dict[str, Any]


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


def table_row(key: str, *cells: Cell, **options: Any) -> Row:
    """A row; options: `name` for the label of its action button, `has_action`, `is_inactive` for a greyed-out row."""
    return {"key": key, "cells": list(cells), "name": "", "has_action": False, "is_inactive": False, **options}


class DataTable(VueComponent, component="data_table.js"):
    """A table with these columns; a column whose name begins with `>` holds numbers."""

    def __init__(self, columns: Sequence[str], *, label: str, empty: str = "", action: str = "") -> None:
        heads = [{"label": name.removeprefix(">"), "right": name.startswith(">")} for name in columns]
        super().__init__(columns=heads, rows=[], label=label, empty=empty, action=action)

    def show(self, rows: Sequence[Row]) -> None:
        self.set_props(rows=list(rows))

    def on_action(self, handler: Callable[[str], Awaitable[None]]) -> None:
        """Call the handler with a row's key when its button is pressed. The key comes from the browser: look it up."""

        async def on_event(event: events.GenericEventArguments) -> None:
            await handler(str(event.args)[:200])

        self.on("action", handle_errors(on_event))


class CollapsibleCard(VueComponent, component="collapsible_card.js"):
    """A card that can be collapsed; on a phone it starts collapsed."""

    def __init__(self, title: str, description: str = "") -> None:
        super().__init__(title=title, description=description)

    def set_note(self, note: str, tone: str = "") -> None:
        """Show a short status beside the title."""
        self.set_props(note=note, tone=tone)


class SecretField(VueComponent, component="secret_field.js"):
    """A secret with a copy button."""


class TokenForm(VueComponent, component="token_form.js"):
    """Form for a new API token. Emits `create` with its values. Another `version` clears the label."""
