"""The command behind Claude Code's hooks, as the command line shows it. `entry.py` answers before this is loaded."""

from typing import Annotated

import typer

from memory_butler.adapters.hooks.answers import EVENTS, run
from memory_butler.errors import InvalidInput


def hook(
    ctx: typer.Context,
    event: Annotated[str, typer.Argument(metavar="EVENT", help=f"{', '.join(EVENTS)}.")],
) -> None:
    """Answer a hook of Claude Code: its JSON on stdin, the answer on stdout. Asks the server on this machine."""
    if event not in EVENTS:
        raise InvalidInput(f"{event!r} is no hook.", recovery=f"Use one of {', '.join(EVENTS)}.")
    home = ctx.find_root().obj
    run(event, str(home) if home else None)


COMMANDS = (hook,)
