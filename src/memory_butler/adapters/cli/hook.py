"""The `hook` command for the help and the reference. `entry.py` handles real hooks before this module is loaded."""

from typing import Annotated

import typer

from memory_butler.adapters.hooks.handlers import EVENTS, run
from memory_butler.errors import InvalidInput


def hook(
    ctx: typer.Context,
    event: Annotated[str, typer.Argument(metavar="EVENT", help=f"{', '.join(EVENTS)}.")],
) -> None:
    """Handle a Claude Code hook: reads its JSON on stdin, calls the server on this machine, writes the response."""
    if event not in EVENTS:
        raise InvalidInput(f"{event!r} is not a hook.", recovery=f"Use one of {', '.join(EVENTS)}.")
    home = ctx.find_root().obj
    run(event, str(home) if home else None)


COMMANDS = (hook,)
