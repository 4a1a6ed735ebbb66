"""Commands that audit what is stored."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from memory_butler.adapters.cli import terminal
from memory_butler.adapters.cli.options import Json

if TYPE_CHECKING:
    from rich.console import RenderableType

    from memory_butler.operations.trust.audit_secrets import SecretsReport
    from memory_butler.resources import Resources

audit_app = typer.Typer(no_args_is_help=True, help="Audit what is stored.", rich_markup_mode=None)
SHOWN = 200


@audit_app.callback()
def audit() -> None:
    """Audit what is stored."""


@audit_app.command("secrets")
def secrets(
    ctx: typer.Context,
    *,
    redact: Annotated[
        bool, typer.Option("--redact", help="Correct facts to their text without the secret; erase the old text.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Scan all stored texts for secrets. Prints counts by kind and references, never values."""
    from memory_butler.operations.trust.audit_secrets import audit_secrets

    async def task(opened: "Resources") -> "SecretsReport":
        with terminal.progress_bar("Scanning") as update:
            return await audit_secrets(opened, redact_found=redact, progress=update)

    terminal.run_and_print(ctx, task, _table, _as_json)


def _as_json(report: "SecretsReport") -> dict[str, Any]:
    return {
        "scanned": report.scanned,
        "secrets": dict(sorted(report.counts.items())),
        "memories": [
            {"ref": one.ref, "secrets": dict(one.counts), "current": one.current, "outcome": one.outcome}
            for one in report.findings.values()
        ],
    }


def _table(report: "SecretsReport") -> "RenderableType":
    from rich.console import Group
    from rich.text import Text

    from memory_butler.adapters.cli.tables.memories import counted_kinds, plain_table

    found = counted_kinds(report.counts) if report.counts else "no secrets"
    summary = Text(f"Scanned {report.scanned:,} texts: {found}.")
    if not report.findings:
        return summary
    table = plain_table("memory", "secrets", pad_edge=False)
    table.add_column("outcome", overflow="fold")
    for one in list(report.findings.values())[:SHOWN]:
        table.add_row(one.ref, counted_kinds(one.counts), one.outcome)
    return Group(table, summary)
