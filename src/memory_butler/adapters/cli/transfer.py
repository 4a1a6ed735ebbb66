"""Commands for export and import."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memory_butler.adapters import importers
from memory_butler.adapters.cli import terminal
from memory_butler.adapters.cli.options import DryRun, Json, Tenant
from memory_butler.errors import InvalidInput

if TYPE_CHECKING:
    from rich.console import RenderableType

    from memory_butler.models import Caller
    from memory_butler.resources import Resources

Replace = Annotated[bool, typer.Option("--replace", help="Overwrite an existing file.")]


def _parse_file(file: str) -> Path:
    if file == "-":
        raise InvalidInput(
            "The file is written atomically and cannot go to stdout.",
            recovery="Name a file, then `cat` it.",
        )
    return Path(file)


File = Annotated[Path, typer.Argument(metavar="FILE", help="The file to write.", parser=_parse_file)]


def export(
    ctx: typer.Context,
    file: File,
    *,
    tenant: Tenant = None,
    no_events: Annotated[bool, typer.Option("--no-events", help="Leave out the event history and its texts.")] = False,
    replace: Replace = False,
    decrypt: Annotated[bool, typer.Option("--decrypt", help="Write encrypted texts in plain text.")] = False,
    as_json: Json = False,
) -> None:
    """Export all memories with their history into one file. For one tenant; portable to another store."""
    from memory_butler.operations.transfer.export import Exported
    from memory_butler.operations.transfer.export import export as export_operation

    async def task(resources: "Resources") -> Exported:
        options = {"events": not no_events, "replace": replace, "decrypt": decrypt}
        with terminal.progress_bar("Starting", percent=True) as progress:
            return await export_operation(resources, file, _caller(resources, tenant), **options, progress=progress)

    terminal.run_and_print(
        ctx,
        task,
        lambda done: _counts(done.counts, f"{done.tenant} → {done.path}"),
        lambda done: {**asdict(done), "path": str(done.path)},
        crop=False,
    )


def import_(
    ctx: typer.Context,
    path: Annotated[
        Path,
        typer.Argument(metavar="PATH", help="A file written by `export`, or with --from another system's data."),
    ],
    *,
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="FORMAT",
            help=f"Source format: {', '.join(importers.format_names())}.",
        ),
    ] = None,
    tenant: Tenant = None,
    new_ids: Annotated[
        bool, typer.Option("--new-ids", help="Assign new ids to memories and events; references stay.")
    ] = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Import an export, or data of another memory system. An export needs an empty tenant."""
    if source is not None:
        if new_ids:
            raise InvalidInput("--new-ids applies only to files of `export`; other data always gets new ids.")
        _import_foreign(ctx, path, source, tenant=tenant, dry_run=dry_run)
        return
    from memory_butler.operations.transfer.import_ import Imported
    from memory_butler.operations.transfer.import_ import import_ as import_operation

    def table(done: Imported) -> "RenderableType":
        head = f"{done.source}, exported {done.exported_at} → {done.tenant}: {done.outcome}."
        held = f"{done.quarantined} quarantined: `memory-butler review` lists them." if done.quarantined else ""
        return _counts(done.counts, head, *done.notes, *([held] if held else []))

    async def task(resources: "Resources") -> Imported:
        with terminal.progress_bar("Starting", percent=True) as progress:
            caller = _caller(resources, tenant)
            return await import_operation(resources, path, caller, ids_anew=new_ids, dry_run=dry_run, progress=progress)

    terminal.run_and_print(ctx, task, table, asdict, crop=False)


import_.__name__ = "import"


def _import_foreign(ctx: typer.Context, path: Path, source: str, *, tenant: str | None, dry_run: bool) -> None:
    from memory_butler.adapters.importers import output
    from memory_butler.operations.transfer import import_foreign

    parse = importers.parser_of(source)

    async def task(resources: "Resources") -> import_foreign.Adopted:
        caller = _caller(resources, tenant)
        parsed = parse(path, caller.principal.butler)
        with terminal.progress_bar("Starting", percent=True) as progress:
            return await import_foreign.adopt(resources, parsed, caller, dry_run=dry_run, progress=progress)

    terminal.run_and_print(ctx, task, output.table, output.as_json)


def _caller(resources: "Resources", tenant: str | None) -> "Caller":
    """The local operator, in the named tenant if there is one."""
    from dataclasses import replace

    from memory_butler.policy.access.roles import switch_tenant
    from memory_butler.policy.memories.validation import slug

    caller = resources.local_operator()
    if tenant is None:
        return caller
    return replace(caller, principal=switch_tenant(caller.principal, slug(tenant, "tenant")))


def _counts(counts: dict[str, Any], *lines: str) -> "RenderableType":
    from rich.console import Group

    from memory_butler.adapters.cli.tables.memories import plain_table, unwrapped

    table = plain_table("record", ">lines", pad_edge=False)
    for kind, count in counts.items():
        table.add_row(kind, f"{count:,}")
    return Group(table, *map(unwrapped, lines))
