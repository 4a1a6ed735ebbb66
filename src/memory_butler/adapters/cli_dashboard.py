"""The command for whoever wants to look: the dashboard on its own."""

import sys
from typing import Annotated

import typer

from memory_butler.adapters.terminal import settings_of


def dashboard(
    ctx: typer.Context,
    host: Annotated[str | None, typer.Option(help="Address to listen on; 127.0.0.1 unless set otherwise.")] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port to listen on; unless named, the one after `serve`'s.")
    ] = None,
    open_browser: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
) -> None:
    """Serve the dashboard alone until Ctrl-C, in a process of its own: see, search, correct and govern what is
    remembered. `serve` has it, too."""
    import asyncio

    from memory_butler.adapters.dashboard.alone import serve_dashboard

    def say(text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()

    configured = settings_of(ctx, host=host)
    beside = configured.port + 1 if configured.port < 65535 else 8151
    settings = configured.model_copy(update={"port": beside if port is None else port})
    asyncio.run(serve_dashboard(settings, say, open_browser=open_browser))


COMMANDS = (dashboard,)
