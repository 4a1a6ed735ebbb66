"""Commands for partitions: their status, and moving large tables into them."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memory_butler.adapters.cli import terminal
from memory_butler.adapters.cli.options import Json

if TYPE_CHECKING:
    from rich.console import RenderableType

    from memory_butler.operations.lifecycle.partitions import Moved, TableStatus
    from memory_butler.resources import Resources

partitions_app = typer.Typer(
    no_args_is_help=True, help="Inspect and make monthly partitions of large tables.", rich_markup_mode=None
)


@partitions_app.command("status")
def status(ctx: typer.Context, *, as_json: Json = False) -> None:
    """Show how the event log and the episodes are stored, and their partitions."""
    from memory_butler.operations.lifecycle import partitions

    def answer(found: "tuple[TableStatus, ...]") -> list[dict[str, Any]]:
        return [
            {**asdict(one.layout), "is_due": one.is_due, "partitions": list(map(asdict, one.partitions))}
            for one in found
        ]

    terminal.run_and_print(ctx, partitions.status, _render, answer)


@partitions_app.command("migrate")
def migrate(
    ctx: typer.Context,
    *,
    cancel: Annotated[
        bool, typer.Option("--cancel", help="Give up a move that is under way. The plain tables have every row.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Move the event log and the episodes into monthly partitions while the store is in use. An interrupted move
    continues. Needs about as much free disk space as the tables have."""
    from memory_butler.operations.lifecycle import partitions

    async def task(resources: "Resources") -> "tuple[Moved, ...] | tuple[str, ...]":
        if cancel:
            return await partitions.cancel(resources)
        with terminal.progress_bar("Checking", percent=True) as progress:
            return await partitions.migrate(resources, progress)

    def render(done: "tuple[Moved, ...] | tuple[str, ...]") -> str:
        lines = [
            f"The move of {one} was given up."
            if isinstance(one, str)
            else f"{one.base}: {one.compared:,} rows are in partitions now."
            for one in done
        ]
        return "\n".join(lines) or ("There is no move to give up." if cancel else "All tables have partitions already.")

    terminal.run_and_print(
        ctx, task, render, lambda done: [one if isinstance(one, str) else asdict(one) for one in done]
    )


def _render(found: "tuple[TableStatus, ...]") -> "RenderableType":
    from rich.console import Group
    from rich.text import Text

    from memory_butler.adapters.cli.tables.memories import plain_table

    parts: list[RenderableType] = []
    for one in found:
        layout = one.layout
        what = layout.layout
        if layout.state:
            what = f"{layout.state}, {layout.copied:,} rows copied; continue with: memory-butler partitions migrate"
        elif one.is_due:
            what += "; large enough for partitions: memory-butler partitions migrate"
        parts.append(Text(f"{layout.base}: about {layout.rows:,} rows, {layout.bytes / 2**20:,.1f} MB, {what}"))
        if one.partitions:
            table = plain_table("partition", ">rows (about)", ">size", ">parts", pad_edge=False)
            for part in one.partitions:
                table.add_row(part.name, f"{part.rows:,}", f"{part.bytes / 2**20:,.1f} MB", str(part.parts))
            parts.append(table)
    return Group(*parts)
