"""Commands that read memories. They do not count as use: only the use by agents promotes a memory."""

import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from memory_butler.adapters.cli import options, terminal
from memory_butler.adapters.cli.times import parse_time
from memory_butler.errors import MemoryButlerError

if TYPE_CHECKING:
    from memory_butler.models import Question
    from memory_butler.resources import Resources

# Seconds of re-embedding before a search of the command line.
REEMBEDDING_SECONDS = 2.0

Read = TypeVar("Read")
Task = Callable[["Resources"], Awaitable[Read]]

Query = Annotated[str, typer.Argument(help='Search text; "-" reads it from stdin.')]


def _question(ctx: typer.Context) -> "Question":
    """The question of `search` and `explain`."""
    from memory_butler.models import Question

    given = ctx.params
    return terminal.request_of(
        ctx,
        Question,
        query=terminal.read_text(given["query"]),
        types=tuple(given["kind"] or ()),
        tags=tuple(given["tag"] or ()),
        time_from=parse_time(given["since"], "--since"),
        time_to=parse_time(given["until"], "--until", end=True),
        as_of=parse_time(given.get("as_of"), "--as-of"),
    )


def _reading(task: "Task[Read]", *, deep: bool = False, searches: bool = True) -> "Task[Read]":
    """The task as the local user, who reads encrypted text only if the role of an administrator may.

    Before a search in a local store, memories without an index entry get one, and some of those with an earlier
    embedding model get vectors of the current one: no worker may ever run there.
    For a deep look the model is loaded first, because this process makes no later search.
    """

    async def run(resources: "Resources") -> "Read":
        from memory_butler.operations.retrieval.deep_search import load_ahead
        from memory_butler.operations.retrieval.indexing import catch_up
        from memory_butler.operations.retrieval.reembedding import reembed
        from memory_butler.operations.trust.protection import limit_reading

        limit_reading(resources, resources.local_caller().principal)
        if searches and resources.settings.database_url is None:
            # Without the model a search goes by words alone, and says so.
            with suppress(MemoryButlerError):
                await catch_up(resources, resources.settings.tenant, progress=_show_indexed)
                await reembed(resources, resources.settings.tenant, seconds=REEMBEDDING_SECONDS)
        if deep:
            await load_ahead(resources)
        return await task(resources)

    return run


def _show_indexed(count: int) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"Updating the search index: {count} memories.\n")


def search(
    ctx: typer.Context,
    query: Query,
    *,
    kind: options.Types = None,
    tier: options.TierFilter = None,
    tag: options.WithTags = None,
    scope: options.Scope = None,
    mode: options.Mode = "hybrid",
    limit: options.Limit = None,
    min_confidence: options.MinConfidence = None,
    min_relevance: options.MinRelevance = None,
    since: options.Since = None,
    until: options.Until = None,
    as_of: options.AsOf = None,
    expand: options.Expand = 0,
    deep: options.Deep = False,
    verbose: options.Verbose = False,
    as_json: options.ToolJson = False,
) -> None:
    """Search memories by meaning and by words, best first."""
    from memory_butler.adapters.cli.tables import memories as memory_tables
    from memory_butler.adapters.wire import answers
    from memory_butler.operations.retrieval import search as search_operation

    question = _question(ctx)
    terminal.run_and_print(
        ctx,
        _reading(lambda resources: search_operation.search(resources, question, bump=False), deep=deep),
        partial(memory_tables.answer, verbose=verbose),
        answers.search_results,
    )


def recall(
    ctx: typer.Context,
    topic: Annotated[str, typer.Argument(help='Topic; "-" reads it from stdin.')],
    *,
    tag: options.WithTags = None,
    scope: options.Scope = None,
    limit: options.Limit = None,
    min_relevance: options.MinRelevance = None,
    expand: options.Expand = 0,
    verbose: options.Verbose = False,
    as_json: options.ToolJson = False,
) -> None:
    """Search facts and rules by topic, most relevant first."""
    from memory_butler.adapters.cli.tables import memories as memory_tables
    from memory_butler.adapters.wire import answers
    from memory_butler.models import Question
    from memory_butler.operations.retrieval import search as search_operation

    question = Question(
        query=terminal.read_text(topic),
        tags=tuple(tag or ()),
        scope=scope,
        limit=limit,
        min_relevance=min_relevance,
        expand=expand,
    )
    terminal.run_and_print(
        ctx,
        _reading(lambda resources: search_operation.recall(resources, question, bump=False)),
        partial(memory_tables.answer, verbose=verbose),
        answers.search_results,
    )


