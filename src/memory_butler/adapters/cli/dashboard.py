"""The command that serves the dashboard alone."""

import sys
from typing import Annotated

import typer

from memory_butler.adapters.cli.terminal import settings_of


def dashboard(
    ctx: typer.Context,
    host: Annotated[str | None, typer.Option(help="Address to listen on (default 127.0.0.1).")] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port to listen on (default: the port of `serve` plus one).")
    ] = None,
    open_browser: Annotated[bool, typer.Option("--open", help="Open it in a browser.")] = False,
) -> None:
    """Serve only the dashboard, until Ctrl-C. `serve` includes it."""
    import asyncio

    from memory_butler.adapters.dashboard.server.standalone import serve_dashboard

    def write(text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()

    configured = settings_of(ctx, host=host)
    default_port = configured.port + 1 if configured.port < 65535 else 8151
    settings = configured.model_copy(update={"port": default_port if port is None else port})
    asyncio.run(serve_dashboard(settings, write, open_browser=open_browser))


COMMANDS = (dashboard,)
