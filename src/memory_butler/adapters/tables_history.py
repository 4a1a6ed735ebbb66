"""How a memory's past looks to a person in a terminal, and what taking it back did."""

from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from memory_butler.adapters import tables
from memory_butler.adapters.tables import date_of, safe
from memory_butler.models import Portrait, StoryLine, UndoReport

SHOWN = 20


def portrait(seen: Portrait) -> RenderableType:
    """One memory with everything that is known of it, and why it is like this."""
    return Group(tables.portrait(seen), Text("History", style="bold"), story(seen.story))


def story(lines: Iterable[StoryLine]) -> RenderableType:
    """Each event in words, with the ids that undo it below."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for line in lines:
        event = line.event
        ids = [f"event {event.id}", *([f"group {event.group_id}"] if event.group_id else [])]
        words = Text(safe(line.words), style="strike" if line.undone else "")
        if line.undone:
            words.append("  (undone)", style="not strike")
        grid.add_row(date_of(event.occurred_at), Group(words, *(Text(named, style="dim") for named in ids)))
    return Padding(grid, (0, 0, 0, 2), expand=False)


def undone(report: UndoReport) -> RenderableType:
    """What was undone, what was not and why, and how to take the undo back."""
    parts: list[RenderableType] = []
    for line in report.taken_back[:SHOWN]:
        state = " · ".join(word for word in (line.validity, line.maturity) if word).replace("_", "-")
        remark = f"\n  {line.remark}" if line.remark else ""
        parts.append(Text.assemble((line.ref, "cyan"), f"  {safe(line.what)} → {state}", (remark, "yellow")))
    parts += _more(report.undone, len(report.taken_back))
    for remark, times in report.remarks.items():
        if times > 1:
            parts.append(Text(f"{times:,} times: {remark}", style="yellow"))
    for left in report.left_alone[:SHOWN]:
        parts.append(Text(f"! {left.ref}: {safe(left.what)} stays, because {safe(left.reason)}.", style="yellow"))
    parts += _more(report.skipped, len(report.left_alone))
    gone = report.not_brought_back
    if gone:
        named = ", ".join(gone[:SHOWN]) + (f" and {len(gone) - SHOWN:,} more" if len(gone) > SHOWN else "")
        parts.append(Text(f"! Deleted for good, and not brought back: {named}.", style="yellow"))
    parts.append(Text(_sum(report)))
    if report.undo_id:
        parts.append(Text(f"To take this back: memory-butler undo {report.undo_id}"))
    return Group(*parts)


def _more(count: int, listed: int) -> list[RenderableType]:
    left = count - min(listed, SHOWN)
    return [Text(f"… and {left:,} more")] if left > 0 else []


def _sum(report: UndoReport) -> str:
    changes = f"{report.undone:,} {'change' if report.undone == 1 else 'changes'}"
    said = f"{changes} {'would be' if report.dry_run else 'were' if report.undone != 1 else 'was'} undone"
    if report.skipped:
        said += f", {report.skipped:,} left alone"
    if report.already_undone:
        said += f", {report.already_undone:,} undone before"
    return f"{said}."
