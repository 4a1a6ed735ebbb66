"""Commands that register Memory Butler with a client, show the registrations, and undo them."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memory_butler.adapters.cli import terminal
from memory_butler.adapters.cli.options import DryRun
from memory_butler.adapters.connect.clients import CLIENTS, TOKEN, Client, Scope, Wish
from memory_butler.errors import InvalidInput

if TYPE_CHECKING:
    from memory_butler.adapters.connect.files import Change
    from memory_butler.settings import Settings

STATUS = "status"
ClientArgument = Annotated[str, typer.Argument(metavar="CLIENT", help=f"{', '.join(CLIENTS)}; or `{STATUS}`.")]
ScopeOption = Annotated[Scope, typer.Option(help="user: all your projects; project: the project in this folder.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
StatusJson = Annotated[bool, typer.Option("--json", help=f"With `{STATUS}`: print one line of JSON.")]


def connect(
    ctx: typer.Context,
    client: ClientArgument,
    *,
    scope: ScopeOption = Scope.USER,
    http: Annotated[
        bool, typer.Option("--http", help="Use the running server instead of starting one per client.")
    ] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    as_json: StatusJson = False,
) -> None:
    """Register Memory Butler with a client; for Claude Code also the hooks. Shows the changes and asks first."""
    from memory_butler.adapters.connect.files import connecting

    if client == STATUS:
        _status(as_json)
        return
    settings, target = terminal.settings_of(ctx), _client(client)
    with_token = settings.service.auth == "required" or (http and _needs_local_token(settings))
    wish = Wish(settings.home, f"{settings.reached_at()}/mcp" if http else None, with_token=with_token)
    changes = connecting(target, scope, Path.cwd(), wish)
    if _change(changes, f"{target.title} already has Memory Butler; nothing to change.", dry_run=dry_run, yes=yes):
        sys.stdout.write(f"{target.title} now has Memory Butler; restart it. `memory-butler disconnect {client}")
        sys.stdout.write(f"{'' if scope is Scope.USER else ' --scope project'}` undoes this.\n")
        if http and with_token and settings.service.auth == "off":
            file = shlex.quote(str(settings.home / "token"))
            sys.stdout.write(f'Its environment needs the token: export {TOKEN}="$(cat {file})"\n')
        if target.places(scope, Path.cwd())[-1].with_hooks:
            sys.stdout.write("The hooks call the server on this machine: keep `memory-butler serve` running.\n")


def _needs_local_token(settings: "Settings") -> bool:
    from memory_butler.adapters.http.local_access import ensure_token, needs_token

    if not needs_token(settings):
        return False
    ensure_token(settings)
    return True


def disconnect(
    client: Annotated[str, typer.Argument(metavar="CLIENT", help=f"{', '.join(CLIENTS)}.")],
    *,
    scope: ScopeOption = Scope.USER,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """Undo `connect`: removes only the entries that it made. Shows the changes and asks first."""
    from memory_butler.adapters.connect.files import disconnecting

    target = _client(client)
    changes = disconnecting(target, scope, Path.cwd())
    if _change(changes, f"{target.title} does not have Memory Butler; nothing to change.", dry_run=dry_run, yes=yes):
        sys.stdout.write(f"{target.title} no longer has Memory Butler. The memories are unchanged.\n")


def _client(name: str) -> Client:
    client = CLIENTS.get(name.strip().lower().replace("_", "-"))
    if client is None:
        raise InvalidInput(f"{name!r} is not a supported client.", recovery=f"Use one of {', '.join(CLIENTS)}.")
    return client


def _change(changes: "list[Change]", unchanged: str, *, dry_run: bool, yes: bool) -> bool:
    from memory_butler.adapters.connect.files import apply

    needed = [change for change in changes if change.is_needed]
    if not needed:
        sys.stdout.write(unchanged + "\n")
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
        (client.name, scope, status)
        for client in CLIENTS.values()
        for scope in Scope
        for status in standing(client, scope, Path.cwd())
    ]
    if as_json:
        connections = [
            {"client": name, "scope": str(scope), "file": str(status.path), "server": status.server,
             "hooks": list(status.hooks), "problem": status.problem}
            for name, scope, status in rows
        ]  # fmt: skip
        terminal.print_json({"connections": connections})
        return
    for name, scope, status in rows:
        if status.problem:
            state = status.problem
        elif status.server or status.hooks:
            state = "connected" if status.server else f"hooks: {', '.join(status.hooks)}"
        else:
            state = "-"
        sys.stdout.write(f"{name:<12} {scope:<8} {state:<40} {status.path}\n")
