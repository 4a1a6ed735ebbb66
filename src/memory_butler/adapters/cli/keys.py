"""Commands for encryption keys."""

from typing import TYPE_CHECKING, Any

import typer

from memory_butler.adapters.cli import terminal
from memory_butler.adapters.cli.consolidate import caller_of
from memory_butler.adapters.cli.options import Json, Tenant

if TYPE_CHECKING:
    from rich.console import RenderableType

    from memory_butler.operations.trust.encryption_keys import KeyStatus
    from memory_butler.resources import Resources

keys_app = typer.Typer(no_args_is_help=True, help="Manage encryption keys.", rich_markup_mode=None)


@keys_app.callback()
def keys() -> None:
    """Manage encryption keys."""


@keys_app.command("new")
def new() -> None:
    """Print a new master key. Keep it outside the home folder, and keep a copy: without it, texts are lost."""
    from memory_butler.store.encryption.master_keys import new_key

    typer.echo(new_key())


@keys_app.command("status")
def status(ctx: typer.Context, *, tenant: Tenant = None, as_json: Json = False) -> None:
    """Show whether encryption is on, the keys of the tenant, and how many memories are encrypted."""
    from memory_butler.operations.trust.encryption_keys import key_status

    async def task(opened: "Resources") -> "KeyStatus":
        return await key_status(opened, await caller_of(opened, tenant, "keys"))

    terminal.run_and_print(ctx, task, _status_table, _status_json)


def _status_json(found: "KeyStatus") -> dict[str, Any]:
    return {
        "state": found.state,
        "problem": found.problem,
        "policies": found.policies,
        "encrypted": found.encrypted,
        "plain": found.plain,
        "keys": [
            {"id": key.id, "purpose": key.purpose, "state": state, "created_at": key.created_at}
            for key, state in found.keys
        ],
    }


def _status_table(found: "KeyStatus") -> "RenderableType":
    from rich.console import Group
    from rich.text import Text

    from memory_butler.adapters.cli.tables.memories import plain_table

    lines = [Text(f"Encryption is {found.state}.{f' {found.problem}' if found.problem else ''}")]
    lines.append(Text(f"{found.encrypted:,} memories are encrypted, {found.plain:,} are not."))
    if found.policies:
        lines.append(Text(f"Policies: {', '.join(found.policies)}."))
    if not found.keys:
        return Group(*lines)
    table = plain_table("key", "purpose", "state", "created", pad_edge=False)
    for key, state in found.keys:
        table.add_row(key.id, key.purpose, state, key.created_at[:10])
    return Group(*lines, table)
