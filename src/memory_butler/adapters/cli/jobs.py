"""Commands that run the scheduled jobs and show their status."""

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memory_butler.adapters.cli import terminal
from memory_butler.adapters.cli.options import Json

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

    from memory_butler.jobs.job_run import FinishedRun
    from memory_butler.operations.lifecycle.job_status import JobStatus
    from memory_butler.resources import Resources

NICENESS = 10


def work(
    ctx: typer.Context,
    *,
    concurrency: Annotated[
        int | None, typer.Option(help="Number of shards (tenant and butler) to process at once (default 2).")
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Run the jobs that are due, then exit.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print each run as one line of JSON.")] = False,
) -> None:
    """Run a worker until Ctrl-C. It runs each scheduled job when it is due; several workers can run at once."""
    import asyncio

    from memory_butler.adapters.telemetry.metrics_port import metrics_port
    from memory_butler.adapters.telemetry.traces import configure_traces
    from memory_butler.jobs.reporting import report, report_until
    from memory_butler.jobs.worker import Worker
    from memory_butler.metrics.registry import program_version

    configure_traces(program_version())
    outcomes: list[str] = []

    def show(run: "FinishedRun") -> None:
        outcomes.append(run.outcome)
        terminal.print_result(as_json, asdict(run), _run_line(run))
        sys.stdout.flush()

    async def task(resources: "Resources") -> None:
        stop = _stopped_by_signals(asyncio.get_running_loop())
        lower_priority()
        worker = Worker(resources, on_run=show)
        if not once and not as_json:
            sys.stdout.write("The worker is running. Ctrl-C stops it.\n")
            sys.stdout.flush()
        if once:
            await worker.once(stop)
            await report(resources)
            return
        with metrics_port(resources.settings, "work"):
            reporting = asyncio.create_task(report_until(resources, stop))
            try:
                await worker.run(stop)
            finally:
                stop.set()
                await reporting

    terminal.run_task(
        terminal.settings_of(ctx, upkeep={"concurrency": concurrency} if concurrency is not None else None), task
    )
    if once and not as_json:
        failed = outcomes.count("failed")
        count = len(outcomes)
        words = f"{count} {'run' if count == 1 else 'runs'}, {failed} failed." if outcomes else "No job was due."
        sys.stdout.write(words + "\n")
    raise typer.Exit(1 if once and "failed" in outcomes else 0)


def lower_priority() -> None:
    """Yield the CPU to servers on this machine. Called after the store is open, so that a database started by this
    process keeps its normal priority."""
    import os
    from contextlib import suppress

    with suppress(AttributeError, OSError):
        os.nice(NICENESS)


def _stopped_by_signals(loop: Any) -> Any:
    """An event that SIGINT or SIGTERM sets; a second signal kills the process."""
    import asyncio
    import signal

    stop = asyncio.Event()

    def once() -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        try:
            loop.add_signal_handler(number, once)
        except NotImplementedError:  # Windows
            signal.signal(number, lambda number, frame: loop.call_soon_threadsafe(stop.set))
    return stop


def _run_line(run: "FinishedRun") -> str:
    from memory_butler.adapters.cli.tables.memories import safe

    detail = run.report.get("error") or run.report.get("note")
    words = f"{run.job} of {run.tenant}/{run.butler} {run.outcome} in {run.seconds:.1f} s"
    return safe(words + (f": {detail}" if detail else "")) + "\n"


def jobs(
    ctx: typer.Context,
    *,
    all_tenants: Annotated[
        bool, typer.Option("--all-tenants", help="Show each job over all tenants, as a worker last found it.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show the scheduled jobs of each butler. Last run, next run and failures of each."""
    from memory_butler.operations.lifecycle import job_status
    from memory_butler.operations.system import fleet

    if all_tenants:
        terminal.run_and_print(ctx, fleet.upkeep_summary, _fleet_table)
        return

    async def task(resources: "Resources") -> "tuple[tuple[JobStatus, ...], Any]":
        return await job_status.statuses(resources), resources.clock()

    terminal.run_and_print(
        ctx,
        task,
        lambda result: _status_table(*result),
        lambda result: {"jobs": [_encode_status(one) for one in result[0]]},
    )


def _fleet_table(found: dict[str, Any]) -> "RenderableType":
    from rich.console import Group
    from rich.text import Text

    from memory_butler.adapters.cli.tables.memories import plain_table, safe

    parts: list[RenderableType] = []
    if detail := found.get("detail"):
        parts.append(Text(detail, style="bold red"))
    if "jobs" in found:
        states = ("ok", "never", "overdue", "failing")
        table = plain_table(
            "job", *(f">{state}" for state in states), "last success", "oldest", "worst", pad_edge=False
        )
        for job, figures in found["jobs"].items():
            counts = (f"{figures['states'][state]:,}" for state in states)
            last, oldest = (_day(figures[name]) for name in ("last_success", "first_success"))
            style = None if figures["states"]["ok"] == sum(figures["states"].values()) else "yellow"
            table.add_row(job, *counts, last, oldest, safe(", ".join(figures["worst"])), style=style)
        parts.append(table)
        parts.append(Text(f"{found['tenants']:,} tenants, as of {_day(found['sampled_at'])}.", style="dim"))
    return Group(*parts)


def _day(moment: str | None) -> str:
    from datetime import datetime

    from memory_butler.adapters.cli.tables.memories import date_of

    return date_of(datetime.fromisoformat(moment)) if moment else "never"


def _encode_status(one: "JobStatus") -> dict[str, Any]:
    return {**asdict(one), "last_run": one.last_run or "never", "note": one.note}


def _status_table(statuses: "tuple[JobStatus, ...]", now: Any) -> "RenderableType":
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from memory_butler.adapters.cli.tables.memories import date_of, safe

    if not statuses:
        return Text("There are no jobs yet: no butler has stored anything.")
    table = Table(box=None, pad_edge=False)
    for name in ("butler", "job", "status", "last run", "took", "next run"):
        table.add_column(name, no_wrap=name not in ("status", "butler"), overflow="fold")
    for one in statuses:
        took = f"{one.seconds:.1f} s" if one.seconds is not None else ("running" if one.last_run else "")
        following = date_of(one.next_run) if one.next_run > now else "now"
        last = date_of(one.last_run) if one.last_run else "never"
        table.add_row(safe(one.butler), one.job, _status_text(one), last, took, following)
    notes = [
        Text(safe(f"{one.job} of {one.butler}: {one.note}"), style="red" if one.outcome == "failed" else "dim")
        for one in statuses
        if one.note
    ]
    wrong = [one for one in statuses if one.status != "ok"]
    head = (
        Text(f"{len(wrong)} of {len(statuses)} need attention.", style="bold red")
        if wrong
        else Text("All jobs are on schedule.")
    )
    advice = Text(
        "Is a worker running? `serve` and `mcp` run one unless started with --no-worker; or start `memory-butler work`."
    )
    return Group(
        head, table, *notes, *([advice] if any(one.status in ("never", "overdue") for one in statuses) else [])
    )


def _status_text(one: "JobStatus") -> "Text":
    """The status of a job, highlighted if it needs attention."""
    from rich.text import Text

    late = f"overdue by {_span(one.overdue_seconds)}" if one.overdue_seconds else ""
    if one.status == "never":
        return Text(f"NEVER RAN{', ' + late if late else ''}", style="bold red" if late else "bold yellow")
    if one.status == "failing":
        return Text(f"FAILED {one.failures}×{', ' + late if late else ''}", style="bold red")
    return Text(late.upper(), style="bold red") if late else Text("ok", style="green")


def _span(seconds: float) -> str:
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
