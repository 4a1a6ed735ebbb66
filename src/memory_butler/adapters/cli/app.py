"""The command line. Each command parses its arguments, calls one operation and prints the result.

Exit codes: 0 success, 1 error (on stderr, or as JSON on stdout with --json), 2 usage error, 130 interrupted.
"""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from memory_butler.adapters.cli import (
    connect,
    consolidate,
    dead_letters,
    event_log,
    index,
    jobs,
    memory,
    models,
    remember,
    retrieval,
    server,
    terminal,
    tokens,
    transfer,
    upkeep,
)
from memory_butler.adapters.cli.storage import backup
from memory_butler.adapters.cli.trust import audit, keys, purge, review
from memory_butler.errors import MemoryButlerError

app = typer.Typer(
    name="memory-butler",
    help="Long-term memory for AI agents: facts that fade, rules that earn trust, briefings that fit.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(remember.remember_app, name="remember")
app.add_typer(index.index_app, name="index")
app.add_typer(consolidate.consolidate_app, name="consolidate")
app.add_typer(dead_letters.dead_letters_app, name="dead-letters")
app.add_typer(review.review_app, name="review")
app.add_typer(tokens.token_app, name="token")
app.add_typer(audit.audit_app, name="audit")
app.add_typer(keys.keys_app, name="keys")
app.add_typer(models.models_app, name="models")
app.add_typer(backup.drill_app, name="drill")

# In the order of `--help` and of the reference.
COMMANDS = (
    *(retrieval.search, retrieval.recall, retrieval.get, retrieval.context, memory.confirm, memory.forget),
    *(retrieval.stats, retrieval.explain, memory.helpful, memory.harmful, memory.restore, memory.correct, memory.pin),
    *(memory.unpin, memory.reverse, memory.forget_about, purge.purge, remember.store, upkeep.sweep, upkeep.recount),
    *(event_log.undo, jobs.work, jobs.jobs, connect.connect, connect.disconnect, server.dashboard, server.hook),
    *(event_log.replay, transfer.export, transfer.import_, backup.backup, backup.restore_backup, server.serve),
    *(server.mcp, server.reindex, server.doctor, server.stop, server.uninstall, server.demo, server.version),
)
for command in COMMANDS:
    app.command()(command)

Home = Annotated[Path | None, typer.Option(help="Home folder (default: MEMORY_BUTLER_HOME or ~/.memory-butler).")]


def _version(requested: bool) -> None:
    if requested:
        server.version()
        raise typer.Exit


@app.callback()
def _root(
    ctx: typer.Context,
    home: Home = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    ctx.obj = home


def main() -> None:
    """Call boundary: prints any exception as an error with an exit code, never as a traceback."""
    terminal.prepare()
    as_json = "--json" in sys.argv[1:]
    code = 1
    try:
        app(prog_name="memory-butler")
    except MemoryButlerError as problem:
        code = terminal.print_error(problem, as_json=as_json)
    except KeyboardInterrupt:
        code = 130
    except Exception as fault:  # noqa: BLE001 (call boundary; the log gets the traceback)
        code = terminal.print_error(terminal.internal_error(fault), as_json=as_json)
    finally:
        _flush()
    sys.exit(code)


def _flush() -> None:
    """Ignore a closed pipe (`| head`)."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
