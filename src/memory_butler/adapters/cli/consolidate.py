"""Commands for consolidation: run it, list and show runs, review proposals."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memory_butler import errors
from memory_butler.adapters.cli import terminal
from memory_butler.adapters.cli.options import DryRun, Json, Tenant

if TYPE_CHECKING:
    from memory_butler.models import Caller, RunReport
    from memory_butler.operations.consolidation.diff import DiffLine
    from memory_butler.operations.consolidation.review import RunReview
    from memory_butler.resources import Resources
    from memory_butler.store.consolidation.runs import Run

    RunDiff = tuple[RunReport, Sequence[DiffLine]]
    LoadRun = Callable[[Resources], Awaitable[tuple[RunReview, Sequence[DiffLine]]]]

consolidate_app = typer.Typer(invoke_without_command=True, rich_markup_mode=None)

RunId = Annotated[str, typer.Argument(metavar="RUN", help="Id of a run, as `consolidate runs` shows it.")]
Items = Annotated[list[int] | None, typer.Argument(metavar="[ITEM]...", help="Item numbers (default: all items).")]
Rest = Annotated[str | None, typer.Option(metavar="approve|reject", help="Decision for the items not listed.")]
Limit = Annotated[int, typer.Option("--limit", min=1, max=200, help="Maximum number of runs.")]
DECISIONS = {"approve": "approved", "reject": "rejected"}


@consolidate_app.callback()
def consolidate(
    ctx: typer.Context,
    *,
    tenant: Tenant = None,
    butler: Annotated[str | None, typer.Option(help="Only this butler's episodes (default: all butlers).")] = None,
    dry_run: DryRun = False,
    limit: Annotated[int | None, typer.Option(min=1, help="Maximum number of episodes (default: all pending).")] = None,
    again_empty: Annotated[
        bool, typer.Option("--again-empty", help="First requeue the episodes of which nothing was kept.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Distil pending episodes into facts and rules now. Shows the diff of each run.

    + new, ~ new value, ✓ confirmed, ✗ refused, ∅ nothing kept. Use `undo` to revert a run.
    """
    if ctx.invoked_subcommand is not None:
        if tenant or butler or dry_run or limit or as_json or again_empty:
            raise errors.InvalidInput(
                "An option comes before the subcommand.",
                recovery=f"Write it after: memory-butler consolidate {ctx.invoked_subcommand} … --json",
            )
        return
    if again_empty and dry_run:
        raise errors.InvalidInput(
            "--again-empty changes the queue, which a dry run must not.", recovery="Leave out one of the two."
        )
    call = _ConsolidateCall(tenant=tenant, butler=butler, limit=limit, again_empty=again_empty)
    problem = terminal.run_task(terminal.settings_of(ctx), call.rehearse if dry_run else call.consolidate)
    if as_json:
        encoded = call.encode(dry_run=dry_run)
        terminal.print_json({**problem.as_dict(), **encoded} if problem else encoded)
        raise typer.Exit(1 if problem else 0)
    from memory_butler.adapters.cli.tables import runs as run_tables

    if call.diffs:
        terminal.console().print(run_tables.run_reports(call.diffs, undo=_undo(tenant)), crop=False)
    for note in call.notes:
        terminal.console().print(note, soft_wrap="memory-butler " in note, markup=False)
    if problem:
        raise problem


