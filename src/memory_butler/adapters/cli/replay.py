"""The command that compares the store with a rebuild from its event log."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from memory_butler.adapters.cli import terminal
from memory_butler.adapters.cli.options import Json, Tenant
from memory_butler.adapters.cli.terminal import settings_of
from memory_butler.errors import InvalidInput

if TYPE_CHECKING:
    from rich.console import RenderableType

    from memory_butler.operations.history.replay import Report


def replay(
    ctx: typer.Context,
    *,
    verify: Annotated[bool, typer.Option("--verify", help="Compare the rebuilt store with the live one.")] = False,
    tenant: Tenant = None,
    as_json: Json = False,
) -> None:
    """Rebuild a tenant from its event log in a scratch schema and compare: exit code 0 if equal, 1 if not."""
    from memory_butler.adapters.cli.consolidate import caller_of
    from memory_butler.operations.history import replay as replay_operation
    from memory_butler.resources import Resources

    if not verify:
        raise InvalidInput(
            "A replay rebuilds the tenant from the log in a scratch schema, compares it with the store row by row, and"
            " drops the schema. The store is not changed and can be used meanwhile. The schema needs about as much disk"
            " space as the store.",
            recovery="Run: memory-butler replay --verify",
        )

    async def task(resources: Resources) -> "Report":
        with terminal.progress_bar("Starting", percent=True) as progress:
            caller = await caller_of(resources, tenant, "replay")
            return await replay_operation.replay(resources, caller, progress=progress)

    settings = settings_of(ctx)
    report = terminal.run_task(settings, task)
    if as_json:
        terminal.print_json(_encode(report))
    else:
        terminal.console().print(_table(report, tenant or settings.tenant))
    raise typer.Exit(0 if report.equal else 1)


def _encode(report: "Report") -> dict[str, Any]:
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

    from memory_butler.adapters.cli.tables.memories import safe

    table = Table(box=None, pad_edge=False)
    for column in ("table", "live", "rebuilt", "different"):
        table.add_column(column, justify="left" if column == "table" else "right")
    for name, result in report.tables.items():
        figures = (f"{count:,}" for count in (result.live, result.rebuilt, result.differences))
        table.add_row(name.replace("_", " "), *figures, style="bold red" if result.differences else None)
    parts: list[RenderableType] = [table]
    for name, result in report.tables.items():
        for one in result.examples:
            columns = f" in {', '.join(one.columns)}" if one.columns else ""
            parts.append(Text(safe(f"✗ {name.replace('_', ' ')} {one.key}: {one.kind}{columns}"), style="yellow"))
    parts += [Text(safe(f"! The text of {owner} has been deleted."), style="yellow") for owner in report.removed_texts]
    verdict = "the store matches its log." if report.equal else "the store does not match its log."
    if report.equal and not report.events:
        verdict = f"the tenant {tenant} has none. Name another one with --tenant NAME."
    parts.append(Text(f"{report.events:,} events replayed: {verdict}"))
    return Group(*parts)


COMMANDS = (replay,)
