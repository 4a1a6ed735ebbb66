"""The purge command: erase memories for good, list receipts and verify them."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from memory_butler.adapters.cli import terminal
from memory_butler.adapters.cli.consolidate import caller_of
from memory_butler.adapters.cli.memory import similar_line
from memory_butler.adapters.cli.options import Tenant, ToolJson
from memory_butler.errors import InvalidInput

if TYPE_CHECKING:
    from rich.console import RenderableType

    from memory_butler.models.wire.purge_answers import PurgeReceipt, ReceiptCheck
    from memory_butler.operations.trust.purge import PurgeReport, PurgeRequest
    from memory_butler.resources import Resources

SHOWN = 50


def purge(
    ctx: typer.Context,
    ref: Annotated[
        str | None,
        typer.Argument(metavar="REF", help="A reference such as fact:k3f7; or `receipts`; or `verify` and a receipt."),
    ] = None,
    receipt: Annotated[
        str | None, typer.Argument(metavar="RECEIPT", help="With `verify`: id of a receipt, or a file that holds it.")
    ] = None,
    *,
    subject: Annotated[str | None, typer.Option(help="Purge every fact about this subject, and its aliases.")] = None,
    text: Annotated[
        str | None, typer.Option(help="Purge every memory that contains this text: a name, an address, a number.")
    ] = None,
    derived: Annotated[
        bool, typer.Option("--derived/--no-derived", help="Also purge what was derived from the matches alone.")
    ] = True,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    reason: Annotated[
        str | None, typer.Option(help="Reason for the receipt, without the words that are erased.")
    ] = None,
    tenant: Tenant = None,
    as_json: ToolJson = False,
) -> None:
    """Erase memories for good, with a receipt. Shows the matches first and asks. `purge receipts` lists receipts,
    `purge verify RECEIPT` checks one: exit code 0 if it holds, 1 if not."""
    if ref == "verify":
        _verify(ctx, receipt, tenant)
    elif ref == "receipts":
        _receipts(ctx, tenant)
    elif receipt is not None:
        raise InvalidInput(f"{receipt!r} is one argument too many.", recovery="Pass one reference, or use --text.")
    else:
        from memory_butler.operations.trust.purge import PurgeRequest

        request = PurgeRequest(ref=ref, subject=subject, text=text, derived=derived)
        _purge(ctx, request, reason, yes=yes)


def _purge(ctx: typer.Context, request: "PurgeRequest", reason: str | None, *, yes: bool) -> None:
    from memory_butler.adapters.wire import answers
    from memory_butler.operations.trust import purge as purge_operation

    async def run(resources: "Resources", *, dry_run: bool) -> "PurgeReport":
        caller = await caller_of(resources, ctx.params["tenant"], "purge")
        return await purge_operation.purge(resources, request, caller, dry_run=dry_run, reason=reason)

    to_answer = answers.purge_answer
    if not yes:
        found = terminal.run_and_print(ctx, lambda resources: run(resources, dry_run=True), _table, to_answer)
        if ctx.params["as_json"] or not (found.touched or found.aliases or found.elsewhere):
            return
        if not sys.stdin.isatty():
            sys.stdout.write("Nothing was changed; add --yes to erase them.\n")
            return
        typer.confirm("Erase all of it for good?", abort=True)
    terminal.run_and_print(ctx, lambda resources: run(resources, dry_run=False), _table, to_answer)


def _table(report: "PurgeReport") -> "RenderableType":
    from rich.console import Group
    from rich.text import Text

    from memory_butler.adapters.cli.tables.memories import plain_table, safe

    table = plain_table("reference", "memory", pad_edge=False)
    for entry in report.touched[:SHOWN]:
        line = f"{safe(entry.line)}\n" if entry.line is not None else ""
        table.add_row(
            Text(f"{entry.type}:{entry.ref}", style="cyan"), Text.assemble(line, (", ".join(entry.why), "dim"))
        )
    lines = [f"… and {len(report.touched) - SHOWN} more."] if len(report.touched) > SHOWN else []
    return Group(*([table] if report.touched else []), *(Text(line) for line in [*lines, *_summary(report)]))


def _summary(report: "PurgeReport") -> list[str]:
    count, aliases = len(report.touched), len(report.aliases)
    what = f"{count} {'memory' if count == 1 else 'memories'}"
    what += f" and {aliases} {'alias' if aliases == 1 else 'aliases'}" if aliases else ""
    what += f", and words in {report.elsewhere} other places" if report.elsewhere else ""
    if not (count or aliases or report.elsewhere):
        lines = [f"It was purged before; receipt {report.receipt}." if report.receipt else "Nothing matches."]
        return [*lines, *_similar(report)]
    if not report.dry_run:
        lines = [f"Erased {what} for good.", f"Receipt: {report.receipt}"]
        if report.residue == "pending":
            lines.append("The data files still hold deleted bytes; the cleanup job rewrites them.")
        return [*lines, *_left(report)]
    lines = [f"This would erase {what} for good. It cannot be undone."]
    if report.derived:
        lines.append(f"{report.derived} of them were derived from the others alone; --no-derived keeps them.")
    return [*lines, *_left(report)]


def _left(report: "PurgeReport") -> list[str]:
    """What stays, although it may be meant: the user sees it before and after."""
    lines = []
    if report.kept_sources:
        lines.append(f"Kept, although they may hold the same words: {', '.join(report.kept_sources[:10])}")
    if report.mentions:
        more = "1 more mentions" if report.mentions == 1 else f"{report.mentions} more mention"
        lines.append(f"{more} the subject; --text includes {'it' if report.mentions == 1 else 'them'}.")
    return [*lines, *_similar(report)]


def _similar(report: "PurgeReport") -> list[str]:
    if not report.similar:
        return []
    return ["Not included, but spelled alike (--text SPELLING purges one):", *map(similar_line, report.similar)]


def _receipts(ctx: typer.Context, tenant: str | None) -> None:
    from memory_butler.operations.trust import purge_receipts

    async def task(resources: "Resources") -> "list[PurgeReceipt]":
        return await purge_receipts.receipts(resources, await caller_of(resources, tenant, "purge"))

    terminal.run_and_print(ctx, task, _receipt_lines, lambda found: {"receipts": found, "count": len(found)})


def _receipt_lines(receipts: "list[PurgeReceipt]") -> "RenderableType":
    from rich.console import Group
    from rich.text import Text

    from memory_butler.adapters.cli.tables.memories import safe

    lines = []
    for one in receipts:
        state = one.residue["state"] if one.residue else "pending"
        count = f"{len(one.items)} {'item' if len(one.items) == 1 else 'items'}"
        about = f"{one.purged_at:%Y-%m-%d %H:%M} by {safe(one.actor)}: {count}, data files {state}"
        about += f", {len(one.backups)} earlier backups" if one.backups else ""
        about += f". Reason: {safe(one.reason)}" if one.reason else ""
        lines += [Text(str(one.id), style="cyan"), Text(f"  {about}")]
    return Group(*lines) if lines else "Nothing was purged."


def _verify(ctx: typer.Context, receipt: str | None, tenant: str | None) -> None:
    from memory_butler.operations.trust import purge_receipts

    given = _read_receipt(receipt)

    async def task(resources: "Resources") -> "ReceiptCheck":
        return await purge_receipts.verify(resources, given, await caller_of(resources, tenant, "purge"))

    def render(check: "ReceiptCheck") -> str:
        if check.holds:
            return f"The receipt holds: it matches the log, and none of its {check.items} items came back."
        return "\n".join(["The receipt does not hold:", *(f"- {problem}" for problem in check.problems)])

    check = terminal.run_and_print(ctx, task, render, lambda found: {"holds": found.holds, **_plain(found)})
    raise typer.Exit(0 if check.holds else 1)


def _plain(check: "ReceiptCheck") -> dict[str, Any]:
    return {"receipt": check.receipt, "items": check.items, "problems": check.problems}


def _read_receipt(receipt: str | None) -> "UUID | dict[str, Any]":
    if receipt is None:
        raise InvalidInput(
            "No receipt is given.", recovery="Pass its id or a file; `memory-butler purge receipts` lists them."
        )
    try:
        return UUID(receipt)
    except ValueError:
        pass
    try:
        saved = json.loads(Path(receipt).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise InvalidInput(
            f"{receipt!r} is neither the id of a receipt nor a file that holds one.",
            recovery="List receipts: memory-butler purge receipts --json",
        ) from None
    if not isinstance(saved, dict):
        raise InvalidInput(f"{receipt!r} does not hold one receipt.", recovery="Save one entry of `purge receipts`.")
    return saved