class _ConsolidateCall:
    """One call of the command: its options, and the results up to now."""

    def __init__(self, *, tenant: str | None, butler: str | None, limit: int | None, again_empty: bool) -> None:
        self.tenant, self.butler, self.limit, self.again_empty = tenant, butler, limit, again_empty
        self.diffs: list[RunDiff] = []
        self.notes: list[str] = []

    async def consolidate(self, opened: "Resources") -> errors.MemoryButlerError | None:
        """Consolidate the backlog. Runs before a failure are still reported."""
        from memory_butler.operations.consolidation.backlog import backlogs
        from memory_butler.operations.consolidation.empty_episodes import requeue_empty
        from memory_butler.operations.consolidation.run_now import consolidate_now, episode_count

        caller = await caller_of(opened, self.tenant, "consolidation")
        if self.again_empty:
            await requeue_empty(opened, caller, only_butler=self.butler)
        waiting = await backlogs(opened, caller, only_butler=self.butler)
        total = min(sum(waiting.values()), self.limit or sum(waiting.values()))
        reports: list[RunReport] = []
        problem = None
        with terminal.progress_bar("Consolidating", total=total) as update:

            def show(report: "RunReport") -> None:
                reports.append(report)
                update(report.butler, min(total, episode_count(reports)), total)

            try:
                await consolidate_now(opened, caller, only_butler=self.butler, limit=self.limit, progress=show)
            except errors.MemoryButlerError as caught:
                problem = caught
        await self._add_diffs(opened, caller, reports)
        if not problem:
            await self._add_notes(opened, caller, waiting)
        return problem

    async def rehearse(self, opened: "Resources") -> errors.MemoryButlerError | None:
        """A dry run of the next run of each butler."""
        from memory_butler.operations.consolidation import consolidate as consolidate_operation
        from memory_butler.operations.consolidation.backlog import backlogs
        from memory_butler.operations.lifecycle import job_status

        caller = await caller_of(opened, self.tenant, "consolidation")
        waiting = await backlogs(opened, caller, only_butler=self.butler)
        reports: list[RunReport] = []
        unavailable = None
        with terminal.spinner("Consolidating …"):
            for name, backlog in waiting.items():
                shard = job_status.shard_of(caller.principal.tenant, name)
                try:
                    report = await consolidate_operation.dry_run(opened, shard, limit=self.limit)
                except (errors.UnusableProposal, errors.Unprocessable) as problem:
                    self.notes.append(f"{name}: the run would fail and be retried in smaller parts. {problem.message}")
                    continue
                except errors.DistillerUnavailable as problem:
                    unavailable = problem
                    break
                if report is None:
                    continue
                reports.append(report)
                if backlog > len(report.episodes):
                    self.notes.append(
                        f"{name}: these are the first {len(report.episodes)} of {backlog:,} pending episodes."
                    )
        await self._add_diffs(opened, caller, reports)
        if not reports and not self.notes and not unavailable:
            await self._add_notes(opened, caller, waiting)
        return unavailable

    async def _add_diffs(self, opened: "Resources", caller: "Caller", reports: "list[RunReport]") -> None:
        from memory_butler.operations.consolidation.diff import diff

        for report in reports:
            self.diffs.append((report, await diff(opened, caller, report.butler, report.lines)))

    async def _add_notes(self, opened: "Resources", caller: "Caller", waited: dict[str, int]) -> None:
        """Note why nothing was done, or what is still pending."""
        from memory_butler.operations.consolidation import review
        from memory_butler.operations.consolidation.backlog import backlogs, locked_note

        locked = await locked_note(opened, caller, only_butler=self.butler)
        self.notes += [locked] if locked else []
        claims = {run.butler: run for run in await review.runs(opened, caller, state="claimed")}
        held = [name for name in waited if name in claims]
        for name in held:
            run = claims[name]
            self.notes.append(
                f"{name}: another worker ({run.distiller}) holds the claim until {run.lease_until:%H:%M} UTC."
            )
        proposals = await review.runs(opened, caller, only_butler=self.butler, state="waiting")
        if not self.diffs and not held:
            later = sum((await backlogs(opened, caller, only_butler=self.butler, later=True)).values())
            waiting = "1 episode waits" if later == 1 else f"{later:,} episodes wait"
            self.notes += (
                [
                    f"Nothing to consolidate now. {waiting} for a retry after a failure.",
                    "Retry at once: memory-butler dead-letters requeue REF",
                ]
                if later
                else ["No other pending episodes." if locked else "No pending episodes."]
            )
        elif self.diffs and not held:
            left = sum((await backlogs(opened, caller, only_butler=self.butler)).values())
            self.notes += [f"{left:,} still pending."] if left else []
        if proposals and not any(report.state == "waiting" for report, _ in self.diffs):
            count = f"{len(proposals)} proposal{'s wait' if len(proposals) > 1 else ' waits'}"
            self.notes.append(f"{count} for review: memory-butler consolidate review")

    def encode(self, *, dry_run: bool) -> dict[str, Any]:
        from memory_butler.adapters.wire import consolidation as run_answers

        runs = [run_answers.run_result(report, lines) for report, lines in self.diffs]
        return {"dry_run": dry_run, "runs": runs, "remarks": self.notes}


def _undo(tenant: str | None) -> str:
    """The undo command for a run, in the tenant of the run."""
    return f"MEMORY_BUTLER_TENANT={tenant} memory-butler undo" if tenant else "memory-butler undo"


async def caller_of(opened: "Resources", tenant: str | None, operation: str) -> "Caller":
    """The local administrator, or an operator in the named tenant after the access is audited."""
    from dataclasses import replace

    from memory_butler.operations.access.cross_tenant_audit import audit_access
    from memory_butler.operations.lifecycle import job_status
    from memory_butler.policy.access.roles import switch_tenant

    if tenant is None or tenant == opened.settings.tenant:
        return opened.local_caller()
    tenants = await job_status.tenants(opened)
    if tenant not in tenants:
        more = f", and {len(tenants) - 10} more" if len(tenants) > 10 else ""
        raise errors.NotFound(
            f"There is no tenant {tenant[:60]!r}.", recovery=f"Use one of: {', '.join(tenants[:10])}{more}."
        )
    operator = opened.local_operator()
    visitor = replace(operator, principal=switch_tenant(operator.principal, tenant))
    await audit_access(opened, visitor, operation)
    return visitor


