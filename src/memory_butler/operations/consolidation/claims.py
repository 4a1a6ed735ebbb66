"""Claims of batches, and the status of episodes after a failed run."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from memory_butler.errors import Conflict, MemoryButlerError, Unprocessable
from memory_butler.models import Caller, ConsolidationStatus, MemoryType, RunReport, Usage, Validity
from memory_butler.models.unreadable import LATER, Unreadable
from memory_butler.operations.writing.idempotency import audit_trail
from memory_butler.policy.access import visibility
from memory_butler.policy.consolidation.retry import after_failure, next_batch_size
from memory_butler.policy.memories.validation import slug, validate_lineage
from memory_butler.resources import Resources
from memory_butler.store.consolidation import runs
from memory_butler.store.consolidation.runs import LOST, EpisodeStatus
from memory_butler.store.encryption.vault import KeyUnavailable
from memory_butler.store.gate.database import Transaction
from memory_butler.store.history import events
from memory_butler.store.history.events import AuditTrail, Change
from memory_butler.store.memories import episodes
from memory_butler.store.memories.episodes import QueuedEpisode

# Limit of one call, so that other shards get their turn.
MAX_EPISODES = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A batch that one worker holds until the lease ends. `behind` are the next episodes in the queue, not claimed."""

    run: UUID
    distiller: str
    lines: tuple[QueuedEpisode, ...]
    lease_until: datetime
    behind: tuple[QueuedEpisode, ...] = ()


class ClaimLost(Conflict):
    """The lease of this batch has ended and another worker may hold it; nothing was changed."""

    default_recovery = "Claim a new batch."


def acting_as_shard(shard: Caller) -> Caller:
    """Returns the caller acting as the butler whose episodes are consolidated."""
    name = visibility.acting_butler(shard.principal, slug(shard.principal.butler, "butler"))
    return replace(shard, principal=replace(shard.principal, butler=name))


async def claim_batch(resources: Resources, shard: Caller, distiller: str, *, most: int = MAX_EPISODES) -> Claim | None:
    """Claim the next batch of a butler's backlog. None if the backlog is empty or another claim is open."""
    now, name = resources.clock(), shard.principal.butler
    lease_until = now + timedelta(seconds=resources.settings.consolidation.lease_seconds)
    trail = audit_trail(resources, shard, now)
    async with resources.database.write(shard.principal.tenant, now) as transaction:
        for lost_run in await runs.close_lost(transaction, name, now):
            await _count_loss(resources, transaction, trail, lost_run)
        if await runs.claimed(transaction, name):
            return None
        while True:
            queue = await _next_in_queue(resources, transaction, name, now, most, batches=2)
            lost = [line for line in queue if _can_never_be_read(line)]
            if not lost:
                break
            await record_status(transaction, trail, [_unreadable(line, now) for line in lost])
        queue = [line for line in queue if _is_readable(line)]
        lines = first_batch(queue[: resources.settings.consolidation.most])
        if not lines:
            return None
        run = resources.make_id(now)
        await transaction.send(
            "runs.claim",
            run=run,
            butler=name,
            distiller=distiller,
            now=now,
            lease_until=lease_until,
            episodes=[line.episode.id for line in lines],
            request_id=validate_lineage(shard.lineage).request_id,
        )
    behind = tuple(queue[len(lines) :])
    return Claim(run=run, distiller=distiller, lines=tuple(lines), lease_until=lease_until, behind=behind)


async def next_batch(
    resources: Resources, transaction: Transaction, name: str, now: datetime, most: int
) -> list[QueuedEpisode]:
    """Returns the episodes of the next batch."""
    queue = await _next_in_queue(resources, transaction, name, now, most)
    return first_batch([line for line in queue if _is_readable(line)])


def _is_readable(line: QueuedEpisode) -> bool:
    return not isinstance(line.episode.content, Unreadable)


def _can_never_be_read(line: QueuedEpisode) -> bool:
    """True if the key of an episode was destroyed, or its encrypted text was changed."""
    content = line.episode.content
    return isinstance(content, Unreadable) and content.because not in LATER


def _unreadable(line: QueuedEpisode, now: datetime) -> tuple[EpisodeStatus, str]:
    """The status of an episode that cannot be decrypted, and its event. Nothing is distilled from it."""
    return _failed(line, now, f"The episode cannot be read: {line.episode.content}", is_alone=True, can_work=False)


