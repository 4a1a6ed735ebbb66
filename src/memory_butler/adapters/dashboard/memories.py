"""Lists of memories and their filters, drawn by parts of our own: a row is a few values, not a few elements."""

from collections.abc import Sequence
from typing import Any

from nicegui.element import Element

from memory_butler.adapters.dashboard.acting import ACTIONS
from memory_butler.adapters.dashboard.complaints import advice_of, message_of
from memory_butler.adapters.dashboard.elements import props_of
from memory_butler.errors import MemoryButlerError

Drawn = dict[str, Any]


class Filters(Element, component="parts/filters.js"):
    """A search box, the filters that fit, and those that are set.

    Tells of `want` (new values by name), `add` and `drop` (a name and a value), `clear` and `sort` (a name).
    """

    def __init__(self, fields: Sequence[Drawn], sorts: Sequence[Drawn], *, noun: str) -> None:
        super().__init__()
        self.props["fields"] = list(fields)
        self.props["sorts"] = list(sorts)
        self.props["noun"] = noun

    def show(self, wanted: dict[str, str], chips: Sequence[Drawn]) -> None:
        props_of(self, wanted=dict(wanted), chips=list(chips))


class Memories(Element, component="parts/memories.js"):
    """Rows of memories: a table where there is room, else cards.

    Tells of `sort` (a name), `turn` (back or on), `add` (a filter's name and value), `act` (an action and a row's id)
    and `clear`. `how` says why rows have come: asked for, or live (then nothing moves under the mouse).
    """

    def __init__(self, columns: Sequence[Drawn], *, noun: str) -> None:
        super().__init__()
        self._version = 0
        self.props["columns"] = list(columns)
        self.props["noun"] = noun
        self.props["actions"] = {
            action.name: {"label": action.label, "icon": action.icon} for action in ACTIONS.values()
        }
        self.props["rows"] = []

    def show(self, rows: Sequence[Drawn], how: str = "asked", **more: Any) -> None:
        """Show rows; `more` are the other values of the part: place, has_back, has_more, sort, descending, empty."""
        self._version += 1
        props_of(self, rows=list(rows), how=how, version=self._version, problem=None, **more)

    def replace(self, id: str, row: Drawn) -> None:
        """Show something else where a memory stands."""
        self.run_method("replace", id, row)

    def complain(self, problem: MemoryButlerError) -> None:
        """Say in the rows' place why there are none."""
        self.show([], place="", has_back=False, has_more=False, empty="")
        props_of(self, problem={"message": message_of(problem), "recovery": advice_of(problem)})

    def wait(self) -> None:
        """Other rows are on their way; if that takes long, it is to be seen."""
        self.run_method("wait")

    def settle(self) -> None:
        """Nothing has changed: what waits for it need not."""
        self._version += 1
        props_of(self, version=self._version, how="same")