@consolidate_app.command("runs")
def runs(
    ctx: typer.Context,
    *,
    tenant: Tenant = None,
    butler: Annotated[str | None, typer.Option(help="Only this butler's runs.")] = None,
    limit: Limit = 20,
    as_json: Json = False,
) -> None:
    """List the latest runs with their state and cost."""
    _list(ctx, tenant, butler=butler, state=None, limit=limit)


@consolidate_app.command("show")
def show(ctx: typer.Context, run: RunId, *, tenant: Tenant = None, as_json: Json = False) -> None:
    """Show one run: its episodes, and every item with its outcome."""
    _show(ctx, run, tenant)


@consolidate_app.command("review")
def review(
    ctx: typer.Context,
    run: Annotated[
        str | None, typer.Argument(metavar="[RUN]", help="The proposal to show (default: list all).")
    ] = None,
    *,
    tenant: Tenant = None,
    as_json: Json = False,
) -> None:
    """List the proposals that wait for review, or show one with its numbered items."""
    if run is None:
        _list(ctx, tenant, butler=None, state="waiting", limit=200)
    else:
        _show(ctx, run, tenant)


@consolidate_app.command(
    "reject", help="Reject a proposal: all items, or the listed ones. Its episodes are not consolidated again."
)
@consolidate_app.command("approve", help="Approve a proposal: all items, or the listed ones.")
def decide(
    ctx: typer.Context,
    run: RunId,
    items: Items = None,
    *,
    rest: Rest = None,
    tenant: Tenant = None,
    as_json: Json = False,
) -> None:
    from memory_butler.operations.consolidation import review as review_operation

    decision = str(ctx.info_name)
    if rest is not None and rest not in DECISIONS:
        raise errors.InvalidInput(f"--rest {rest[:60]!r} is not valid.", recovery="Use approve or reject.")
    if not items and rest not in (None, decision):
        raise errors.InvalidInput(
            "--rest needs item numbers.",
            recovery=f"List the items to {decision}, or leave out --rest.",
        )
    others = DECISIONS[rest] if rest else None if items else DECISIONS[decision]
    approved, rejected = (items, None) if decision == "approve" else (None, items)

    async def task(opened: "Resources") -> "tuple[RunReview, Sequence[DiffLine]]":
        caller = await caller_of(opened, tenant, "review")
        await review_operation.decide(opened, run, caller, approve=approved, reject=rejected, rest=others)
        return await _load_run(opened, run, caller)

    _run_and_print(ctx, task, tenant)


def _list(ctx: typer.Context, tenant: str | None, *, butler: str | None, state: str | None, limit: int) -> None:
    from memory_butler.adapters.cli.tables import runs as run_tables
    from memory_butler.adapters.wire import consolidation as run_answers
    from memory_butler.operations.consolidation import review as review_operation

    async def task(opened: "Resources") -> "list[Run]":
        caller = await caller_of(opened, tenant, "runs")
        return await review_operation.runs(opened, caller, only_butler=butler, state=state, limit=limit)

    empty = "No proposals wait for review." if state else "There are no runs yet."
    terminal.run_and_print(
        ctx,
        task,
        lambda listed: run_tables.run_list(listed, empty=empty, show="review" if state else "show"),
        lambda listed: {"runs": [run_answers.run_record(run) for run in listed], "count": len(listed)},
        crop=False,
    )


def _show(ctx: typer.Context, run: str, tenant: str | None) -> None:
    async def task(opened: "Resources") -> "tuple[RunReview, Sequence[DiffLine]]":
        return await _load_run(opened, run, await caller_of(opened, tenant, "runs"))

    _run_and_print(ctx, task, tenant)


async def _load_run(opened: "Resources", run: str, caller: "Caller") -> "tuple[RunReview, Sequence[DiffLine]]":
    from memory_butler.operations.consolidation import review as review_operation
    from memory_butler.operations.consolidation.diff import diff

    reviewed = await review_operation.get_run(opened, run, caller)
    return reviewed, await diff(opened, caller, reviewed.run.butler, reviewed.lines)


def _run_and_print(ctx: typer.Context, task: "LoadRun", tenant: str | None) -> None:
    from memory_butler.adapters.cli.tables import runs as run_tables
    from memory_butler.adapters.wire import consolidation as run_answers

    terminal.run_and_print(
        ctx,
        task,
        lambda result: run_tables.reviewed(*result, undo=_undo(tenant)),
        lambda result: run_answers.run_detail(*result),
        crop=False,
    )
