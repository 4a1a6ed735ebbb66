"""Commands for backups: one file, a continuous archive, restore, and the recovery drill."""

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memory_butler.adapters.cli import terminal
from memory_butler.adapters.cli.options import Json
from memory_butler.adapters.cli.times import parse_time
from memory_butler.errors import InvalidInput

if TYPE_CHECKING:
    from memory_butler.operations.transfer.backup import Restored
    from memory_butler.operations.transfer.recovery_drill import ArchiveReport, DrillReport
    from memory_butler.operations.transfer.restore_check import CheckedTenant
    from memory_butler.settings import Settings

drill_app = typer.Typer(no_args_is_help=True, help="Rehearse a disaster.", rich_markup_mode=None)


@drill_app.callback()
def _drills() -> None:
    """Rehearse a disaster."""


def backup(
    ctx: typer.Context,
    file: Annotated[
        Path | None,
        typer.Argument(metavar="PATH", help="The file to write; with --continuous the folder of the archive."),
    ] = None,
    *,
    continuous: Annotated[
        bool,
        typer.Option("--continuous", help="Archive every change until Ctrl-C: base backups and the write-ahead log."),
    ] = False,
    once: Annotated[
        bool, typer.Option("--once", help="With --continuous: bring the archive up to date, then exit.")
    ] = False,
    end: Annotated[
        bool,
        typer.Option("--end", help="With --continuous: end it for good. The archive stays; no log is kept for it."),
    ] = False,
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite an existing file.")] = False,
    as_json: Json = False,
) -> None:
    """Back up the embedded store into one file, while in use. With --continuous: any store, into a folder."""
    settings = terminal.settings_of(ctx)
    if str(file) == "-":
        raise InvalidInput(
            "The file is written atomically and cannot go to stdout.", recovery="Name a file, then `cat` it."
        )
    if continuous:
        _archive(settings, file, once=once, end=end, as_json=as_json)
        return
    if once or end:
        raise InvalidInput("--once and --end belong to a continuous backup.", recovery="Add --continuous.")
    if file is None:
        raise InvalidInput("The file is missing.", recovery="Name it: memory-butler backup FILE.")
    from memory_butler.operations.transfer.backup import backup as backup_operation

    with terminal.progress_bar("Starting", percent=True) as progress:
        size = backup_operation(settings, file, replace=replace, progress=progress)
    text = f"Backed up into {file} ({size / 1e6:.1f} MB).\n"
    terminal.print_result(as_json, {"path": str(file), "bytes": size}, text)


def _archive(settings: "Settings", folder: Path | None, *, once: bool, end: bool, as_json: bool) -> None:
    from memory_butler.operations.transfer import continuous_backup as operation

    if end:
        ended = operation.end_archive(settings, folder)
        text = f"The backup into {ended} has ended. The archive stays until you delete it.\n"
        terminal.print_result(as_json, {"archive": str(ended)}, text)
    elif once:
        with terminal.progress_bar("Starting", percent=True) as progress:
            done = operation.archive_once(settings, folder, progress)
        made = " A base backup was made." if done.step.base else ""
        text = f"{done.folder} is up to date: {done.bases} base backup{'s' * (done.bases != 1)}.{made}\n"
        answer = {"archive": str(done.folder), "base_backups": done.bases, "made": bool(done.step.base)}
        terminal.print_result(as_json, answer, text)
    else:
        _archive_until_stopped(settings, folder, as_json=as_json)


def _archive_until_stopped(settings: "Settings", folder: Path | None, *, as_json: bool) -> None:
    import signal
    import threading

    from memory_butler.operations.transfer import continuous_backup as operation

    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())

    def tell(line: str) -> None:
        at = datetime.now(UTC).isoformat(timespec="seconds")
        terminal.print_result(as_json, {"at": at, "message": line}, f"{at} {line}\n")
        sys.stdout.flush()

    rules = settings.backup
    tell(
        f"Archiving into {operation.folder_of(settings, folder)}: a base backup every {rules.base_hours:g} hours, any"
        f" moment of the last {rules.keep_days:g} days. Ctrl-C stops it; the database keeps the log meanwhile."
    )
    operation.archive_continuously(settings, folder, tell, stop)


