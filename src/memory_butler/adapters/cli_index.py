"""The commands about the vector indexes: how they stand, and bringing them to what the settings ask for."""

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memory_butler.adapters import terminal
from memory_butler.adapters.terminal import settings_of

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from memory_butler.butler import Butler
    from memory_butler.operations.vector_index import Standing, Status, Step

Json = Annotated[bool, typer.Option("--json", help="Print one line of JSON.")]
GOOD_RECALL = 0.98

index_app = typer.Typer(no_args_is_help=True, help="See and change how meaning is looked up.", rich_markup_mode=None)


@index_app.command("status")
def status(
    ctx: typer.Context,
    *,
    queries: Annotated[
        int, typer.Option(min=0, max=1000, help="Questions each index is measured with; 0 measures nothing.")
    ] = 20,
    as_json: Json = False,
) -> None:
    """Show how the largest tenants are searched, and how much of the truth each index finds."""
    from memory_butler.operations import vector_index

    found = terminal.work(settings_of(ctx), lambda butler: vector_index.status(butler, queries=queries))
    if as_json:
        terminal.print_json(_status_shape(found))
    else:
        terminal.console().print(_status(found))


@index_app.command("migrate")
def migrate(
    ctx: typer.Context,
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")] = False,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Build anew also what is as it should be.")] = False,
    as_json: Json = False,
) -> None:
    """Build, replace or drop indexes as the settings ask, while others read and write. It may be run again any time."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    from memory_butler.operations import vector_index

    async def task(butler: "Butler") -> "tuple[Step, ...]":
        columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
        with Progress(*columns, console=terminal.console(stderr=True), disable=not sys.stderr.isatty()) as bar:
            shown = bar.add_task("Looking", total=None)
            return await vector_index.migrate(
                butler,
                rebuild=rebuild,
                dry_run=dry_run,
                progress=lambda stage, done, total: bar.update(
                    shown, description=stage, completed=done, total=total or None
                ),
            )

    steps = terminal.work(settings_of(ctx), task)
    if as_json:
        terminal.print_json({"dry_run": dry_run, "steps": [_step_shape(step) for step in steps]})
    else:
        terminal.console().print(_steps(steps, dry_run=dry_run))


def _step_shape(step: "Step") -> dict[str, Any]:
    return {
        "action": step.action,
        "tenant": step.tenant,
        "type": step.memory_type,
        "index": step.index,
        "shape": str(step.shape) if step.shape else None,
        "rows": step.rows,
        "why": step.why,
    }


def _status_shape(found: "Status") -> dict[str, Any]:
    from dataclasses import asdict

    from memory_butler.operations.vector_index import RECALL_AT, SAMPLED

    return {
        "posture": found.rules.posture,
        "exact_below": found.rules.exact_below,
        "hnsw_from": found.rules.hnsw_from,
        "tenants": found.memories,
        "searched": [asdict(one) for one in found.standings],
        "recall_at": RECALL_AT,
        "measured_with": SAMPLED,
        "due": [_step_shape(step) for step in found.due],
    }


def _status(found: "Status") -> "RenderableType":
    from rich.console import Group
    from rich.text import Text

    from memory_butler.operations.vector_index import RECALL_AT, SAMPLED

    rules = found.rules
    posture = f"Posture: {rules.posture}"
    if rules.posture != "exact":
        posture += f"; exact below {rules.exact_below:,} passages of a type"
    if rules.posture == "auto":
        posture += f", ivfflat below {rules.hnsw_from:,}, hnsw from there"
    parts: list[RenderableType] = [Text(posture + ".")]
    if found.standings:
        parts.append(_standings(found))
    if any(one.recall is not None for one in found.standings):
        parts.append(Text(f"recall@{RECALL_AT} is measured against exact search, with {SAMPLED}."))
    if found.due:
        count = f"{len(found.due)} step{'s' * (len(found.due) > 1)}"
        parts.append(Text(f"! {count} to do: memory-butler index migrate --dry-run says which.", style="yellow"))
    else:
        parts.append(Text("All is as the settings ask."))
    for one in found.standings:
        if one.recall is not None and one.recall < GOOD_RECALL:
            parts.append(_warning(one))
    return Group(*parts)


def _warning(one: "Standing") -> "RenderableType":
    from rich.text import Text

    from memory_butler.adapters.tables import safe

    advice = "build it anew with memory-butler index migrate --rebuild, or raise vector_index.hnsw.ef_construction"
    if one.in_force.startswith("ivfflat"):
        advice = "build it anew with memory-butler index migrate --rebuild, or raise vector_index.ivfflat.probes"
    return Text(
        safe(f"! The {one.memory_type}s of {one.tenant}: less than {GOOD_RECALL} is found; {advice}."), "yellow"
    )


def _standings(found: "Status") -> "Table":
    from rich.table import Table

    from memory_butler.adapters.tables import safe

    table = Table(box=None, pad_edge=False)
    for column in ("tenant", "type", "passages", "searched by", "size", "bloat", "recall", "live", "fell back"):
        right = column in ("passages", "size", "bloat", "recall", "live", "fell back")
        table.add_column(column, justify="right" if right else "left")
    for one in found.standings:
        searched, wanted = one.in_force.partition(" ")[0], one.wanted.partition(" ")[0]
        if one.in_force != one.wanted:
            searched += f" → {wanted}" if searched != wanted else " → built anew"
        if one.valid is False:
            searched += " (broken index)"
        table.add_row(
            safe(one.tenant),
            one.memory_type,
            f"{one.rows:,}",
            searched,
            "" if one.bytes is None else f"{one.bytes / 2**20:,.1f} MB",
            "" if one.bloat is None else f"{one.bloat:.0%}",
            "" if one.recall is None else f"{one.recall:.3f}",
            "" if not one.queries else f"{one.live_queries} of {one.queries}",
            "" if not one.fell_back else f"{one.fell_back} of {one.queries}",
        )
    return table


def _steps(steps: "tuple[Step, ...]", *, dry_run: bool) -> "RenderableType":
    from rich.console import Group
    from rich.text import Text

    from memory_butler.adapters.tables import safe

    if not steps:
        return Text("All is as the settings ask; there is nothing to do.")
    lines = [
        Text(safe(f"{step.action} {step.shape} for {step.rows:,} {step.memory_type} passages of"
                  f" {step.tenant or 'nobody'}: {step.why}"))
        for step in steps
    ]  # fmt: skip
    return Group(Text("This would be done:" if dry_run else "Done:"), *lines)
