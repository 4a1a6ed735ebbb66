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
    from memory_butler.adapters.connect.files import Change, Standing
    from memory_butler.adapters.connect.user_service import UserService
    from memory_butler.settings import Settings

STATUS, SERVICE = "status", "service"
ClientArgument = Annotated[
    str, typer.Argument(metavar="CLIENT", help=f"{', '.join(CLIENTS)}; `{SERVICE}`; or `{STATUS}`.")
]
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
    service: Annotated[
        bool, typer.Option("--service", help="Also keep a server running, as a service of your user.")
    ] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    as_json: StatusJson = False,
) -> None:
    """Register Memory Butler with a client and its hooks. Shows the changes and asks first. Hooks exist for Claude
    Code: they brief each session and store what it leaves.

    `connect service` only keeps a server running: a systemd unit, a launchd agent or a Windows task of your user.
    """
    from memory_butler.adapters.connect.files import connecting

    if client == STATUS:
        _status(ctx, as_json)
        return
    settings = terminal.settings_of(ctx)
    if client == SERVICE:
        _install_service(settings, dry_run=dry_run, yes=yes)
        return
    target = _client(client)
    with_token = settings.service.auth == "required" or (http and _needs_local_token(settings))
    address = f"{settings.reached_at()}/mcp" if http else None
    wish = Wish(settings.home, address, with_token=with_token, port=_port_to_write(settings))
    changes = connecting(target, scope, Path.cwd(), wish)
    if _change(changes, f"{target.title} already has Memory Butler; nothing to change.", dry_run=dry_run, yes=yes):
        sys.stdout.write(f"{target.title} now has Memory Butler; restart it. `memory-butler disconnect {client}")
        sys.stdout.write(f"{'' if scope is Scope.USER else ' --scope project'}` undoes this.\n")
        if http and with_token and settings.service.auth == "off":
            file = shlex.quote(str(settings.home / "token"))
            sys.stdout.write(f'Its environment needs the token: export {TOKEN}="$(cat {file})"\n')
    if service:
        _install_service(settings, dry_run=dry_run, yes=yes)


def _port_to_write(settings: "Settings") -> int | None:
    """The port in force now, unless the hooks find it themselves: in the config file, or the usual one."""
    from memory_butler.adapters.hooks.server_call import PORT, config_of

    found = config_of(str(settings.home / "config.toml")).get("port") or PORT
    return None if settings.port == found else settings.port


def _service(settings: "Settings") -> "UserService":
    from memory_butler.adapters.connect.executable import executable, is_usual
    from memory_butler.adapters.connect.user_service import user_service

    home = [] if is_usual(settings.home) else ["--home", str(settings.home)]
    port = _port_to_write(settings)
    command = [*executable(), *home, "serve", *([] if port is None else ["--port", str(port)])]
    return user_service(command, settings.home)


def _install_service(settings: "Settings", *, dry_run: bool, yes: bool) -> None:
    from memory_butler.adapters.connect.user_service import switch

    service = _service(settings)
    if not _change([service.installing()], "The service is installed already.", dry_run=dry_run, yes=yes):
        return
    problem = switch(service.on)
    if problem is None:
        sys.stdout.write(
            "A server runs now, and again after each login. `memory-butler disconnect service` undoes this.\n"
        )
        return
    commands = " && ".join(map(shlex.join, service.on))
    sys.stdout.write(f"The file is written, but the system did not take it ({problem}). Run: {commands}\n")


def _remove_service(settings: "Settings", *, dry_run: bool, yes: bool) -> None:
    from memory_butler.adapters.connect.user_service import switch

    service = _service(settings)
    if service.is_installed and not dry_run:
        switch(service.off)
    if _change([service.removing()], "There is no service; nothing to change.", dry_run=dry_run, yes=yes):
        sys.stdout.write("The service is gone. The memories are unchanged.\n")


def _needs_local_token(settings: "Settings") -> bool:
    from memory_butler.adapters.http.local_access import ensure_token, needs_token

    if not needs_token(settings):
        return False
    ensure_token(settings)
    return True


def disconnect(
    ctx: typer.Context,
    client: Annotated[str, typer.Argument(metavar="CLIENT", help=f"{', '.join(CLIENTS)}; or `{SERVICE}`.")],
    *,
    scope: ScopeOption = Scope.USER,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """Undo `connect`: removes only the entries that it made. Shows the changes and asks first."""
    from memory_butler.adapters.connect.files import disconnecting

    if client == SERVICE:
        _remove_service(terminal.settings_of(ctx), dry_run=dry_run, yes=yes)
        return
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


def _status(ctx: typer.Context, as_json: bool) -> None:
    from memory_butler.adapters.connect.files import standing

    service = _service(terminal.settings_of(ctx))
    rows = [
        (client.name, scope, status)
        for client in CLIENTS.values()
        for scope in Scope
        for status in standing(client, scope, Path.cwd())
    ]
    if as_json:
        connections = [
            {"client": name, "scope": str(scope), "file": str(status.path), "server": status.server,
             "by_hand": list(status.by_hand), "hooks": list(status.hooks), "problem": status.problem}
            for name, scope, status in rows
        ]  # fmt: skip
        state = {"file": str(service.path), "installed": service.is_installed}
        terminal.print_json({"connections": connections, "service": state})
        return
    for name, scope, status in rows:
        sys.stdout.write(f"{name:<12} {scope:<8} {_state(status):<40} {status.path}\n")
    installed = "installed" if service.is_installed else "-"
    sys.stdout.write(f"{SERVICE:<12} {Scope.USER:<8} {installed:<40} {service.path}\n")


def _state(status: "Standing") -> str:
    if status.problem:
        return status.problem
    parts = ["connected"] if status.server else []
    parts += [f"connected by hand: {', '.join(status.by_hand)}"] if status.by_hand else []
    parts += [f"hooks: {', '.join(status.hooks)}"] if status.hooks else []
    return "; ".join(parts) or "-"
