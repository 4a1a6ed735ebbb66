"""The command that lists memories."""

from typing import TYPE_CHECKING, Annotated

import typer

from memory_butler.adapters.cli.options import Since, Tags, ToolJson, Until
from memory_butler.adapters.cli.terminal import run_and_print
from memory_butler.adapters.cli.times import parse_time
from memory_butler.errors import InvalidInput

if TYPE_CHECKING:
    from rich.console import RenderableType

    from memory_butler.models.listings import ListedMemory, Page

KINDS = {"facts": "fact", "rules": "rule", "episodes": "episode"}


def list_memories(
    ctx: typer.Context,
    kind: Annotated[str, typer.Argument(metavar="[facts|rules|episodes]", help="What to list.")] = "facts",
    *,
    subject: Annotated[str | None, typer.Option(help="Only facts about this subject.")] = None,
    predicate: Annotated[str | None, typer.Option(help="Only facts with this property.")] = None,
    tag: Tags = None,
    scope: Annotated[str | None, typer.Option(help="Only this scope.")] = None,
    state: Annotated[
        list[str] | None,
        typer.Option("--state", help="active, fading, superseded, expired or retracted; can be repeated."),
    ] = None,
    contains: Annotated[str | None, typer.Option(help="Only memories that contain this text.")] = None,
    since: Since = None,
    until: Until = None,
    limit: Annotated[int, typer.Option(help="Number of memories, 1–100.")] = 20,
    as_json: ToolJson = False,
) -> None:
    """List memories, newest first, without ranking them. Memories in use, unless --state names others."""
    from memory_butler.adapters.wire.answers import listed_memory, page_of
    from memory_butler.models.listings import Listing
    from memory_butler.models.vocabulary import LIVE, MemoryType
    from memory_butler.operations.browse import listings

    chosen = KINDS.get(kind.casefold(), kind.casefold())
    if chosen not in KINDS.values():
        raise InvalidInput(f"{kind!r} is not a type of memory.", recovery=f"Use {', '.join(KINDS)}.")
    listing = Listing(
        type=MemoryType(chosen),
        subject=subject,
        predicate=predicate,
        scope=scope,
        validity=tuple(state or (["active"] if chosen == "episode" else sorted(LIVE))),
        tags=tuple(tag or ()),
        contains=contains,
        time_from=parse_time(since, "--since"),
        time_to=parse_time(until, "--until", end=True),
    )
    run_and_print(
        ctx,
        lambda resources: listings.memories(resources, listing, limit=limit),
        _table,
        lambda page: page_of(page, listed_memory),
    )


def _table(page: "Page[ListedMemory]") -> "RenderableType":
    from rich.console import Group
    from rich.text import Text

    from memory_butler.adapters.cli.tables.memories import memory_line, plain_table

    if not page.items:
        return Text("No memories match.")
    table = plain_table("reference", "memory", ">confidence", "stored", show_header=True, expand=False)
    for one in page.items:
        memory = one.memory
        confidence = "" if memory.type == "episode" else f"{one.effective_confidence:.2f}"
        stored = memory.created_at.date().isoformat()
        table.add_row(f"{memory.type}:{memory.ref}", memory_line(memory), confidence, stored)
    shown = len(page.items)
    total = page.total if page.total is not None else page.total_at_least
    more = f"{shown} of {total}" if total is not None and total > shown else ""
    return Group(table, Text(f"{more}: use --limit for more.")) if more else table
