"""Commands for dead letters: episodes that consolidation gave up on."""

from typing import TYPE_CHECKING, Annotated

import typer

from memory_butler.adapters.cli.consolidate import caller_of
from memory_butler.adapters.cli.options import Json, Tenant
from memory_butler.adapters.cli.terminal import run_and_print
from memory_butler.errors import InvalidInput

if TYPE_CHECKING:
    from memory_butler.models import Episode, MemoryDetails
    from memory_butler.operations.consolidation.dead_letters import RequeueResult
    from memory_butler.resources import Resources

dead_letters_app = typer.Typer(invoke_without_command=True, rich_markup_mode=None)

OnlyButler = Annotated[str | None, typer.Option("--butler", help="Only this butler's episodes (default: all butlers).")]
Limit = Annotated[int, typer.Option("--limit", min=1, max=1000, help="Maximum number to list.")]
PAGE = 1000


@dead_letters_app.callback()
def dead_letters(
    ctx: typer.Context,
    *,
    tenant: Tenant = None,
    butler: OnlyButler = None,
    limit: Limit = 100,
    as_json: Json = False,
) -> None:
    """List, show and requeue dead letters. Without a subcommand: list."""
    if ctx.invoked_subcommand is None:
        _list(ctx, tenant, butler, limit)
    elif tenant or butler or as_json or limit != 100:
        raise InvalidInput(
            "An option comes before the subcommand.",
            recovery=f"Write it after: memory-butler dead-letters {ctx.invoked_subcommand} … --json",
        )


dead_letters_app.command("list", help="List dead letters, the oldest first, with their attempts and the last error.")(
    dead_letters
)


def _list(ctx: typer.Context, tenant: str | None, butler: str | None, limit: int) -> None:
    from memory_butler.adapters.cli.tables import runs as run_tables
    from memory_butler.operations.consolidation import dead_letters as dead_letter_operations

    async def task(opened: "Resources") -> "list[Episode]":
        caller = await caller_of(opened, tenant, "dead_letters")
        return await dead_letter_operations.dead_letters(opened, caller, only_butler=butler, limit=limit)

    run_and_print(
        ctx,
        task,
        run_tables.dead_letters,
        lambda episodes: {"dead_letters": episodes, "count": len(episodes)},
        crop=False,
    )


@dead_letters_app.command("show")
def show(
    ctx: typer.Context,
    ref: Annotated[str, typer.Argument(metavar="REF", help="A reference such as episode:k3f7, or an id.")],
    *,
    tenant: Tenant = None,
    as_json: Json = False,
) -> None:
    """Show one dead letter with its attempts, its last error and its history."""
    from memory_butler.adapters.cli.tables import history
    from memory_butler.adapters.wire import answers
    from memory_butler.operations.retrieval import get

    async def task(opened: "Resources") -> "MemoryDetails":
        return await get.get(opened, "episode", ref, await caller_of(opened, tenant, "memory_get"), bump=False)

    run_and_print(ctx, task, history.portrait, answers.memory_detail)


@dead_letters_app.command("requeue")
def requeue(
    ctx: typer.Context,
    refs: Annotated[
        list[str] | None, typer.Argument(metavar="[REF]...", help="References such as episode:k3f7.")
    ] = None,
    *,
    everything: Annotated[bool, typer.Option("--all", help="All dead letters.")] = False,
    run: Annotated[str | None, typer.Option(metavar="RUN", help="The episodes of this run.")] = None,
    again: Annotated[bool, typer.Option("--again", help="Also requeue consolidated episodes.")] = False,
    tenant: Tenant = None,
    as_json: Json = False,
) -> None:
    """Requeue episodes with a fresh retry count."""
    from memory_butler.adapters.cli.tables import runs as run_tables
    from memory_butler.adapters.wire import consolidation as run_answers
    from memory_butler.operations.consolidation import dead_letters as dead_letter_operations

    if sum((bool(refs), everything, run is not None)) != 1:
        raise InvalidInput(
            "No episodes named." if not (refs or everything or run) else "More than one selection.",
            recovery="Pass references, --all or --run RUN, exactly one of the three.",
        )

    async def task(opened: "Resources") -> "RequeueResult":
        caller = await caller_of(opened, tenant, "requeue")
        if not everything:
            return await dead_letter_operations.requeue(opened, refs or (), caller, run=run, again=again)
        done = dead_letter_operations.RequeueResult(again=(), left=())
        while page := await dead_letter_operations.dead_letters(opened, caller, limit=PAGE):
            more = await dead_letter_operations.requeue(
                opened, [str(episode.id) for episode in page], caller, again=again
            )
            done = dead_letter_operations.RequeueResult(again=(*done.again, *more.again), left=(*done.left, *more.left))
        return done

    run_and_print(ctx, task, run_tables.requeued, run_answers.requeue_answer, crop=False)
