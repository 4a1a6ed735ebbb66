"""Starts a program that answers hooks, where no server runs; see `standby`. Imports only what a hook may."""

import os
import sys
import time
from typing import Any

from memory_butler.adapters.hooks.server_call import NoAnswer, NotReady, NotRunning, Refused, Server
from memory_butler.adapters.hooks.turn import taken_turn

# A client starts its MCP server at about the same time, which then answers the hooks.
GRACE_SECONDS = 1.0
PAUSE_SECONDS = 0.05
LATER_SECONDS = 300.0


def ask_started(server: Server, path: str, arguments: dict[str, Any], soon: float, until: float) -> dict[str, Any]:
    """Ask the server, which must answer `soon`. If none is running yet, start one, and wait for it `until`."""
    others_until = time.monotonic() + GRACE_SECONDS
    is_awaited = is_started = False
    while True:
        try:
            return server.ask(path, arguments, until if is_awaited else soon)
        except (NotRunning, NotReady) as problem:
            if not _may_start(server) or time.monotonic() >= until:
                raise
            is_awaited = True
            if isinstance(problem, NotRunning) and not is_started and time.monotonic() >= others_until:
                is_started = _start(server)
        time.sleep(PAUSE_SECONDS)


def _may_start(server: Server) -> bool:
    return server.is_own and server.may_start and hasattr(os, "fork")


def ask_later(server: Server, path: str, arguments: dict[str, Any]) -> None:
    """Ask in a process of its own, which outlives the session, and start a server for that if none runs."""
    if not _may_start(server) or os.fork():
        return
    os.setsid()
    _detach()
    until = time.monotonic() + LATER_SECONDS
    while time.monotonic() < until:
        try:
            ask_started(server, path, arguments, until, until)
        except Refused:
            return
        except NoAnswer:
            # The server that was asked has ended meanwhile, or is busy with its first start.
            time.sleep(GRACE_SECONDS)
        else:
            return


def _start(server: Server) -> bool:
    """Start the program, unless one is starting already."""
    with taken_turn(server.folder) as is_free:
        pass
    if not is_free and os.path.isdir(server.folder):  # noqa: PTH112
        return False
    if os.fork():
        return True
    os.setsid()
    _detach()
    command = [sys.executable, "-m", "memory_butler.adapters.hooks.program", server.folder]
    os.execv(sys.executable, command)
    return True


def _detach() -> None:
    """Let go of the pipes of the client: it waits until they are closed."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
