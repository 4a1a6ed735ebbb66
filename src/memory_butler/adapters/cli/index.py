"""Commands for the vector indexes: their status, and building them by the settings."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from memory_butler.adapters.cli import terminal
from memory_butler.adapters.cli.options import DryRun, Json

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from memory_butler.operations.retrieval.vector_indexes import Standing, Status, Step
    from memory_butler.resources import Resources

GOOD_RECALL = 0.98

index_app = typer.Typer(no_args_is_help=True, help="Inspect and build vector indexes.", rich_markup_mode=None)


@index_app.command("status")
def status(
    ctx: typer.Context,
    *,
    queries: Annotated[
        int, typer.Option(min=0, max=1000, help="Sample queries per index for the recall; 0 skips the measurement.")
    ] = 20,
    as_json: Json = False,
) -> None:
    """Show the search method of the largest tenants and the recall of each index against exact search."""
    from memory_butler.operations.retrieval import vector_indexes

    terminal.run_and_print(
        ctx, lambda resources: vector_indexes.status(resources, queries=queries), _render_status, _encode_status
    )


@index_app.command("migrate")
def migrate(
    ctx: typer.Context,
    *,
    dry_run: DryRun = False,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Rebuild all indexes, even those that are up to date.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Build, replace or drop indexes to match the settings, without blocking reads and writes. Idempotent."""
    from memory_butler.operations.retrieval import vector_indexes

    async def task(resources: "Resources") -> "tuple[Step, ...]":
        with terminal.progress_bar("Checking", percent=True) as progress:
            return await vector_indexes.migrate(resources, rebuild=rebuild, dry_run=dry_run, progress=progress)

    terminal.run_and_print(
        ctx,
        task,
        lambda steps: _steps(steps, dry_run=dry_run),
        lambda steps: {"dry_run": dry_run, "steps": [_encode_step(step) for step in steps]},
    )


def _encode_step(step: "Step") -> dict[str, Any]:
    return {
        "action": step.action,
        "tenant": step.tenant,
        "type": step.memory_type,
        "index": step.index,
        "shape": str(step.shape) if step.shape else None,
        "rows": step.rows,
        "why": step.why,
    }


def _encode_status(status: "Status") -> dict[str, Any]:
    from dataclasses import asdict

    from memory_butler.operations.retrieval.vector_indexes import RECALL_AT, SAMPLED

    return {
        "posture": status.rules.posture,
        "exact_below": status.rules.exact_below,
        "hnsw_from": status.rules.hnsw_from,
        "tenants": status.memories,
        "searched": [asdict(one) for one in status.standings],
        "recall_at": RECALL_AT,
        "measured_with": SAMPLED,
        "due": [_encode_step(step) for step in status.due],
    }


def _render_status(status: "Status") -> "RenderableType":
    from rich.console import Group
    from rich.text import Text

    from memory_butler.operations.retrieval.vector_indexes import RECALL_AT, SAMPLED

    rules = status.rules
    posture = f"Posture: {rules.posture}"
    if rules.posture != "exact":
        posture += f"; exact below {rules.exact_below:,} passages of a type"
    if rules.posture == "auto":
        posture += f", ivfflat below {rules.hnsw_from:,}, hnsw from there"
    parts: list[RenderableType] = [Text(posture + ".")]
    if status.standings:
        parts.append(_table(status))
    if any(one.recall is not None for one in status.standings):
        parts.append(Text(f"recall@{RECALL_AT} against exact search, measured with {SAMPLED}."))
    if status.due:
        count = f"{len(status.due)} step{'s' * (len(status.due) > 1)}"
        parts.append(Text(f"! {count} to do; list them with: memory-butler index migrate --dry-run", style="yellow"))
    else:
        parts.append(Text("All indexes match the settings."))
    for one in status.standings:
        if one.recall is not None and one.recall < GOOD_RECALL:
            parts.append(_warning(one))
    return Group(*parts)


def _warning(one: "Standing") -> "RenderableType":
    from rich.text import Text

    from memory_butler.adapters.cli.tables.memories import safe

    advice = "rebuild it with memory-butler index migrate --rebuild, or raise vector_index.hnsw.ef_construction"
    if one.in_force.startswith("ivfflat"):
        advice = "rebuild it with memory-butler index migrate --rebuild, or raise vector_index.ivfflat.probes"
    return Text(safe(f"! The {one.memory_type}s of {one.tenant}: recall is below {GOOD_RECALL}; {advice}."), "yellow")


def _table(status: "Status") -> "Table":
    from memory_butler.adapters.cli.tables.memories import plain_table, safe

    columns = ("tenant", "type", ">passages", "method", ">size", ">bloat", ">recall", ">live", ">fallbacks")
    table = plain_table(*columns, pad_edge=False)
    for one in status.standings:
        method, configured = one.in_force.partition(" ")[0], one.wanted.partition(" ")[0]
        if one.in_force != one.wanted:
            method += f" → {configured}" if method != configured else " → rebuild"
        if one.valid is False:
            method += " (broken index)"
        table.add_row(
            safe(one.tenant),
            one.memory_type,
            f"{one.rows:,}",
            method,
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

    from memory_butler.adapters.cli.tables.memories import safe

    if not steps:
        return Text("All indexes match the settings; nothing to do.")
    lines = [
        Text(safe(f"{step.action} {step.shape} for {step.rows:,} {step.memory_type} passages of"
                  f" {step.tenant or 'no tenant'}: {step.why}"))
        for step in steps
    ]  # fmt: skip
    return Group(Text("Planned:" if dry_run else "Done:"), *lines)
