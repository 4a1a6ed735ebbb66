"""The command line: one command a verb. Each parses its arguments, calls one operation and shows what came back.

What a person looks up here does not count as a reference: only what agents use moves a memory up.

Exit codes: 0 done, 1 an error (said on stderr, or as JSON on stdout with --json), 2 the command was not understood.
"""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from memory_butler.adapters import (
    cli_connect,
    cli_consolidate,
    cli_dashboard,
    cli_dead_letters,
    cli_explain,
    cli_hook,
    cli_index,
    cli_jobs,
    cli_memory,
    cli_replay,
    cli_store,
    cli_tiers,
    cli_tokens,
    cli_transfer,
    cli_undo,
    cli_upkeep,
    terminal,
)
from memory_butler.adapters.terminal import answer, handle_of, moment_of, settings_of, text_of
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
remember_app = typer.Typer(no_args_is_help=True, help="Store a fact, a rule or an episode.", rich_markup_mode=None)
app.add_typer(remember_app, name="remember")
app.add_typer(cli_index.index_app, name="index")
app.add_typer(cli_consolidate.consolidate_app, name="consolidate")
app.add_typer(cli_dead_letters.dead_letters_app, name="dead-letters")
app.add_typer(cli_tokens.token_app, name="token")

Json = Annotated[bool, typer.Option("--json", help="Print one line of JSON, the same shape as the MCP tool's answer.")]
Ref = Annotated[str, typer.Argument(metavar="REF", help="A reference such as fact:k3f7, or a type if ID follows.")]
Id = Annotated[str | None, typer.Argument(metavar="ID", help="The id, if REF is only a type.")]
Key = Annotated[str | None, typer.Option(help="Idempotency key: a repeat with the same key changes nothing.")]
Scope = Annotated[str | None, typer.Option(help="Only this scope; otherwise 'global' and this butler's own.")]
Home = Annotated[Path | None, typer.Option(help="Home folder; otherwise MEMORY_BUTLER_HOME or ~/.memory-butler.")]
Tags = Annotated[list[str] | None, typer.Option("--tag", help="A tag; may be given several times.")]
Importance = Annotated[int, typer.Option(help="How much it matters, from 1 to 10.")]
StoreScope = Annotated[str, typer.Option(help="Who may read it: 'global', or a butler's name.")]
Limit = Annotated[int | None, typer.Option(help="Most results; 10 unless set otherwise.")]
Expand = Annotated[int, typer.Option(help="Show up to so many neighbours of each result, too: 1 to 5.")]
AsOf = Annotated[
    str | None, typer.Option(metavar="MOMENT", help="Answer as the store would have then: 2026-03-01T09:30:00+01:00.")
]
MinRelevance = Annotated[
    float | None, typer.Option(help="How likely it must bear on this, from 0 (take the best there is) to 1.")
]
Since = Annotated[str | None, typer.Option(metavar="MOMENT", help="Only what is from this moment or later.")]
Until = Annotated[str | None, typer.Option(metavar="MOMENT", help="Only what is from before this moment.")]
Reason = Annotated[str | None, typer.Option(help="Why; it is kept with the change.")]


def _version(wanted: bool) -> None:
    if wanted:
        cli_store.version()
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


