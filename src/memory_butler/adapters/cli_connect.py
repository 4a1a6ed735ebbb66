"""The commands that register Memory Butler with a client, show where it is registered, and undo it."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memory_butler.adapters import terminal
from memory_butler.adapters.connect.clients import CLIENTS, Client, Scope, Wish
from memory_butler.adapters.terminal import settings_of
from memory_butler.errors import InvalidInput

if TYPE_CHECKING:
    from memory_butler.adapters.connect.files import Change

STATUS = "status"
Which = Annotated[str, typer.Argument(metavar="CLIENT", help=f"{', '.join(CLIENTS)}; or `{STATUS}` to see who has it.")]
Whose = Annotated[Scope, typer.Option(help="For you everywhere (user), or for the project in this folder (project).")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would change, and change nothing.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
Json = Annotated[bool, typer.Option("--json", help=f"With `{STATUS}`: print one line of JSON.")]


def connect(
    ctx: typer.Context,
    client: Which,
    *,
    scope: Whose = Scope.USER,
    http: Annotated[
        bool, typer.Option("--http", help="Use the running server; otherwise the client starts one.")
    ] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Register the memory with a client, and with Claude Code also the hooks. It shows the change, then asks."""
    from memory_butler.adapters.connect.files import connecting

    if client == STATUS:
        _status(as_json)
        return
    settings, known = settings_of(ctx), _client(client)
    wish = Wish(
        settings.home, f"{settings.reached_at()}/mcp" if http else None, with_token=settings.service.auth == "required"
    )
    changes = connecting(known, scope, Path.cwd(), wish)
    if _change(changes, f"{known.title} has Memory Butler already; nothing to change.", dry_run=dry_run, yes=yes):
        sys.stdout.write(f"{known.title} has Memory Butler now; start it anew. `memory-butler disconnect {client}")
        sys.stdout.write(f"{'' if scope is Scope.USER else ' --scope project'}` undoes this.\n")
        if known.places(scope, Path.cwd())[-1].with_hooks:
            sys.stdout.write("Its hooks ask the server on this machine: keep `memory-butler serve` running.\n")


def disconnect(
    client: Annotated[str, typer.Argument(metavar="CLIENT", help=f"{', '.join(CLIENTS)}.")],
    *,
    scope: Whose = Scope.USER,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """Undo `connect`: only our own entries go, whatever else has changed meanwhile. It shows the change, then asks."""
    from memory_butler.adapters.connect.files import disconnecting

    known = _client(client)
    changes = disconnecting(known, scope, Path.cwd())
    if _change(changes, f"{known.title} does not have Memory Butler; nothing to change.", dry_run=dry_run, yes=yes):
        sys.stdout.write(f"{known.title} no longer has Memory Butler. The memories are where they were.\n")


def _client(name: str) -> Client:
    found = CLIENTS.get(name.strip().lower().replace("_", "-"))
    if found is None:
        raise InvalidInput(f"{name!r} is no client that is known here.", recovery=f"Use one of {', '.join(CLIENTS)}.")
    return found


def _change(changes: "list[Change]", otherwise: str, *, dry_run: bool, yes: bool) -> bool:
    from memory_butler.adapters.connect.files import apply

    needed = [change for change in changes if change.is_needed]
    if not needed:
        sys.stdout.write(otherwise + "\n")
        return False
    for change in needed:
        sys.stdout.write(change.diff())
    sys.stdout.flush()
    if dry_run:
        sys.stdout.write("Nothing was changed.\n")
        return False
    if not yes:
        typer.confirm("Make this change?", abort=True)
    for change in needed:
        apply(change)
    return True


def _status(as_json: bool) -> None:
    from memory_butler.adapters.connect.files import standing

    rows = [
        (client.name, scope, found)
        for client in CLIENTS.values()
        for scope in Scope
        for found in standing(client, scope, Path.cwd())
    ]
    if as_json:
        shape = [
            {"client": name, "scope": str(scope), "file": str(found.path), "server": found.server,
             "hooks": list(found.hooks), "problem": found.problem}
            for name, scope, found in rows
        ]  # fmt: skip
        terminal.print_json({"connections": shape})
        return
    for name, scope, found in rows:
        if found.problem:
            said = found.problem
        elif found.server or found.hooks:
            said = "connected" if found.server else f"hooks: {', '.join(found.hooks)}"
        else:
            said = "-"
        sys.stdout.write(f"{name:<12} {scope:<8} {said:<40} {found.path}\n")


COMMANDS = (connect, disconnect)
