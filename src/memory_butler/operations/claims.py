"""Claims: which batch is whose, and what becomes of episodes that could not be distilled."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from memory_butler.butler import Butler
from memory_butler.errors import Conflict, MemoryButlerError, Unprocessable
from memory_butler.models import Caller, ConsolidationStatus, MemoryType, RunReport, Usage, Validity
from memory_butler.operations.once import trail
from memory_butler.policy import reach
from memory_butler.policy.admission import slug
from memory_butler.policy.backoff import after_failure, together
from memory_butler.store import consolidation, episodes, events
from memory_butler.store.consolidation import LOST, Verdict
from memory_butler.store.database import Session
from memory_butler.store.episodes import InLine
from memory_butler.store.events import Change, Trail

# How much one call works through before others get their turn.
MOST_EPISODES = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A batch that is this worker's until the lease ends."""

    run: UUID
    distiller: str
    lines: tuple[InLine, ...]
    lease_until: datetime
    # Who stands in line behind them; nobody's yet.
    behind: tuple[InLine, ...] = ()


class ClaimLost(Conflict):
    """The batch was not finished in time and is somebody else's now; nothing was changed."""

    default_recovery = "Claim a new batch."


def acting(shard: Caller) -> Caller:
    """The caller as the butler whose episodes are consolidated."""
    name = reach.acting_butler(shard.principal, slug(shard.principal.butler, "butler"))
    return replace(shard, principal=replace(shard.principal, butler=name))


async def claim_batch(butler: Butler, shard: Caller, distiller: str, *, most: int = MOST_EPISODES) -> Claim | None:
    """Take the next batch of a butler's backlog, if there is one and nobody else is at it."""
    now, name = butler.clock(), shard.principal.butler
    lease_until = now + timedelta(seconds=butler.settings.consolidation.lease_seconds)
    async with butler.database.write(shard.principal.tenant, now) as session:
        for lost in await consolidation.close_lost(session, name, now):
            await _count_loss(butler, session, trail(butler, shard, now), lost)
        if await consolidation.claimed(session, name):
            return None
        line = await _in_line(butler, session, name, now, most, batches=2)
        lines = first_batch(line[: butler.settings.consolidation.most])
        if not lines:
            return None
        run = butler.make_id(now)
        await consolidation.claim(
            session,
            run=run,
            butler=name,
            distiller=distiller,
            now=now,
            lease_until=lease_until,
            episodes=[line.episode.id for line in lines],
            request_id=shard.lineage.request_id,
        )
    behind = tuple(line[len(lines) :])
    return Claim(run=run, distiller=distiller, lines=tuple(lines), lease_until=lease_until, behind=behind)


async def next_batch(butler: Butler, session: Session, name: str, now: datetime, most: int) -> list[InLine]:
    """The first in line that can go together."""
    return first_batch(await _in_line(butler, session, name, now, most))


def first_batch(line: Sequence[InLine]) -> list[InLine]:
    """Of those in line the first that can go together: what has failed before goes in smaller batches, and by itself at
    last."""
    return list(line[: together([one.episode.consolidation_attempts + one.losses for one in line])])


async def _in_line(
    butler: Butler, session: Session, name: str, now: datetime, most: int, *, batches: int = 1
) -> list[InLine]:
    """The first in line, as many as so many batches have at most."""
    eden, size = butler.settings.lifecycle_of(name).eden, butler.settings.consolidation.most
    return await episodes.next_in_line(session, name, eden, now, min(batches * size, most))


async def waiting_of(butler: Butler, session: Session, run: UUID, marks: Trail) -> list[InLine]:
    """The episodes of a run that are still to be consolidated: others were forgotten, or somebody was quicker."""
    eden = butler.settings.lifecycle_of(marks.butler).eden
    lines = await consolidation.batch(session, run, eden, marks.now)
    return [
        line
        for line in lines
        if line.episode.consolidation_status is ConsolidationStatus.PENDING and line.episode.validity is Validity.ACTIVE
    ]


async def _count_loss(butler: Butler, session: Session, marks: Trail, run: UUID) -> None:
    """A worker was lost with this batch. If it was one episode alone, that may be what killed it."""
    record = await consolidation.get(session, run)
    lines = await waiting_of(butler, session, run, marks)
    if record and record.episodes == 1 and lines:
        await judge(session, marks, [_failed(lines[0], marks.now, LOST, is_alone=True)])


async def set_back(butler: Butler, shard: Caller, claim: Claim, problem: MemoryButlerError, usage: Usage) -> RunReport:
    """The batch failed. Several are tried again in smaller parts at once; one alone waits, longer each time."""
    now = butler.clock()
    marks = trail(butler, shard, now)
    async with butler.database.write(shard.principal.tenant, now) as session:
        if not await consolidation.finish(session, claim.run, "failed", now, error=problem.message, usage=usage):
            raise ClaimLost()
        lines = await waiting_of(butler, session, claim.run, marks)
        how = {"is_alone": len(claim.lines) == 1, "can_work": not isinstance(problem, Unprocessable)}
        verdicts = [_failed(line, now, problem.message, **how) for line in lines]
        await judge(session, marks, verdicts, run=claim.run)
    return RunReport(
        run=claim.run,
        butler=shard.principal.butler,
        distiller=claim.distiller,
        state="failed",
        episodes=tuple(line.episode.ref for line in claim.lines),
        error=problem.message,
        usage=usage,
    )


async def give_up(butler: Butler, shard: Caller, claim: Claim, why: str, usage: Usage) -> None:
    """The distiller is not to be had, or somebody stopped it: no fault of the episodes, which wait as they did."""
    now = butler.clock()
    async with butler.database.write(shard.principal.tenant, now) as session:
        await consolidation.finish(session, claim.run, "failed", now, error=why, usage=usage)


def _failed(line: InLine, now: datetime, error: str, *, is_alone: bool, can_work: bool = True) -> tuple[Verdict, str]:
    """What a failure makes of an episode, and what the log calls it."""
    episode = line.episode
    failed = after_failure(episode.id, episode.consolidation_attempts, now, is_alone=is_alone, can_work=can_work)
    verdict = Verdict(
        id=episode.id, status=failed.status, attempts=failed.attempts, error=error, retry_at=failed.retry_at
    )
    return verdict, failed.event


async def judge(
    session: Session, marks: Trail, verdicts: Sequence[tuple[Verdict, str]], *, run: UUID | None = None
) -> None:
    """Write down what became of episodes. Not in the run's group: to undo a run takes back what was distilled, and
    not that it was."""
    if not verdicts:
        return
    await consolidation.set_status(session, [verdict for verdict, _ in verdicts])
    extra = {"run": str(run)} if run else {}
    changes = [Change(MemoryType.EPISODE, verdict.id, event, extra) for verdict, event in verdicts]
    await events.record(session, replace(marks, group_id=None), changes)
