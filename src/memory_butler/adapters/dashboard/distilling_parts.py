"""Consolidation's pieces in the browser: the runs, the items of one, and what was given up."""

from typing import Any

from nicegui.element import Element

from memory_butler.adapters.dashboard.elements import props_of


class _Part(Element):
    def __init__(self, **values: Any) -> None:
        super().__init__()
        props_of(self, **values)


class Runs(_Part, component="parts/runs.js"):
    """Runs with their filters. Emits `filter` with a butler and a state, and `turn` with the place of another part."""


class Changes(_Part, component="parts/changes.js"):
    """The items of a run beside what was there before. Emits `decide` with a number and `approve` or `reject`."""


class Letters(_Part, component="parts/letters.js"):
    """Episodes that were given up. Emits `requeue` with references, and `turn` with the place of another part."""
