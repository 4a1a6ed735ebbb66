"""Commands for export, import, backup and restore."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memory_butler.adapters import importers
from memory_butler.adapters.cli import terminal
from memory_butler.adapters.cli.options import DryRun, Json, Tenant
from memory_butler.adapters.cli.terminal import settings_of
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
    as_json: Json = False,
) -> None:
    """Export all memories of a tenant with their history into one portable file."""
    from memory_butler.operations.transfer.export import Exported
    from memory_butler.operations.transfer.export import export as export_operation

    async def task(resources: "Resources") -> Exported:
        with terminal.progress_bar("Starting", percent=True) as progress:
            return await export_operation(
                resources,
                file,
                _caller(resources, tenant),
                events=not no_events,
                replace=replace,
                progress=progress,
            )

    done = terminal.run_task(settings_of(ctx), task)
    if as_json:
        terminal.print_json({**asdict(done), "path": str(done.path)})
        return
    terminal.console().print(_counts(done.counts))
    terminal.console().print(f"{done.tenant} → {done.path}", soft_wrap=True, markup=False)


def import_(
    ctx: typer.Context,
    path: Annotated[
        Path,
        typer.Argument(metavar="PATH", help="A file of `export`, or with --from another system's data."),
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
    """Import a file of `export` into an empty tenant, or the data of another memory system."""
    if source is not None:
        if new_ids:
            raise InvalidInput("--new-ids applies only to files of `export`; other data always gets new ids.")
        _import_foreign(ctx, path, source, tenant=tenant, dry_run=dry_run, as_json=as_json)
        return
    from memory_butler.operations.transfer.import_ import Imported
    from memory_butler.operations.transfer.import_ import import_ as import_operation

    async def task(resources: "Resources") -> Imported:
        with terminal.progress_bar("Starting", percent=True) as progress:
            caller = _caller(resources, tenant)
            return await import_operation(resources, path, caller, ids_anew=new_ids, dry_run=dry_run, progress=progress)

    done = terminal.run_task(settings_of(ctx), task)
    if as_json:
        terminal.print_json(asdict(done))
        return
    terminal.console().print(_counts(done.counts))
    terminal.console().print(
        f"{done.source}, exported {done.exported_at} → {done.tenant}: {done.outcome}.", soft_wrap=True, markup=False
    )
    for note in done.notes:
        terminal.console().print(note, soft_wrap=True, markup=False)


import_.__name__ = "import"


def _import_foreign(
    ctx: typer.Context, path: Path, source: str, *, tenant: str | None, dry_run: bool, as_json: bool
) -> None:
    from memory_butler.adapters.importers import output
    from memory_butler.operations.transfer import import_foreign

    parse = importers.parser_of(source)

    async def task(resources: "Resources") -> import_foreign.Adopted:
        caller = _caller(resources, tenant)
        parsed = parse(path, caller.principal.butler)
        with terminal.progress_bar("Starting", percent=True) as progress:
            return await import_foreign.adopt(resources, parsed, caller, dry_run=dry_run, progress=progress)

    done = terminal.run_task(settings_of(ctx), task)
    if as_json:
        terminal.print_json(output.as_json(done))
    else:
        terminal.console().print(output.table(done))


def backup(ctx: typer.Context, file: File, *, replace: Replace = False, as_json: Json = False) -> None:
    """Back up the whole embedded store into one file, while it is in use."""
    from memory_butler.operations.transfer.backup import backup as backup_operation

    with terminal.progress_bar("Starting", percent=True) as progress:
        size = backup_operation(settings_of(ctx), file, replace=replace, progress=progress)
    if as_json:
        terminal.print_json({"path": str(file), "bytes": size})
    else:
        sys.stdout.write(f"Backed up into {file} ({size / 1e6:.1f} MB).\n")


def restore_backup(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file of `backup`.")],
    *,
    replace: Annotated[
        bool, typer.Option("--replace", help="Move the existing store aside and restore the backup in its place.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Restore a backup into the home folder. With --replace an existing store is moved aside and kept."""
    from memory_butler.operations.transfer.backup import restore

    settings = settings_of(ctx)
    with terminal.progress_bar("Starting", percent=True) as progress:
        moved_to = restore(settings, file, replace=replace, progress=progress)
    if as_json:
        terminal.print_json({"home": str(settings.home), "kept": str(moved_to) if moved_to else None})
        return
    sys.stdout.write(f"Restored into {settings.home}; the database is running.\n")
    if moved_to:
        sys.stdout.write(f"The previous store is in {moved_to}; delete it when you no longer need it.\n")


def _caller(resources: "Resources", tenant: str | None) -> "Caller":
    """The local operator, in the named tenant if there is one."""
    from dataclasses import replace

    from memory_butler.policy.access.roles import switch_tenant
    from memory_butler.policy.memories.validation import slug

    caller = resources.local_operator()
    if tenant is None:
        return caller
    return replace(caller, principal=switch_tenant(caller.principal, slug(tenant, "tenant")))


def _counts(counts: dict[str, Any]) -> "RenderableType":
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("record")
    table.add_column("lines", justify="right")
    for kind, count in counts.items():
        table.add_row(kind, f"{count:,}")
    return table


COMMANDS = (export, import_, backup, restore_backup)
