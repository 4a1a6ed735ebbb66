"""The commands about consolidation: distilling what waits, seeing what came of it, deciding about proposals."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memory_butler.adapters import terminal
from memory_butler.adapters.terminal import settings_of
from memory_butler.errors import (
    DistillerUnavailable,
    InvalidInput,
    MemoryButlerError,
    NotFound,
    Unprocessable,
    UnusableProposal,
)

if TYPE_CHECKING:
    from memory_butler.butler import Butler
    from memory_butler.models import Caller, RunReport
    from memory_butler.operations.diff import DiffLine
    from memory_butler.operations.review import Reviewed
    from memory_butler.store.consolidation import Run

    Told = tuple[RunReport, Sequence[DiffLine]]

consolidate_app = typer.Typer(invoke_without_command=True, rich_markup_mode=None)

Json = Annotated[bool, typer.Option("--json", help="Print one line of JSON.")]
Tenant = Annotated[
    str | None,
    typer.Option(help="Whose store, where there are several; the look is on record there. Yours unless named."),
]
RunId = Annotated[str, typer.Argument(metavar="RUN", help="The id of a run, as `consolidate runs` shows it.")]
Items = Annotated[list[int] | None, typer.Argument(metavar="[ITEM]...", help="Numbers of items; all if none is named.")]
Rest = Annotated[
    str | None, typer.Option(metavar="approve|reject", help="What happens to the items that are not named.")
]
Most = Annotated[int, typer.Option("--limit", min=1, max=200, help="Most runs to show.")]
DECISIONS = {"approve": "approved", "reject": "rejected"}


@consolidate_app.callback()
def consolidate(
    ctx: typer.Context,
    *,
    tenant: Tenant = None,
    butler: Annotated[str | None, typer.Option(help="Only this butler's episodes; otherwise everybody's.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what the next run would do, and change nothing.")
    ] = False,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Most episodes to distil; all that wait if not given.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Distil the episodes that wait into facts and rules, and show what came of it.

    + is new, ~ has a new value, ✓ is confirmed, ✗ was refused. Each run can be taken back with `undo`.
    """
    if ctx.invoked_subcommand is not None:
        if tenant or butler or dry_run or limit or as_json:
            raise InvalidInput(
                "An option stands in front of the subcommand.",
                recovery=f"Write it behind: memory-butler consolidate {ctx.invoked_subcommand} … --json",
            )
        return
    work = _Distilling(tenant=tenant, butler=butler, limit=limit)
    problem = terminal.work(settings_of(ctx), work.rehearse if dry_run else work.consolidate)
    if as_json:
        shape = work.shape(dry_run=dry_run)
        terminal.print_json({**problem.as_dict(), **shape} if problem else shape)
        raise typer.Exit(1 if problem else 0)
    from memory_butler.adapters import tables_consolidate

    if work.told:
        terminal.console().print(tables_consolidate.runs_told(work.told, undo=_undo(tenant)), crop=False)
    for said in work.remarks:
        terminal.console().print(said, soft_wrap="memory-butler " in said, markup=False)
    if problem:
        raise problem


