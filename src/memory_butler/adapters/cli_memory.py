"""The commands that report on a rule, put a memory right, keep it, bring it back, or let go of somebody."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memory_butler.adapters import cli_transfer
from memory_butler.adapters.terminal import answer, handle_of, text_of

if TYPE_CHECKING:
    from rich.console import RenderableType

    from memory_butler.operations.forget_about import Forgetting

Json = Annotated[bool, typer.Option("--json", help="Print one line of JSON, the same shape as the MCP tool's answer.")]
Ref = Annotated[str, typer.Argument(metavar="REF", help="A reference such as fact:k3f7, or a type if ID follows.")]
Id = Annotated[str | None, typer.Argument(metavar="ID", help="The id, if REF is only a type.")]
Key = Annotated[str | None, typer.Option(help="Idempotency key: a repeat with the same key changes nothing.")]
Reason = Annotated[str | None, typer.Option(help="Why; it is kept with the change.")]
Rule = Annotated[str, typer.Argument(metavar="RULE", help="A rule's reference or id.")]
SHOWN = 50


def _mark(ctx: typer.Context, rule: str, outcome: str, *, reason: str | None, key: str | None, as_json: bool) -> None:
    from memory_butler.adapters import shapes, tables
    from memory_butler.models import Outcome
    from memory_butler.operations import judge

    answer(
        ctx,
        as_json,
        lambda butler: judge.mark(butler, rule, Outcome(outcome), reason=reason, idempotency_key=key),
        shapes.stored,
        tables.stored,
    )


def helpful(ctx: typer.Context, rule: Rule, reason: Reason = None, key: Key = None, as_json: Json = False) -> None:
    """Report that a rule helped."""
    _mark(ctx, rule, "helpful", reason=reason, key=key, as_json=as_json)


def harmful(ctx: typer.Context, rule: Rule, reason: Reason = None, key: Key = None, as_json: Json = False) -> None:
    """Report that a rule did harm. Harm counts fourfold, and often enough it turns the rule into a warning."""
    _mark(ctx, rule, "harmful", reason=reason, key=key, as_json=as_json)


def restore(
    ctx: typer.Context,
    ref: Ref,
    id: Id = None,
    *,
    supersede: Annotated[
        bool, typer.Option("--supersede", help="If a live fact is in its place, supersede that.")
    ] = False,
    reason: Reason = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Bring back what was forgotten, has expired or was superseded. A file of `backup` becomes the store again."""
    from memory_butler.adapters import shapes, tables
    from memory_butler.operations import restore as restoring

    if id is None and ":" not in ref and Path(ref).is_file():
        cli_transfer.restore_backup(ctx, Path(ref), as_json=as_json)
        return
    named = handle_of(ref, id)
    answer(
        ctx,
        as_json,
        lambda butler: restoring.restore(butler, *named, supersede=supersede, reason=reason, idempotency_key=key),
        shapes.stored,
        tables.stored,
    )


def correct(
    ctx: typer.Context,
    fact: Annotated[str, typer.Argument(metavar="FACT", help="A fact's reference or id.")],
    content: Annotated[str, typer.Argument(help='The fact as it is right; "-" reads it from stdin.')],
    *,
    reason: Reason = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Put a wrong fact right. The right one takes its place and keeps everything else of it."""
    from memory_butler.adapters import shapes, tables
    from memory_butler.operations import correct as correcting

    words = text_of(content)
    answer(
        ctx,
        as_json,
        lambda butler: correcting.correct(butler, fact, words, reason=reason, idempotency_key=key),
        shapes.stored,
        tables.stored,
    )


def pin(ctx: typer.Context, ref: Ref, id: Id = None, key: Key = None, as_json: Json = False) -> None:
    """Keep a memory for good: it does not fade, expire or make room for others."""
    from memory_butler.adapters import shapes, tables
    from memory_butler.operations import pin as pinning

    named = handle_of(ref, id)
    answer(ctx, as_json, lambda butler: pinning.pin(butler, *named, idempotency_key=key), shapes.stored, tables.stored)


def unpin(ctx: typer.Context, ref: Ref, id: Id = None, key: Key = None, as_json: Json = False) -> None:
    """Take a memory's pin off. Its time starts anew."""
    from memory_butler.adapters import shapes, tables
    from memory_butler.operations import pin as pinning

    named = handle_of(ref, id)
    answer(
        ctx, as_json, lambda butler: pinning.unpin(butler, *named, idempotency_key=key), shapes.stored, tables.stored
    )


def reverse(
    ctx: typer.Context,
    rule: Annotated[str, typer.Argument(metavar="RULE", help="A rule's reference or id.")],
    *,
    reason: Reason = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Take back that a rule is a warning. It is a candidate again, judged by what is reported from now on."""
    from memory_butler.adapters import shapes, tables
    from memory_butler.operations import restore as restoring

    answer(
        ctx,
        as_json,
        lambda butler: restoring.reverse(butler, rule, reason=reason, idempotency_key=key),
        shapes.stored,
        tables.stored,
    )


def forget_about(
    ctx: typer.Context,
    *,
    subject: Annotated[str | None, typer.Option(help="Every fact about this subject, and its other names.")] = None,
    text: Annotated[
        str | None, typer.Option(help="Every memory that holds this as a whole: a name, an address, a number.")
    ] = None,
    really: Annotated[bool, typer.Option("--really", help="Do it; otherwise it only shows what it would do.")] = False,
    reason: Reason = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Forget everything about a person or an identifier, as one group that can be undone. Shows it first."""
    from memory_butler.adapters import shapes
    from memory_butler.operations import forget_about as forgetting

    answer(
        ctx,
        as_json,
        lambda butler: forgetting.forget_about(
            butler, subject=subject, text=text, dry_run=not really, reason=reason, idempotency_key=key
        ),
        shapes.forgetting,
        lambda found: _forgetting(found, subject),
    )


def _forgetting(found: "Forgetting", subject: str | None) -> "RenderableType":
    """What would be forgotten or was, and what to do next."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from memory_butler.adapters.tables import safe

    count = len(found.touched)
    what = f"{count} {'memory' if count == 1 else 'memories'}"
    if found.aliases:
        named = len(found.aliases)
        what += f" and {named} other {'name' if named == 1 else 'names'}"
    if not count and not found.aliases:
        said = ["Nothing that is in use is about this." if found.dry_run else "There was nothing to forget."]
    elif found.dry_run:
        said = [f"This would forget {what}. Nothing has changed; add --really to do it."]
    else:
        said = [f"Forgot {what}: out of use, and nothing of it is lost."]
        said.append(f"To take all of it back: memory-butler undo {found.group_id}")
    if found.mentions:
        other, them = ("memory names", "it") if found.mentions == 1 else ("memories name", "them")
        said.append(f"{found.mentions} more {other} {safe(subject or '')!r}; --text would take {them} in, too.")
    table = Table(box=None, padding=(0, 1, 0, 0), show_edge=False)
    table.add_column("reference", no_wrap=True)
    table.add_column("memory", overflow="fold")
    for entry in found.touched[:SHOWN]:
        line = f"{safe(entry.line)}\n" if entry.line is not None else ""
        table.add_row(
            Text(f"{entry.type}:{entry.ref}", style="cyan"), Text.assemble(line, (", ".join(entry.why), "dim"))
        )
    if count > SHOWN:
        said.insert(0, f"… and {count - SHOWN} more.")
    return Group(*([table] if count else []), *(Text(line) for line in said))


COMMANDS = (helpful, harmful, restore, correct, pin, unpin, reverse, forget_about)