@remember_app.command("fact")
def remember_fact(
    ctx: typer.Context,
    subject: Annotated[str, typer.Argument(help="Who or what it is about.")],
    predicate: Annotated[str, typer.Argument(help="Which property; another value of it supersedes this one.")],
    content: Annotated[str, typer.Argument(help='The value; "-" reads it from stdin.')],
    *,
    importance: Importance = 5,
    permanence: Annotated[
        str, typer.Option(help="How slowly it fades: permanent, stable, standard, volatile or ephemeral.")
    ] = "standard",
    scope: StoreScope = "global",
    tag: Tags = None,
    valid_at: Annotated[
        str | None, typer.Option(help="For something that happened at a time: 2026-03-01T09:30:00+01:00.")
    ] = None,
    alias: Annotated[
        list[str] | None, typer.Option("--alias", help="Another name of the subject; may be given several times.")
    ] = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Store what is true. The same again confirms it; another value of the property supersedes the old one."""
    from memory_butler.adapters import shapes, tables
    from memory_butler.models import NewFact
    from memory_butler.operations import remember

    new = NewFact(
        subject=subject,
        predicate=predicate,
        content=text_of(content),
        importance=importance,
        permanence=permanence,
        scope=scope,
        tags=tuple(tag or ()),
        valid_at=moment_of(valid_at, "--valid-at"),
        aliases=tuple(alias or ()),
        idempotency_key=key,
    )
    answer(ctx, as_json, lambda butler: remember.fact(butler, new), shapes.stored, tables.stored)


@remember_app.command("rule")
def remember_rule(
    ctx: typer.Context,
    content: Annotated[str, typer.Argument(help='How to act; "-" reads it from stdin.')],
    *,
    scope: StoreScope = "global",
    tag: Tags = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Store how to act. A rule starts as a candidate and earns trust by helping."""
    from memory_butler.adapters import shapes, tables
    from memory_butler.models import NewRule
    from memory_butler.operations import remember

    new = NewRule(content=text_of(content), scope=scope, tags=tuple(tag or ()), idempotency_key=key)
    answer(ctx, as_json, lambda butler: remember.rule(butler, new), shapes.stored, tables.stored)


@remember_app.command("episode")
def remember_episode(
    ctx: typer.Context,
    content: Annotated[str, typer.Argument(help='What was observed; "-" reads it from stdin.')],
    *,
    butler: Annotated[str | None, typer.Option(help="Whose episode it is; this butler's unless named.")] = None,
    session: Annotated[str | None, typer.Option(help="The session it was observed in.")] = None,
    importance: Importance = 5,
    observed_at: Annotated[str | None, typer.Option(help="When it happened: 2026-03-01T09:30:00+01:00.")] = None,
    tag: Tags = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Store what happened in a session. Episodes live for a week."""
    from memory_butler.adapters import shapes, tables
    from memory_butler.models import NewEpisode
    from memory_butler.operations import remember

    new = NewEpisode(
        content=text_of(content),
        butler=butler or settings_of(ctx).butler,
        session_id=session,
        importance=importance,
        observed_at=moment_of(observed_at, "--observed-at"),
        tags=tuple(tag or ()),
        idempotency_key=key,
    )
    answer(ctx, as_json, lambda opened: remember.episode(opened, new), shapes.stored, tables.stored)


@app.command()
def search(
    ctx: typer.Context,
    query: Annotated[str, typer.Argument(help='What to look for; "-" reads it from stdin.')],
    *,
    kind: Annotated[
        list[str] | None, typer.Option("--type", help="Only fact, rule or episode; may be given several times.")
    ] = None,
    tier: Annotated[str | None, typer.Option(help="Only this generation: eden, mid or long.")] = None,
    scope: Scope = None,
    mode: Annotated[str, typer.Option(help="hybrid, semantic (by meaning) or keyword (by words).")] = "hybrid",
    limit: Limit = None,
    min_confidence: Annotated[float | None, typer.Option(help="Least confidence, from 0 to 1; 0.2 unless set.")] = None,
    min_relevance: MinRelevance = None,
    since: Since = None,
    until: Until = None,
    as_of: AsOf = None,
    expand: Expand = 0,
    as_json: Json = False,
) -> None:
    """Find memories by meaning and by words, best first."""
    from memory_butler.adapters import shapes, tables
    from memory_butler.models import Question
    from memory_butler.operations import recall as recalling

    question = Question(
        query=text_of(query),
        types=tuple(kind or ()),
        tier=tier,
        scope=scope,
        mode=mode,
        limit=limit,
        min_confidence=min_confidence,
        min_relevance=min_relevance,
        time_from=moment_of(since, "--since"),
        time_to=moment_of(until, "--until"),
        as_of=moment_of(as_of, "--as-of"),
        expand=expand,
    )
    answer(ctx, as_json, lambda butler: recalling.search(butler, question, bump=False), shapes.answer, tables.answer)


@app.command()
def recall(
    ctx: typer.Context,
    topic: Annotated[str, typer.Argument(help='What it is about; "-" reads it from stdin.')],
    *,
    scope: Scope = None,
    limit: Limit = None,
    min_relevance: MinRelevance = None,
    expand: Expand = 0,
    as_json: Json = False,
) -> None:
    """Find the facts and rules that matter most for a topic."""
    from memory_butler.adapters import shapes, tables
    from memory_butler.models import Question
    from memory_butler.operations import recall as recalling

    question = Question(query=text_of(topic), scope=scope, limit=limit, min_relevance=min_relevance, expand=expand)
    answer(ctx, as_json, lambda butler: recalling.recall(butler, question, bump=False), shapes.answer, tables.answer)


@app.command()
def get(ctx: typer.Context, ref: Ref, id: Id = None, as_json: Json = False) -> None:
    """Show one memory: what it says, its links, and why it is like this."""
    from memory_butler.adapters import shapes, tables_history
    from memory_butler.operations import look

    named = handle_of(ref, id)
    answer(ctx, as_json, lambda butler: look.look(butler, *named, bump=False), shapes.portrait, tables_history.portrait)


@app.command()
def context(
    ctx: typer.Context,
    prompt: Annotated[str, typer.Argument(help='What the session is about; "-" reads it from stdin.')],
    *,
    butler: Annotated[str | None, typer.Option(help="Who is briefed; this butler unless named.")] = None,
    budget: Annotated[int | None, typer.Option(help="Most tokens; 3000 unless set otherwise.")] = None,
    as_of: AsOf = None,
    receipt: Annotated[
        bool, typer.Option("--receipt", help="Say on stderr what it cost and what was left out.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Print the block of memory a session starts with."""
    from memory_butler.adapters import shapes, tables
    from memory_butler.models import BriefRequest
    from memory_butler.operations import brief

    settings = settings_of(ctx)
    request = BriefRequest(
        trigger_prompt=text_of(prompt),
        butler=butler or settings.butler,
        token_budget=budget,
        as_of=moment_of(as_of, "--as-of"),
    )
    built = terminal.work(settings, lambda opened: brief.brief(opened, request))
    if as_json:
        terminal.print_json(shapes.briefing(built))
        return
    sys.stdout.write(built.text)
    if receipt:
        sys.stdout.flush()
        terminal.console(stderr=True).print(tables.briefing(built))
    else:
        sys.stderr.writelines(f"! {said}\n" for said in built.receipt.degraded)


@app.command()
def confirm(ctx: typer.Context, ref: Ref, id: Id = None, key: Key = None, as_json: Json = False) -> None:
    """Say that a fact or rule still holds. Its fading starts again from now."""
    from memory_butler.adapters import shapes, tables
    from memory_butler.operations import judge

    named = handle_of(ref, id)
    answer(
        ctx,
        as_json,
        lambda butler: judge.confirm(butler, *named, idempotency_key=key),
        shapes.stored,
        tables.stored,
    )


@app.command()
def forget(
    ctx: typer.Context, ref: Ref, id: Id = None, *, reason: Reason = None, key: Key = None, as_json: Json = False
) -> None:
    """Withdraw a memory from use. It is kept, and the change is on record."""
    from memory_butler.adapters import shapes, tables
    from memory_butler.operations import forget as forgetting

    named = handle_of(ref, id)
    answer(
        ctx,
        as_json,
        lambda butler: forgetting.forget(butler, *named, reason=reason, idempotency_key=key),
        shapes.stored,
        tables.stored,
    )


@app.command()
def stats(ctx: typer.Context, scope: Scope = None, as_json: Json = False) -> None:
    """Count what is remembered, and in which state."""
    from memory_butler.adapters import shapes, tables
    from memory_butler.operations import report

    answer(ctx, as_json, lambda butler: report.report(butler, scope), shapes.plain, tables.stats)


for command in (
    *cli_explain.COMMANDS,
    *cli_memory.COMMANDS,
    *cli_tiers.COMMANDS,
    *cli_upkeep.COMMANDS,
    *cli_undo.COMMANDS,
    *cli_jobs.COMMANDS,
    *cli_connect.COMMANDS,
    *cli_dashboard.COMMANDS,
    *cli_hook.COMMANDS,
    *cli_replay.COMMANDS,
    *cli_transfer.COMMANDS,
    *cli_store.COMMANDS,
):
    app.command()(command)


def main() -> None:
    """The outermost boundary: an error becomes one block and an exit code, never a traceback."""
    terminal.prepare()
    as_json = "--json" in sys.argv[1:]
    code = 1
    try:
        app(prog_name="memory-butler")
    except MemoryButlerError as problem:
        code = terminal.fail(problem, as_json=as_json)
    except KeyboardInterrupt:
        code = 130
    except Exception as fault:  # noqa: BLE001 (the outermost boundary; it goes to the log)
        code = terminal.fail(terminal.unexpected(fault), as_json=as_json)
    finally:
        _flush()
    sys.exit(code)


def _flush() -> None:
    """A reader that has gone away (`| head`) is no fault of ours."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
