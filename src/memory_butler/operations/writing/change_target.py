"""Shared by the operations that change one memory: find it, check permission."""

from dataclasses import replace
from datetime import datetime, timedelta

from memory_butler.errors import InvalidInput, NotFound
from memory_butler.models import Caller, Episode, Fact, Memory, MemoryType, Stored
from memory_butler.operations.retrieval.named_memory import require
from memory_butler.policy.access import visibility
from memory_butler.policy.memories.validation import Handle
from memory_butler.resources import Resources
from memory_butler.store.gate.database import Transaction
from memory_butler.store.memories import episodes, memories


async def require_changeable(transaction: Transaction, caller: Caller, handle: Handle) -> Memory:
    """Returns the memory if the caller may see and write it; for an id of another type the error names that type."""
    try:
        memory = await require(transaction, caller, handle)
    except NotFound:
        await _refuse_other_type(transaction, caller, handle)
        raise
    if isinstance(memory, Episode):
        visibility.acting_butler(caller.principal, memory.butler)
    else:
        visibility.check_writable(caller.principal, memory.scope)
    return memory


async def _refuse_other_type(transaction: Transaction, caller: Caller, handle: Handle) -> None:
    for kind in MemoryType:
        other = replace(handle, type=kind)
        try:
            exists = other != handle and await require(transaction, caller, other)
        except NotFound:
            continue
        if exists:
            raise InvalidInput(
                f"{other} is {_a(kind)}, not {_a(handle.type)}.",
                recovery=f"Pass the reference or id of {_a(handle.type)}, or call the operation for {kind}s.",
            )


def _a(kind: MemoryType) -> str:
    return f"an {kind}" if kind is MemoryType.EPISODE else f"a {kind}"


def write_result(memory: Memory, outcome: str, *, superseded: Fact | None = None) -> Stored:
    return Stored(
        type=memory.type,
        id=memory.id,
        ref=memory.ref,
        outcome=outcome,
        superseded_ref=superseded.ref if superseded else None,
    )


async def reactivate(resources: Resources, transaction: Transaction, memory: Memory, now: datetime) -> None:
    """Make a memory active and restart its decay; an episode gets its full time to live again."""
    if isinstance(memory, Episode):
        days = resources.settings.lifecycle_of(memory.butler).eden.ttl_days
        await episodes.renew(transaction, memory.id, now + timedelta(days=days))
    else:
        await memories.restore(transaction, memory.type, memory.id, now)