def first_batch(queue: Sequence[QueuedEpisode]) -> list[QueuedEpisode]:
    """Returns the first episodes of the queue that form a batch. Episodes that failed before get smaller batches."""
    return list(queue[: next_batch_size([one.episode.consolidation_attempts + one.losses for one in queue])])


async def _next_in_queue(
    resources: Resources, transaction: Transaction, name: str, now: datetime, most: int, *, batches: int = 1
) -> list[QueuedEpisode]:
    """Returns up to `batches` batches of pending episodes."""
    eden, size = resources.settings.lifecycle_of(name).eden, resources.settings.consolidation.most
    return await episodes.next_in_line(transaction, name, eden, now, min(batches * size, most))


async def pending_episodes(
    resources: Resources, transaction: Transaction, run: UUID, trail: AuditTrail
) -> list[QueuedEpisode]:
    """Returns the episodes of a run that are still pending and active: others were forgotten or consolidated since."""
    eden = resources.settings.lifecycle_of(trail.butler).eden
    lines = await runs.batch(transaction, run, eden, trail.now)
    return [
        line
        for line in lines
        if line.episode.consolidation_status is ConsolidationStatus.PENDING and line.episode.validity is Validity.ACTIVE
    ]


async def _count_loss(resources: Resources, transaction: Transaction, trail: AuditTrail, run: UUID) -> None:
    """Count a lost worker as a failure if its batch was a single episode, which may have crashed it."""
    record = await runs.get(transaction, run)
    lines = await pending_episodes(resources, transaction, run, trail)
    if record and record.episodes == 1 and lines:
        await record_status(transaction, trail, [_failed(lines[0], trail.now, LOST, is_alone=True)])


async def record_failure(
    resources: Resources, shard: Caller, claim: Claim, problem: MemoryButlerError, usage: Usage
) -> RunReport:
    """Record a failed batch. Several episodes are retried at once in smaller batches; a single one with backoff."""
    now = resources.clock()
    trail = audit_trail(resources, shard, now)
    async with resources.database.write(shard.principal.tenant, now) as transaction:
        if not await runs.finish(transaction, claim.run, "failed", now, error=problem.message, usage=usage):
            raise ClaimLost()
        lines = await pending_episodes(resources, transaction, claim.run, trail)
        options = {
            "is_alone": len(claim.lines) == 1,
            "can_work": not isinstance(problem, Unprocessable),
            "gives_up": not isinstance(problem, KeyUnavailable),
        }
        failures = [_failed(line, now, problem.message, **options) for line in lines]
        await record_status(transaction, trail, failures, run=claim.run)
    return RunReport(
        run=claim.run,
        butler=shard.principal.butler,
        distiller=claim.distiller,
        state="failed",
        episodes=tuple(line.episode.ref for line in claim.lines),
        error=problem.message,
        usage=usage,
    )


async def release_claim(resources: Resources, shard: Caller, claim: Claim, error: str, usage: Usage) -> None:
    """End a run without a retry count for its episodes: the distiller was unavailable, or the run was cancelled."""
    now = resources.clock()
    async with resources.database.write(shard.principal.tenant, now) as transaction:
        await runs.finish(transaction, claim.run, "failed", now, error=error, usage=usage)


def _failed(
    line: QueuedEpisode, now: datetime, error: str, *, is_alone: bool, can_work: bool = True, gives_up: bool = True
) -> tuple[EpisodeStatus, str]:
    """Returns the status of an episode after a failure, and its event."""
    episode = line.episode
    failed = after_failure(
        episode.id, episode.consolidation_attempts, now, is_alone=is_alone, can_work=can_work, gives_up=gives_up
    )
    status = EpisodeStatus(
        id=episode.id, status=failed.status, attempts=failed.attempts, error=error, retry_at=failed.retry_at
    )
    return status, failed.event


async def record_status(
    transaction: Transaction,
    trail: AuditTrail,
    changes: Sequence[tuple[EpisodeStatus, str]],
    *,
    run: UUID | None = None,
    empty: Collection[str] = (),
) -> None:
    """Write the consolidation status of episodes, with events outside the run's group: undoing a run reverts the
    memories that it wrote, and its episodes stay consolidated. `empty` are the ids of those that gave nothing."""
    if not changes:
        return
    await runs.set_status(transaction, [status for status, _ in changes])
    extra: dict[str, Any] = {"run": str(run)} if run else {}
    nothing = {**extra, "nothing_kept": True}
    recorded = [
        Change(MemoryType.EPISODE, status.id, event, nothing if str(status.id) in empty else extra)
        for status, event in changes
    ]
    await events.record(transaction, replace(trail, group_id=None), recorded)
