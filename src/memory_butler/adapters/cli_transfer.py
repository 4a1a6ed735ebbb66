"""The commands that carry memories from one place to another: export and import, backup and restore."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memory_butler.adapters import terminal
from memory_butler.adapters.terminal import settings_of
from memory_butler.errors import InvalidInput

if TYPE_CHECKING:
    from rich.console import RenderableType

    from memory_butler.butler import Butler
    from memory_butler.models import Caller
    from memory_butler.operations.transfer_file import Progress

Json = Annotated[bool, typer.Option("--json", help="Print one line of JSON.")]
Tenant = Annotated[str | None, typer.Option(help="Another tenant than this home's own; the look is on record there.")]
Replace = Annotated[bool, typer.Option("--replace", help="Write over a file of that name.")]


def _named(file: str) -> Path:
    if file == "-":
        raise InvalidInput(
            "A file that is written whole or not at all cannot go to standard output.",
            recovery="Name a file. Afterwards `cat` it where you want it.",
        )
    return Path(file)


File = Annotated[Path, typer.Argument(metavar="FILE", help="The file to write.", parser=_named)]


def export(
    ctx: typer.Context,
    file: File,
    *,
    tenant: Tenant = None,
    no_events: Annotated[bool, typer.Option("--no-events", help="Leave out the history, and what it says.")] = False,
    replace: Replace = False,
    as_json: Json = False,
) -> None:
    """Write all memories of a tenant, with their history, into one portable file."""
    from memory_butler.operations.export import Exported
    from memory_butler.operations.export import export as exporting

    async def work(butler: "Butler") -> Exported:
        with _bar() as progress:
            return await exporting(
                butler,
                file,
                _caller(butler, tenant),
                events=not no_events,
                replace=replace,
                progress=progress,
            )

    done = terminal.work(settings_of(ctx), work)
    if as_json:
        terminal.print_json({**asdict(done), "path": str(done.path)})
        return
    terminal.console().print(_counts(done.counts))
    terminal.console().print(f"{done.tenant} → {done.path}", soft_wrap=True, markup=False)


def import_(
    ctx: typer.Context,
    path: Annotated[
        Path, typer.Argument(metavar="PATH", help="A file of `export`; with --from what another memory has left.")
    ],
    *,
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="FORMAT",
            help="Whose memories they are: mcp-memory, mem0, claude-mem, mcp-memory-service, markdown or claude-code.",
        ),
    ] = None,
    tenant: Tenant = None,
    new_ids: Annotated[
        bool, typer.Option("--new-ids", help="Give memories and events new ids; references stay.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check everything, show what would be stored.")] = False,
    as_json: Json = False,
) -> None:
    """Bring in memories: a file of `export` into a tenant that has none, or what another memory has stored."""
    if source is not None:
        if new_ids:
            raise InvalidInput("--new-ids is for files of `export`; what comes from elsewhere has new ids anyway.")
        _adopt(ctx, path, source, tenant=tenant, dry_run=dry_run, as_json=as_json)
        return
    from memory_butler.operations.import_ import Imported
    from memory_butler.operations.import_ import import_ as importing

    async def work(butler: "Butler") -> Imported:
        with _bar() as progress:
            caller = _caller(butler, tenant)
            return await importing(butler, path, caller, ids_anew=new_ids, dry_run=dry_run, progress=progress)

    done = terminal.work(settings_of(ctx), work)
    if as_json:
        terminal.print_json(asdict(done))
        return
    terminal.console().print(_counts(done.counts))
    terminal.console().print(
        f"{done.source}, exported {done.exported_at} → {done.tenant}: {done.outcome}.", soft_wrap=True, markup=False
    )


import_.__name__ = "import"


def _adopt(ctx: typer.Context, path: Path, source: str, *, tenant: str | None, dry_run: bool, as_json: bool) -> None:
    from memory_butler.adapters import importers
    from memory_butler.operations import adopt

    parse = importers.parser_of(source)

    async def work(butler: "Butler") -> adopt.Adopted:
        caller = _caller(butler, tenant)
        parsed = parse(path, caller.principal.butler)
        with _bar() as progress:
            return await adopt.adopt(butler, parsed, caller, dry_run=dry_run, progress=progress)

    done = terminal.work(settings_of(ctx), work)
    if as_json:
        terminal.print_json(importers.shape(done))
    else:
        terminal.console().print(importers.table(done))


def backup(ctx: typer.Context, file: File, *, replace: Replace = False, as_json: Json = False) -> None:
    """Copy the whole embedded store into one file, while it is in use."""
    from memory_butler.operations.backup import backup as backing_up

    with _bar() as progress:
        size = backing_up(settings_of(ctx), file, replace=replace, progress=progress)
    if as_json:
        terminal.print_json({"path": str(file), "bytes": size})
    else:
        sys.stdout.write(f"Backed up into {file} ({size / 1e6:.1f} MB).\n")


def restore_backup(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file of `backup`.")],
    *,
    replace: Annotated[
        bool, typer.Option("--replace", help="Put the store that is there aside, and take the backup's place.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Make a backup the store of the home folder. A store that is there is put aside, if you say so, and kept."""
    from memory_butler.operations.backup import restore

    settings = settings_of(ctx)
    with _bar() as progress:
        kept = restore(settings, file, replace=replace, progress=progress)
    if as_json:
        terminal.print_json({"home": str(settings.home), "kept": str(kept) if kept else None})
        return
    sys.stdout.write(f"Restored into {settings.home}; it has started.\n")
    if kept:
        sys.stdout.write(f"The store that was there is kept in {kept} until you remove it.\n")


def _caller(butler: "Butler", tenant: str | None) -> "Caller":
    """The person at the machine, who looks after all tenants; in another one by asking for it."""
    from dataclasses import replace

    from memory_butler.policy.admission import slug
    from memory_butler.policy.roles import visiting

    caller = butler.local_operator()
    if tenant is None:
        return caller
    return replace(caller, principal=visiting(caller.principal, slug(tenant, "tenant")))


@contextmanager
def _bar() -> "Iterator[Progress]":
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=terminal.console(stderr=True), disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("Starting", total=None)
        yield lambda stage, done, total: bar.update(task, description=stage, completed=done, total=total)


def _counts(counts: dict[str, Any]) -> "RenderableType":
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("record")
    table.add_column("lines", justify="right")
    for kind, count in counts.items():
        table.add_row(kind, f"{count:,}")
    return table


COMMANDS = (export, import_, backup, restore_backup)
