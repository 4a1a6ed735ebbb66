"""The command that holds the store against its log."""

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memory_butler.adapters import terminal
from memory_butler.adapters.terminal import settings_of
from memory_butler.errors import InvalidInput

if TYPE_CHECKING:
    from rich.console import RenderableType

    from memory_butler.operations.replay import Report

Json = Annotated[bool, typer.Option("--json", help="Print one line of JSON.")]


def replay(
    ctx: typer.Context,
    *,
    verify: Annotated[bool, typer.Option("--verify", help="Compare the rebuilt store with the live one.")] = False,
    tenant: Annotated[
        str | None, typer.Option(help="Another tenant than this home's own; the look is on record there.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Rebuild a tenant's store from its log, beside it, and compare: exit code 0 if they are equal, 1 if not."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    from memory_butler.adapters.cli_consolidate import caller_of
    from memory_butler.butler import Butler
    from memory_butler.operations import replay as replaying

    if not verify:
        raise InvalidInput(
            "A replay rebuilds everything from the log into a schema of its own, compares it with the store row for"
            " row, and removes it again. The store stays as it is and may be used meanwhile; the schema needs about as"
            " much room on the disk as the store has.",
            recovery="Run: memory-butler replay --verify",
        )

    async def work(butler: Butler) -> "Report":
        columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
        with Progress(*columns, console=terminal.console(stderr=True), disable=not sys.stderr.isatty()) as bar:
            task = bar.add_task("Starting", total=None)
            return await replaying.replay(
                butler,
                await caller_of(butler, tenant, "replay"),
                progress=lambda stage, done, total: bar.update(task, description=stage, completed=done, total=total),
            )

    settings = settings_of(ctx)
    report = terminal.work(settings, work)
    if as_json:
        terminal.print_json(_shape(report))
    else:
        terminal.console().print(_table(report, tenant or settings.tenant))
    raise typer.Exit(0 if report.equal else 1)


def _shape(report: "Report") -> dict[str, Any]:
    return {
        "equal": report.equal,
        "events": report.events,
        "tables": {
            name: {
                "live": table.live,
                "rebuilt": table.rebuilt,
                "differences": table.differences,
                "examples": [
                    {"key": one.key, "kind": one.kind, "columns": list(one.columns)} for one in table.examples
                ],
            }
            for name, table in report.tables.items()
        },
        "removed_texts": list(report.removed_texts),
    }


def _table(report: "Report", tenant: str) -> "RenderableType":
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from memory_butler.adapters.tables import safe

    table = Table(box=None, pad_edge=False)
    for column in ("table", "live", "rebuilt", "different"):
        table.add_column(column, justify="left" if column == "table" else "right")
    for name, found in report.tables.items():
        figures = (f"{count:,}" for count in (found.live, found.rebuilt, found.differences))
        table.add_row(name.replace("_", " "), *figures, style="bold red" if found.differences else None)
    parts: list[RenderableType] = [table]
    for name, found in report.tables.items():
        for one in found.examples:
            columns = f" in {', '.join(one.columns)}" if one.columns else ""
            parts.append(Text(safe(f"✗ {name.replace('_', ' ')} {one.key}: {one.kind}{columns}"), style="yellow"))
    parts += [
        Text(safe(f"! The words of {owner} are no longer kept."), style="yellow") for owner in report.removed_texts
    ]
    verdict = "the store is what its log says." if report.equal else "the store is not what its log says."
    if report.equal and not report.events:
        verdict = f"the tenant {tenant} has none. Look at another one with --tenant NAME."
    parts.append(Text(f"{report.events:,} events replayed: {verdict}"))
    return Group(*parts)


COMMANDS = (replay,)
