"""Shared parts of the commands: settings, input, running a task on the store, output and errors."""

import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import typer

from memory_butler.errors import InternalError, InvalidInput, MemoryButlerError, TargetUnavailable

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from memory_butler.models import Stored
    from memory_butler.resources import Resources
    from memory_butler.settings import Settings

Result = TypeVar("Result")
ProgressUpdate = Callable[[str | None, int, int | None], None]

# PostgreSQL writes its log in segments of this size.
LEAST_FREE_BYTES: Final = 16_777_216
# Commands that do not open a store, or say themselves that there is none.
CREATES_NOTHING: Final = frozenset({"uninstall", "stop", "doctor", "restore-backup"})
# Errors name MCP tools. These are the commands that do the same; a tool that is not listed has no command.
_SAME_NAME: Final = (
    *("store", "search", "recall", "explain", "get", "stats", "context", "confirm", "forget", "forget_about"),
    *("restore", "correct", "pin", "unpin", "reverse", "undo", "purge", "link"),
)
COMMANDS_OF_TOOLS: Final = {
    **{f"memory_store_{kind}": f"remember {kind}" for kind in ("episode", "fact", "rule")},
    **{f"memory_mark_{outcome}": outcome for outcome in ("helpful", "harmful")},
    **{f"memory_{name}": name.replace("_", "-") for name in _SAME_NAME},
    "memory_update": "edit",
}


def prepare() -> None:
    """Make new files private, and let the terminal replace characters that it cannot show."""
    os.umask(0o077)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def settings_of(ctx: typer.Context, **options: Any) -> "Settings":
    """The settings, with the home folder and the other options of the command line."""
    from memory_butler.settings import load_settings

    home = ctx.find_root().obj
    overrides = {name: value for name, value in options.items() if value is not None}
    settings = load_settings(**overrides, **({"home": home} if home else {}))
    if home and not settings.database_url and not settings.home.exists() and ctx.info_name not in CREATES_NOTHING:
        _confirm_new_home(settings.home)
    return settings


def _confirm_new_home(home: Path) -> None:
    """A mistyped `--home` must not create an empty store that looks like lost memories."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise InvalidInput(
            f"The home folder {home} does not exist.",
            recovery="Correct --home. To start a new store there, create the folder first:"
            f" mkdir -p {shlex.quote(str(home))}",
        )
    typer.confirm(f"{home} does not exist. Create a new memory store there?", abort=True, err=True)
    home.mkdir(mode=0o700, parents=True)


def run_task(settings: "Settings", task: Callable[["Resources"], Awaitable[Result]]) -> Result:
    """Open the store, run one task on it, and close it."""
    import asyncio

    from memory_butler.adapters.lazy_resources import first_start_line, is_first_start
    from memory_butler.adapters.telemetry.logs import configure_logging
    from memory_butler.resources import open_resources

    async def run() -> Result:
        if is_first_start(settings) and not sys.stderr.isatty():
            sys.stderr.write(f"{first_start_line(settings)}\n")
        message = first_start_line(settings) if is_first_start(settings) else "Opening the store …"
        with spinner(message) as stop_spinner:
            async with open_resources(settings) as resources:
                stop_spinner()
                return await task(resources)

    configure_logging(settings)
    try:
        return asyncio.run(run())
    except TargetUnavailable as problem:
        raise _disk_full(settings) or problem from problem.__cause__


def _disk_full(settings: "Settings") -> TargetUnavailable | None:
    """The reason why an embedded database does not answer, if that is a full disk."""
    if settings.database_url or not settings.home.is_dir():
        return None
    free = shutil.disk_usage(settings.home).free
    if free >= LEAST_FREE_BYTES:
        return None
    return TargetUnavailable(
        f"The disk that holds {settings.home} is full ({free / 1e6:.0f} MB free), so the database cannot work.",
        recovery="Free some space on it, then try again. Nothing that was stored is lost.",
    )


def run_and_print(
    ctx: typer.Context,
    task: Callable[["Resources"], Awaitable[Result]],
    render: Callable[[Result], "RenderableType"],
    to_answer: Callable[[Result], Any] = lambda result: result,
    *,
    crop: bool = True,
) -> Result:
    """Run a task on the store, print its result as JSON (with `--json`) or as a table, and return it."""
    result = run_task(settings_of(ctx), task)
    print_json(to_answer(result)) if ctx.params["as_json"] else console().print(render(result), crop=crop)
    return result


def print_result(as_json: bool, value: Any, text: str = "") -> None:
    """Print a value as JSON, or the text that says the same."""
    if as_json:
        print_json(value)
    else:
        sys.stdout.write(text)


def run_write(ctx: typer.Context, task: Callable[["Resources"], Awaitable["Stored"]]) -> None:
    """Run a task that stores or changes one memory, and print its outcome."""
    from memory_butler.adapters.cli.tables.memories import stored

    run_and_print(ctx, task, stored)


def console(*, stderr: bool = False) -> "Console":
    from rich.console import Console

    if not (sys.stderr if stderr else sys.stdout).isatty():
        from memory_butler.adapters.cli.tables.plain_output import PlainConsole

        return PlainConsole(stderr=stderr, highlight=False)
    return Console(stderr=stderr, highlight=False, soft_wrap=False)


def print_json(value: Any) -> None:
    """Print one line of JSON, with ASCII escapes unless stdout is UTF-8."""
    from memory_butler.models.wire.codec import encode

    is_utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    sys.stdout.write(json.dumps(encode(value), ensure_ascii=not is_utf8, separators=(",", ":")) + "\n")


@contextmanager
def spinner(message: str) -> Iterator[Callable[[], None]]:
    """Show a spinner on a terminal; the yielded function stops it early."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    status = console(stderr=True).status(message)
    status.start()
    try:
        yield status.stop
    finally:
        status.stop()


