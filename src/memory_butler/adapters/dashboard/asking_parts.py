"""The playground's pieces in the browser: the form, the results, the block with its receipt, and why."""

from memory_butler.adapters.dashboard.elements import Part


class AskForm(Part, component="parts/ask.js"):
    """What is asked, as whom and how. Emits `ask` with what was filled in."""


class Results(Part, component="parts/results.js"):
    """What a search found, each with its score as a bar of its summands."""


class Block(Part, component="parts/block.js"):
    """The text that an agent gets, and what became of its budget. Emits `why` with a reference."""


class Why(Part, component="parts/why.js"):
    """Why a memory is there or not. Emits `why` with a reference."""
