"""Commands for the search index: its embedding models, re-embedding, and vector indexes."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from memory_butler.adapters.cli import terminal
from memory_butler.adapters.cli.options import DryRun, Json

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from memory_butler.operations.retrieval.reembedding import EmbeddingState
    from memory_butler.operations.retrieval.vector_indexes import Standing, Status, Step
    from memory_butler.resources import Resources

GOOD_RECALL = 0.98

index_app = typer.Typer(
    no_args_is_help=True, help="Re-embed memories; inspect and build vector indexes.", rich_markup_mode=None
)


@index_app.command("status")
def status(
    ctx: typer.Context,
    *,
    queries: Annotated[
        int, typer.Option(min=0, max=1000, help="Sample queries per index for the recall; 0 skips the measurement.")
    ] = 20,
    as_json: Json = False,
) -> None:
    """Show the models that memories are embedded with, the search method of the largest tenants, and the recall of each
    index against exact search."""
    from memory_butler.operations.retrieval import reembedding, vector_indexes

    async def task(resources: "Resources") -> "tuple[EmbeddingState, Status]":
        state = await reembedding.embedding_state(resources)
        return state, await vector_indexes.status(resources, queries=queries)

    terminal.run_and_print(
        ctx,
        task,
        lambda found: _together(_render_state(found[0]), _render_status(found[1])),
        lambda found: {"embedding": _encode_state(found[0]), **_encode_status(found[1])},
    )


@index_app.command("reembed")
def reembed(ctx: typer.Context, *, as_json: Json = False) -> None:
    """Embed all memories of earlier models with the configured one now, and end a pause. The worker does it in the
    background otherwise. Ctrl-C is safe: the next run continues."""
    from memory_butler.operations.retrieval import reembedding

    async def task(resources: "Resources") -> tuple[int, "EmbeddingState"]:
        earlier = (await reembedding.embedding_state(resources)).earlier
        with terminal.progress_bar("Embedding", total=earlier) as update:
            done = await reembedding.reembed_now(resources, progress=lambda done: update(None, done, earlier))
        return done, await reembedding.embedding_state(resources)

    terminal.run_and_print(
        ctx,
        task,
        lambda found: _render_state(found[1]),
        lambda found: {"reembedded": found[0], **_encode_state(found[1])},
    )


@index_app.command("pause")
def pause(ctx: typer.Context, *, as_json: Json = False) -> None:
    """Stop embedding memories again until `index resume`. Searches go on with the models that memories have."""
    from memory_butler.operations.retrieval import reembedding

    terminal.run_and_print(ctx, reembedding.pause, _render_state, _encode_state)


@index_app.command("resume")
def resume(ctx: typer.Context, *, as_json: Json = False) -> None:
    """Go on embedding memories again; the worker continues within a minute or two."""
    from memory_butler.operations.retrieval import reembedding

    terminal.run_and_print(ctx, reembedding.resume, _render_state, _encode_state)


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


def _encode_state(state: "EmbeddingState") -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "model": state.model,
        "memories": state.memories,
        "earlier": state.earlier,
        "replaces_others": state.is_chosen,
        "paused_at": state.paused_at.isoformat() if state.paused_at else None,
        "versions": [asdict(one) for one in state.shares],
    }


def _render_state(state: "EmbeddingState") -> "RenderableType":
    from rich.text import Text

    from memory_butler.adapters.cli.tables.memories import safe

    current = state.memories - state.earlier
    if not state.earlier:
        return Text(safe(f"Embedding: all {current:,} memories have vectors of {state.model}."))
    share = int(100 * current / state.memories)
    lines = [f"Embedding: {current:,} of {state.memories:,} memories ({share} %) have vectors of {state.model}."]
    lines += [
        f"  {one.memories:,} have vectors of {one.model} (passage policy {one.passage_policy}"
        f"{', an earlier form of it' if one.model == state.model else ''})"
        for one in state.shares
        if not one.is_current
    ]
    if state.paused_at:
        lines.append(f"Paused since {state.paused_at:%Y-%m-%d %H:%M} UTC. Continue: memory-butler index resume")
    elif state.is_chosen:
        lines.append("The worker embeds the rest, the newest and most used first. Now: memory-butler index reembed")
    else:
        lines.append(
            "Another program uses a model that was chosen later, and embeds with that one. To return to"
            f" {state.model}: memory-butler index reembed"
        )
    return Text(safe("\n".join(lines)))


def _together(*parts: "RenderableType") -> "RenderableType":
    from rich.console import Group

    return Group(*parts)


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
