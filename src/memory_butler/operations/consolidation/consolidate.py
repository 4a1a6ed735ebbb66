"""Consolidate: episodes become facts and rules, each with its evidence, exactly once.

One run: claim a batch → build the distiller's input → ask the distiller → check the proposal → apply it. The claim
keeps other workers off. Applying is one transaction that begins by ending the claim, so a worker that has lost its
claim cannot write. A failure before that leaves only the claim, whose lease runs out.
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from memory_butler.ai.distillers import Distiller, spent
from memory_butler.errors import (
    DistillerUnavailable,
    IntegrityViolation,
    MemoryButlerError,
    Unprocessable,
    UnusableProposal,
)
from memory_butler.metrics import upkeep
from memory_butler.models import Batch, Caller, ConsolidationStatus, RunReport, Usage
from memory_butler.operations.consolidation.apply import Outcomes, PreparedItems, apply_items
from memory_butler.operations.consolidation.claims import (
    MAX_EPISODES,
    Claim,
    ClaimLost,
    acting_as_shard,
    claim_batch,
    next_batch,
    pending_episodes,
    record_failure,
    record_status,
    release_claim,
)
from memory_butler.operations.consolidation.distiller_input import build_batch
from memory_butler.operations.consolidation.prefetch import (
    DistilledBatch,
    Prefetch,
    Step,
    check_and_embed,
    distil_batch,
    ignore,
)
from memory_butler.operations.writing.idempotency import audit_trail
from memory_butler.policy.consolidation.nothing_kept import nothing_kept, unkept
from memory_butler.policy.memories.validation import validate_lineage
from memory_butler.resources import Resources
from memory_butler.store.consolidation import runs
from memory_butler.store.consolidation.runs import EpisodeStatus
from memory_butler.store.encryption.vault import KeyUnavailable
from memory_butler.store.gate.database import Transaction
from memory_butler.store.history.events import AuditTrail

STOPPED = "The run was cancelled."
Progress = Callable[[RunReport], None]


async def consolidate(
    resources: Resources,
    shard: Caller,
    *,
    limit: int | None = None,
    progress: Progress = ignore,
    step: Step = ignore,
) -> list[RunReport]:
    """Consolidate a butler's backlog batch by batch until it is empty or `limit` episodes were processed."""
    left = min(limit or MAX_EPISODES, MAX_EPISODES)
    reports: list[RunReport] = []
    async with Prefetch(resources, acting_as_shard(shard), _distiller(resources), step) as prefetch:
        while left > 0:
            report = await run_once(resources, shard, most=left, step=step, prefetch=prefetch)
            if report is None:
                break
            reports.append(report)
            for line in report.lines:
                upkeep.ITEMS.labels(line.outcome, line.reason or "").inc()
            progress(report)
            left -= len(report.episodes)
    return reports


async def run_once(
    resources: Resources,
    shard: Caller,
    *,
    most: int = MAX_EPISODES,
    step: Step = ignore,
    prefetch: Prefetch | None = None,
) -> RunReport | None:
    """Run once over the next batch. None if the backlog is empty or another worker holds a claim."""
    shard, distiller = acting_as_shard(shard), _distiller(resources)
    await check_budget(resources, shard)
    claim = await claim_batch(resources, shard, distiller.name, most=most)
    if claim is None:
        return None
    step("claimed")
    try:
        return await _distil(resources, shard, claim, step=step, prefetch=prefetch)
    except DistillerUnavailable as problem:
        await release_claim(resources, shard, claim, problem.message, spent(problem))
        raise
    except asyncio.CancelledError:
        await release_claim(resources, shard, claim, STOPPED, Usage())
        raise


async def _distil(
    resources: Resources, shard: Caller, claim: Claim, *, step: Step, prefetch: Prefetch | None
) -> RunReport:
    """Distil and apply a claimed batch, or record its failure."""
    distiller = _distiller(resources)
    try:
        batch = await build_batch(
            resources, shard, [line.episode for line in claim.lines], with_known=distiller.wants_known
        )
        step("gathered")
        distilled = await prefetch.of(batch) if prefetch else None
        distilled = distilled or await distil_batch(resources, distiller, batch, step)
    except (UnusableProposal, Unprocessable, KeyUnavailable) as problem:
        return await record_failure(resources, shard, claim, problem, spent(problem))
    if prefetch:
        prefetch.begin(claim.behind)
    try:
        return await finish_run(resources, shard, claim, distilled, step=step)
    except (IntegrityViolation, KeyUnavailable) as problem:
        return await record_failure(resources, shard, claim, problem, distilled.usage)


async def dry_run(resources: Resources, shard: Caller, *, limit: int | None = None) -> RunReport | None:
    """Report the effect of the next run without a claim or a change. The distiller's cost is recorded all the same."""
    shard, distiller = acting_as_shard(shard), _distiller(resources)
    await check_budget(resources, shard)
    now, tenant = resources.clock(), shard.principal.tenant
    async with resources.database.read(tenant) as transaction:
        lines = await next_batch(resources, transaction, shard.principal.butler, now, limit or MAX_EPISODES)
    if not lines:
        return None
    batch = await build_batch(resources, shard, [line.episode for line in lines], with_known=distiller.wants_known)
    trail = run_trail(resources, shard, now, resources.make_id(now))
    empty_report = _report(trail, batch, Outcomes(), state="rehearsed", distiller=distiller.name, usage=Usage())
    try:
        distilled = await distiller.distil(batch)
    except MemoryButlerError as problem:
        await _record_cost(resources, shard, replace(empty_report, usage=spent(problem), error=problem.message))
        raise
    await _record_cost(resources, shard, replace(empty_report, usage=distilled.usage))
    checked, work = await check_and_embed(resources, distilled.proposal, batch)
    async with resources.database.rollback_only(tenant, resources.settings.deadline_seconds) as transaction:
        await transaction.lock(now, refs=len(checked.items))
        outcomes = await apply_items(transaction, trail, work, lines)
    outcomes.refuse(checked.refused)
    return _report(trail, batch, outcomes, state="rehearsed", distiller=distiller.name, usage=distilled.usage)


