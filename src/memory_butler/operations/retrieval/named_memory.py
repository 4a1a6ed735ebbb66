"""Find the memory that a caller names: by type and id, by `fact:k3f7`, or by the reference alone."""

from collections.abc import Sequence
from dataclasses import replace

from memory_butler.errors import NotFound
from memory_butler.models import Caller, Episode, Memory, MemoryType
from memory_butler.policy.access import visibility
from memory_butler.policy.memories.validation import Handle, parse_handle, type_in_reference
from memory_butler.resources import Resources
from memory_butler.store.gate.database import Transaction
from memory_butler.store.memories import episodes, memories
from memory_butler.store.trust import purging


def parse_handles(memory_type: str | None, text: str) -> list[Handle]:
    """The handle that a caller passed; without a type, one for each type. References are unique in a tenant."""
    kind = memory_type or type_in_reference(text)
    return [parse_handle(one, text) for one in ([kind] if kind else MemoryType)]


async def find_handle(resources: Resources, caller: Caller, memory_type: str | None, text: str) -> Handle:
    """The handle that a caller passed, with the type of the memory if the caller left it out."""
    wanted = parse_handles(memory_type, text)
    if len(wanted) == 1:
        return wanted[0]
    async with resources.database.read(caller.principal.tenant) as transaction:
        memory = await require_one_of(transaction, caller, wanted)
    return replace(wanted[0], type=memory.type)


async def require_one_of(transaction: Transaction, caller: Caller, wanted: Sequence[Handle]) -> Memory:
    """The memory that one of the handles names, if the caller may see it."""
    unknown = NotFound(f"There is no memory {wanted[0].ref or wanted[0].id}.")
    for handle in wanted:
        try:
            return await require(transaction, caller, handle)
        except NotFound as problem:
            # The message about a deleted or purged memory says more.
            if len(wanted) == 1 or problem.message != f"There is no {handle}.":
                unknown = problem
    raise unknown


async def require(transaction: Transaction, caller: Caller, handle: Handle) -> Memory:
    """The memory a handle names, if the caller may see it."""
    found = await memories.get(transaction, handle.type, handle.id, handle.ref)
    if found is None and handle.type is MemoryType.EPISODE:
        grave = await episodes.find_tombstone(transaction, handle.id, handle.ref)
        visible = grave and visibility.may_see(caller.principal, grave["butler"], is_episode=True)
        if grave and visible and grave["reason"] != "purged":
            raise NotFound(
                f"{handle} was deleted on {grave['deleted_at'].date()} ({grave['reason']}); only its trace is kept.",
                recovery="What was learned from it is linked to it: search for that instead.",
            )
    if found is None:
        await _refuse_purged(transaction, caller, handle)
    owner = found.butler if isinstance(found, Episode) else found.scope if found else ""
    if found is None or not visibility.may_see(caller.principal, owner, is_episode=isinstance(found, Episode)):
        raise NotFound(f"There is no {handle}.")
    return found


async def _refuse_purged(transaction: Transaction, caller: Caller, handle: Handle) -> None:
    """Say that a memory was purged, to callers who could have seen it."""
    purged = await purging.find_purged(transaction, handle.type, handle.id, handle.ref)
    is_episode = handle.type is MemoryType.EPISODE
    if purged and visibility.may_see(caller.principal, purged["owner"] or "", is_episode=is_episode):
        raise NotFound(
            f"{handle} was purged on {purged['occurred_at'].date()}: it was erased for good (receipt"
            f" {purged['receipt']}).",
            recovery="It cannot be restored.",
        )
