"""A forgotten memory in the terminal: what came from it alone, and the next command."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from memory_butler.adapters.cli.tables.memories import indented, safe, stored, unwrapped
from memory_butler.models import DerivedMemory, Stored


def forgotten(result: Stored) -> RenderableType:
    """The outcome, then what came from the memory alone: withdrawn with it, or still in use."""
    if not result.derived:
        return stored(result)
    if result.withdrawn:
        names = ", ".join(one.ref for one in result.derived)
        more = f" and {result.withdrawn - len(result.derived):,} more" if result.withdrawn > len(result.derived) else ""
        undo = unwrapped(f"To undo: memory-butler undo {result.group_id}")
        what = f"Withdrew {_memories(result.withdrawn)} that came from it alone: {names}{more}."
        return Group(stored(result), Text(what), undo)
    count = len(result.derived)
    what = f"{_memories(count)} that came from it alone {'is' if count == 1 else 'are'} still in use:"
    withdraw = f"memory-butler forget {result.type}:{result.ref} --derived"
    them = "it" if count == 1 else "them"
    return Group(stored(result), Text(what), _lines(result.derived), unwrapped(f"To withdraw {them}, too: {withdraw}"))


def _lines(derived: tuple[DerivedMemory, ...]) -> RenderableType:
    grid = Table.grid(padding=(0, 2))
    for one in derived:
        grid.add_row(Text(one.ref, style="cyan", no_wrap=True), Text(safe(one.line or "")))
    return indented(grid)


def _memories(count: int) -> str:
    return "1 memory" if count == 1 else f"{count:,} memories"
