"""The call log: briefings and searches of agents, to see later which memories they got. It changes no answer.

Calls are stored after they were answered, in a transaction of their own, and lost if the process is killed before.
"""

import logging
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

from memory_butler.errors import DeadlinePassed, MemoryButlerError, NotFound, OverloadRejected, TargetUnavailable
from memory_butler.models import Caller, Ranked
from memory_butler.models.calls import CallDay, CallFilter, CallingProgram, CallKind, LoggedCall, ReturnedMemory
from memory_butler.models.listings import Page
from memory_butler.operations.browse.cursors import Cursors, cut_page
from memory_butler.operations.writing.admission import policy_for
from memory_butler.policy.access.visibility import viewer
from memory_butler.policy.memories.validation import whole_number
from memory_butler.policy.memories.visible_text import visible_text
from memory_butler.policy.trust.redaction import redact
from memory_butler.resources import Resources, on_replica
from memory_butler.store.gate.ids import id_maker
from memory_butler.store.system import call_log as store

PROMPT_CHARACTERS = 2000
USUAL_PAGE, LARGEST_PAGE = 50, 200
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredCall:
    """A call that was just answered. `tokens` is the length of a briefing."""

    kind: CallKind
    prompt: str
    butler: str | None
    results: Sequence[Ranked]
    seconds: float
    degraded: tuple[str, ...]
    token_budget: int | None = None
    tokens: int | None = None


def log_call(resources: Resources, caller: Caller, answered: AnsweredCall) -> None:
    """Log a call of an agent. Reads of people and of the program itself have no client and are not logged."""
    if caller.client is None or not resources.settings.logs_calls:
        return
    hits, now = [one.hit for one in answered.results], resources.clock()
    call = LoggedCall(
        id=UUID(int=0),
        asked_at=now,
        kind=answered.kind,
        butler=answered.butler or caller.principal.butler,
        client=caller.client,
        prompt=answered.prompt[:PROMPT_CHARACTERS],
        memory_ids=tuple(hit.id for hit in hits),
        refs=tuple(f"{hit.type}:{hit.ref}" for hit in hits),
        milliseconds=round(1000 * answered.seconds, 1),
        session_id=caller.lineage.session_id,
        token_budget=answered.token_budget,
        tokens=answered.tokens,
        degraded=answered.degraded,
    )
    resources.waiting_calls.add((caller.principal.tenant, call), partial(store_waiting, resources))


async def store_waiting(resources: Resources) -> None:
    """Store the calls that were answered since the last time, without secrets."""
    by_tenant: dict[str, list[LoggedCall]] = defaultdict(list)
    for tenant, call in resources.waiting_calls.take():
        by_tenant[tenant].append(call)
    for tenant, calls in by_tenant.items():
        try:
            async with resources.database.unlocked_write(tenant, relaxed=True) as transaction:
                await store.add(transaction, _as_stored(resources, tenant, calls))
        except (TargetUnavailable, DeadlinePassed, OverloadRejected) as problem:
            log.info("%d calls are not in the call log yet: %s", len(calls), problem.message)
            resources.waiting_calls.give_back((tenant, call) for call in calls)
        except MemoryButlerError as problem:
            log.warning("%d calls could not be logged: %s", len(calls), problem.message)


def _as_stored(resources: Resources, tenant: str, calls: Sequence[LoggedCall]) -> list[LoggedCall]:
    """The calls without secrets, with ids in their order. The ids of memories come from another source: the log leaves
    no trace in the memory's state."""
    make_id, stored = id_maker(), []
    for call in calls:
        found = redact(visible_text(call.prompt), policy_for(resources, tenant, call.butler))
        stored.append(replace(call, id=make_id(call.asked_at), prompt=found.text))
    return stored


@on_replica
async def logged_calls(
    resources: Resources,
    wanted: CallFilter,
    caller: Caller | None = None,
    *,
    limit: int = USUAL_PAGE,
    cursor: str | None = None,
) -> Page[LoggedCall]:
    """The calls that the caller may see, newest first. An agent sees those of its own butler."""
    caller = resources.allowed(caller, "list_memories")
    count = whole_number(limit, "limit", 1, LARGEST_PAGE)
    cursors = Cursors("calls", caller.principal.tenant, wanted)
    place = cursors.decode(cursor, datetime.fromisoformat, UUID)
    async with resources.database.read(caller.principal.tenant) as transaction:
        rows = await store.page(
            transaction,
            wanted,
            viewer=viewer(caller.principal),
            before=(place[0], place[1]) if place else None,
            limit=count + 1,
        )
    return cut_page(rows, count, cursors, lambda call: [call.asked_at.isoformat(), str(call.id)])


@on_replica
async def logged_call(resources: Resources, id: UUID, caller: Caller | None = None) -> LoggedCall:
    """One call. Raises NotFound if it was deleted or belongs to another butler."""
    caller = resources.allowed(caller, "list_memories")
    async with resources.database.read(caller.principal.tenant) as transaction:
        call = await store.one(transaction, id, viewer(caller.principal))
    if call is None:
        raise NotFound(
            "This call is not in the log.", recovery="Calls are deleted after call_log.days; see the newer ones."
        )
    return call


@on_replica
async def call_days(
    resources: Resources, wanted: CallFilter, caller: Caller | None = None, *, zone: str = "UTC"
) -> tuple[CallDay, ...]:
    """The calls of each day on which there were any."""
    caller = resources.allowed(caller, "list_memories")
    async with resources.database.read(caller.principal.tenant) as transaction:
        return tuple(await store.days(transaction, wanted, viewer=viewer(caller.principal), zone=zone))


@on_replica
async def returned_memories(
    resources: Resources, calls: Sequence[LoggedCall], caller: Caller | None = None
) -> dict[str, ReturnedMemory]:
    """The memories that these calls returned, by reference, as they are now. Without those that are gone or that the
    caller may not see."""
    caller = resources.allowed(caller, "list_memories")
    ids = {id for call in calls for id in call.memory_ids}
    async with resources.database.read(caller.principal.tenant) as transaction:
        found = await store.told(transaction, ids, viewer(caller.principal))
    return {f"{one.type}:{one.ref}": one for one in found}


@on_replica
async def callers(resources: Resources, caller: Caller | None = None) -> tuple[CallingProgram, ...]:
    """The programs in the log that the caller may see, each with its butler."""
    caller = resources.allowed(caller, "list_memories")
    async with resources.database.read(caller.principal.tenant) as transaction:
        return tuple(await store.clients(transaction, viewer(caller.principal)))


async def trim(resources: Resources, tenant: str) -> int:
    """Delete the calls that are too old or too many; returns how many."""
    settings, deleted = resources.settings.call_log, 0
    with suppress(DeadlinePassed):
        async with resources.database.unlocked_write(tenant) as transaction:
            before = resources.clock() - timedelta(days=settings.days)
            deleted = await store.trim(transaction, before=before, most=settings.max_calls)
    return deleted
