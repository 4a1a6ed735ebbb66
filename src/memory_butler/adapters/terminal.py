"""What every command shares: where the home is, text from stdin, answers as tables or JSON, errors as one block."""

import json
import os
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from memory_butler.errors import InternalError, InvalidInput, MemoryButlerError

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from memory_butler.butler import Butler
    from memory_butler.settings import Settings

Found = TypeVar("Found")


def prepare() -> None:
    """Whatever is stored, the terminal can show it; whatever is written, no other account can read it."""
    os.umask(0o077)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def settings_of(ctx: typer.Context, **given: Any) -> "Settings":
    """The settings, with the home folder and whatever else the command line names."""
    from memory_butler.settings import load_settings

    home = ctx.find_root().obj
    given = {name: value for name, value in given.items() if value is not None}
    return load_settings(**given, **({"home": home} if home else {}))


def work(settings: "Settings", task: Callable[["Butler"], Awaitable[Found]]) -> Found:
    """Open the store, do one thing, close it."""
    import asyncio

    from memory_butler.adapters.logs import configure_logging
    from memory_butler.butler import open_butler

    async def run() -> Found:
        with waiting("Opening the store …") as opened:
            async with open_butler(settings) as butler:
                opened()
                return await task(butler)

    configure_logging(settings)
    return asyncio.run(run())


def answer(
    ctx: typer.Context,
    as_json: bool,
    task: Callable[["Butler"], Awaitable[Found]],
    shape: Callable[[Found], Any],
    table: Callable[[Found], "RenderableType"],
) -> None:
    """Do one thing with the store and show what came of it, for a program or for a person."""
    found = work(settings_of(ctx), task)
    if as_json:
        print_json(shape(found))
    else:
        console().print(table(found))


def console(*, stderr: bool = False) -> "Console":
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, soft_wrap=False)


def print_json(shape: Any) -> None:
    """One line of JSON, whatever the terminal's encoding."""
    wide = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    sys.stdout.write(json.dumps(shape, ensure_ascii=not wide, separators=(",", ":")) + "\n")


@contextmanager
def waiting(message: str) -> Iterator[Callable[[], None]]:
    """A sign of life on a terminal while something takes its time; the yielded function ends it."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    status = console(stderr=True).status(message)
    status.start()
    try:
        yield status.stop
    finally:
        status.stop()


def text_of(given: str) -> str:
    """An argument as it is, or all of stdin for "-"."""
    if given != "-":
        return given
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError:
        raise InvalidInput("What came on stdin is not UTF-8 text.", recovery="Convert it to UTF-8 first.") from None


def moment_of(given: str | None, name: str) -> datetime | None:
    if given is None:
        return None
    try:
        return datetime.fromisoformat(given.strip())
    except ValueError:
        raise InvalidInput(
            f"{name} {given!r} is not a date and time.", recovery="Write it like 2026-03-01T09:30:00+01:00."
        ) from None


def handle_of(first: str, second: str | None) -> tuple[str, str]:
    """Type and id of a memory named as `fact:k3f7`, or as a type and an id."""
    if second is not None:
        return first, second
    kind, colon, rest = first.strip("[]() ").partition(":")
    if not colon:
        raise InvalidInput(
            f"{first!r} does not say what kind of memory it is.",
            recovery="Pass a reference such as fact:k3f7, or a type and an id: fact 0198….",
        )
    return kind, rest


def fail(problem: MemoryButlerError, *, as_json: bool) -> int:
    """Say what went wrong and how to recover. As JSON it goes to stdout, where the answer would have been."""
    if as_json:
        print_json(problem.as_dict())
        return 1
    from memory_butler.adapters.tables import problem_block

    console(stderr=True).print(problem_block(problem.message, problem.recovery))
    return 1


def unexpected(fault: BaseException) -> MemoryButlerError:
    """A fault nobody foresaw: its place goes to the log, its class to the person."""
    import logging

    from memory_butler.adapters import logs

    log = logs.current_log()
    if log:
        logging.getLogger("memory_butler.cli").error("unexpected fault", exc_info=fault)
        where = f" Where it happened is in {log}."
    else:
        where = f" It happened at:{logs.describe_fault(fault).strip().splitlines()[-2]}."
    return InternalError(f"An unexpected fault inside Memory Butler: {type(fault).__name__}.{where}")
