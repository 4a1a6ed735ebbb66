"""Commands for the server and the store."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memory_butler.adapters.cli import terminal
from memory_butler.adapters.cli.options import Json
from memory_butler.adapters.hooks.handlers import EVENTS, run
from memory_butler.errors import InvalidInput

if TYPE_CHECKING:
    from memory_butler.settings import Settings

NoWorker = Annotated[bool, typer.Option("--no-worker", help="Do not run a worker inside this process.")]


def version() -> None:
    """Print the version."""
    from importlib import metadata

    try:
        installed = metadata.version("memory-butler")
    except metadata.PackageNotFoundError:
        installed = "unknown (not installed)"
    sys.stdout.write(f"memory-butler {installed}\n")


def serve(
    ctx: typer.Context,
    host: Annotated[str | None, typer.Option(help="Address to listen on (default 127.0.0.1).")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on (default 8150).")] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, max=64, help="Server processes behind the port (default 1).")
    ] = None,
    no_worker: NoWorker = False,
) -> None:
    """Serve MCP over HTTP, REST and the dashboard until Ctrl-C."""
    import asyncio

    from memory_butler.adapters.http import app

    service = None if workers is None else {"workers": workers}
    settings = terminal.settings_of(ctx, host=host, port=port, upkeep=_without_worker(no_worker), service=service)
    if settings.service.workers == 1:
        asyncio.run(app.serve(settings))
        return
    from memory_butler.adapters.http.processes import serve_processes

    serve_processes(settings)


def dashboard(
    ctx: typer.Context,
    host: Annotated[str | None, typer.Option(help="Address to listen on (default 127.0.0.1).")] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port to listen on (default: the port of `serve` plus one).")
    ] = None,
    open_browser: Annotated[bool, typer.Option("--open", help="Open it in a browser.")] = False,
    link: Annotated[
        bool, typer.Option("--link", help="Print the start link of the running server (`serve`) instead.")
    ] = False,
) -> None:
    """Serve only the dashboard, until Ctrl-C. `serve` includes it."""
    if link:
        _start_link(terminal.settings_of(ctx, host=host, port=port), open_browser=open_browser)
        return
    import asyncio

    from memory_butler.adapters.dashboard.server.standalone import serve_dashboard

    def write(text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()

    configured = terminal.settings_of(ctx, host=host)
    default_port = configured.port + 1 if configured.port < 65535 else 8151
    settings = configured.model_copy(update={"port": default_port if port is None else port})
    asyncio.run(serve_dashboard(settings, write, open_browser=open_browser))


def _start_link(settings: "Settings", *, open_browser: bool) -> None:
    import webbrowser

    from memory_butler.adapters.http.local_access import ensure_token, start_link

    ensure_token(settings)
    address = start_link(settings, settings.reached_at())
    sys.stdout.write(f"{address}\n")
    if open_browser:
        webbrowser.open(address)


def hook(
    ctx: typer.Context,
    event: Annotated[str, typer.Argument(metavar="EVENT", help=f"{', '.join(EVENTS)}.")],
    port: Annotated[str | None, typer.Option(help="Port of the server, if the home folder has no socket.")] = None,
) -> None:
    """Handle a Claude Code hook. Reads its JSON on stdin, calls a server on this machine, writes the response."""
    if event not in EVENTS:
        raise InvalidInput(f"{event!r} is not a hook.", recovery=f"Use one of {', '.join(EVENTS)}.")
    # `entry.py` runs real hooks before this module is loaded.
    home = ctx.find_root().obj
    run(event, str(home) if home else None, port)


def mcp(
    ctx: typer.Context,
    butler: Annotated[str | None, typer.Option(help="Butler name of this agent (default 'main').")] = None,
    tools: Annotated[
        str | None,
        typer.Option(help="Tools to list: core (default), standard or all."),
    ] = None,
    no_worker: NoWorker = False,
) -> None:
    """Serve MCP over stdio, for clients that start a command."""
    import asyncio

    from memory_butler.adapters.mcp import server as door

    chosen = None if tools is None else {"tools": tools}
    settings = terminal.settings_of(ctx, butler=butler, mcp=chosen, upkeep=_without_worker(no_worker))
    asyncio.run(door.run_stdio(settings))


def _without_worker(no_worker: bool) -> dict[str, bool] | None:
    return {"worker": False} if no_worker else None


def doctor(ctx: typer.Context, as_json: Json = False) -> None:
    """Check the installation and print a fix for each problem."""
    from memory_butler.adapters.cli.tables.memories import finding_line
    from memory_butler.adapters.doctor.checks import examine
    from memory_butler.adapters.doctor.findings import Finding
    from memory_butler.adapters.telemetry.logs import silence_libraries

    silence_libraries()
    out = terminal.console()

    def show(finding: Finding) -> None:
        out.print(finding_line(finding.check, finding.status, finding.message, finding.advice))

    findings = examine(ctx.find_root().obj, (lambda finding: None) if as_json else show)
    healthy = all(finding.status != "problem" for finding in findings)
    if as_json:
        terminal.print_json({"ok": healthy, "checks": [finding.as_dict() for finding in findings]})
    else:
        out.print("No problems found." if healthy else "Problems found: see the lines marked ✗.")
    raise typer.Exit(0 if healthy else 1)


def stop(ctx: typer.Context) -> None:
    """Stop the embedded database. The next command that needs it starts it again."""
    from memory_butler.store.embedded.server import EmbeddedPostgres

    settings = terminal.settings_of(ctx)
    if settings.database_url:
        raise InvalidInput(
            "The configured database is your own PostgreSQL server, which Memory Butler does not stop.",
            recovery="Stop it where it runs, or unset MEMORY_BUTLER_DATABASE_URL to use the embedded database.",
        )
    stopped = EmbeddedPostgres(settings.home).stop()
    message = "The database has stopped. A running server or agent starts it again on its next call.\n"
    sys.stdout.write(message if stopped else "The database was not running.\n")


def uninstall(
    ctx: typer.Context,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
) -> None:
    """Delete the home folder with all memories. Lists what it deletes and asks first."""
    from memory_butler.adapters.uninstall import plan, refuse_if_used, remove

    settings = terminal.settings_of(ctx)
    planned = plan(settings)
    refuse_if_used(planned)
    out = terminal.console()
    out.print(planned.in_words(), soft_wrap=True, markup=False)
    if not yes:
        typer.confirm("Delete all of it permanently?", abort=True)
    remove(settings, planned)
    out.print("Deleted.")


def demo(
    keep: Annotated[
        bool, typer.Option("--keep", help="Create a demo store with eight weeks of invented memories instead.")
    ] = False,
    folder: Annotated[Path, typer.Option("--folder", help="Folder of the demo store.", show_default=True)] = Path(
        "~/.memory-butler-demo"
    ),
    as_json: Json = False,
) -> None:
    """Show a short demo on a temporary store. With --keep: create a store of invented memories to explore."""
    if keep:
        _create_demo(folder.expanduser().absolute(), as_json=as_json)
    else:
        from memory_butler.adapters.demo import story

        story.run_story()


def _create_demo(home: Path, *, as_json: bool) -> None:
    from memory_butler.adapters.connect.executable import executable
    from memory_butler.adapters.demo.store import create_demo_store
    from memory_butler.adapters.telemetry.logs import configure_logging
    from memory_butler.settings import load_settings

    configure_logging(load_settings(home=home))
    with terminal.progress_bar("Writing eight weeks") as update:
        count = create_demo_store(home, lambda done, total: update(None, done, total))
    command = f"MEMORY_BUTLER_HOME={shlex.quote(str(home))} {shlex.join(executable())}"
    text = (
        f"Created a demo store with {count} memories in {home}\n"
        f"Open it:    {command} serve\n"
        f"Delete it:  {command} uninstall\n"
    )
    terminal.print_result(as_json, {"home": str(home), "memories": count}, text)


def reindex(ctx: typer.Context, as_json: Json = False) -> None:
    """Rebuild the whole search index: words, names and vectors. Required after changing the text-search setting; after
    a change of the embedding model, `index reembed` is enough."""
    from memory_butler.operations.retrieval import indexing
    from memory_butler.operations.system import stats
    from memory_butler.resources import Resources

    async def task(resources: Resources) -> int:
        counted = (await stats.stats(resources))["memories"]
        total = sum(sum(states.values()) for states in counted.values())
        with terminal.progress_bar("Indexing", total=total) as update:
            return await indexing.reindex(resources, progress=lambda done: update(None, done, total))

    indexed = terminal.run_task(terminal.settings_of(ctx), task)
    text = f"Indexed {indexed} {'memory' if indexed == 1 else 'memories'}.\n"
    terminal.print_result(as_json, {"indexed": indexed}, text)
