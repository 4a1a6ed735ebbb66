"""Commands that store a fact, a rule, an episode, or a note in a tier."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
import typer.core

from memory_butler.adapters.cli.options import Importance, Key, Source, StoreScope, Tags, ToolJson
from memory_butler.adapters.cli.terminal import read_text, request_of, run_and_print, run_write, settings_of
from memory_butler.adapters.cli.times import parse_time

if TYPE_CHECKING:
    from memory_butler.models import DerivedMemory, Stored
    from memory_butler.resources import Resources

    Learned = tuple[Stored, tuple[DerivedMemory, ...]]

New = TypeVar("New")


class _TextByDefault(typer.core.TyperGroup):
    """`remember "I like tea"` needs no subcommand."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            args = ["text", *args]
        return super().parse_args(ctx, args)


remember_app = typer.Typer(
    cls=_TextByDefault,
    no_args_is_help=True,
    help='Store what you say: `remember "I like tea"`. Or store a fact, a rule or an episode.',
    rich_markup_mode=None,
)


def _new(ctx: typer.Context, kind: Callable[..., New], **changed: Any) -> New:
    """The memory to store, from the options that all commands share and these."""
    given = ctx.params
    shared = {"tags": tuple(given["tag"] or ()), "idempotency_key": given["key"]}
    return request_of(ctx, kind, content=read_text(given["content"]), **shared, **changed)


@remember_app.command("text")
def remember_text(
    ctx: typer.Context,
    content: Annotated[str, typer.Argument(help='What to remember; "-" reads it from stdin.')],
    *,
    butler: Annotated[str | None, typer.Option(help="Butler that learns it (default: the configured butler).")] = None,
    importance: Importance = 5,
    tag: Tags = None,
    source: Source = "user",
    key: Key = None,
    as_json: ToolJson = False,
) -> None:
    """Remember a sentence. It becomes a fact, a rule or a note in your own words, by the rules of consolidation."""
    from memory_butler.adapters.cli.tables.memories import learned
    from memory_butler.models import NewEpisode
    from memory_butler.models.vocabulary import BY_HAND
    from memory_butler.operations.consolidation.run_now import consolidate_now
    from memory_butler.operations.writing import forget, remember

    owner = butler or settings_of(ctx).butler
    new = _new(ctx, NewEpisode, butler=owner, metadata={BY_HAND: True})

    async def work(resources: "Resources") -> "Learned":
        stored = await remember.episode(resources, new)
        await consolidate_now(resources, only_butler=owner)
        return stored, await forget.find_derived(resources, "episode", stored.ref)

    run_and_print(ctx, work, learned, lambda result: {"stored": result[0], "learned": list(result[1])}, crop=False)


@remember_app.command("fact")
def remember_fact(
    ctx: typer.Context,
    subject: Annotated[str, typer.Argument(help="Person or thing that the fact is about.")],
    predicate: Annotated[str, typer.Argument(help="Property of the subject; a new value supersedes the old one.")],
    content: Annotated[str, typer.Argument(help='The value; "-" reads it from stdin.')],
    *,
    importance: Importance = 5,
    permanence: Annotated[
        str, typer.Option(help="Decay rate: permanent, stable, standard, volatile or ephemeral.")
    ] = "standard",
    scope: StoreScope = "global",
    tag: Tags = None,
    valid_at: Annotated[
        str | None,
        typer.Option(
            help="For events: when it happened, e.g. 2026-03-01T09:30:00+01:00. Events never supersede other facts."
        ),
    ] = None,
    alias: Annotated[
        list[str] | None, typer.Option("--alias", help="Another name of the subject; can be repeated.")
    ] = None,
    source: Source = "user",
    key: Key = None,
    as_json: ToolJson = False,
) -> None:
    """Store a fact. The same value confirms an existing fact; another value supersedes it."""
    from memory_butler.models import NewFact
    from memory_butler.operations.writing import remember

    values = {"valid_at": parse_time(valid_at, "--valid-at"), "aliases": tuple(alias or ())}
    new = _new(ctx, NewFact, **values)
    run_write(ctx, lambda resources: remember.fact(resources, new))


@remember_app.command("rule")
def remember_rule(
    ctx: typer.Context,
    content: Annotated[str, typer.Argument(help='Instruction; "-" reads it from stdin.')],
    *,
    scope: StoreScope = "global",
    tag: Tags = None,
    source: Source = "user",
    key: Key = None,
    as_json: ToolJson = False,
) -> None:
    """Store a rule. It starts as a candidate; helpful feedback promotes it."""
    from memory_butler.models import NewRule
    from memory_butler.operations.writing import remember

    new = _new(ctx, NewRule)
    run_write(ctx, lambda resources: remember.rule(resources, new))


@remember_app.command("episode")
def remember_episode(
    ctx: typer.Context,
    content: Annotated[str, typer.Argument(help='Observation; "-" reads it from stdin.')],
    *,
    butler: Annotated[
        str | None, typer.Option(help="Butler that owns the episode (default: the configured butler).")
    ] = None,
    session: Annotated[str | None, typer.Option(help="Id of the agent session.")] = None,
    importance: Importance = 5,
    observed_at: Annotated[str | None, typer.Option(help="Time of the observation: 2026-03-01T09:30:00+01:00.")] = None,
    tag: Tags = None,
    source: Source = "user",
    key: Key = None,
    as_json: ToolJson = False,
) -> None:
    """Store an episode: something that happened in an agent session. Episodes are deleted after a week."""
    from memory_butler.models import NewEpisode
    from memory_butler.models.vocabulary import BY_HAND
    from memory_butler.operations.writing import remember

    observed = parse_time(observed_at, "--observed-at")
    owner = butler or settings_of(ctx).butler
    by_hand = {} if session else {BY_HAND: True}
    new = _new(ctx, NewEpisode, butler=owner, session_id=session, observed_at=observed, metadata=by_hand)
    run_write(ctx, lambda opened: remember.episode(opened, new))


def store(
    ctx: typer.Context,
    content: Annotated[str, typer.Argument(help='Text of the note; "-" reads it from stdin.')],
    *,
    tier: Annotated[str, typer.Option(help="Expected lifetime: eden (days), mid (months) or long (years).")] = "eden",
    tag: Tags = None,
    butler: Annotated[
        str | None, typer.Option(help="Butler that owns the note (default: the configured butler).")
    ] = None,
    importance: Importance = 5,
    source: Source = "user",
    key: Key = None,
    as_json: ToolJson = False,
) -> None:
    """Store a note: an episode in Eden, a fact in mid or long. Storing the same fact again confirms it."""
    from memory_butler.models import NewNote
    from memory_butler.operations.writing import remember

    new = _new(ctx, NewNote, by_hand=True)
    run_write(ctx, lambda opened: remember.store(opened, new))
