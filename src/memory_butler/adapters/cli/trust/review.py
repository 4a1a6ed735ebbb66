"""Commands of the review inbox: memories that are not used until a person approves them."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated

import typer

from memory_butler.adapters.cli.consolidate import caller_of
from memory_butler.adapters.cli.options import Json, Reason, Tenant
from memory_butler.adapters.cli.terminal import parse_reference, run_and_print
from memory_butler.errors import InvalidInput

if TYPE_CHECKING:
    from memory_butler.models import Stored
    from memory_butler.operations.trust.quarantine import Inbox
    from memory_butler.resources import Resources

review_app = typer.Typer(invoke_without_command=True, rich_markup_mode=None)

Limit = Annotated[int, typer.Option("--limit", min=1, max=1000, help="Maximum number to list.")]
Refs = Annotated[list[str], typer.Argument(metavar="REF...", help="References such as fact:k3f7.")]


@review_app.callback()
def review(ctx: typer.Context, *, tenant: Tenant = None, limit: Limit = 100, as_json: Json = False) -> None:
    """List, approve and reject quarantined memories. Without a subcommand: list."""
    if ctx.invoked_subcommand is None:
        _list(ctx, tenant, limit)
    elif tenant or as_json or limit != 100:
        raise InvalidInput(
            "An option comes before the subcommand.",
            recovery=f"Write it after: memory-butler review {ctx.invoked_subcommand} … --json",
        )


review_app.command("list", help="List quarantined memories, the oldest first, with the reason.")(review)


def _list(ctx: typer.Context, tenant: str | None, limit: int) -> None:
    from memory_butler.adapters.cli.tables import inbox as inbox_tables
    from memory_butler.operations.trust import quarantine

    async def task(opened: "Resources") -> "Inbox":
        return await quarantine.inbox(opened, await caller_of(opened, tenant, "quarantine"), limit=limit)

    run_and_print(ctx, task, inbox_tables.inbox, lambda found: found.answer(), crop=False)


@review_app.command("approve")
def approve(
    ctx: typer.Context, refs: Refs, *, reason: Reason = None, tenant: Tenant = None, as_json: Json = False
) -> None:
    """Put quarantined memories into use. A contested value supersedes the current one."""
    from memory_butler.operations.trust import quarantine

    _decide(ctx, refs, tenant, reason, quarantine.approve)


@review_app.command("reject")
def reject(
    ctx: typer.Context, refs: Refs, *, reason: Reason = None, tenant: Tenant = None, as_json: Json = False
) -> None:
    """Leave quarantined memories out of use. They can be restored like forgotten ones."""
    from memory_butler.operations.trust import quarantine

    _decide(ctx, refs, tenant, reason, quarantine.reject)


def _decide(
    ctx: typer.Context,
    refs: list[str],
    tenant: str | None,
    reason: str | None,
    operation: "Callable[..., Awaitable[Stored]]",
) -> None:
    from memory_butler.adapters.cli.tables import inbox as inbox_tables

    async def task(opened: "Resources") -> "list[Stored]":
        caller = await caller_of(opened, tenant, "quarantine")
        return [await operation(opened, *parse_reference(ref, None), caller, reason=reason) for ref in refs]

    run_and_print(ctx, task, inbox_tables.decided, lambda done: {"results": done, "count": len(done)}, crop=False)
