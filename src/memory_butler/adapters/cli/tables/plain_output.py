"""Output for a pipe or a file: a line per row, tabs between the columns of a table, nothing wrapped or padded."""

import io
from collections.abc import Iterable

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

# More than any line has.
_WIDTH = 100_000


class PlainConsole(Console):
    """A console that is no terminal: what it prints is for another program or for a file."""

    def print(self, *objects: object, sep: str = " ", end: str = "\n", **options: object) -> None:
        is_plain = options.get("markup") is False
        parts = (Text(part) if is_plain and isinstance(part, str) else part for part in objects)
        lines = [line for part in parts for line in plain_lines(part)]
        self.file.write("\n".join(lines) + end)
        self.file.flush()


def plain_lines(part: object) -> list[str]:
    """The text of a renderable, a line for each of its lines and rows."""
    if isinstance(part, Text):
        return _stripped(part.plain)
    if isinstance(part, str):
        return _stripped(Text.from_markup(part).plain)
    if isinstance(part, Group):
        return [line for inner in part.renderables for line in plain_lines(inner)]
    if isinstance(part, Padding):
        return plain_lines(part.renderable)
    if isinstance(part, Table):
        return list(_rows(part))
    out = io.StringIO()
    Console(file=out, width=_WIDTH, highlight=False, no_color=True).print(part)
    return _stripped(out.getvalue().rstrip("\n"))


def _stripped(text: str) -> list[str]:
    return [line.rstrip() for line in text.split("\n")]


def _rows(table: Table) -> Iterable[str]:
    """The header, if it has names, and the rows. Cells that stand close together, such as a mark and its text, get a
    space between them."""
    between = "\t" if table.show_header or table.padding[1] > 1 else " "
    names = [_cell(column.header) for column in table.columns]
    if table.title:
        yield from plain_lines(table.title)
    if table.show_header and any(names):
        yield between.join(names).rstrip()
    for row in zip(*(column.cells for column in table.columns), strict=True):
        yield between.join(map(_cell, row)).rstrip()


def _cell(value: RenderableType) -> str:
    return " ".join(line.strip() for line in plain_lines(value)).strip()