def explain(
    ctx: typer.Context,
    query: Query,
    ref: Annotated[str, typer.Argument(metavar="REF", help="The memory's reference, such as fact:k3f7, or its id.")],
    *,
    kind: options.Types = None,
    tier: options.TierFilter = None,
    tag: options.WithTags = None,
    scope: options.Scope = None,
    butler: Annotated[str | None, typer.Option(help="Search as this butler: its episodes and its scope.")] = None,
    mode: options.Mode = "hybrid",
    limit: options.Limit = None,
    min_confidence: options.MinConfidence = None,
    min_relevance: options.MinRelevance = None,
    since: options.Since = None,
    until: options.Until = None,
    deep: options.Deep = False,
    budget: Annotated[
        int | None, typer.Option(help="Also explain whether a briefing with this token budget includes it.")
    ] = None,
    as_json: options.ToolJson = False,
) -> None:
    """Explain why a search returns a memory or not. Shows ranks, filters, signals and score; takes the options of
    `search`."""
    from memory_butler.adapters.cli.tables import explanation
    from memory_butler.operations.retrieval import explain as explain_operation

    question = _question(ctx)
    terminal.run_and_print(
        ctx,
        _reading(lambda opened: explain_operation.explain(opened, question, ref, token_budget=budget), deep=deep),
        explanation.explanation,
    )


def get(ctx: typer.Context, ref: options.Ref, id: options.Id = None, as_json: options.ToolJson = False) -> None:
    """Show one memory with its links, history and outlook."""
    from memory_butler.adapters.cli.tables import history
    from memory_butler.adapters.wire import answers
    from memory_butler.operations.retrieval import get as get_operation

    reference = terminal.parse_reference(ref, id)
    terminal.run_and_print(
        ctx,
        _reading(lambda resources: get_operation.get(resources, *reference, bump=False), searches=False),
        history.portrait,
        answers.memory_detail,
    )


def context(
    ctx: typer.Context,
    prompt: Annotated[str, typer.Argument(help='First prompt of the agent session; "-" reads it from stdin.')],
    *,
    butler: Annotated[str | None, typer.Option(help="Butler to brief (default: the configured butler).")] = None,
    budget: Annotated[int | None, typer.Option(help="Token budget (default 3000).")] = None,
    as_of: options.AsOf = None,
    receipt: Annotated[
        bool, typer.Option("--receipt", help="Print the token counts and the omitted memories on stderr.")
    ] = False,
    deep: options.Deep = False,
    as_json: options.ToolJson = False,
) -> None:
    """Print the briefing for the start of an agent session. `briefing` is the same command."""
    from memory_butler.adapters.cli.tables import memories as memory_tables
    from memory_butler.models import BriefRequest
    from memory_butler.operations.briefing import brief

    settings = terminal.settings_of(ctx)
    request = BriefRequest(
        trigger_prompt=terminal.read_text(prompt),
        butler=butler or settings.butler,
        token_budget=budget,
        as_of=parse_time(as_of, "--as-of"),
        deep=deep,
    )
    briefing = terminal.run_task(settings, _reading(lambda opened: brief.brief(opened, request), deep=deep))
    if as_json:
        terminal.print_json(briefing)
        return
    sys.stdout.write(briefing.text)
    if receipt:
        sys.stdout.flush()
        terminal.console(stderr=True).print(memory_tables.receipt(briefing.receipt))
    else:
        sys.stderr.writelines(f"! {note}\n" for note in briefing.receipt.degraded)


def stats(ctx: typer.Context, scope: options.Scope = None, as_json: options.ToolJson = False) -> None:
    """Count memories by type and state."""
    from memory_butler.adapters.cli.tables import store_stats
    from memory_butler.operations.system import stats as stats_operation

    terminal.run_and_print(ctx, lambda resources: stats_operation.stats(resources, scope), store_stats.stats)
