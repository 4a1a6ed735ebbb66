"""What a pipe gets: nothing wrapped, nothing padded, a tab between columns."""

import io

from rich.console import Group
from rich.table import Table
from rich.text import Text

from memory_butler.adapters.cli.tables.memories import finding_line, pairs_grid
from memory_butler.adapters.cli.tables.plain_output import PlainConsole, plain_lines


def test_a_table_has_tabs_and_no_padding() -> None:
    """A long cell is one line, however long, and makes no other row longer."""
    table = Table(box=None)
    for name in ("reference", "memory", "stored"):
        table.add_column(name)
    table.add_row("fact:aaaa", Text("tea\nwith milk"), "")
    table.add_row("fact:bbbb", "x" * 500, "2026-03-01")
    assert plain_lines(table) == [
        "reference\tmemory\tstored",
        "fact:aaaa\ttea with milk",
        f"fact:bbbb\t{'x' * 500}\t2026-03-01",
    ]


def test_brackets_of_a_memory_stay() -> None:
    """Text without markup is printed as it is."""
    out = io.StringIO()
    PlainConsole(file=out).print("see [bold] and [fact:tdpf]", markup=False)
    assert out.getvalue() == "see [bold] and [fact:tdpf]\n"


def test_texts_and_grids_keep_their_lines() -> None:
    """A mark stays beside its text, and the indentation of a terminal is gone."""
    finding = finding_line("home", "ok", "fine", "Go on.")
    parts = Group(Text("Scope: all"), pairs_grid({"pending_episodes": "0"}), finding)
    assert plain_lines(parts) == ["Scope: all", "pending episodes\t0", "✓ home: fine", " → Go on."]
