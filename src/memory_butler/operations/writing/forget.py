"""Forget: withdraw a memory from use, optionally with what came from it alone. Audited and recoverable."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from memory_butler.errors import Conflict
from memory_butler.models import Caller, DerivedMemory, Memory, Stored, Validity
from memory_butler.operations.retrieval.named_memory import find_handle
from memory_butler.operations.trust.derived_memories import by_type, derived_in_use
from memory_butler.operations.trust.exact_matches import MatchedMemory
from memory_butler.operations.writing.admission import admit_reason
from memory_butler.operations.writing.change_target import require_changeable, write_result
from memory_butler.operations.writing.idempotency import Fingerprint, audit_trail, run_idempotent
from memory_butler.policy.lifecycle.transitions import may_follow
from memory_butler.policy.memories.validation import Handle, clean_key, parse_handle
from memory_butler.resources import Resources
from memory_butler.store.gate.database import Transaction
from memory_butler.store.history import events
from memory_butler.store.history.events import AuditTrail, Change
from memory_butler.store.memories import memories
from memory_butler.store.trust import forgetting

# A result names this many memories that came from the forgotten one.
NAMED = 200


async def forget(
    resources: Resources,
    memory_type: str | None,
    handle: str,
    caller: Caller | None = None,
    *,
    derived: bool = False,
    reason: str | None = None,
    idempotency_key: str | None = None,
) -> Stored:
    """Retract a memory: no read returns it any more. It can be restored.

    The result names the facts and rules that came from it alone. With `derived` they are retracted, too, in one group
    that can be undone; also if the memory itself was retracted before.
    """
    caller = caller or resources.local_caller()
    target = await find_handle(resources, caller, memory_type, handle)
    reason, admitted = admit_reason(resources, caller, reason)

    async def work(transaction: Transaction, now: datetime) -> Stored:
        memory = await require_changeable(transaction, caller, target)
        _check_transition(target, memory)
        is_new = memory.validity is not Validity.RETRACTED
        dependent = await derived_in_use(transaction, caller, memory.id)
        trail = audit_trail(resources, caller, now, grouped=derived and bool(dependent), admitted=admitted)
        if is_new:
            await memories.set_validity(transaction, memory.type, memory.id, Validity.RETRACTED)
        withdrawn = dependent if derived else []
        for kind, ids in by_type(withdrawn).items():
            await forgetting.retract(transaction, kind, ids)
        gone = [*([memory] if is_new else []), *withdrawn]
        await _record(transaction, trail, gone, reason)
        result = write_result(memory, "retracted" if is_new else "already_retracted")
        named = tuple(_named(one, with_line=not derived) for one in dependent[:NAMED])
        return replace(result, derived=named, withdrawn=len(withdrawn), group_id=trail.group_id)

    digest = Fingerprint("forget", {"type": target.type, "id": str(target), "reason": reason, "derived": derived})
    key = clean_key(idempotency_key)
    return await run_idempotent(resources, caller, key, digest, work, admitted=admitted)


async def find_derived(
    resources: Resources, memory_type: str, handle: str, caller: Caller | None = None
) -> tuple[DerivedMemory, ...]:
    """The facts and rules in use that came from a memory alone, up to 200."""
    caller = caller or resources.local_caller()
    async with resources.database.read(caller.principal.tenant) as transaction:
        memory = await require_changeable(transaction, caller, parse_handle(memory_type, handle))
        found = await derived_in_use(transaction, caller, memory.id)
    return tuple(_named(one, with_line=True) for one in found[:NAMED])


def _check_transition(target: Handle, memory: Memory) -> None:
    if memory.validity is Validity.RETRACTED:
        return
    if not may_follow(memory.type, "validity", memory.validity, Validity.RETRACTED):
        raise Conflict(
            f"{target} is {memory.validity} and therefore not in use.",
            recovery="Nothing to do: reads do not return it.",
        )


async def _record(
    transaction: Transaction, trail: AuditTrail, gone: Sequence[Memory | MatchedMemory], reason: str | None
) -> None:
    changes = [
        Change(one.type, one.id, "retracted", await events.reason_of(transaction, one.id, reason)) for one in gone
    ]
    if changes:
        await events.record(transaction, trail, changes)


def _named(one: MatchedMemory, *, with_line: bool) -> DerivedMemory:
    return DerivedMemory(ref=f"{one.type}:{one.ref}", line=one.line if with_line else None)
