"""Lists of what stands around a memory, drawn by a part of our own: a row is a few values, not a few elements."""

from collections.abc import Sequence
from typing import Any

from nicegui.element import Element

Group = dict[str, Any]


class Entries(Element, component="parts/entries.js"):
    """Groups of entries under a title each; `form` is `line` for what happened one after another."""

    def __init__(self, groups: Sequence[Group], *, form: str = "") -> None:
        super().__init__()
        self.props["groups"] = list(groups)
        self.props["form"] = form
