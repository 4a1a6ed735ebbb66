"""The commands about episodes that could not be distilled."""

from typing import TYPE_CHECKING, Annotated

import typer

from memory_butler.adapters import terminal
from memory_butler.adapters.cli_consolidate import Json, Tenant, caller_of
from memory_butler.adapters.terminal import settings_of
from memory_butler.errors import InvalidInput

if TYPE_CHECKING:
    from memory_butler.butler import Butler
    from memory_butler.models import Episode, Portrait
    from memory_butler.operations.dead_letters import Requeued

dead_letters_app = typer.Typer(invoke_without_command=True, rich_markup_mode=None)

OnlyButler = Annotated[str | None, typer.Option("--butler", help="Only this butler's; otherwise everybody's.")]
Most = Annotated[int, typer.Option("--limit", min=1, max=1000, help="Most to show.")]
AT_ONCE = 1000


@dead_letters_app.callback()
def dead_letters(
    ctx: typer.Context,
    *,
    tenant: Tenant = None,
    butler: OnlyButler = None,
    limit: Most = 100,
    as_json: Json = False,
) -> None:
    """See and requeue the episodes that could not be distilled. Without a subcommand they are listed."""
    if ctx.invoked_subcommand is None:
        _list(ctx, tenant, butler, limit, as_json=as_json)
    elif tenant or butler or as_json or limit != 100:
        raise InvalidInput(
            "An option stands in front of the subcommand.",
            recovery=f"Write it behind: memory-butler dead-letters {ctx.invoked_subcommand} … --json",
        )


@dead_letters_app.command("list")
def list_(
    ctx: typer.Context,
    *,
    tenant: Tenant = None,
    butler: OnlyButler = None,
    limit: Most = 100,
    as_json: Json = False,
) -> None:
    """List them, the oldest first: which, how often they were tried, and why it did not work."""
    _list(ctx, tenant, butler, limit, as_json=as_json)


def _list(ctx: typer.Context, tenant: str | None, butler: str | None, limit: int, *, as_json: bool) -> None:
    from memory_butler.adapters import shapes, tables_consolidate
    from memory_butler.operations import dead_letters as letters

    async def task(opened: "Butler") -> "list[Episode]":
        caller = await caller_of(opened, tenant, "dead_letters")
        return await letters.dead_letters(opened, caller, only_butler=butler, limit=limit)

    found = terminal.work(settings_of(ctx), task)
    if as_json:
        terminal.print_json({"dead_letters": [shapes.memory(one) for one in found], "count": len(found)})
    else:
        terminal.console().print(tables_consolidate.dead_letters(found), crop=False)


@dead_letters_app.command("show")
def show(
    ctx: typer.Context,
    ref: Annotated[str, typer.Argument(metavar="REF", help="A reference such as episode:k3f7, or an id.")],
    *,
    tenant: Tenant = None,
    as_json: Json = False,
) -> None:
    """Show one: what it says, how often it was tried, what went wrong, and its history."""
    from memory_butler.adapters import shapes, tables_history
    from memory_butler.operations import look

    async def task(opened: "Butler") -> "Portrait":
        return await look.look(opened, "episode", ref, await caller_of(opened, tenant, "memory_get"), bump=False)

    seen = terminal.work(settings_of(ctx), task)
    if as_json:
        terminal.print_json(shapes.portrait(seen))
    else:
        terminal.console().print(tables_history.portrait(seen))


@dead_letters_app.command("requeue")
def requeue(
    ctx: typer.Context,
    refs: Annotated[
        list[str] | None, typer.Argument(metavar="[REF]...", help="References such as episode:k3f7.")
    ] = None,
    *,
    everything: Annotated[bool, typer.Option("--all", help="All dead letters.")] = False,
    run: Annotated[str | None, typer.Option(metavar="RUN", help="The episodes of this run.")] = None,
    again: Annotated[bool, typer.Option("--again", help="Also what is consolidated: it is distilled afresh.")] = False,
    tenant: Tenant = None,
    as_json: Json = False,
) -> None:
    """Have episodes wait for consolidation again, with all their tries before them."""
    from memory_butler.adapters import shapes_consolidation, tables_consolidate
    from memory_butler.operations import dead_letters as letters

    if sum((bool(refs), everything, run is not None)) != 1:
        raise InvalidInput(
            "It is not clear what to requeue." if not (refs or everything or run) else "That names it twice.",
            recovery="Name references, or --all, or --run RUN: one of the three.",
        )

    async def task(opened: "Butler") -> "Requeued":
        caller = await caller_of(opened, tenant, "requeue")
        if not everything:
            return await letters.requeue(opened, refs or (), caller, run=run, again=again)
        done = letters.Requeued(again=(), left=())
        while found := await letters.dead_letters(opened, caller, limit=AT_ONCE):
            more = await letters.requeue(opened, [str(one.id) for one in found], caller, again=again)
            done = letters.Requeued(again=(*done.again, *more.again), left=(*done.left, *more.left))
        return done

    done = terminal.work(settings_of(ctx), task)
    if as_json:
        terminal.print_json(shapes_consolidation.requeued(done))
    else:
        terminal.console().print(tables_consolidate.requeued(done), crop=False)
