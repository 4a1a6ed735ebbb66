"""Plain tables, drawn in the browser from rows of ours, the form for tokens, and secrets that are shown once."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from nicegui import events
from nicegui.element import Element

from memory_butler.adapters.dashboard.elements import props_of, text_of
from memory_butler.adapters.dashboard.handling import handled

Cell = dict[str, Any]


def words(text: str, *, note: str | None = None, quiet: bool = False, whole: bool = False) -> Cell:
    """Text; `whole` only where it is short and ours, because it is not broken then."""
    return {"text": text_of(text), "note": text_of(note) if note else None, "quiet": quiet, "whole": whole}


def mark(text: str, tone: str) -> Cell:
    """A word on a coloured ground; the tone is one of ours."""
    return {"text": text, "tone": tone}


def moment(at: datetime | None, otherwise: str = "never") -> Cell:
    return {"at": at.isoformat()} if at else words(otherwise, quiet=True)


@dataclass(frozen=True, slots=True)
class Line:
    """A row: what it is found by, its cells, whether something can be done to it, and whether it is over."""

    key: str
    cells: Sequence[Cell]
    name: str = ""
    acts: bool = False
    over: bool = False

    def drawn(self) -> Cell:
        return {"key": self.key, "cells": list(self.cells), "name": text_of(self.name), "acts": self.acts,
                "over": self.over}  # fmt: skip


class Rows(Element, component="parts/rows.js"):
    """A table with these columns; those whose name begins with `>` are numbers."""

    def __init__(self, columns: Sequence[str], *, label: str, empty: str = "", act: str = "") -> None:
        super().__init__()
        self.props["columns"] = [{"label": name.removeprefix(">"), "right": name.startswith(">")} for name in columns]
        self.props["rows"] = []
        self.props["label"] = label
        self.props["empty"] = empty
        self.props["act"] = act

    def show(self, lines: Sequence[Line]) -> None:
        props_of(self, rows=[line.drawn() for line in lines])

    def on_act(self, acted: Callable[[str], Awaitable[None]]) -> None:
        """What is to be done with the row whose button was pressed. Its key is the browser's word: to be looked up."""

        async def heard(event: events.GenericEventArguments) -> None:
            await acted(str(event.args)[:200])

        self.on("act", handled(heard))


class Fold(Element, component="parts/fold.js"):
    """A card that can be folded; on a phone it is, until somebody opens it."""

    def __init__(self, title: str, about: str = "") -> None:
        super().__init__()
        self.props["title"] = title
        self.props["about"] = about

    def say(self, note: str, tone: str = "") -> None:
        """How it stands, beside its title."""
        props_of(self, note=note, tone=tone)


class Secret(Element, component="parts/secret.js"):
    """Words that a person may copy, as long as they are shown."""

    def __init__(self, secret: str) -> None:
        super().__init__()
        self.props["secret"] = secret


class TokenForm(Element, component="parts/token_form.js"):
    """Who a new token is for, as what, and for how long. Emits `create` with what was filled in."""

    def __init__(self, **offered: Any) -> None:
        super().__init__()
        self._version = 0
        props_of(self, version=0, **offered)

    def clear_label(self) -> None:
        """It was made; the next one is for somebody else."""
        self._version += 1
        props_of(self, version=self._version)
