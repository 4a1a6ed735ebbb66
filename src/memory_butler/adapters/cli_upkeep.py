"""The commands that look after the store."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from memory_butler.adapters import terminal
from memory_butler.adapters.terminal import settings_of

if TYPE_CHECKING:
    from rich.console import RenderableType

    from memory_butler.operations.sweep import SweepReport

Json = Annotated[bool, typer.Option("--json", help="Print one line of JSON.")]


def sweep(
    ctx: typer.Context,
    *,
    butler: Annotated[str | None, typer.Option(help="Only this butler's memories; otherwise everybody's.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would change, and change nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Do the daily upkeep now: promote, fade, expire, delete, evict. Prints what was done, duty by duty."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from memory_butler.butler import Butler
    from memory_butler.operations import sweep as sweeping
    from memory_butler.operations import upkeep

    async def work(opened: Butler) -> "SweepReport":
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=terminal.console(stderr=True), disable=not sys.stderr.isatty()) as bar:
            task = bar.add_task("Sweeping", total=None)

            def tell(step: sweeping.Progress) -> None:
                words = f"{step.butler}: {_spoken(step.duty)}, {step.scanned:,} looked at"
                bar.update(task, description=words, completed=step.duties_done, total=step.duties)

            report = await sweeping.sweep(opened, only_butler=butler, dry_run=dry_run, progress=tell)
        for shard in [] if dry_run else report.shards:
            whose = upkeep.shard_of(opened.settings.tenant, shard.butler)
            await upkeep.put_on_record(opened, whose, "sweep", report.started_at, shard.as_dict())
        return report

    report = terminal.work(settings_of(ctx), work)
    if as_json:
        terminal.print_json(report.as_dict())
    else:
        terminal.console().print(_table(report))


def _table(report: "SweepReport") -> "RenderableType":
    """A table a butler, and what to do with its group."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    parts: list[RenderableType] = []
    for shard in report.shards:
        table = Table(title=f"Butler {shard.butler}", title_justify="left", box=None, pad_edge=False)
        for name in ("duty", "looked at", "would change" if report.dry_run else "changed", "seconds"):
            table.add_column(name, justify="left" if name == "duty" else "right")
        table.add_column("of which", overflow="fold")
        for duty in shard.duties:
            known = ", ".join(f"{outcome} {count:,}" for outcome, count in duty.outcomes.items())
            figures = (f"{duty.scanned:,}", f"{duty.changed:,}", f"{duty.seconds:.1f}")
            table.add_row(_spoken(duty.duty), *figures, known)
        parts.append(table)
        if shard.group_id:
            parts.append(Text(f"To take it back: memory-butler undo {shard.group_id}"))
    done = "would change" if report.dry_run else "changed"
    parts.append(
        Text(f"{report.changed:,} {done}, in {report.seconds:.1f} seconds." if parts else "Nothing is stored.")
    )
    return Group(*parts)


def recount(ctx: typer.Context, as_json: Json = False) -> None:
    """Count the days of the log anew: what the dashboard shows of growth and decay. It follows the log by itself; this
    makes all of it from the beginning."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from memory_butler.butler import Butler
    from memory_butler.operations import days

    async def work(opened: Butler) -> int:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=terminal.console(stderr=True), disable=not sys.stderr.isatty()) as bar:
            task = bar.add_task("Counting", total=None)
            return await days.recount(
                opened, progress=lambda done, total: bar.update(task, completed=done, total=total)
            )

    counted = terminal.work(settings_of(ctx), work)
    if as_json:
        terminal.print_json({"counted": counted})
    else:
        sys.stdout.write(f"Counted {counted:,} event{'s' * (counted != 1)}.\n")


def _spoken(duty: str) -> str:
    return duty.replace("_", " ")


COMMANDS = (sweep, recount)
