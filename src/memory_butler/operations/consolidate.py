"""Consolidate: episodes become facts and rules, each with its evidence, exactly once.

One run: claim a batch → gather what is known → ask the distiller → check the proposal → apply it. The claim is what
keeps others off; applying is one transaction that begins by ending the claim, so a worker that has lost it can write
nothing. Whatever happens before that leaves no trace but the claim, which runs out.
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from memory_butler.ai.distillers import Distiller, spent
from memory_butler.butler import Butler
from memory_butler.errors import (
    DistillerUnavailable,
    IntegrityViolation,
    MemoryButlerError,
    Unprocessable,
    UnusableProposal,
)
from memory_butler.models import Batch, Caller, ConsolidationStatus, RunReport, Usage
from memory_butler.operations.applying import Outcomes, Work, apply_items, prepared
from memory_butler.operations.claims import (
    MOST_EPISODES,
    Claim,
    ClaimLost,
    acting,
    claim_batch,
    give_up,
    judge,
    next_batch,
    set_back,
    waiting_of,
)
from memory_butler.operations.gathering import gather
from memory_butler.operations.once import trail
from memory_butler.operations.reading import Ahead, Read, Step, checked_beside, read_batch, unseen
from memory_butler.store import consolidation
from memory_butler.store.consolidation import Verdict
from memory_butler.store.database import Session
from memory_butler.store.events import Trail

STOPPED = "It was stopped before it had finished."
Progress = Callable[[RunReport], None]


async def consolidate(
    butler: Butler,
    shard: Caller,
    *,
    limit: int | None = None,
    progress: Progress = unseen,
    step: Step = unseen,
) -> list[RunReport]:
    """Work through a butler's backlog, batch after batch, until it is empty or `limit` episodes were taken."""
    left = min(limit or MOST_EPISODES, MOST_EPISODES)
    reports: list[RunReport] = []
    async with Ahead(butler, acting(shard), _distiller(butler), step) as ahead:
        while left > 0:
            report = await run_once(butler, shard, most=left, step=step, ahead=ahead)
            if report is None:
                break
            reports.append(report)
            progress(report)
            left -= len(report.episodes)
    return reports


async def run_once(
    butler: Butler, shard: Caller, *, most: int = MOST_EPISODES, step: Step = unseen, ahead: Ahead | None = None
) -> RunReport | None:
    """One run over the next batch; None if nothing waits, or somebody else is at it."""
    shard, distiller = acting(shard), _distiller(butler)
    await check_budget(butler, shard)
    claim = await claim_batch(butler, shard, distiller.name, most=most)
    if claim is None:
        return None
    step("claimed")
    try:
        return await _distil(butler, shard, claim, step=step, ahead=ahead)
    except DistillerUnavailable as problem:
        await give_up(butler, shard, claim, problem.message, spent(problem))
        raise
    except asyncio.CancelledError:
        await give_up(butler, shard, claim, STOPPED, Usage())
        raise


async def _distil(butler: Butler, shard: Caller, claim: Claim, *, step: Step, ahead: Ahead | None) -> RunReport:
    """From the claim to its end, whichever that is."""
    distiller = _distiller(butler)
    try:
        batch = await gather(butler, shard, [line.episode for line in claim.lines], with_known=distiller.wants_known)
        step("gathered")
        read = await ahead.of(batch) if ahead else None
        read = read or await read_batch(butler, distiller, batch, step)
    except (UnusableProposal, Unprocessable) as problem:
        return await set_back(butler, shard, claim, problem, spent(problem))
    if ahead:
        ahead.begin(claim.behind)
    try:
        return await settle(butler, shard, claim, read, step=step)
    except IntegrityViolation as problem:
        return await set_back(butler, shard, claim, problem, read.usage)


async def rehearse(butler: Butler, shard: Caller, *, limit: int | None = None) -> RunReport | None:
    """What the next run would do. Nothing is claimed and no memory is changed; what the distiller costs is on the
    account, as with any run."""
    shard, distiller = acting(shard), _distiller(butler)
    await check_budget(butler, shard)
    now, tenant = butler.clock(), shard.principal.tenant
    async with butler.database.read(tenant) as session:
        lines = await next_batch(butler, session, shard.principal.butler, now, limit or MOST_EPISODES)
    if not lines:
        return None
    batch = await gather(butler, shard, [line.episode for line in lines], with_known=distiller.wants_known)
    marks = marks_of(butler, shard, now, butler.make_id(now))
    nothing = _report(marks, batch, Outcomes(), state="rehearsed", distiller=distiller.name, usage=Usage())
    try:
        distilled = await distiller.distil(batch)
    except MemoryButlerError as problem:
        await _account(butler, shard, replace(nothing, usage=spent(problem), error=problem.message))
        raise
    await _account(butler, shard, replace(nothing, usage=distilled.usage))
    checked = await checked_beside(distilled.proposal, batch)
    work = await prepared(butler, batch, checked.items)
    async with butler.database.rehearse(tenant, butler.settings.deadline_seconds) as session:
        await session.lock(now, refs=len(checked.items))
        done = await apply_items(session, marks, work, lines)
    done.refuse(checked.refused)
    return _report(marks, batch, done, state="rehearsed", distiller=distiller.name, usage=distilled.usage)


