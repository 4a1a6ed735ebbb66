"""The command line. Each command parses its arguments, calls one operation and prints the result.

Exit codes: 0 success, 1 error (on stderr, or as JSON on stdout with --json), 2 usage error, 130 interrupted.
"""

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core

from memory_butler.adapters.cli import (
    connect,
    consolidate,
    dead_letters,
    edit,
    event_log,
    index,
    jobs,
    list_memories,
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
from memory_butler.adapters.cli.storage import backup, partitions
from memory_butler.adapters.cli.trust import audit, keys, purge, review
from memory_butler.errors import MemoryButlerError

# The title of commands that are groups of their own.
OTHERS = "Administer"


# The names of the same verbs in MCP and Python.
ALIASES = {"briefing": "context", "update": "edit", "mark-helpful": "helpful", "mark-harmful": "harmful"}


class _Sections(typer.core.TyperGroup):
    """Lists the commands in sections. Also accepts the names that verbs have in MCP and Python."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return super().get_command(ctx, ALIASES.get(cmd_name, cmd_name))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        shown = {name: command for name in self.list_commands(ctx) if (command := self.get_command(ctx, name))}
        sections = _names_by_section()
        named = {name for names in sections.values() for name in names}
        sections[OTHERS] = [name for name in shown if name not in named]
        width = formatter.width - 6 - max(map(len, shown))
        for title, names in sections.items():
            rows = [(name, shown[name].get_short_help_str(width)) for name in names if name in shown]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


def _names_by_section() -> dict[str, list[str]]:
    found = {section: [_name(command) for command in commands] for section, commands in SECTIONS.items()}
    for name, section in _GROUPS.items():
        found[section].insert(0, name)
    return found


def _name(command: Callable[..., object]) -> str:
    return _NAMES.get(command) or command.__name__.rstrip("_").replace("_", "-")


app = typer.Typer(
    name="memory-butler",
    cls=_Sections,
    help="Long-term memory for AI agents: facts that fade, rules that earn trust, briefings that fit.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    add_completion=True,
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
app.add_typer(partitions.partitions_app, name="partitions")
app.add_typer(backup.drill_app, name="drill")

# The commands by what people do with them, in the order of `--help` and of the reference.
SECTIONS: Mapping[str, tuple[Callable[..., object], ...]] = {
    "Remember and find": (
        *(retrieval.search, retrieval.recall, list_memories.list_memories, retrieval.get, retrieval.context),
        *(retrieval.explain, list_memories.calls, retrieval.stats, remember.store),
    ),
    "Change memories": (
        *(edit.edit, edit.tag, edit.link, memory.correct, memory.confirm),
        *(memory.helpful, memory.harmful, memory.reverse),
        *(memory.pin, memory.unpin, memory.forget, memory.forget_about, memory.restore, purge.purge, event_log.undo),
    ),
    "Connect and serve": (
        *(connect.connect, connect.disconnect, server.mcp, server.serve, server.dashboard, server.hook, server.demo),
    ),
    "Look after the store": (
        *(server.doctor, server.stop, upkeep.sweep, jobs.jobs, jobs.work, upkeep.slo, server.reindex, upkeep.recount),
        *(event_log.replay, transfer.export, transfer.import_, backup.backup, backup.restore_backup),
        *(server.uninstall, server.version),
    ),
}
_GROUPS = {"remember": "Remember and find", "consolidate": "Look after the store"}
_NAMES: Mapping[Callable[..., object], str] = {list_memories.list_memories: "list"}
for commands in SECTIONS.values():
    for command in commands:
        app.command(_NAMES.get(command))(command)

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
