"""The command that says why a memory is or is not among what a search returns."""

from typing import Annotated

import typer

from memory_butler.adapters.terminal import answer, moment_of, text_of


def explain(
    ctx: typer.Context,
    query: Annotated[str, typer.Argument(help='What was looked for; "-" reads it from stdin.')],
    ref: Annotated[str, typer.Argument(metavar="REF", help="The memory's reference, such as fact:k3f7, or its id.")],
    *,
    kind: Annotated[
        list[str] | None, typer.Option("--type", help="Only fact, rule or episode; may be given several times.")
    ] = None,
    tier: Annotated[str | None, typer.Option(help="Only this generation: eden, mid or long.")] = None,
    scope: Annotated[
        str | None, typer.Option(help="Only this scope; otherwise 'global' and this butler's own.")
    ] = None,
    butler: Annotated[str | None, typer.Option(help="Only this butler's episodes and scope.")] = None,
    mode: Annotated[str, typer.Option(help="hybrid, semantic (by meaning) or keyword (by words).")] = "hybrid",
    limit: Annotated[int | None, typer.Option(help="Most results; 10 unless set otherwise.")] = None,
    min_confidence: Annotated[float | None, typer.Option(help="Least confidence, from 0 to 1; 0.2 unless set.")] = None,
    min_relevance: Annotated[float | None, typer.Option(help="Least relevance, from 0 to 1.")] = None,
    since: Annotated[str | None, typer.Option(metavar="MOMENT", help="Only what is from this moment or later.")] = None,
    until: Annotated[str | None, typer.Option(metavar="MOMENT", help="Only what is from before this moment.")] = None,
    budget: Annotated[
        int | None, typer.Option(help="Say also whether it is in a briefing of so many tokens on the same words.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one line of JSON, the same shape as the MCP tool's answer.")
    ] = False,
) -> None:
    """Say why a search does or does not return a memory: places, filters, signals, score. Pass the search's options."""
    from memory_butler.adapters import shapes, tables_explain
    from memory_butler.models import Question
    from memory_butler.operations import explain as explaining

    question = Question(
        query=text_of(query),
        types=tuple(kind or ()),
        tier=tier,
        scope=scope,
        butler=butler,
        mode=mode,
        limit=limit,
        min_confidence=min_confidence,
        min_relevance=min_relevance,
        time_from=moment_of(since, "--since"),
        time_to=moment_of(until, "--until"),
    )
    answer(
        ctx,
        as_json,
        lambda opened: explaining.explain(opened, question, ref, token_budget=budget),
        shapes.explanation,
        tables_explain.explanation,
    )


COMMANDS = (explain,)