class _Distilling:
    """One call of the command: what it was asked for, and what came of it up to now."""

    def __init__(self, *, tenant: str | None, butler: str | None, limit: int | None) -> None:
        self.tenant, self.butler, self.limit = tenant, butler, limit
        self.told: list[Told] = []
        self.remarks: list[str] = []

    async def consolidate(self, opened: "Butler") -> MemoryButlerError | None:
        """Work through the backlog. What was done before something went wrong is told all the same."""
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        from memory_butler.operations.backlog import backlogs
        from memory_butler.operations.distil_now import distil_now, taken

        caller = await caller_of(opened, self.tenant, "consolidation")
        waiting = await backlogs(opened, caller, only_butler=self.butler)
        total = min(sum(waiting.values()), self.limit or sum(waiting.values()))
        reports: list[RunReport] = []
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        problem = None
        with Progress(*columns, console=terminal.console(stderr=True), disable=not sys.stderr.isatty()) as bar:
            task = bar.add_task("Distilling", total=total)

            def tell(report: "RunReport") -> None:
                reports.append(report)
                bar.update(task, description=report.butler, completed=min(total, taken(reports)))

            try:
                await distil_now(opened, caller, only_butler=self.butler, limit=self.limit, progress=tell)
            except MemoryButlerError as caught:
                problem = caught
        await self._tell(opened, caller, reports)
        if not problem:
            await self._remark(opened, caller, waiting)
        return problem

    async def rehearse(self, opened: "Butler") -> MemoryButlerError | None:
        """What the next run of each butler would do."""
        from memory_butler.operations import consolidate as consolidating
        from memory_butler.operations import upkeep
        from memory_butler.operations.backlog import backlogs

        caller = await caller_of(opened, self.tenant, "consolidation")
        waiting = await backlogs(opened, caller, only_butler=self.butler)
        reports: list[RunReport] = []
        unavailable = None
        with terminal.waiting("Distilling …"):
            for name, backlog in waiting.items():
                shard = upkeep.shard_of(caller.principal.tenant, name)
                try:
                    report = await consolidating.rehearse(opened, shard, limit=self.limit)
                except (UnusableProposal, Unprocessable) as problem:
                    self.remarks.append(
                        f"{name}: the run would fail, and try again in smaller parts. {problem.message}"
                    )
                    continue
                except DistillerUnavailable as problem:
                    unavailable = problem
                    break
                if report is None:
                    continue
                reports.append(report)
                if backlog > len(report.episodes):
                    self.remarks.append(
                        f"{name}: these were the next {len(report.episodes)} of {backlog:,} episodes that wait."
                    )
        await self._tell(opened, caller, reports)
        if not reports and not self.remarks and not unavailable:
            await self._remark(opened, caller, waiting)
        return unavailable

    async def _tell(self, opened: "Butler", caller: "Caller", reports: "list[RunReport]") -> None:
        from memory_butler.operations.diff import diff

        for report in reports:
            self.told.append((report, await diff(opened, caller, report.butler, report.lines)))

    async def _remark(self, opened: "Butler", caller: "Caller", waited: dict[str, int]) -> None:
        """Why there is nothing to show, or what still waits."""
        from memory_butler.operations import review
        from memory_butler.operations.backlog import backlogs

        claims = {run.butler: run for run in await review.runs(opened, caller, state="claimed")}
        held = [name for name in waited if name in claims]
        for name in held:
            run = claims[name]
            self.remarks.append(
                f"{name}: another worker ({run.distiller}) is at it, until {run.lease_until:%H:%M} UTC at the latest."
            )
        proposals = await review.runs(opened, caller, only_butler=self.butler, state="waiting")
        if not self.told and not held:
            later = sum((await backlogs(opened, caller, only_butler=self.butler, later=True)).values())
            tries = "1 episode waits" if later == 1 else f"{later:,} episodes wait"
            self.remarks += (
                [
                    f"Nothing to distil now. {tries} for another try after a failure.",
                    "Not to wait: memory-butler dead-letters requeue REF",
                ]
                if later
                else ["No episode waits to be distilled."]
            )
        elif self.told and not held:
            left = sum((await backlogs(opened, caller, only_butler=self.butler)).values())
            self.remarks += [f"{left:,} still wait."] if left else []
        if proposals and not any(report.state == "waiting" for report, _ in self.told):
            number = f"{len(proposals)} proposal{'s wait' if len(proposals) > 1 else ' waits'}"
            self.remarks.append(f"{number} for a decision: memory-butler consolidate review")

    def shape(self, *, dry_run: bool) -> dict[str, Any]:
        from memory_butler.adapters import shapes_consolidation

        runs = [shapes_consolidation.run(report, lines) for report, lines in self.told]
        return {"dry_run": dry_run, "runs": runs, "remarks": self.remarks}


def _undo(tenant: str | None) -> str:
    """The command that takes a run back; it works on one's own store unless it is told otherwise."""
    return f"MEMORY_BUTLER_TENANT={tenant} memory-butler undo" if tenant else "memory-butler undo"


async def caller_of(opened: "Butler", tenant: str | None, operation: str) -> "Caller":
    """The administrator of one's own store; an operator in one that is named, where that is on record beforehand."""
    from dataclasses import replace

    from memory_butler.operations import upkeep
    from memory_butler.operations.visits import note_visit
    from memory_butler.policy.roles import visiting

    if tenant is None or tenant == opened.settings.tenant:
        return opened.local_caller()
    known = await upkeep.tenants(opened)
    if tenant not in known:
        more = f", and {len(known) - 10} more" if len(known) > 10 else ""
        raise NotFound(f"There is no tenant {tenant[:60]!r}.", recovery=f"Name one of: {', '.join(known[:10])}{more}.")
    operator = opened.local_operator()
    visitor = replace(operator, principal=visiting(operator.principal, tenant))
    await note_visit(opened, visitor, operation)
    return visitor


@consolidate_app.command("runs")
def runs(
    ctx: typer.Context,
    *,
    tenant: Tenant = None,
    butler: Annotated[str | None, typer.Option(help="Only this butler's runs.")] = None,
    limit: Most = 20,
    as_json: Json = False,
) -> None:
    """List the latest runs: when, whose, what became of them."""
    _list(ctx, tenant, butler=butler, state=None, limit=limit, as_json=as_json)