async def _account(butler: Butler, shard: Caller, report: RunReport) -> None:
    """Keep what a dry run cost; one that cost nothing leaves no trace."""
    if report.usage == Usage():
        return
    now = butler.clock()
    async with butler.database.write(shard.principal.tenant, now) as session:
        await consolidation.account(
            session,
            report.usage,
            run=report.run,
            butler=report.butler,
            distiller=report.distiller,
            now=now,
            error=report.error,
            episodes=len(report.episodes),
            request_id=shard.lineage.request_id,
        )


def _distiller(butler: Butler) -> Distiller:
    if butler.distiller is None:
        raise DistillerUnavailable(
            "No distiller works by itself here.", recovery="Set consolidation.distiller, or let an agent claim batches."
        )
    return butler.distiller


async def check_budget(butler: Butler, shard: Caller) -> None:
    """Refuse to go on where the tenant has spent what it may in a day."""
    budget = butler.settings.consolidation
    if budget.daily_tokens is None and budget.daily_dollars is None:
        return
    midnight = butler.clock().replace(hour=0, minute=0, second=0, microsecond=0)
    async with butler.database.read(shard.principal.tenant) as session:
        so_far = await consolidation.spent(session, midnight)
    over = []
    if budget.daily_tokens is not None and so_far.input_tokens >= budget.daily_tokens:
        over.append(f"{so_far.input_tokens} of {budget.daily_tokens} tokens")
    if budget.daily_dollars is not None and so_far.cost_microdollars >= 1e6 * budget.daily_dollars:
        over.append(f"{so_far.cost_microdollars / 1e6:.2f} of {budget.daily_dollars:.2f} dollars")
    if over:
        raise DistillerUnavailable(
            f"The day's budget is spent: {' and '.join(over)}.",
            recovery="It goes on after midnight UTC. Raise consolidation.daily_tokens or daily_dollars to go on now.",
        )


async def settle(butler: Butler, shard: Caller, claim: Claim, read: Read, *, step: Step = unseen) -> RunReport:
    """Apply what was proposed, or have it wait for a person's decision; either way the claim is over."""
    now, checked = butler.clock(), read.checked
    marks, state = marks_of(butler, shard, now, claim.run), "waiting" if read.waits else "applied"
    async with butler.database.write(shard.principal.tenant, now, refs=len(checked.items)) as session:
        if not await consolidation.finish(session, claim.run, state, now, usage=read.usage):
            raise ClaimLost()
        step("fenced")
        done = Outcomes.proposed(checked.items) if read.waits else await finish_batch(butler, session, marks, read.work)
        done.refuse(checked.refused)
        await consolidation.put_items(session, claim.run, done.rows())
        step("applied")
    step("committed")
    return _report(marks, read.batch, done, state=state, distiller=claim.distiller, usage=read.usage)


async def finish_batch(butler: Butler, session: Session, marks: Trail, work: Work) -> Outcomes:
    """Apply the items of a run that has just ended, and mark its episodes as consolidated."""
    run = marks.group_id
    assert run
    lines = await waiting_of(butler, session, run, marks)
    done = await apply_items(session, marks, work, lines)
    await consolidation.keep_keys(session, run, done.keys)
    consolidated = [
        Verdict(
            id=line.episode.id,
            status=ConsolidationStatus.CONSOLIDATED,
            attempts=line.episode.consolidation_attempts,
        )
        for line in lines
    ]
    await judge(session, marks, [(verdict, "consolidated") for verdict in consolidated], run=run)
    return done


def marks_of(butler: Butler, shard: Caller, now: datetime, run: UUID) -> Trail:
    """What the events of a run have in common: the run is their group."""
    return replace(trail(butler, shard, now), group_id=run)


def _report(marks: Trail, batch: Batch, done: Outcomes, *, state: str, distiller: str, usage: Usage) -> RunReport:
    assert marks.group_id
    return RunReport(
        run=marks.group_id,
        butler=batch.butler,
        distiller=distiller,
        state=state,
        episodes=tuple(episode.ref for episode in batch.episodes),
        lines=tuple(sorted(done.lines(), key=lambda line: line.place)),
        usage=usage,
    )
