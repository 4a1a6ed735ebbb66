"""Commands for encryption keys."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from memory_butler.adapters.cli import terminal
from memory_butler.adapters.cli.consolidate import caller_of
from memory_butler.adapters.cli.options import Json, Tenant

if TYPE_CHECKING:
    from rich.console import RenderableType

    from memory_butler.operations.trust.encryption_keys import KeyStatus, Rotation, Shredding
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


@keys_app.command("rotate")
def rotate(ctx: typer.Context, *, tenant: Tenant = None, as_json: Json = False) -> None:
    """Encrypt all texts with a new key, also those from before encryption. An interrupted rotation continues."""
    from dataclasses import asdict

    from memory_butler.operations.trust import encryption_keys

    async def task(opened: "Resources") -> "Rotation":
        caller = await caller_of(opened, tenant, "keys")
        with terminal.progress_bar("Encrypting") as update:
            return await encryption_keys.rotate(opened, caller, progress=update)

    terminal.run_and_print(ctx, task, _rotation_text, asdict)


@keys_app.command("shred")
def shred(
    ctx: typer.Context,
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    tenant: Tenant = None,
    as_json: Json = False,
) -> None:
    """Destroy the keys of a tenant: its encrypted texts are unreadable for good. Asks first."""
    from dataclasses import asdict

    from memory_butler.operations.trust import encryption_keys

    if not yes:
        typer.confirm("Destroy the keys? Nobody can read the encrypted texts afterwards.", abort=True)

    async def task(opened: "Resources") -> "Shredding":
        return await encryption_keys.shred(opened, await caller_of(opened, tenant, "keys"))

    terminal.run_and_print(ctx, task, _shredding_text, asdict)


def _rotation_text(done: "Rotation") -> "RenderableType":
    from rich.text import Text

    begun = "Continued an interrupted rotation. " if done.continued else ""
    text = f"{begun}Encrypted {_memories(done.encrypted)} for the first time, {done.anew:,} anew."
    if done.unreadable:
        text += f" {done.unreadable:,} texts could not be decrypted; their key is kept."
    return Text(f"{text} Old forms in the data files: {done.residue}.")


def _shredding_text(done: "Shredding") -> "RenderableType":
    from rich.text import Text

    if not done.keys:
        return Text("The tenant has no keys; nothing was changed.")
    backups = "".join(f"\n  {backup['path']}" for backup in done.backups)
    return Text(
        f"Destroyed {len(done.keys)} keys. {done.unreadable:,} memories are unreadable; {done.plain:,} were never"
        f" encrypted and stay readable. Old forms in the data files: {done.residue}. Backups made earlier still"
        f" hold the keys, encrypted with the master key{':' if backups else '.'}{backups}"
    )


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
    verb = "is" if found.encrypted == 1 else "are"
    lines.append(Text(f"{_memories(found.encrypted)} {verb} encrypted, {found.plain:,} are not."))
    if found.policies:
        lines.append(Text(f"Policies: {', '.join(found.policies)}."))
    if not found.keys:
        return Group(*lines)
    table = plain_table("key", "purpose", "state", "created", pad_edge=False)
    for key, state in found.keys:
        table.add_row(key.id, key.purpose, state, key.created_at[:10])
    return Group(*lines, table)


def _memories(count: int) -> str:
    return f"{count:,} {'memory' if count == 1 else 'memories'}"
