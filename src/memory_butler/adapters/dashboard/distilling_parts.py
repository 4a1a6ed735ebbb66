"""Consolidation's pieces in the browser: the runs, the items of one, and what was given up."""

from memory_butler.adapters.dashboard.elements import Part


class Runs(Part, component="parts/runs.js"):
    """Runs with their filters. Emits `filter` with a butler and a state, and `turn` with the place of another part."""


class Changes(Part, component="parts/changes.js"):
    """The items of a run beside what was there before. Emits `decide` with a number and `approve` or `reject`."""


class Letters(Part, component="parts/letters.js"):
    """Episodes that were given up. Emits `requeue` with references, and `turn` with the place of another part."""
