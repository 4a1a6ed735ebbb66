"""The command line. Each command parses its arguments, calls one operation and prints the result.

Reads on the command line do not count as use: only the use by agents promotes a memory.

Exit codes: 0 success, 1 error (on stderr, or as JSON on stdout with --json), 2 usage error, 130 interrupted.
"""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from memory_butler.adapters.cli import (
    connect,
    consolidate,
    dashboard,
    dead_letters,
    explain,
    hook,
    index,
    jobs,
    memory,
    remember,
    replay,
    server,
    terminal,
    tiers,
    tokens,
    transfer,
    undo,
    upkeep,
)
from memory_butler.adapters.cli.options import (
    AsOf,
    Expand,
    Id,
    Key,
    Limit,
    MinConfidence,
    MinRelevance,
    Mode,
    Reason,
    Ref,
    Scope,
    Since,
    TierFilter,
    ToolJson,
    Types,
    Until,
)
from memory_butler.adapters.cli.terminal import (
    parse_reference,
    parse_time,
    read_text,
    run_and_print,
    run_write,
    settings_of,
)
from memory_butler.errors import MemoryButlerError

app = typer.Typer(
    name="memory-butler",
    help="Long-term memory for AI agents: facts that fade, rules that earn trust, briefings that fit.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(remember.remember_app, name="remember")
app.add_typer(index.index_app, name="index")
app.add_typer(consolidate.consolidate_app, name="consolidate")
app.add_typer(dead_letters.dead_letters_app, name="dead-letters")
app.add_typer(tokens.token_app, name="token")

Home = Annotated[Path | None, typer.Option(help="Home folder (default: MEMORY_BUTLER_HOME or ~/.memory-butler).")]


def _version(requested: bool) -> None:
    if requested:
        server.version()
        raise typer.Exit


@app.callback()
def _root(
    ctx: typer.Context,
    home: Home = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    ctx.obj = home


@app.command()
def search(
    ctx: typer.Context,
    query: Annotated[str, typer.Argument(help='Search text; "-" reads it from stdin.')],
    *,
    kind: Types = None,
    tier: TierFilter = None,
    scope: Scope = None,
    mode: Mode = "hybrid",
    limit: Limit = None,
    min_confidence: MinConfidence = None,
    min_relevance: MinRelevance = None,
    since: Since = None,
    until: Until = None,
    as_of: AsOf = None,
    expand: Expand = 0,
    as_json: ToolJson = False,
) -> None:
    """Search memories by meaning and by words, best first."""
    from memory_butler.adapters.cli.tables import memories as memory_tables
    from memory_butler.adapters.wire import answers
    from memory_butler.models import Question
    from memory_butler.operations.retrieval import search as search_operation

    question = Question(
        query=read_text(query),
        types=tuple(kind or ()),
        tier=tier,
        scope=scope,
        mode=mode,
        limit=limit,
        min_confidence=min_confidence,
        min_relevance=min_relevance,
        time_from=parse_time(since, "--since"),
        time_to=parse_time(until, "--until"),
        as_of=parse_time(as_of, "--as-of"),
        expand=expand,
    )
    run_and_print(
        ctx,
        as_json,
        lambda resources: search_operation.search(resources, question, bump=False),
        answers.search_results,
        memory_tables.answer,
    )


@app.command()
def recall(
    ctx: typer.Context,
    topic: Annotated[str, typer.Argument(help='Topic; "-" reads it from stdin.')],
    *,
    scope: Scope = None,
    limit: Limit = None,
    min_relevance: MinRelevance = None,
    expand: Expand = 0,
    as_json: ToolJson = False,
) -> None:
    """Search the facts and rules that are most relevant to a topic."""
    from memory_butler.adapters.cli.tables import memories as memory_tables
    from memory_butler.adapters.wire import answers
    from memory_butler.models import Question
    from memory_butler.operations.retrieval import search as search_operation

    question = Question(query=read_text(topic), scope=scope, limit=limit, min_relevance=min_relevance, expand=expand)
    run_and_print(
        ctx,
        as_json,
        lambda resources: search_operation.recall(resources, question, bump=False),
        answers.search_results,
        memory_tables.answer,
    )


@app.command()
def get(ctx: typer.Context, ref: Ref, id: Id = None, as_json: ToolJson = False) -> None:
    """Show one memory with its links, its history and its outlook."""
    from memory_butler.adapters.cli.tables import history
    from memory_butler.adapters.wire import answers
    from memory_butler.operations.retrieval import get as get_operation

    reference = parse_reference(ref, id)
    run_and_print(
        ctx,
        as_json,
        lambda resources: get_operation.get(resources, *reference, bump=False),
        answers.memory_detail,
        history.portrait,
    )


@app.command()
def context(
    ctx: typer.Context,
    prompt: Annotated[str, typer.Argument(help='First prompt of the agent session; "-" reads it from stdin.')],
    *,
    butler: Annotated[str | None, typer.Option(help="Butler to brief (default: this one).")] = None,
    budget: Annotated[int | None, typer.Option(help="Token budget (default 3000).")] = None,
    as_of: AsOf = None,
    receipt: Annotated[
        bool, typer.Option("--receipt", help="Print the token counts and the omitted memories on stderr.")
    ] = False,
    as_json: ToolJson = False,
) -> None:
    """Print the briefing for the start of an agent session."""
    from memory_butler.adapters.cli.tables import memories as memory_tables
    from memory_butler.models import BriefRequest
    from memory_butler.operations.briefing import brief

    settings = settings_of(ctx)
    request = BriefRequest(
        trigger_prompt=read_text(prompt),
        butler=butler or settings.butler,
        token_budget=budget,
        as_of=parse_time(as_of, "--as-of"),
    )
    briefing = terminal.run_task(settings, lambda opened: brief.brief(opened, request))
    if as_json:
        terminal.print_json(briefing)
        return
    sys.stdout.write(briefing.text)
    if receipt:
        sys.stdout.flush()
        terminal.console(stderr=True).print(memory_tables.receipt(briefing.receipt))
    else:
        sys.stderr.writelines(f"! {note}\n" for note in briefing.receipt.degraded)


@app.command()
def confirm(ctx: typer.Context, ref: Ref, id: Id = None, key: Key = None, as_json: ToolJson = False) -> None:
    """Confirm that a fact or rule is still true. Decay restarts now."""
    from memory_butler.operations.writing import feedback

    reference = parse_reference(ref, id)
    run_write(ctx, as_json, lambda resources: feedback.confirm(resources, *reference, idempotency_key=key))


@app.command()
def forget(
    ctx: typer.Context, ref: Ref, id: Id = None, *, reason: Reason = None, key: Key = None, as_json: ToolJson = False
) -> None:
    """Withdraw a memory from use. It stays in the store and can be restored."""
    from memory_butler.operations.writing import forget as forget_operation

    reference = parse_reference(ref, id)
    run_write(
        ctx,
        as_json,
        lambda resources: forget_operation.forget(resources, *reference, reason=reason, idempotency_key=key),
    )


@app.command()
def stats(ctx: typer.Context, scope: Scope = None, as_json: ToolJson = False) -> None:
    """Count memories by type and state."""
    from memory_butler.adapters.cli.tables import memories as memory_tables
    from memory_butler.operations.system import stats as stats_operation

    run_and_print(ctx, as_json, lambda resources: stats_operation.stats(resources, scope), None, memory_tables.stats)


for command in (
    *explain.COMMANDS,
    *memory.COMMANDS,
    *tiers.COMMANDS,
    *upkeep.COMMANDS,
    *undo.COMMANDS,
    *jobs.COMMANDS,
    *connect.COMMANDS,
    *dashboard.COMMANDS,
    *hook.COMMANDS,
    *replay.COMMANDS,
    *transfer.COMMANDS,
    *server.COMMANDS,
):
    app.command()(command)


def main() -> None:
    """Call boundary: prints any exception as an error with an exit code, never as a traceback."""
    terminal.prepare()
    as_json = "--json" in sys.argv[1:]
    code = 1
    try:
        app(prog_name="memory-butler")
    except MemoryButlerError as problem:
        code = terminal.print_error(problem, as_json=as_json)
    except KeyboardInterrupt:
        code = 130
    except Exception as fault:  # noqa: BLE001 (call boundary; the log gets the traceback)
        code = terminal.print_error(terminal.internal_error(fault), as_json=as_json)
    finally:
        _flush()
    sys.exit(code)


def _flush() -> None:
    """Ignore a closed pipe (`| head`)."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
