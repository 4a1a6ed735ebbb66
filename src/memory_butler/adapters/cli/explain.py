"""The command that explains why a search returns a memory or does not."""

from typing import Annotated

import typer

from memory_butler.adapters.cli.options import (
    Limit,
    MinConfidence,
    MinRelevance,
    Mode,
    Scope,
    Since,
    TierFilter,
    ToolJson,
    Types,
    Until,
)
from memory_butler.adapters.cli.terminal import parse_time, read_text, run_and_print


def explain(
    ctx: typer.Context,
    query: Annotated[str, typer.Argument(help='Search text; "-" reads it from stdin.')],
    ref: Annotated[str, typer.Argument(metavar="REF", help="The memory's reference, such as fact:k3f7, or its id.")],
    *,
    kind: Types = None,
    tier: TierFilter = None,
    scope: Scope = None,
    butler: Annotated[str | None, typer.Option(help="Search as this butler: its episodes and its scope.")] = None,
    mode: Mode = "hybrid",
    limit: Limit = None,
    min_confidence: MinConfidence = None,
    min_relevance: MinRelevance = None,
    since: Since = None,
    until: Until = None,
    budget: Annotated[
        int | None, typer.Option(help="Also explain whether a briefing with this token budget includes it.")
    ] = None,
    as_json: ToolJson = False,
) -> None:
    """Explain why a search returns a memory or not: ranks, filters, signals, score. Takes the options of `search`."""
    from memory_butler.adapters.cli.tables import explanation
    from memory_butler.models import Question
    from memory_butler.operations.retrieval import explain as explain_operation

    question = Question(
        query=read_text(query),
        types=tuple(kind or ()),
        tier=tier,
        scope=scope,
        butler=butler,
        mode=mode,
        limit=limit,
        min_confidence=min_confidence,
        min_relevance=min_relevance,
        time_from=parse_time(since, "--since"),
        time_to=parse_time(until, "--until"),
    )
    run_and_print(
        ctx,
        as_json,
        lambda opened: explain_operation.explain(opened, question, ref, token_budget=budget),
        None,
        explanation.explanation,
    )


COMMANDS = (explain,)
