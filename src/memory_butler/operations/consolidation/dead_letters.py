"""Dead letters: episodes that could not be consolidated, and requeueing them."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from memory_butler.errors import Conflict, NotFound
from memory_butler.models import Caller, ConsolidationStatus, Episode, MemoryType
from memory_butler.operations.consolidation.review import parse_run
from memory_butler.operations.retrieval.named_memory import require
from memory_butler.operations.writing.idempotency import Fingerprint, audit_trail, store_response, stored_response
from memory_butler.policy.memories.validation import clean_key, parse_handle, whole_number
from memory_butler.resources import Resources, on_replica
from memory_butler.store.browse import listings
from memory_butler.store.consolidation import runs
from memory_butler.store.consolidation.runs import EpisodeStatus
from memory_butler.store.history import events
from memory_butler.store.history.events import Change

MAX_LIMIT = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RequeueResult:
    """References of the requeued episodes (`again`), and of the skipped ones with the reason (`left`)."""

    again: tuple[str, ...]
    left: tuple[tuple[str, str], ...]


@on_replica
async def dead_letters(
    resources: Resources, caller: Caller | None = None, *, only_butler: str | None = None, limit: int = 100
) -> list[Episode]:
    """Returns the dead letters, oldest first: `failed` cannot be processed, `dead_letter` ran out of retries."""
    caller = resources.admin(caller, "list and requeue dead letters")
    async with resources.database.read(caller.principal.tenant) as transaction:
        limit = whole_number(limit, "limit", 1, MAX_LIMIT)
        return await listings.dead_letters(transaction, butler=only_butler, after=None, limit=limit)


async def requeue(
    resources: Resources,
    handles: Sequence[str] = (),
    caller: Caller | None = None,
    *,
    run: str | None = None,
    again: bool = False,
    idempotency_key: str | None = None,
) -> RequeueResult:
    """Requeue episodes with a fresh retry count: the named ones, or those of a run.

    With `again`, consolidated episodes are requeued, too, and distilled again from scratch.
    """
    caller = resources.admin(caller, "list and requeue dead letters")
    key = clean_key(idempotency_key)
    digest = Fingerprint("requeue", {"handles": list(handles), "run": run, "again": again})
    now = resources.clock()
    async with resources.database.write(caller.principal.tenant, now) as transaction:
        response = await stored_response(transaction, caller, key, digest, now)
        if response:
            left = tuple((ref, reason) for ref, reason in response["left"])
            return RequeueResult(again=tuple(response["again"]), left=left)
        named = [await require(transaction, caller, parse_handle(MemoryType.EPISODE, one)) for one in handles]
        chosen = [one for one in named if isinstance(one, Episode)]
        if run is not None:
            record = await runs.get(transaction, parse_run(run))
            if record is None:
                raise NotFound(f"There is no run {run}.", recovery="`memory-butler consolidate runs` lists them.")
            eden = resources.settings.lifecycle_of(record.butler).eden
            chosen += [line.episode for line in await runs.batch(transaction, record.id, eden, now)]
        chosen = list({one.id: one for one in chosen}.values())
        skipped = [(one.ref, reason) for one in chosen if (reason := _skip_reason(one, again=again))]
        requeued = [one for one in chosen if not _skip_reason(one, again=again)]
        if requeued:
            consolidated = [one.id for one in requeued if one.consolidation_status is ConsolidationStatus.CONSOLIDATED]
            await runs.drop_keys(transaction, consolidated)
            await runs.drop_losses(transaction, [one.id for one in requeued])
            await runs.set_status(
                transaction,
                [EpisodeStatus(id=one.id, status=ConsolidationStatus.PENDING, attempts=0) for one in requeued],
            )
            changes = [Change(MemoryType.EPISODE, one.id, "requeued") for one in requeued]
            await events.record(transaction, audit_trail(resources, caller, now, grouped=len(changes) > 1), changes)
        if handles and not requeued and len(skipped) == 1:
            raise Conflict(skipped[0][1], recovery="`memory-butler dead-letters` lists the dead letters.")
        result = RequeueResult(again=tuple(one.ref for one in requeued), left=tuple(skipped))
        await store_response(transaction, resources, caller, key=key, digest=digest, response=asdict(result), now=now)
    return result


def _skip_reason(episode: Episode, *, again: bool) -> str:
    """Returns the reason why an episode is not requeued; empty if it is."""
    if episode.validity != "active":
        return f"episode:{episode.ref} is {episode.validity}; restore it first."
    if episode.consolidation_status is ConsolidationStatus.PENDING and not episode.consolidation_attempts:
        return f"episode:{episode.ref} is already pending."
    if episode.consolidation_status is ConsolidationStatus.CONSOLIDATED and not again:
        return f"episode:{episode.ref} is consolidated; use --again to distil it again."
    return ""
