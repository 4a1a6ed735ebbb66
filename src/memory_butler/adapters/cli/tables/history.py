"""A memory's history and the report of an undo, in the terminal."""

from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from memory_butler.adapters.cli.tables import memories
from memory_butler.adapters.cli.tables.memories import date_of, indented, safe
from memory_butler.models import HistoryLine, MemoryDetails, UndoReport

SHOWN = 20


def portrait(memory: MemoryDetails) -> RenderableType:
    return Group(memories.portrait(memory), Text("History", style="bold"), story(memory.story))


def story(lines: Iterable[HistoryLine]) -> RenderableType:
    """The events in words, with the ids that `undo` takes."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for line in lines:
        event = line.event
        ids = [f"event {event.id}", *([f"group {event.group_id}"] if event.group_id else [])]
        text = Text(safe(line.words), style="strike" if line.undone else "")
        if line.undone:
            text.append("  (undone)", style="not strike")
        grid.add_row(date_of(event.occurred_at), Group(text, *(Text(name, style="dim") for name in ids)))
    return indented(grid)


def undone(report: UndoReport) -> RenderableType:
    """The undone changes, the skipped ones with the reason, and the command that undoes the undo."""
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
        parts.append(Text(f"! {left.ref}: {safe(left.what)} was skipped, because {safe(left.reason)}.", style="yellow"))
    parts += _more(report.skipped, len(report.left_alone))
    deleted = report.not_brought_back
    if deleted:
        names = ", ".join(deleted[:SHOWN]) + (f" and {len(deleted) - SHOWN:,} more" if len(deleted) > SHOWN else "")
        parts.append(Text(f"! Permanently deleted, cannot be restored: {names}.", style="yellow"))
    parts.append(Text(_sum(report)))
    if report.undo_id:
        parts.append(Text(f"To redo: memory-butler undo {report.undo_id}"))
    return Group(*parts)


def _more(count: int, listed: int) -> list[RenderableType]:
    left = count - min(listed, SHOWN)
    return [Text(f"… and {left:,} more")] if left > 0 else []


def _sum(report: UndoReport) -> str:
    changes = f"{report.undone:,} {'change' if report.undone == 1 else 'changes'}"
    summary = f"{changes} {'would be' if report.dry_run else 'were' if report.undone != 1 else 'was'} undone"
    if report.skipped:
        summary += f", {report.skipped:,} skipped"
    if report.already_undone:
        summary += f", {report.already_undone:,} undone before"
    return f"{summary}."
