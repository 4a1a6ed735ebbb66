"""The command that undoes changes."""

from typing import TYPE_CHECKING, Annotated

import typer

from memory_butler.adapters.cli import terminal
from memory_butler.adapters.cli.options import DryRun, Key, ToolJson
from memory_butler.adapters.cli.terminal import settings_of

if TYPE_CHECKING:
    from memory_butler.models import UndoReport


def undo(
    ctx: typer.Context,
    id: Annotated[str, typer.Argument(metavar="ID", help="Id of an event or a group, shown by `get` and the reports.")],
    *,
    skip_changed: Annotated[
        bool, typer.Option("--skip-changed", help="Undo the rest of a group if some changes cannot be undone.")
    ] = False,
    dry_run: DryRun = False,
    key: Key = None,
    as_json: ToolJson = False,
) -> None:
    """Undo an event, or all events of a group. An undo is an event too and can be undone."""
    from memory_butler.adapters.cli.tables import history
    from memory_butler.adapters.wire import answers
    from memory_butler.operations.history import undo as undo_operation
    from memory_butler.resources import Resources

    async def task(resources: Resources) -> "UndoReport":
        with terminal.progress_bar("Checking") as progress:
            return await undo_operation.undo(
                resources,
                id,
                skip_changed=skip_changed,
                dry_run=dry_run,
                idempotency_key=key,
                progress=progress,
            )

    report = terminal.run_task(settings_of(ctx), task)
    if as_json:
        terminal.print_json(answers.undo_answer(report))
    else:
        terminal.console().print(history.undone(report))


COMMANDS = (undo,)
