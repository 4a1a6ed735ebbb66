"""Maintenance commands: the daily sweep, the projections of the dashboard, the service levels."""

from typing import TYPE_CHECKING, Annotated

import typer

from memory_butler.adapters.cli import terminal
from memory_butler.adapters.cli.options import DryRun, Json

if TYPE_CHECKING:
    from rich.console import RenderableType

    from memory_butler.operations.lifecycle.sweep import ShardReport, SweepReport


def sweep(
    ctx: typer.Context,
    *,
    butler: Annotated[str | None, typer.Option(help="Only this butler's memories (default: all butlers).")] = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Run the daily sweep now. Promotes, fades, expires, deletes and evicts; prints the changes made by each step."""
    from memory_butler.operations.lifecycle import job_status
    from memory_butler.operations.lifecycle import sweep as sweep_operation
    from memory_butler.resources import Resources

    async def task(opened: Resources) -> "SweepReport":
        with terminal.progress_bar("Sweeping") as update:

            def show(step: sweep_operation.Progress) -> None:
                stage = f"{step.butler}: {_spoken(step.duty)}, {step.scanned:,} scanned"
                update(stage, step.duties_done, step.duties)

            report = await sweep_operation.sweep(opened, only_butler=butler, dry_run=dry_run, progress=show)
        for shard in [] if dry_run else report.shards:
            shard_caller = job_status.shard_of(opened.settings.tenant, shard.butler)
            await job_status.put_on_record(opened, shard_caller, "sweep", report.started_at, shard.as_dict())
        return report

    terminal.run_and_print(ctx, task, _table, lambda report: report.as_dict())


def _table(report: "SweepReport") -> "RenderableType":
    """One table per butler, with the command that undoes its changes."""
    from rich.console import Group
    from rich.text import Text

    from memory_butler.adapters.cli.tables.memories import plain_table

    parts: list[RenderableType] = []
    for shard in report.shards:
        changed = "would change" if report.dry_run else "changed"
        title = f"Butler {shard.butler}"
        columns = ("duty", ">scanned", f">{changed}", ">seconds")
        table = plain_table(*columns, title=title, title_justify="left", pad_edge=False)
        table.add_column("outcomes", overflow="fold")
        for duty in shard.duties:
            outcomes = ", ".join(f"{outcome} {count:,}" for outcome, count in duty.outcomes.items())
            figures = (f"{duty.scanned:,}", f"{duty.changed:,}", f"{duty.seconds:.1f}")
            table.add_row(_spoken(duty.duty), *figures, outcomes)
        parts.append(table)
        if shard.group_id:
            parts.append(Text(f"To undo: memory-butler undo {shard.group_id}"))
        if shard.expiring_total:
            parts.append(Text(_expiring(shard), style="yellow"))
    verb = "would change" if report.dry_run else "changed"
    parts.append(
        Text(f"{report.changed:,} {verb}, in {report.seconds:.1f} seconds." if parts else "The store is empty.")
    )
    return Group(*parts)


def _expiring(shard: "ShardReport") -> str:
    more, total = shard.expiring_total - len(shard.expiring), shard.expiring_total
    names = ", ".join(shard.expiring) + (f" and {more:,} more" if more else "")
    episodes = "1 important episode expires" if total == 1 else f"{total:,} important episodes expire"
    advice = "Pin what must stay, or distil again: memory-butler consolidate --again-empty"
    return f"! {episodes} soon and nothing was kept: {names}. {advice}"


def recount(ctx: typer.Context, as_json: Json = False) -> None:
    """Rebuild the projections of dashboard and metrics. Counts events per day and memories by state again, from the
    whole event log; the jobs keep them current."""
    from memory_butler.operations.history import days
    from memory_butler.resources import Resources

    async def task(opened: Resources) -> int:
        with terminal.progress_bar("Counting") as update:
            return await days.rebuild(opened, progress=lambda done, total: update(None, done, total))

    counted = terminal.run_task(terminal.settings_of(ctx), task)
    terminal.print_result(as_json, {"counted": counted}, f"Counted {counted:,} event{'s' * (counted != 1)}.\n")


def slo(
    ctx: typer.Context,
    days: Annotated[int, typer.Option(help="Days to look back, today included (at most 35).")] = 7,
    as_json: Json = False,
) -> None:
    """Show the service levels. Latency, stored episodes, age of the backlogs, daily sweeps; exit code 1 if an objective
    is missed."""
    from memory_butler.adapters.cli.tables.service_levels import encode_levels, level_table
    from memory_butler.operations.system import objectives
    from memory_butler.resources import Resources

    async def task(opened: Resources) -> objectives.ServiceLevels:
        return await objectives.levels(opened, opened.local_operator(), days=days)

    found = terminal.run_and_print(ctx, task, level_table, encode_levels)
    raise typer.Exit(0 if found.is_met else 1)


def _spoken(duty: str) -> str:
    return duty.replace("_", " ")
