"""Forget: withdraw a memory from use. Audited and recoverable."""

from datetime import datetime

from memory_butler.errors import Conflict
from memory_butler.models import Caller, Stored, Validity
from memory_butler.operations.writing.admission import admit_reason
from memory_butler.operations.writing.change_target import require_changeable, write_result
from memory_butler.operations.writing.idempotency import audit_trail, fingerprint, run_idempotent
from memory_butler.policy.lifecycle.transitions import may_follow
from memory_butler.policy.memories.validation import clean_key, parse_handle
from memory_butler.resources import Resources
from memory_butler.store.gate.database import Transaction
from memory_butler.store.history import events
from memory_butler.store.history.events import Change
from memory_butler.store.memories import memories


async def forget(
    resources: Resources,
    memory_type: str,
    handle: str,
    caller: Caller | None = None,
    *,
    reason: str | None = None,
    idempotency_key: str | None = None,
) -> Stored:
    """Retract a memory: no read returns it any more. It can be restored."""
    caller = caller or resources.local_caller()
    target = parse_handle(memory_type, handle)
    reason, admitted = admit_reason(resources, caller, reason)

    async def work(transaction: Transaction, now: datetime) -> Stored:
        memory = await require_changeable(transaction, caller, target)
        if memory.validity is Validity.RETRACTED:
            return write_result(memory, "already_retracted")
        if not may_follow(memory.type, "validity", memory.validity, Validity.RETRACTED):
            raise Conflict(
                f"{target} is {memory.validity} and therefore not in use.",
                recovery="Nothing to do: reads do not return it.",
            )
        await memories.set_validity(transaction, memory.type, memory.id, Validity.RETRACTED)
        extra = await events.reason_of(transaction, memory.id, reason)
        await events.record(
            transaction,
            audit_trail(resources, caller, now, admitted=admitted),
            [Change(memory.type, memory.id, "retracted", extra)],
        )
        return write_result(memory, "retracted")

    digest = fingerprint("forget", {"type": target.type, "id": str(target), "reason": reason})
    key = clean_key(idempotency_key)
    return await run_idempotent(resources, caller, key, digest, work, admitted=admitted)
