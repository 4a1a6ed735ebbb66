"""Commands for the event log: undo changes, and compare the store with a rebuild from its log."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from memory_butler.adapters.cli import terminal
from memory_butler.adapters.cli.options import DryRun, Json, Key, Tenant, ToolJson
from memory_butler.errors import InvalidInput

if TYPE_CHECKING:
    from rich.console import RenderableType

    from memory_butler.models import UndoReport
    from memory_butler.operations.history.replay import Report
    from memory_butler.resources import Resources
    from memory_butler.store.history.chain import ChainReport


def undo(
    ctx: typer.Context,
    id: Annotated[str, typer.Argument(metavar="ID", help="Id of an event or a group, shown by `get` and the reports.")],
    *,
    skip_changed: Annotated[
        bool, typer.Option("--skip-changed", help="Undo the rest of a group if some changes cannot be undone.")
    ] = False,
    dry_run: DryRun = False,
    key: Key = None,
    as_json: ToolJson = False,
) -> None:
    """Undo an event, or all events of a group. An undo is an event too and can be undone."""
    from memory_butler.adapters.cli.tables import history
    from memory_butler.adapters.wire import answers
    from memory_butler.operations.history import undo as undo_operation

    async def task(resources: "Resources") -> "UndoReport":
        with terminal.progress_bar("Checking") as progress:
            return await undo_operation.undo(
                resources, id, skip_changed=skip_changed, dry_run=dry_run, idempotency_key=key, progress=progress
            )

    terminal.run_and_print(ctx, task, history.undone, answers.undo_answer)


def replay(
    ctx: typer.Context,
    *,
    verify: Annotated[bool, typer.Option("--verify", help="Compare the rebuilt store with the live one.")] = False,
    tenant: Tenant = None,
    as_json: Json = False,
) -> None:
    """Rebuild a tenant from its event log and compare. Uses a scratch schema and checks the hash chain of the events:
    exit code 0 if the store matches its log and the chain holds, 1 if not."""
    from memory_butler.adapters.cli.consolidate import caller_of
    from memory_butler.operations.history import replay as replay_operation

    if not verify:
        raise InvalidInput(
            "A replay rebuilds the tenant from the log in a scratch schema, compares it with the store row by row, and"
            " drops the schema. The store is not changed and can be used meanwhile. The schema needs about as much disk"
            " space as the store.",
            recovery="Run: memory-butler replay --verify",
        )

    async def task(resources: "Resources") -> "Report":
        with terminal.progress_bar("Starting", percent=True) as progress:
            caller = await caller_of(resources, tenant, "replay")
            return await replay_operation.replay(resources, caller, progress=progress)

    report = terminal.run_and_print(
        ctx, task, lambda report: _table(report, tenant or terminal.settings_of(ctx).tenant), _encode
    )
    raise typer.Exit(0 if report.intact else 1)


def _encode(report: "Report") -> dict[str, Any]:
    from dataclasses import asdict

    return {"equal": report.equal, "intact": report.intact, **asdict(report)}


def _table(report: "Report", tenant: str) -> "RenderableType":
    from rich.console import Group
    from rich.text import Text

    from memory_butler.adapters.cli.tables.memories import plain_table, safe

    table = plain_table("table", ">live", ">rebuilt", ">different", pad_edge=False)
    for name, result in report.tables.items():
        figures = (f"{count:,}" for count in (result.live, result.rebuilt, result.differences))
        table.add_row(name.replace("_", " "), *figures, style="bold red" if result.differences else None)
    parts: list[RenderableType] = [table]
    for name, result in report.tables.items():
        for one in result.examples:
            columns = f" in {', '.join(one.columns)}" if one.columns else ""
            parts.append(Text(safe(f"✗ {name.replace('_', ' ')} {one.key}: {one.kind}{columns}"), style="yellow"))
    parts += [Text(safe(f"! The text of {owner} has been deleted."), style="yellow") for owner in report.removed_texts]
    verdict = "the store matches its log." if report.equal else "the store does not match its log."
    if report.equal and not report.events:
        verdict = f"the tenant {tenant} has none. Name another one with --tenant NAME."
    parts.append(Text(f"{report.events:,} events replayed: {verdict}"))
    if report.events:
        parts.append(_chain(report.chain))
    return Group(*parts)


def _chain(chain: "ChainReport") -> "RenderableType":
    from rich.text import Text

    before = f" {chain.unchained:,} events from before the upgrade have no hash chain." if chain.unchained else ""
    if chain.broken is None:
        ended = f"; it ends with {chain.head[:16]}" if chain.head else ""
        counted = f"{chain.checked:,} events in the hash chain, {chain.seals:,} seals"
        return Text(f"{counted}: the chain holds{ended}.{before}")
    event = f" (id {chain.broken.event_id})" if chain.broken.event_id else ""
    broken = f"✗ The hash chain breaks at event {chain.broken.seq:,}{event}: {chain.broken.problem}."
    return Text(broken + before, style="bold red")
