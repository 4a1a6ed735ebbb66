"""The command that takes changes back."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from memory_butler.adapters import terminal
from memory_butler.adapters.terminal import settings_of

if TYPE_CHECKING:
    from memory_butler.models import UndoReport


def undo(
    ctx: typer.Context,
    id: Annotated[str, typer.Argument(metavar="ID", help="An event or a group, as `get` and the reports name them.")],
    *,
    skip_changed: Annotated[
        bool, typer.Option("--skip-changed", help="Undo the rest of a group if some of it cannot be undone.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be undone.")] = False,
    key: Annotated[
        str | None, typer.Option(help="Idempotency key: a repeat with the same key changes nothing.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one line of JSON, the same shape as the MCP tool's answer.")
    ] = False,
) -> None:
    """Take back an event, or all events of a group. An undo is an event too, and can be undone."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from memory_butler.adapters import shapes, tables_history
    from memory_butler.butler import Butler
    from memory_butler.operations import undo as undoing

    async def work(butler: Butler) -> "UndoReport":
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=terminal.console(stderr=True), disable=not sys.stderr.isatty()) as bar:
            task = bar.add_task("Looking", total=None)
            return await undoing.undo(
                butler,
                id,
                skip_changed=skip_changed,
                dry_run=dry_run,
                idempotency_key=key,
                progress=lambda doing, done, total: bar.update(task, description=doing, completed=done, total=total),
            )

    report = terminal.work(settings_of(ctx), work)
    if as_json:
        terminal.print_json(shapes.undone(report))
    else:
        terminal.console().print(tables_history.undone(report))


COMMANDS = (undo,)
