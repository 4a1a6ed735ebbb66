"""The command that stores a note in a tier: Eden, mid-term or long-term."""

from typing import Annotated

import typer

from memory_butler.adapters.cli.options import Importance, Key, Tags, ToolJson
from memory_butler.adapters.cli.terminal import read_text, run_write


def store(
    ctx: typer.Context,
    content: Annotated[str, typer.Argument(help='Text of the note; "-" reads it from stdin.')],
    *,
    tier: Annotated[str, typer.Option(help="Expected lifetime: eden (days), mid (months) or long (years).")] = "eden",
    tag: Tags = None,
    butler: Annotated[str | None, typer.Option(help="Butler that owns the note (default: this one).")] = None,
    importance: Importance = 5,
    key: Key = None,
    as_json: ToolJson = False,
) -> None:
    """Store a note: an episode in Eden, a fact in mid or long. Storing the same fact again confirms it."""
    from memory_butler.models import NewNote
    from memory_butler.operations.writing import remember

    new = NewNote(
        content=read_text(content),
        tier=tier,
        butler=butler,
        importance=importance,
        tags=tuple(tag or ()),
        idempotency_key=key,
    )
    run_write(ctx, as_json, lambda opened: remember.store(opened, new))


COMMANDS = (store,)
