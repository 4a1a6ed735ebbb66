"""Pin a memory to exempt it from decay, expiry and eviction; unpin it to end the exemption."""

from datetime import datetime

from memory_butler.errors import Conflict
from memory_butler.models import LIVE, Caller, Episode, Memory, Stored, Validity
from memory_butler.operations.retrieval.named_memory import find_handle
from memory_butler.operations.writing.change_target import reactivate, require_changeable, write_result
from memory_butler.operations.writing.idempotency import Fingerprint, audit_trail, run_idempotent
from memory_butler.policy.memories.validation import clean_key
from memory_butler.resources import Resources
from memory_butler.store.gate.database import Transaction
from memory_butler.store.history import events
from memory_butler.store.history.events import Change
from memory_butler.store.memories import memories


async def pin(
    resources: Resources,
    memory_type: str | None,
    handle: str,
    caller: Caller | None = None,
    *,
    idempotency_key: str | None = None,
) -> Stored:
    """Exempt a live memory from decay, expiry and eviction."""
    return await _set(resources, memory_type, handle, caller, pinned=True, key=idempotency_key)


async def unpin(
    resources: Resources,
    memory_type: str | None,
    handle: str,
    caller: Caller | None = None,
    *,
    idempotency_key: str | None = None,
) -> Stored:
    """End the exemption. Decay restarts now, so that a memory pinned for long does not expire at the next sweep."""
    return await _set(resources, memory_type, handle, caller, pinned=False, key=idempotency_key)


async def _set(
    resources: Resources, memory_type: str | None, handle: str, caller: Caller | None, *, pinned: bool, key: str | None
) -> Stored:
    caller = caller or resources.local_caller()
    target = await find_handle(resources, caller, memory_type, handle)
    outcome = "pinned" if pinned else "unpinned"

    async def work(transaction: Transaction, now: datetime) -> Stored:
        memory = await require_changeable(transaction, caller, target)
        if memory.validity not in LIVE:
            raise Conflict(
                f"{target} is {memory.validity}; only memories in use can be {outcome}.",
                recovery="Restore it first with memory_restore.",
            )
        if memory.pinned is pinned:
            return write_result(memory, f"already_{outcome}")
        await _apply(resources, transaction, memory, now, pinned=pinned)
        await events.record(transaction, audit_trail(resources, caller, now), [Change(memory.type, memory.id, outcome)])
        return write_result(memory, outcome)

    digest = Fingerprint(outcome, {"type": target.type, "id": str(target)})
    return await run_idempotent(resources, caller, clean_key(key), digest, work)


async def _apply(
    resources: Resources, transaction: Transaction, memory: Memory, now: datetime, *, pinned: bool
) -> None:
    await memories.set_pinned(transaction, memory.type, memory.id, pinned)
    if not pinned:
        await reactivate(resources, transaction, memory, now)
        return
    if isinstance(memory, Episode) or memory.validity is not Validity.FADING:
        return
    # A pinned memory does not decay, so its effective confidence is the stored one.
    if memory.confidence >= resources.settings.lifecycle_of(memory.source_butler).decay.fading_below:
        await memories.set_validity(transaction, memory.type, memory.id, Validity.ACTIVE)
