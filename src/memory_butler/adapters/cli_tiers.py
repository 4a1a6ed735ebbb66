"""The commands for people who think in generations: Eden, mid-term, long-term."""

from typing import Annotated

import typer

from memory_butler.adapters.terminal import answer, text_of

Json = Annotated[bool, typer.Option("--json", help="Print one line of JSON, the same shape as the MCP tool's answer.")]


def store(
    ctx: typer.Context,
    content: Annotated[str, typer.Argument(help='What to remember; "-" reads it from stdin.')],
    *,
    tier: Annotated[
        str, typer.Option(help="For how long it is likely to matter: eden (days), mid (months) or long (years).")
    ] = "eden",
    tag: Annotated[list[str] | None, typer.Option("--tag", help="A tag; may be given several times.")] = None,
    butler: Annotated[str | None, typer.Option(help="Whose note it is; this butler's unless named.")] = None,
    importance: Annotated[int, typer.Option(help="How much it matters, from 1 to 10.")] = 5,
    key: Annotated[
        str | None, typer.Option(help="Idempotency key: a repeat with the same key changes nothing.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Keep a note: an episode in Eden, a fact of its own in mid or long. The same note again confirms it there."""
    from memory_butler.adapters import shapes, tables
    from memory_butler.models import NewNote
    from memory_butler.operations import remember

    new = NewNote(
        content=text_of(content),
        tier=tier,
        butler=butler,
        importance=importance,
        tags=tuple(tag or ()),
        idempotency_key=key,
    )
    answer(ctx, as_json, lambda opened: remember.store(opened, new), shapes.stored, tables.stored)


COMMANDS = (store,)
