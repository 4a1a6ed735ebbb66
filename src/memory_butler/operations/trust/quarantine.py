"""The review inbox: memories that are not used until a person approves them.

Approving puts a memory into use; the person vouches for it, so its origin becomes `user`, and a contested value
replaces the current one. Rejecting leaves it out of use, like a forgotten memory. Both are events and can be undone.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memory_butler.errors import Conflict
from memory_butler.models import Caller, Fact, Memory, MemoryType, Origin, Rule, Stored, Validity
from memory_butler.models.wire.memory_answers import QuarantineAnswer, QuarantinedMemory
from memory_butler.operations.retrieval.named_memory import find_handle
from memory_butler.operations.writing.admission import admit_reason
from memory_butler.operations.writing.change_target import reactivate, require_changeable, write_result
from memory_butler.operations.writing.idempotency import Fingerprint, audit_trail, run_idempotent
from memory_butler.operations.writing.restore import occupant_of
from memory_butler.policy.memories.validation import Handle, clean_key, whole_number
from memory_butler.policy.trust.reasons import describe_reason
from memory_butler.resources import Resources, on_replica
from memory_butler.store.gate.database import Transaction
from memory_butler.store.history import events
from memory_butler.store.history.events import Change
from memory_butler.store.memories import memories
from memory_butler.store.trust import quarantine as store

MAX_LIMIT = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A quarantined memory: why it waits, and the current value that it contests."""

    memory: Memory
    why: str
    current_ref: str | None = None
    current_content: str | None = None

    def answer(self) -> QuarantinedMemory:
        memory = self.memory
        return QuarantinedMemory(
            ref=f"{memory.type}:{memory.ref}",
            type=memory.type,
            content=memory.content,
            subject=memory.subject_label if isinstance(memory, Fact) else None,
            predicate=memory.predicate_label if isinstance(memory, Fact) else None,
            origin=memory.origin,
            reason=memory.quarantine_reason or "",
            why=self.why,
            created_at=memory.created_at,
            contests=f"fact:{self.current_ref}" if self.current_ref else None,
            contested_content=self.current_content,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Inbox:
    """The oldest quarantined memories, and the number of all of them."""

    items: tuple[Waiting, ...]
    total: int

    def answer(self) -> QuarantineAnswer:
        return QuarantineAnswer(items=tuple(one.answer() for one in self.items), total=self.total)


@on_replica
async def inbox(resources: Resources, caller: Caller | None = None, *, limit: int = 100) -> Inbox:
    """Returns the memories that wait for a decision, oldest first."""
    caller = resources.allowed(caller, "quarantine")
    limit = whole_number(limit, "limit", 1, MAX_LIMIT)
    async with resources.database.read(caller.principal.tenant) as transaction:
        found, total = await store.waiting(transaction, limit)
        contesting = [one.id for one in found if isinstance(one, Fact)]
        rows = await store.contested_values(transaction, contesting) if contesting else []
    current = {row["contester"]: row for row in rows}
    return Inbox(
        items=tuple(
            Waiting(
                memory=one,
                why=describe_reason(one.quarantine_reason or "", one.origin),
                current_ref=current[one.id]["ref"] if one.id in current else None,
                current_content=current[one.id]["content"] if one.id in current else None,
            )
            for one in found
        ),
        total=total,
    )


@on_replica
async def contested_value(resources: Resources, fact_id: UUID, caller: Caller | None = None) -> tuple[str, str] | None:
    """Reference and text of the fact that approving this one would supersede, or None."""
    caller = resources.allowed(caller, "quarantine")
    async with resources.database.read(caller.principal.tenant) as transaction:
        rows = await store.contested_values(transaction, [fact_id])
    return (rows[0]["ref"], rows[0]["content"]) if rows else None


async def approve(
    resources: Resources,
    memory_type: str | None,
    handle: str,
    caller: Caller | None = None,
    *,
    reason: str | None = None,
    idempotency_key: str | None = None,
) -> Stored:
    """Put a quarantined memory into use; it supersedes the value that it contests."""
    return await _decide(resources, (memory_type, handle), caller, _APPROVE, reason=reason, key=idempotency_key)


async def reject(
    resources: Resources,
    memory_type: str | None,
    handle: str,
    caller: Caller | None = None,
    *,
    reason: str | None = None,
    idempotency_key: str | None = None,
) -> Stored:
    """Leave a quarantined memory out of use for good: it is forgotten."""
    return await _decide(resources, (memory_type, handle), caller, _REJECT, reason=reason, key=idempotency_key)


async def _decide(
    resources: Resources,
    named: tuple[str | None, str],
    caller: Caller | None,
    decision: "_Decision",
    *,
    reason: str | None,
    key: str | None,
) -> Stored:
    """Take a memory out of quarantine as the decision says, with one event for it."""
    caller = resources.allowed(caller, "quarantine")
    target = await find_handle(resources, caller, *named)
    reason, admitted = admit_reason(resources, caller, reason)
    verb, outcome, apply = decision

    async def work(transaction: Transaction, now: datetime) -> Stored:
        memory = await _require_waiting(transaction, caller, target)
        occupant = await apply(resources, transaction, memory, now)
        changes, extra = list[Change](), await events.reason_of(transaction, memory.id, reason)
        if occupant:
            changes.append(Change(MemoryType.FACT, occupant.id, "superseded", {"restored": str(memory.id)}))
            extra = {"supersedes": str(occupant.id), **extra}
        trail = audit_trail(resources, caller, now, grouped=occupant is not None, admitted=admitted)
        await events.record(transaction, trail, [*changes, Change(memory.type, memory.id, outcome, extra)])
        return write_result(memory, outcome, superseded=occupant)

    digest = Fingerprint(verb, {"type": target.type, "id": str(target), "reason": reason})
    return await run_idempotent(resources, caller, clean_key(key), digest, work)


async def _put_into_use(resources: Resources, transaction: Transaction, memory: Memory, now: datetime) -> Fact | None:
    """The person vouches for the memory. Returns the fact that it supersedes, if there is one."""
    occupant = await occupant_of(transaction, memory)
    if isinstance(occupant, Rule):
        raise Conflict(
            f"{memory.type}:{memory.ref} says the same as rule:{occupant.ref}, which is {occupant.validity}.",
            recovery=f"Reject {memory.type}:{memory.ref}.",
        )
    if occupant:
        await memories.set_validity(transaction, MemoryType.FACT, occupant.id, Validity.SUPERSEDED)
    await memories.release(transaction, memory.type, memory.id, Origin.USER)
    await reactivate(resources, transaction, memory, now)
    return occupant


async def _leave_out(_: Resources, transaction: Transaction, memory: Memory, __: datetime) -> None:
    await memories.release(transaction, memory.type, memory.id, None)


_Apply = Callable[[Resources, Transaction, Memory, datetime], Awaitable[Fact | None]]
# The verb of the request, the outcome, and the change.
_Decision = tuple[str, str, _Apply]
_APPROVE: _Decision = ("approve", "approved", _put_into_use)
_REJECT: _Decision = ("reject", "rejected", _leave_out)


async def _require_waiting(transaction: Transaction, caller: Caller, target: Handle) -> Memory:
    memory = await require_changeable(transaction, caller, target)
    if memory.quarantine_reason is None:
        raise Conflict(
            f"{target} is not quarantined; it is {memory.validity}.",
            recovery="`memory-butler review` lists what waits for a decision.",
        )
    return memory