@consolidate_app.command("show")
def show(ctx: typer.Context, run: RunId, *, tenant: Tenant = None, as_json: Json = False) -> None:
    """Show one run: its episodes, and every item with what became of it."""
    _show(ctx, run, tenant, as_json=as_json)


@consolidate_app.command("review")
def review(
    ctx: typer.Context,
    run: Annotated[
        str | None, typer.Argument(metavar="[RUN]", help="The proposal to look at; otherwise a list.")
    ] = None,
    *,
    tenant: Tenant = None,
    as_json: Json = False,
) -> None:
    """List the proposals that wait for a decision, or show one with its numbered items."""
    if run is None:
        _list(ctx, tenant, butler=None, state="waiting", limit=200, as_json=as_json)
    else:
        _show(ctx, run, tenant, as_json=as_json)


@consolidate_app.command("approve")
def approve(
    ctx: typer.Context,
    run: RunId,
    items: Items = None,
    *,
    rest: Rest = None,
    tenant: Tenant = None,
    as_json: Json = False,
) -> None:
    """Have a proposal applied: all of it, or the items that are named."""
    _decide(ctx, run, "approve", items, rest=rest, tenant=tenant, as_json=as_json)


@consolidate_app.command("reject")
def reject(
    ctx: typer.Context,
    run: RunId,
    items: Items = None,
    *,
    rest: Rest = None,
    tenant: Tenant = None,
    as_json: Json = False,
) -> None:
    """Turn a proposal down: all of it, or the items that are named. Its episodes are not distilled again."""
    _decide(ctx, run, "reject", items, rest=rest, tenant=tenant, as_json=as_json)


def _decide(
    ctx: typer.Context,
    run: str,
    how: str,
    items: list[int] | None,
    *,
    rest: str | None,
    tenant: str | None,
    as_json: bool,
) -> None:
    from memory_butler.operations import review as reviewing

    if rest is not None and rest not in DECISIONS:
        raise InvalidInput(f"--rest {rest[:60]!r} is not understood.", recovery="It is approve or reject.")
    if not items and rest not in (None, how):
        raise InvalidInput(
            f"Without numbers everything is meant; there is no rest to {rest}.",
            recovery=f"Name the items to {how}, or leave out --rest.",
        )
    others = DECISIONS[rest] if rest else None if items else DECISIONS[how]
    approved, rejected = (items, None) if how == "approve" else (None, items)

    async def task(opened: "Butler") -> "tuple[Reviewed, Sequence[DiffLine]]":
        caller = await caller_of(opened, tenant, "review")
        await reviewing.decide(opened, run, caller, approve=approved, reject=rejected, rest=others)
        return await _seen(opened, run, caller)

    _show_seen(terminal.work(settings_of(ctx), task), tenant, as_json=as_json)


def _list(
    ctx: typer.Context, tenant: str | None, *, butler: str | None, state: str | None, limit: int, as_json: bool
) -> None:
    from memory_butler.adapters import shapes_consolidation, tables_consolidate
    from memory_butler.operations import review as reviewing

    async def task(opened: "Butler") -> "list[Run]":
        caller = await caller_of(opened, tenant, "runs")
        return await reviewing.runs(opened, caller, only_butler=butler, state=state, limit=limit)

    found = terminal.work(settings_of(ctx), task)
    if as_json:
        terminal.print_json({"runs": [shapes_consolidation.record(run) for run in found], "count": len(found)})
        return
    empty = "No proposal waits for a decision." if state else "Nothing was distilled yet."
    out = terminal.console()
    out.print(tables_consolidate.listed(found, empty=empty))
    if found:
        out.print(f"Look at one: memory-butler consolidate {'review' if state else 'show'} RUN", soft_wrap=True)


def _show(ctx: typer.Context, run: str, tenant: str | None, *, as_json: bool) -> None:
    async def task(opened: "Butler") -> "tuple[Reviewed, Sequence[DiffLine]]":
        return await _seen(opened, run, await caller_of(opened, tenant, "runs"))

    _show_seen(terminal.work(settings_of(ctx), task), tenant, as_json=as_json)


async def _seen(opened: "Butler", run: str, caller: "Caller") -> "tuple[Reviewed, Sequence[DiffLine]]":
    from memory_butler.operations import review as reviewing
    from memory_butler.operations.diff import diff

    seen = await reviewing.show(opened, run, caller)
    return seen, await diff(opened, caller, seen.run.butler, seen.lines)


def _show_seen(found: "tuple[Reviewed, Sequence[DiffLine]]", tenant: str | None, *, as_json: bool) -> None:
    from memory_butler.adapters import shapes_consolidation, tables_consolidate

    if as_json:
        terminal.print_json(shapes_consolidation.reviewed(*found))
    else:
        terminal.console().print(tables_consolidate.reviewed(*found, undo=_undo(tenant)), crop=False)
