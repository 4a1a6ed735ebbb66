"""The commands that are about the store and the server rather than about a memory."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from memory_butler.adapters import terminal
from memory_butler.adapters.terminal import settings_of
from memory_butler.errors import InvalidInput

Json = Annotated[bool, typer.Option("--json", help="Print one line of JSON.")]
NoWorker = Annotated[bool, typer.Option("--no-worker", help="Leave upkeep to others; otherwise a worker runs inside.")]


def version() -> None:
    """Print the version."""
    from importlib import metadata

    try:
        found = metadata.version("memory-butler")
    except metadata.PackageNotFoundError:
        found = "unknown (not installed)"
    sys.stdout.write(f"memory-butler {found}\n")


def serve(
    ctx: typer.Context,
    host: Annotated[str | None, typer.Option(help="Address to listen on; 127.0.0.1 unless set otherwise.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on; 8150 unless set otherwise.")] = None,
    no_worker: NoWorker = False,
) -> None:
    """Serve MCP over HTTP until Ctrl-C."""
    import asyncio

    from memory_butler.adapters import http

    asyncio.run(http.serve(settings_of(ctx, host=host, port=port, upkeep=_without_worker(no_worker))))


def mcp(
    ctx: typer.Context,
    butler: Annotated[str | None, typer.Option(help="Name this agent goes by; 'main' unless set otherwise.")] = None,
    no_worker: NoWorker = False,
) -> None:
    """Serve MCP over stdio, for a client that starts it."""
    import asyncio

    from memory_butler.adapters import mcp as door

    asyncio.run(door.run_stdio(settings_of(ctx, butler=butler, upkeep=_without_worker(no_worker))))


def _without_worker(wanted: bool) -> dict[str, bool] | None:
    return {"worker": False} if wanted else None


def doctor(ctx: typer.Context, as_json: Json = False) -> None:
    """Check everything it needs, and say what to do."""
    from memory_butler.adapters.doctor import Finding, examine
    from memory_butler.adapters.logs import silence_libraries
    from memory_butler.adapters.tables import finding_line

    silence_libraries()
    out = terminal.console()

    def show(finding: Finding) -> None:
        out.print(finding_line(finding.check, finding.status, finding.message, finding.advice))

    findings = examine(ctx.find_root().obj, (lambda finding: None) if as_json else show)
    healthy = all(finding.status != "problem" for finding in findings)
    if as_json:
        terminal.print_json({"ok": healthy, "checks": [finding.as_dict() for finding in findings]})
    else:
        out.print("All is well." if healthy else "Something needs you: see the lines marked ✗.")
    raise typer.Exit(0 if healthy else 1)


def stop(ctx: typer.Context) -> None:
    """Stop the embedded database. The next command that needs it starts it again."""
    from memory_butler.store.embedded import EmbeddedPostgres

    settings = settings_of(ctx)
    if settings.database_url:
        raise InvalidInput(
            "The database is a PostgreSQL of your own, which Memory Butler does not stop.",
            recovery="Stop it where it runs, or unset MEMORY_BUTLER_DATABASE_URL to mean the embedded one.",
        )
    stopped = EmbeddedPostgres(settings.home).stop()
    still = "The database has stopped. A server or an agent that still runs starts it again when it needs it.\n"
    sys.stdout.write(still if stopped else "The database was not running.\n")


def uninstall(
    ctx: typer.Context,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Remove the home folder, with every memory. It says what exactly, then asks."""
    from memory_butler.adapters.removal import plan, remove

    settings = settings_of(ctx)
    planned = plan(settings)
    out = terminal.console()
    out.print(planned.in_words(), soft_wrap=True, markup=False)
    if not yes:
        typer.confirm("Remove all of it for good?", abort=True)
    remove(settings, planned)
    out.print("Removed.")


def demo(
    keep: Annotated[
        bool, typer.Option("--keep", help="Make a store of eight made-up weeks instead, to look around in.")
    ] = False,
    folder: Annotated[Path, typer.Option("--folder", help="Where to keep it.", show_default=True)] = Path(
        "~/.memory-butler-demo"
    ),
    as_json: Json = False,
) -> None:
    """Show the point in half a minute, on a scratch store; or make a demo store that stays."""
    if keep:
        _keep_demo(folder.expanduser().absolute(), as_json=as_json)
    else:
        from memory_butler.adapters import demo as story

        story.tell()


def _keep_demo(home: Path, *, as_json: bool) -> None:
    from rich.progress import Progress

    from memory_butler.adapters.connect.executable import executable
    from memory_butler.adapters.demo_store import filled
    from memory_butler.adapters.logs import configure_logging
    from memory_butler.settings import load_settings

    configure_logging(load_settings(home=home))
    with Progress(console=terminal.console(stderr=True), disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("Eight weeks pass")
        count = filled(home, lambda done, total: bar.update(task, completed=done, total=total))
    if as_json:
        terminal.print_json({"home": str(home), "memories": count})
        return
    command = f"MEMORY_BUTLER_HOME={shlex.quote(str(home))} {shlex.join(executable())}"
    sys.stdout.write(
        f"A demo store with {count} memories is in {home}\n"
        f"Look into it:  {command} serve\n"
        f"Remove it:     {command} uninstall\n"
    )


def reindex(ctx: typer.Context, as_json: Json = False) -> None:
    """Make the search index anew. Needed after a change of the text-search setting; after an upgrade that indexes
    otherwise, upkeep does it within a day, and this at once."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from memory_butler.butler import Butler
    from memory_butler.operations import index, report

    async def work(butler: Butler) -> int:
        counted = (await report.report(butler))["memories"]
        total = sum(sum(states.values()) for states in counted.values())
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=terminal.console(stderr=True), disable=not sys.stderr.isatty()) as progress:
            task = progress.add_task("Indexing", total=total)
            return await index.reindex(butler, progress=lambda done: progress.update(task, completed=done))

    done = terminal.work(settings_of(ctx), work)
    if as_json:
        terminal.print_json({"indexed": done})
    else:
        sys.stdout.write(f"Indexed {done} {'memory' if done == 1 else 'memories'}.\n")


COMMANDS = (serve, mcp, reindex, doctor, stop, uninstall, demo, version)