async def _record_cost(resources: Resources, shard: Caller, report: RunReport) -> None:
    """Record the cost of a dry run, if there is any."""
    if report.usage == Usage():
        return
    now = resources.clock()
    async with resources.database.write(shard.principal.tenant, now) as transaction:
        await runs.account(
            transaction,
            report.usage,
            run=report.run,
            butler=report.butler,
            distiller=report.distiller,
            now=now,
            error=report.error,
            episodes=len(report.episodes),
            request_id=validate_lineage(shard.lineage).request_id,
        )


def _distiller(resources: Resources) -> Distiller:
    if resources.distiller is None:
        raise DistillerUnavailable(
            "No automatic distiller is configured.",
            recovery="Set consolidation.distiller, or let an agent claim batches.",
        )
    return resources.distiller


async def check_budget(resources: Resources, shard: Caller) -> None:
    """Raise DistillerUnavailable if the tenant's daily budget is spent."""
    budget = resources.settings.consolidation
    if budget.daily_tokens is None and budget.daily_dollars is None:
        return
    midnight = resources.clock().replace(hour=0, minute=0, second=0, microsecond=0)
    async with resources.database.read(shard.principal.tenant) as transaction:
        spent_today = await runs.spent(transaction, midnight)
    over = []
    if budget.daily_tokens is not None and spent_today.input_tokens >= budget.daily_tokens:
        over.append(f"{spent_today.input_tokens} of {budget.daily_tokens} tokens")
    if budget.daily_dollars is not None and spent_today.cost_microdollars >= 1e6 * budget.daily_dollars:
        over.append(f"{spent_today.cost_microdollars / 1e6:.2f} of {budget.daily_dollars:.2f} dollars")
    if over:
        raise DistillerUnavailable(
            f"The day's budget is spent: {' and '.join(over)}.",
            recovery="It resumes after midnight UTC. Raise consolidation.daily_tokens or daily_dollars to resume now.",
        )


async def finish_run(
    resources: Resources, shard: Caller, claim: Claim, distilled: DistilledBatch, *, step: Step = ignore
) -> RunReport:
    """End the claim and apply the proposal, or store it for a person to review."""
    now, checked = resources.clock(), distilled.checked
    trail, state = run_trail(resources, shard, now, claim.run), "waiting" if distilled.needs_review else "applied"
    async with resources.database.write(shard.principal.tenant, now, refs=len(checked.items)) as transaction:
        if not await runs.finish(transaction, claim.run, state, now, usage=distilled.usage):
            raise ClaimLost()
        step("fenced")
        outcomes = (
            Outcomes.proposed(checked.items)
            if distilled.needs_review
            else await apply_batch(resources, transaction, trail, distilled.work)
        )
        outcomes.refuse(checked.refused)
        await runs.put_items(transaction, claim.run, outcomes.rows(), shard.principal.butler)
        step("applied")
    step("committed")
    return _report(trail, distilled.batch, outcomes, state=state, distiller=claim.distiller, usage=distilled.usage)


async def apply_batch(
    resources: Resources, transaction: Transaction, trail: AuditTrail, work: PreparedItems
) -> Outcomes:
    """Apply the items of a run that has just ended, and mark its episodes as consolidated."""
    run = trail.group_id
    assert run
    lines = await pending_episodes(resources, transaction, run, trail)
    outcomes = await apply_items(transaction, trail, work, lines)
    await runs.keep_keys(transaction, run, outcomes.keys)
    consolidated = [
        EpisodeStatus(
            id=line.episode.id,
            status=ConsolidationStatus.CONSOLIDATED,
            attempts=line.episode.consolidation_attempts,
        )
        for line in lines
    ]
    empty = unkept([line.episode for line in lines], outcomes.lines())
    changes = [(status, "consolidated") for status in consolidated]
    await record_status(transaction, trail, changes, run=run, empty={str(episode.id) for episode in empty})
    return outcomes


def run_trail(resources: Resources, shard: Caller, now: datetime, run: UUID) -> AuditTrail:
    """Returns the audit trail of a run; the run id is the group of its events."""
    return replace(audit_trail(resources, shard, now), group_id=run)


def _report(
    trail: AuditTrail, batch: Batch, outcomes: Outcomes, *, state: str, distiller: str, usage: Usage
) -> RunReport:
    assert trail.group_id
    return RunReport(
        run=trail.group_id,
        butler=batch.butler,
        distiller=distiller,
        state=state,
        episodes=tuple(episode.ref for episode in batch.episodes),
        lines=tuple(sorted(outcomes.lines(), key=lambda line: line.place)),
        usage=usage,
        nothing_kept=nothing_kept(batch.episodes, outcomes.lines()),
    )
