"""Commands that edit a memory: its importance, permanence, tags, scope, or the words of a rule or fact."""

from typing import TYPE_CHECKING, Annotated

import typer

from memory_butler.adapters.cli.options import Key, ToolJson
from memory_butler.adapters.cli.terminal import parse_reference, read_text, run_write
from memory_butler.errors import InvalidInput

if TYPE_CHECKING:
    from memory_butler.models import Stored
    from memory_butler.resources import Resources

OneRef = Annotated[str, typer.Argument(metavar="REF", help="A reference such as fact:k3f7.")]


def edit(
    ctx: typer.Context,
    ref: OneRef,
    *,
    content: Annotated[
        str | None, typer.Option(help='New words of a rule, or value of a fact; "-" reads stdin.')
    ] = None,
    importance: Annotated[int | None, typer.Option(help="Importance, 1–10.")] = None,
    permanence: Annotated[
        str | None, typer.Option(help="Decay rate: permanent, stable, standard, volatile or ephemeral.")
    ] = None,
    tag: Annotated[list[str] | None, typer.Option("--tag", help="The tags from now on; can be repeated.")] = None,
    scope: Annotated[str | None, typer.Option(help="'global' or a butler's name.")] = None,
    key: Key = None,
    as_json: ToolJson = False,
) -> None:
    """Edit a memory. Every change is an event that `undo` takes back. A fact's new value corrects it."""
    from memory_butler.models import MemoryChanges, MemoryType
    from memory_butler.operations.writing import correct, update

    kind, handle = parse_reference(ref, None)
    tags = None if tag is None else tuple(tag)
    words = None if content is None else read_text(content)
    corrects = kind == MemoryType.FACT and words is not None
    changes = MemoryChanges(
        content=None if corrects else words, importance=importance, permanence=permanence, tags=tags, scope=scope
    )
    given = changes != MemoryChanges()
    if corrects and given:
        raise InvalidInput(
            "A fact's value and its other fields cannot be edited in one call.",
            recovery=f"Run `memory-butler edit {ref} --content …` first, and edit the new fact then.",
        )

    async def work(resources: "Resources") -> "Stored":
        if corrects and words is not None:
            return await correct.correct(resources, handle, words, source="user", idempotency_key=key)
        return await update.update(resources, kind, handle, changes, idempotency_key=key)

    run_write(ctx, work)


def tag(
    ctx: typer.Context,
    ref: OneRef,
    tags: Annotated[list[str], typer.Argument(metavar="TAG...", help="Tags to add, or to remove with --remove.")],
    *,
    remove: Annotated[bool, typer.Option("--remove", help="Remove these tags.")] = False,
    key: Key = None,
    as_json: ToolJson = False,
) -> None:
    """Add tags to a memory, or remove them."""
    from memory_butler.models import MemoryChanges
    from memory_butler.operations.retrieval import get
    from memory_butler.operations.writing import update

    kind, handle = parse_reference(ref, None)
    given = [one.strip().casefold() for one in tags]

    async def work(resources: "Resources") -> "Stored":
        present = (await get.get(resources, kind, handle, bump=False)).memory.tags
        kept = [one for one in present if not (remove and one in given)]
        chosen = tuple(dict.fromkeys(kept if remove else [*kept, *given]))
        return await update.update(resources, kind, handle, MemoryChanges(tags=chosen), idempotency_key=key)

    run_write(ctx, work)


def link(
    ctx: typer.Context,
    ref: OneRef,
    relation: Annotated[str, typer.Argument(help="supports, contradicts or related_to.")],
    target: Annotated[str, typer.Argument(metavar="TARGET", help="Reference of the other memory.")],
    *,
    key: Key = None,
    as_json: ToolJson = False,
) -> None:
    """Link two memories. REF supports or contradicts TARGET, or is related to it; `undo` withdraws the link."""
    from memory_butler.operations.writing import link as link_operation

    async def work(resources: "Resources") -> "Stored":
        return await link_operation.link(resources, ref, relation, target, idempotency_key=key)

    run_write(ctx, work)
