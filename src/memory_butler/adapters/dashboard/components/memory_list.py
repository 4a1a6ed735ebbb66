"""The table of memories and its filter bar."""

from collections.abc import Sequence
from typing import Any

from memory_butler.adapters.dashboard.actions.error_texts import user_advice, user_message
from memory_butler.adapters.dashboard.actions.memory_actions import ACTIONS
from memory_butler.adapters.dashboard.components.elements import VueComponent
from memory_butler.errors import MemoryButlerError

Props = dict[str, Any]


class FilterBar(VueComponent, component="filter_bar.js"):
    """Search box, filters, and the active filters as removable chips.

    Emits `change` (new values by name), `add` and `remove` (a name and a value), `clear`, `sort` (a name), `view` (a
    query), `create` and `suggest` (a field's name and the beginning of a value).
    """


class MemoryTable(VueComponent, component="memory_table.js"):
    """Rows of memories: a table on wide screens, cards on narrow ones.

    Emits `sort` (a name), `page` (previous or next), `add` (a filter's name and value), `action` (an action and a
    row's id), `open` and `edit` (a row's id), `bulk` (an action, rows and a value), `export` (a format and rows) and
    `clear`. `mode` is `request` for rows the user asked for, or `live` for an update: then no row moves
    under the mouse.
    """

    def __init__(self, columns: Sequence[Props], *, noun: str, bulk: Sequence[str] = ()) -> None:
        actions = {action.name: {"label": action.label, "icon": action.icon} for action in ACTIONS.values()}
        super().__init__(columns=list(columns), noun=noun, actions=actions, bulk=list(bulk), rows=[], opened="")
        self._version = 0

    def show(self, rows: Sequence[Props], mode: str = "request", **props: Any) -> None:
        """Show rows; other props: position, has_previous, has_next, sort, descending, hold_updates, empty."""
        self._version += 1
        self.set_props(rows=list(rows), mode=mode, version=self._version, problem=None, **props)

    def replace(self, id: str, row: Props) -> None:
        self.run_method("replace", id, row)

    def show_error(self, problem: MemoryButlerError) -> None:
        self.show([], position="", has_previous=False, has_next=False, empty="")
        self.set_props(problem={"message": user_message(problem), "recovery": user_advice(problem)})

    def start_loading(self) -> None:
        """Rows are being loaded; after a delay the table shows it."""
        self.run_method("startLoading")

    def stop_loading(self) -> None:
        """Nothing has changed."""
        self._version += 1
        self.set_props(version=self._version, mode="unchanged")
