"""Commands that change memories: feedback, correction, pins, forgetting and restoring."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memory_butler.adapters.cli.options import Id, Key, Reason, Ref, ToolJson
from memory_butler.adapters.cli.storage import backup
from memory_butler.adapters.cli.terminal import parse_reference, read_text, run_and_print, run_write

if TYPE_CHECKING:
    from rich.console import RenderableType

    from memory_butler.models import Stored
    from memory_butler.operations.trust.forget_about import ForgetReport
    from memory_butler.operations.trust.similar_spellings import SimilarSpelling

    Change = Callable[..., Awaitable[Stored]]

Rule = Annotated[str, typer.Argument(metavar="RULE", help="Reference or id of a rule.")]
SHOWN = 50


def _change(ctx: typer.Context, operation: "Change", *arguments: str | None, **options: bool | str) -> None:
    """Change a memory, with the options that the commands share, and print the outcome."""
    given = ctx.params
    reason = {"reason": given["reason"]} if "reason" in given else {}
    run_write(
        ctx, lambda resources: operation(resources, *arguments, idempotency_key=given["key"], **reason, **options)
    )


def confirm(ctx: typer.Context, ref: Ref, id: Id = None, key: Key = None, as_json: ToolJson = False) -> None:
    """Confirm that a fact or rule is still true. Decay restarts now."""
    from memory_butler.operations.writing import feedback

    _change(ctx, feedback.confirm, *parse_reference(ref, id))


def forget(
    ctx: typer.Context,
    ref: Ref,
    id: Id = None,
    *,
    derived: Annotated[
        bool, typer.Option("--derived", help="Also withdraw the facts and rules that came from it alone.")
    ] = False,
    reason: Reason = None,
    key: Key = None,
    as_json: ToolJson = False,
) -> None:
    """Withdraw a memory from use. It stays in the store and can be restored."""
    from memory_butler.adapters.cli.tables.forgotten import forgotten
    from memory_butler.operations.writing import forget as forget_operation

    kind, handle = parse_reference(ref, id)
    run_and_print(
        ctx,
        lambda resources: forget_operation.forget(
            resources, kind, handle, derived=derived, reason=reason, idempotency_key=key
        ),
        forgotten,
        crop=False,
    )


def helpful(ctx: typer.Context, rule: Rule, reason: Reason = None, key: Key = None, as_json: ToolJson = False) -> None:
    """Report that a rule helped."""
    from memory_butler.models import Outcome
    from memory_butler.operations.writing import feedback

    _change(ctx, feedback.mark, rule, Outcome.HELPFUL)


def harmful(ctx: typer.Context, rule: Rule, reason: Reason = None, key: Key = None, as_json: ToolJson = False) -> None:
    """Report that a rule caused harm. Harmful feedback is weighted four times; repeated harm turns the rule into a
    warning."""
    from memory_butler.models import Outcome
    from memory_butler.operations.writing import feedback

    _change(ctx, feedback.mark, rule, Outcome.HARMFUL)


def restore(
    ctx: typer.Context,
    ref: Ref,
    id: Id = None,
    *,
    supersede: Annotated[
        bool,
        typer.Option("--supersede", help="Supersede a live fact with the same subject and predicate."),
    ] = False,
    reason: Reason = None,
    key: Key = None,
    as_json: ToolJson = False,
) -> None:
    """Restore a forgotten, expired or superseded memory. With a file written by `backup`: restore the store."""
    from memory_butler.operations.writing import restore as restore_operation

    if id is None and ":" not in ref and Path(ref).is_file():
        backup.restore_backup(ctx, Path(ref), as_json=as_json)
        return
    _change(ctx, restore_operation.restore, *parse_reference(ref, id), supersede=supersede)


def correct(
    ctx: typer.Context,
    fact: Annotated[str, typer.Argument(metavar="FACT", help="Reference or id of a fact.")],
    content: Annotated[str, typer.Argument(help='The correct value; "-" reads it from stdin.')],
    *,
    reason: Reason = None,
    key: Key = None,
    as_json: ToolJson = False,
) -> None:
    """Correct the value of a wrong fact. The corrected fact replaces it; its other properties stay."""
    from memory_butler.operations.writing import correct as correct_operation

    _change(ctx, correct_operation.correct, fact, read_text(content), source="user")


def pin(ctx: typer.Context, ref: Ref, id: Id = None, key: Key = None, as_json: ToolJson = False) -> None:
    """Pin a memory: it never decays, expires or is evicted."""
    from memory_butler.operations.writing import pin as pin_operation

    _change(ctx, pin_operation.pin, *parse_reference(ref, id))


def unpin(ctx: typer.Context, ref: Ref, id: Id = None, key: Key = None, as_json: ToolJson = False) -> None:
    """Unpin a memory; decay restarts now."""
    from memory_butler.operations.writing import pin as pin_operation

    _change(ctx, pin_operation.unpin, *parse_reference(ref, id))


def reverse(
    ctx: typer.Context,
    rule: Rule,
    *,
    reason: Reason = None,
    key: Key = None,
    as_json: ToolJson = False,
) -> None:
    """Turn a warning back into a rule. It is a candidate again and its feedback starts from zero."""
    from memory_butler.operations.writing import restore as restore_operation

    _change(ctx, restore_operation.reverse, rule)


def forget_about(
    ctx: typer.Context,
    *,
    subject: Annotated[str | None, typer.Option(help="Forget every fact about this subject, and its aliases.")] = None,
    text: Annotated[
        str | None,
        typer.Option(help="Forget every memory that contains this text: a name, an address, a number."),
    ] = None,
    also: Annotated[
        list[str] | None, typer.Option(help="Another spelling to match, as the dry run lists them; may be repeated.")
    ] = None,
    really: Annotated[bool, typer.Option("--really", help="Make the changes (default: only show them).")] = False,
    reason: Reason = None,
    key: Key = None,
    as_json: ToolJson = False,
) -> None:
    """Forget everything about a subject or a text. One group of changes, which `undo` takes back; only listed unless
    --really is given."""
    from memory_butler.adapters.wire import answers
    from memory_butler.operations.trust import forget_about as forget_about_operation

    run_and_print(
        ctx,
        lambda resources: forget_about_operation.forget_about(
            resources,
            subject=subject,
            text=[*([] if text is None else [text]), *(also or ())],
            dry_run=not really,
            reason=reason,
            idempotency_key=key,
        ),
        lambda report: _forgotten(report, subject),
        answers.forget_answer,
    )


def _forgotten(report: "ForgetReport", subject: str | None) -> "RenderableType":
    """The memories that were or would be forgotten, and the next command."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from memory_butler.adapters.cli.tables.memories import safe

    count = len(report.touched)
    what = f"{count} {'memory' if count == 1 else 'memories'}"
    if report.aliases:
        aliases = len(report.aliases)
        what += f" and {aliases} {'alias' if aliases == 1 else 'aliases'}"
    if not count and not report.aliases:
        lines = ["No memory in use matches." if report.dry_run else "Nothing to forget."]
    elif report.dry_run:
        lines = [f"This would forget {what}. Nothing was changed; add --really to do it."]
    else:
        lines = [f"Forgot {what}. They are out of use and can be restored."]
        lines.append(f"To undo: memory-butler undo {report.group_id}")
    if report.mentions:
        other, them = ("memory mentions", "it") if report.mentions == 1 else ("memories mention", "them")
        lines.append(f"{report.mentions} more {other} {safe(subject or '')!r}; --text includes {them}.")
    if report.similar:
        lines.append("Not included, but spelled alike (--also SPELLING includes one):")
        lines += map(similar_line, report.similar)
    table = Table(box=None, padding=(0, 1, 0, 0), show_edge=False)
    table.add_column("reference", no_wrap=True)
    table.add_column("memory", overflow="fold")
    for entry in report.touched[:SHOWN]:
        line = f"{safe(entry.line)}\n" if entry.line is not None else ""
        table.add_row(
            Text(f"{entry.type}:{entry.ref}", style="cyan"), Text.assemble(line, (", ".join(entry.why), "dim"))
        )
    if count > SHOWN:
        lines.insert(0, f"… and {count - SHOWN} more.")
    return Group(*([table] if count else []), *(Text(line) for line in lines))


def similar_line(similar: "SimilarSpelling") -> str:
    """A near spelling in one line, with the memories that contain it."""
    from memory_butler.adapters.cli.tables.memories import safe

    more = similar.count - len(similar.refs)
    refs = ", ".join(similar.refs) + (f" and {more} more" if more else "")
    return f"  {safe(similar.spelling)}  ({similar.why}): {refs}"
