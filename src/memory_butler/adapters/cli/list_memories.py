"""The commands that list memories and the calls of agents."""

from typing import TYPE_CHECKING, Annotated

import typer

from memory_butler.adapters.cli.options import Since, Tags, ToolJson, Until
from memory_butler.adapters.cli.terminal import run_and_print
from memory_butler.adapters.cli.times import parse_time
from memory_butler.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from memory_butler.models.calls import LoggedCall
    from memory_butler.models.listings import ListedMemory, Page
    from memory_butler.resources import Resources

KINDS = {"facts": "fact", "rules": "rule", "episodes": "episode"}


def list_memories(
    ctx: typer.Context,
    kind: Annotated[
        str | None,
        typer.Argument(metavar="[facts|rules|episodes]", help="What to list; by default facts and rules."),
    ] = None,
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

    wanted = [
        Listing(
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
        for chosen in _kinds(kind, only_facts=bool(subject or predicate))
    ]

    async def work(resources: "Resources") -> "Page[ListedMemory]":
        return _merged([await listings.memories(resources, one, limit=limit) for one in wanted], limit)

    run_and_print(ctx, work, _table, lambda page: page_of(page, listed_memory))


def _kinds(kind: str | None, *, only_facts: bool) -> list[str]:
    if kind is None:
        return ["fact"] if only_facts else ["fact", "rule"]
    chosen = KINDS.get(kind.casefold(), kind.casefold())
    if chosen not in KINDS.values():
        raise InvalidInput(f"{kind!r} is not a type of memory.", recovery=f"Use {', '.join(KINDS)}.")
    return [chosen]


def _merged(pages: "Sequence[Page[ListedMemory]]", limit: int) -> "Page[ListedMemory]":
    """One page of the newest memories of all pages."""
    if len(pages) == 1:
        return pages[0]
    from memory_butler.models.listings import Page

    items = [one for page in pages for one in page.items]
    items.sort(key=lambda one: (one.memory.created_at, one.memory.id), reverse=True)
    totals = [page.total if page.total is not None else page.total_at_least or 0 for page in pages]
    is_exact = all(page.total is not None for page in pages)
    return Page(
        items=tuple(items[:limit]),
        cursor=None,
        total=sum(totals) if is_exact else None,
        total_at_least=None if is_exact else sum(totals),
    )


def calls(
    ctx: typer.Context,
    *,
    butler: Annotated[str | None, typer.Option(help="Only calls of this butler.")] = None,
    client: Annotated[str | None, typer.Option(help="Only calls of this program.")] = None,
    contains: Annotated[str | None, typer.Option(help="Only prompts that contain this text.")] = None,
    unanswered: Annotated[bool, typer.Option("--unanswered", help="Only calls that returned nothing.")] = False,
    since: Since = None,
    until: Until = None,
    limit: Annotated[int, typer.Option(help="Number of calls, 1–200.")] = 20,
    as_json: ToolJson = False,
) -> None:
    """List the briefings and searches of agents. Newest first, with the memories that they returned."""
    from memory_butler.models.calls import CallFilter
    from memory_butler.models.wire.codec import encode
    from memory_butler.operations.system import call_log

    wanted = CallFilter(
        butler=butler,
        client=client,
        contains=contains,
        answered=False if unanswered else None,
        time_from=parse_time(since, "--since"),
        time_to=parse_time(until, "--until", end=True),
    )
    run_and_print(
        ctx,
        lambda resources: call_log.logged_calls(resources, wanted, limit=limit),
        _call_table,
        encode,
    )


def _call_table(page: "Page[LoggedCall]") -> "RenderableType":
    from rich.console import Group
    from rich.text import Text

    from memory_butler.adapters.cli.tables.memories import indented, safe

    if not page.items:
        return Text("No calls match. Agents' briefings and searches are logged if call_log.enabled is on.")
    parts: list[RenderableType] = []
    for call in page.items:
        when = call.asked_at.astimezone().strftime("%Y-%m-%d %H:%M")
        length = "" if call.tokens is None else f", {call.tokens:,} of {call.token_budget:,} tokens"
        count = f"{len(call.refs)} {'memory' if len(call.refs) == 1 else 'memories'}"
        told = f"{count}{length}, {call.milliseconds:.0f} ms"
        parts.append(Text(safe(f"{when}  {call.butler} ({call.client})  {call.kind}: {told}"), style="dim"))
        parts.append(indented(Text(safe(call.prompt), overflow="ellipsis", no_wrap=True)))
        if call.refs:
            parts.append(indented(Text(" ".join(call.refs), style="dim")))
    return Group(*parts)


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