def restore_backup(
    ctx: typer.Context,
    path: Annotated[
        Path, typer.Argument(metavar="PATH", help="A file written by `backup`, or the folder of a continuous backup.")
    ],
    *,
    to: Annotated[
        str | None,
        typer.Option(
            "--to", metavar="TIME", help="Of a continuous backup: the state at this time: 2026-03-01T09:30:00+01:00."
        ),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Move the existing store aside and restore the backup in its place.")
    ] = False,
    verify: Annotated[
        bool, typer.Option("--verify/--no-verify", help="Afterwards rebuild every tenant from its log and compare.")
    ] = True,
    as_json: Json = False,
) -> None:
    """Restore a backup into the home folder and verify it. With --replace an existing store is moved aside and kept."""
    from memory_butler.operations.transfer.backup import restore

    settings, moment = terminal.settings_of(ctx), parse_time(to, "--to")
    with terminal.progress_bar("Starting", percent=True) as progress:
        restored = restore(settings, path, moment=moment, replace=replace, progress=progress)
    tenants = _checked(settings) if verify else []
    answer = {
        "home": str(settings.home),
        "kept": str(restored.kept) if restored.kept else None,
        "last_commit": restored.recovered.last_commit if restored.recovered else None,
        "tenants": [{"tenant": one.tenant, "events": one.events, "problem": one.problem} for one in tenants],
    }
    terminal.print_result(as_json, answer, _restored(settings, restored, moment) + _verdict(tenants))
    raise typer.Exit(1 if any(one.problem for one in tenants) else 0)


def _restored(settings: "Settings", restored: "Restored", moment: datetime | None) -> str:
    text = f"Restored into {settings.home}; the database is running.\n"
    if recovered := restored.recovered:
        last = recovered.last_commit
        text += f"The last change in it is of {last.isoformat()}.\n" if last else "Nothing changed since the backup.\n"
        if moment and not recovered.stopped_at_moment:
            text += f"The archive has no later change up to {moment.isoformat()}.\n"
    if restored.kept:
        text += f"The previous store is in {restored.kept}; delete it when you no longer need it.\n"
    return text


def _checked(settings: "Settings") -> "list[CheckedTenant]":
    from memory_butler.operations.transfer.restore_check import check_tenants
    from memory_butler.resources import Resources

    async def task(resources: Resources) -> "list[CheckedTenant]":
        with terminal.progress_bar("Checking", percent=True) as progress:
            return await check_tenants(resources, progress)

    return terminal.run_task(settings, task)


def _verdict(tenants: "list[CheckedTenant]") -> str:
    lines = [f"✗ {one.tenant}: {one.problem}." for one in tenants if one.problem]
    good = [one for one in tenants if one.problem is None]
    if good:
        events = sum(one.events for one in good)
        what = "tenant matches its log" if len(good) == 1 else "tenants match their logs"
        lines.append(f"{len(good)} {what} ({events:,} events).")
    return "".join(f"{line}\n" for line in lines)


@drill_app.command("recovery")
def recovery(
    ctx: typer.Context,
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="FOLDER", help="An archive to restore into a scratch folder. Default: a scratch store is lost."
        ),
    ] = None,
    *,
    seconds: Annotated[float, typer.Option(min=0.5, max=3600, help="How long the scratch store is written to.")] = 10,
    scratch: Annotated[
        Path | None, typer.Option(help="Folder for the scratch store (default: the system's temporary folder).")
    ] = None,
    as_json: Json = False,
) -> None:
    """Rehearse the loss of a store: write under load, lose the data folder, restore, compare with what was
    acknowledged. With FOLDER: restore that archive elsewhere and verify it. Your store is not touched."""
    import asyncio
    import shutil
    import tempfile
    from dataclasses import asdict

    from memory_butler.adapters.telemetry.logs import silence_libraries
    from memory_butler.operations.transfer import recovery_drill as operation

    silence_libraries()
    place = Path(tempfile.mkdtemp(prefix="memory-butler-drill-", dir=scratch))
    report: ArchiveReport | DrillReport
    try:
        with terminal.progress_bar("Starting", percent=True) as progress:
            if folder:
                report = asyncio.run(operation.try_archive(terminal.settings_of(ctx), folder, place, progress))
            else:
                report = asyncio.run(operation.drill(place, seconds, progress))
    finally:
        shutil.rmtree(place, ignore_errors=True)
    answer: dict[str, Any] = {"passed": report.passed, **asdict(report)}
    terminal.print_result(as_json, answer, rehearsed(report) + _verdict(report.tenants))
    raise typer.Exit(0 if report.passed else 1)


def rehearsed(report: "ArchiveReport | DrillReport") -> str:
    """The result of a drill in words."""
    from memory_butler.operations.transfer.recovery_drill import DrillReport

    if isinstance(report, DrillReport):
        lines = [
            f"{report.acknowledged:,} writes acknowledged, then the data folder was lost; {report.lost:,} lost.",
            f"RPO {report.rpo_seconds:.3f} s (age of the oldest lost write),"
            f" RTO {report.rto_seconds:.1f} s (from the loss to the first answer).",
            f"Restore to a moment halfway: {report.halfway_wrong:,} writes wrong.",
        ]
    else:
        last = report.last_commit.isoformat() if report.last_commit else "none"
        lines = [f"Restored {report.archive} elsewhere in {report.rto_seconds:.1f} s (RTO). Last change: {last}."]
        for tenant, count in (report.lacking or {}).items():
            if count:
                lines.append(f"{tenant}: the archive lacks the last {count:,} events of the running store.")
        if report.lacking is not None and not any(report.lacking.values()):
            lines.append("The archive has every event of the running store.")
    return "".join(f"{line}\n" for line in lines)
