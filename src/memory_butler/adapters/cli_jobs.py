"""The commands about what runs by itself: working through it, and seeing how it stands."""

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memory_butler.adapters import terminal
from memory_butler.adapters.terminal import settings_of

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

    from memory_butler.butler import Butler
    from memory_butler.jobs.record import Ran
    from memory_butler.operations.upkeep import JobStanding

NICENESS = 10
Json = Annotated[bool, typer.Option("--json", help="Print one line of JSON.")]


def work(
    ctx: typer.Context,
    *,
    concurrency: Annotated[
        int | None, typer.Option(help="Shards to look after at the same time; 2 unless set otherwise.")
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Do what is due now, and end.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print each run as a line of JSON.")] = False,
) -> None:
    """Look after the store until Ctrl-C: run each job of the timetable when it is due. Any number may work at once."""
    import asyncio

    from memory_butler.jobs.work import Upkeep

    ran: list[str] = []

    def tell(run: "Ran") -> None:
        ran.append(run.outcome)
        terminal.print_json(_run_shape(run)) if as_json else sys.stdout.write(_run_line(run))
        sys.stdout.flush()

    async def task(butler: "Butler") -> None:
        stop = _stopped_by_signals(asyncio.get_running_loop())
        stand_behind_calls()
        upkeep = Upkeep(butler, tell=tell)
        if not once and not as_json:
            sys.stdout.write("Looking after the store. Ctrl-C stops it.\n")
            sys.stdout.flush()
        await (upkeep.once(stop) if once else upkeep.run(stop))

    terminal.work(settings_of(ctx, upkeep={"concurrency": concurrency} if concurrency is not None else None), task)
    if once and not as_json:
        failed = ran.count("failed")
        words = f"{len(ran)} {'run' if len(ran) == 1 else 'runs'}, {failed} failed." if ran else "Nothing was due."
        sys.stdout.write(words + "\n")
    raise typer.Exit(1 if once and "failed" in ran else 0)


def stand_behind_calls() -> None:
    """Leave the processor to whoever serves calls on this machine. The store is open by now: a database that this
    process has started keeps the usual priority."""
    import os
    from contextlib import suppress

    with suppress(AttributeError, OSError):
        os.nice(NICENESS)


def _stopped_by_signals(loop: Any) -> Any:
    """An event that SIGINT or SIGTERM sets; the second one ends the process the hard way."""
    import asyncio
    import signal

    stop = asyncio.Event()

    def once() -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, once)
    return stop


def _run_shape(run: "Ran") -> dict[str, Any]:
    from dataclasses import asdict

    from memory_butler.adapters.shapes import plain

    shape: dict[str, Any] = plain(asdict(run))
    return shape


def _run_line(run: "Ran") -> str:
    from memory_butler.adapters.tables import safe

    said = run.report.get("error") or run.report.get("note")
    words = f"{run.job} of {run.tenant}/{run.butler} {run.outcome} in {run.seconds:.1f} s"
    return safe(words + (f": {said}" if said else "")) + "\n"


def jobs(ctx: typer.Context, as_json: Json = False) -> None:
    """Show how each job stands for each butler: its last run, the next one, and whether something is wrong."""
    from memory_butler.operations import upkeep

    async def task(butler: "Butler") -> "tuple[tuple[JobStanding, ...], Any]":
        return await upkeep.standings(butler), butler.clock()

    found, now = terminal.work(settings_of(ctx), task)
    if as_json:
        terminal.print_json({"jobs": [_standing_shape(one) for one in found]})
    else:
        terminal.console().print(_standings(found, now))


def _standing_shape(one: "JobStanding") -> dict[str, Any]:
    from dataclasses import asdict

    from memory_butler.adapters.shapes import plain

    shape: dict[str, Any] = plain(asdict(one))
    shape["last_run"] = shape["last_run"] or "never"
    return {**shape, "note": one.note}


def _standings(found: "tuple[JobStanding, ...]", now: Any) -> "RenderableType":
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from memory_butler.adapters.tables import date_of, safe

    if not found:
        return Text("There is nothing to look after: no butler has stored anything yet.")
    table = Table(box=None, pad_edge=False)
    for name in ("butler", "job", "stands", "last run", "took", "next run"):
        table.add_column(name, no_wrap=name not in ("stands", "butler"), overflow="fold")
    for one in found:
        took = f"{one.seconds:.1f} s" if one.seconds is not None else ("running" if one.last_run else "")
        following = date_of(one.next_run) if one.next_run > now else "now"
        last = date_of(one.last_run) if one.last_run else "never"
        table.add_row(safe(one.butler), one.job, _stands(one), last, took, following)
    notes = [
        Text(safe(f"{one.job} of {one.butler}: {one.note}"), style="red" if one.outcome == "failed" else "dim")
        for one in found
        if one.note
    ]
    wrong = [one for one in found if one.status != "ok"]
    head = Text(f"{len(wrong)} of {len(found)} need a look.", style="bold red") if wrong else Text("All is well.")
    advice = Text(
        "Is anybody working? `serve` and `mcp` do unless told not to; `memory-butler work` does nothing else."
    )
    return Group(head, table, *notes, *([advice] if any(one.status in ("never", "overdue") for one in found) else []))


def _stands(one: "JobStanding") -> "Text":
    """In words, and loud where it should be."""
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


COMMANDS = (work, jobs)
