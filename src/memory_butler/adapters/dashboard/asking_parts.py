"""The playground's pieces in the browser: the form, the results, the block with its receipt, and why."""

from typing import Any

from nicegui.element import Element

from memory_butler.adapters.dashboard.elements import props_of


class _Part(Element):
    def __init__(self, **values: Any) -> None:
        super().__init__()
        props_of(self, **values)


class AskForm(_Part, component="parts/ask.js"):
    """What is asked, as whom and how. Emits `ask` with what was filled in."""


class Results(_Part, component="parts/results.js"):
    """What a search found, each with its score as a bar of its summands."""


class Block(_Part, component="parts/block.js"):
    """The text that an agent gets, and what became of its budget. Emits `why` with a reference."""


class Why(_Part, component="parts/why.js"):
    """Why a memory is there or not. Emits `why` with a reference."""