@contextmanager
def progress_bar(description: str, *, total: int | None = None, percent: bool = False) -> Iterator[ProgressUpdate]:
    """Show a progress bar on a terminal; the yielded function takes the stage (or None), the count and the total."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
    )

    amount = TaskProgressColumn() if percent else MofNCompleteColumn()
    columns = (TextColumn("{task.description}"), BarColumn(), amount, TimeElapsedColumn())
    with Progress(*columns, console=console(stderr=True), disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task(description, total=total)
        yield lambda stage, done, total: bar.update(task, description=stage, completed=done, total=total or None)


def read_text(argument: str) -> str:
    """An argument, or all of stdin for "-"."""
    if argument != "-":
        return argument
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError:
        raise InvalidInput("The input on stdin is not UTF-8 text.", recovery="Convert it to UTF-8 first.") from None


def request_of(ctx: typer.Context, kind: Callable[..., Result], **changed: Any) -> Result:
    """A request whose fields are the command's options of the same name, except for the changed ones."""
    from types import SimpleNamespace

    from memory_butler.models.wire.codec import copy_fields

    return copy_fields(kind, SimpleNamespace(**ctx.params), **changed)


def parse_reference(first: str, second: str | None) -> tuple[str | None, str]:
    """Type and id of a memory, from `fact:k3f7`, from `k3f7`, or from a type and an id."""
    if second is not None:
        return first, second
    kind, colon, ref = first.strip("[]() ").partition(":")
    if colon:
        return kind, ref
    from memory_butler.models import MemoryType

    if kind in set(MemoryType):
        raise InvalidInput(
            f"The reference of the {kind} is missing.",
            recovery=f"Pass {kind}:<ref>, for example {kind}:k3f7, or the type and an id: {kind} 0198….",
        )
    return None, first


def name_commands(text: str) -> str:
    """A text with the command of this program in place of each MCP tool that has one."""
    return re.sub(
        r"`?\b(memory_[a-z_]+)\b`?",
        lambda match: f"`memory-butler {COMMANDS_OF_TOOLS[match[1]]}`" if match[1] in COMMANDS_OF_TOOLS else match[0],
        text,
    )


def print_error(problem: MemoryButlerError, *, as_json: bool) -> int:
    """Print an error and its recovery; returns the exit code. JSON goes to stdout in place of the result."""
    from memory_butler.policy.trust.redaction import redact

    message, recovery = (redact(name_commands(text)).text for text in (problem.message, problem.recovery))
    if as_json:
        print_json({**problem.as_dict(), "message": message, "recovery": recovery})
        return 1
    from memory_butler.adapters.cli.tables.memories import problem_block

    console(stderr=True).print(problem_block(message, recovery))
    return 1


def internal_error(fault: BaseException) -> MemoryButlerError:
    """An unexpected exception as an error: the log gets the traceback, the user the class and where to look."""
    import logging

    from memory_butler.adapters.telemetry import logs

    log = logs.current_log()
    if log:
        logging.getLogger("memory_butler.cli").error("unexpected fault", exc_info=fault)
        where = f" The traceback is in {log}."
    else:
        where = f" It happened at:{logs.describe_fault(fault).strip().splitlines()[-2]}."
    return InternalError(f"Unexpected error in Memory Butler: {type(fault).__name__}.{where}")
