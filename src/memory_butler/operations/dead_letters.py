"""Dead letters: episodes that could not be consolidated, and how they are given another chance."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from memory_butler.butler import Butler
from memory_butler.errors import Conflict, NotFound, PermissionDenied
from memory_butler.models import Caller, ConsolidationStatus, Episode, MemoryType
from memory_butler.operations.look import require
from memory_butler.operations.once import fingerprint, first_answer, keep_answer, trail
from memory_butler.operations.review import parse_run
from memory_butler.policy.admission import optional_label, parse_handle, whole_number
from memory_butler.store import consolidation, events
from memory_butler.store.consolidation import Verdict
from memory_butler.store.episodes import as_episode
from memory_butler.store.events import Change

MOST = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Requeued:
    """Which episodes wait again, by reference, and which were left as they are, and why."""

    again: tuple[str, ...]
    left: tuple[tuple[str, str], ...]


async def dead_letters(
    butler: Butler, caller: Caller | None = None, *, only_butler: str | None = None, limit: int = 100
) -> list[Episode]:
    """Episodes that were given up, the oldest first: `failed` ones cannot be processed, `dead_letter` ones were tried
    too often."""
    caller = _admin(butler, caller)
    async with butler.database.read(caller.principal.tenant) as session:
        rows = await consolidation.stuck(session, only_butler, whole_number(limit, "limit", 1, MOST))
    return [as_episode(row) for row in rows]


async def requeue(
    butler: Butler,
    handles: Sequence[str] = (),
    caller: Caller | None = None,
    *,
    run: str | None = None,
    again: bool = False,
    idempotency_key: str | None = None,
) -> Requeued:
    """Have episodes wait for consolidation again, with all their tries before them: those named, or those of a run.

    With `again` also consolidated ones, which are then distilled afresh, whatever was distilled from them before.
    """
    caller = _admin(butler, caller)
    key = optional_label(idempotency_key, "idempotency_key")
    digest = fingerprint("requeue", {"handles": list(handles), "run": run, "again": again})
    now = butler.clock()
    async with butler.database.write(caller.principal.tenant, now) as session:
        first = await first_answer(session, caller, key, digest, now)
        if first:
            return Requeued(again=tuple(first["again"]), left=tuple((ref, why) for ref, why in first["left"]))
        found = [await require(session, caller, parse_handle(MemoryType.EPISODE, one)) for one in handles]
        chosen = [one for one in found if isinstance(one, Episode)]
        if run is not None:
            record = await consolidation.get(session, parse_run(run))
            if record is None:
                raise NotFound("There is no such run.", recovery="`memory-butler consolidate runs` lists them.")
            eden = butler.settings.lifecycle_of(record.butler).eden
            chosen += [line.episode for line in await consolidation.batch(session, record.id, eden, now)]
        chosen = list({one.id: one for one in chosen}.values())
        left = [(one.ref, _reason(one, again=again)) for one in chosen]
        going = [one for one in chosen if not _reason(one, again=again)]
        if going:
            fresh = [one.id for one in going if one.consolidation_status is ConsolidationStatus.CONSOLIDATED]
            await consolidation.drop_keys(session, fresh)
            await consolidation.drop_losses(session, [one.id for one in going])
            await consolidation.set_status(
                session, [Verdict(id=one.id, status=ConsolidationStatus.PENDING, attempts=0) for one in going]
            )
            changes = [Change(MemoryType.EPISODE, one.id, "requeued") for one in going]
            await events.record(session, trail(butler, caller, now, grouped=len(changes) > 1), changes)
        if handles and not going and len(left) == 1:
            raise Conflict(left[0][1], recovery="`memory-butler dead-letters` lists what was given up.")
        done = Requeued(again=tuple(one.ref for one in going), left=tuple(one for one in left if one[1]))
        await keep_answer(session, butler, caller, key=key, digest=digest, response=asdict(done), now=now)
    return done


def _reason(episode: Episode, *, again: bool) -> str:
    """Why an episode is not requeued; empty if it is."""
    if episode.validity != "active":
        return f"episode:{episode.ref} is {episode.validity}; restore it first."
    if episode.consolidation_status is ConsolidationStatus.PENDING and not episode.consolidation_attempts:
        return f"episode:{episode.ref} waits already."
    if episode.consolidation_status is ConsolidationStatus.CONSOLIDATED and not again:
        return f"episode:{episode.ref} is consolidated; --again has it distilled afresh."
    return ""


def _admin(butler: Butler, caller: Caller | None) -> Caller:
    caller = caller or butler.local_caller()
    if not caller.principal.role.governs:
        raise PermissionDenied("Only an administrator may requeue episodes.")
    return caller
