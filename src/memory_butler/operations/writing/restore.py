"""Restore a forgotten, expired or superseded memory, or reverse a rule's inversion into a warning."""

from datetime import datetime

from memory_butler.errors import Conflict, MemoryButlerError, NotFound
from memory_butler.models import LIVE, Caller, Fact, Maturity, Memory, MemoryType, Rule, Stored, Validity
from memory_butler.operations.retrieval.named_memory import find_handle
from memory_butler.operations.writing.admission import admit_reason
from memory_butler.operations.writing.change_target import reactivate, require_changeable, write_result
from memory_butler.operations.writing.idempotency import Fingerprint, audit_trail, run_idempotent
from memory_butler.policy.access import visibility
from memory_butler.policy.access.roles import require_admin
from memory_butler.policy.memories.validation import Handle, clean_key, parse_handle
from memory_butler.resources import Resources
from memory_butler.store.gate.database import Transaction
from memory_butler.store.history import events
from memory_butler.store.history.events import Change
from memory_butler.store.memories import episodes, facts, memories, rules


async def restore(
    resources: Resources,
    memory_type: str | None,
    handle: str,
    caller: Caller | None = None,
    *,
    supersede: bool = False,
    reason: str | None = None,
    idempotency_key: str | None = None,
) -> Stored:
    """Make a memory active again and restart its decay. A live fact in its place stays unless `supersede` is true."""
    caller = caller or resources.local_caller()
    target = await find_handle(resources, caller, memory_type, handle)
    reason, admitted = admit_reason(resources, caller, reason)

    async def work(transaction: Transaction, now: datetime) -> Stored:
        await _refuse_deleted(transaction, caller, target)
        memory = await require_changeable(transaction, caller, target)
        if memory.validity is Validity.ACTIVE:
            return write_result(memory, "already_active")
        _refuse_quarantined(memory, target)
        occupant = await occupant_of(transaction, memory)
        if occupant and not (supersede and isinstance(occupant, Fact)):
            raise _conflict(target, occupant)
        superseded = occupant if isinstance(occupant, Fact) else None
        trail = audit_trail(resources, caller, now, grouped=superseded is not None, admitted=admitted)
        changes = []
        if superseded:
            await memories.set_validity(transaction, MemoryType.FACT, superseded.id, Validity.SUPERSEDED)
            extra = {"restored": str(memory.id), **await events.reason_of(transaction, superseded.id, reason)}
            changes.append(Change(MemoryType.FACT, superseded.id, "superseded", extra))
        await reactivate(resources, transaction, memory, now)
        extra = {"supersedes": str(superseded.id)} if superseded else {}
        extra |= await events.reason_of(transaction, memory.id, reason)
        await events.record(transaction, trail, [*changes, Change(memory.type, memory.id, "restored", extra)])
        return write_result(memory, "restored", superseded=superseded)

    request = {"type": target.type, "id": str(target), "supersede": supersede, "reason": reason}
    key = clean_key(idempotency_key)
    return await run_idempotent(resources, caller, key, Fingerprint("restore", request), work, admitted=admitted)


async def find_conflict(
    resources: Resources, memory_type: str, handle: str, caller: Caller | None = None
) -> Fact | Rule | None:
    """Returns the live memory that restoring would conflict with; None if there is none or the memory is active."""
    caller = caller or resources.local_caller()
    target = parse_handle(memory_type, handle)
    async with resources.database.read(caller.principal.tenant) as transaction:
        await _refuse_deleted(transaction, caller, target)
        memory = await require_changeable(transaction, caller, target)
        return None if memory.validity is Validity.ACTIVE else await occupant_of(transaction, memory)


def _refuse_quarantined(memory: Memory, handle: Handle) -> None:
    if memory.quarantine_reason:
        raise Conflict(
            f"{handle} is quarantined ({memory.quarantine_reason}): only a person can put it into use.",
            recovery="A person decides with `memory-butler review` or in the dashboard.",
        )


async def _refuse_deleted(transaction: Transaction, caller: Caller, handle: Handle) -> None:
    if handle.type is not MemoryType.EPISODE:
        return
    tombstone = await episodes.find_tombstone(transaction, handle.id, handle.ref)
    if tombstone and visibility.may_see(caller.principal, tombstone["butler"], is_episode=True):
        raise NotFound(
            f"{handle} was deleted on {tombstone['deleted_at'].date()} ({tombstone['reason']}) and cannot be restored.",
            recovery="Search for the facts and rules that were distilled from it.",
        )


async def occupant_of(transaction: Transaction, memory: Memory) -> Fact | Rule | None:
    """Returns the live fact of the same property or occurrence, or the live rule with the same content."""
    if isinstance(memory, Fact):
        return await facts.find_occupant(transaction, memory.id)
    return await rules.find_occupant(transaction, memory.id) if isinstance(memory, Rule) else None


def _conflict(handle: Handle, occupant: Fact | Rule) -> MemoryButlerError:
    other = f"{occupant.type}:{occupant.ref}"
    if isinstance(occupant, Rule):
        return Conflict(
            f"{handle} cannot be restored: {other} says the same and is {occupant.validity}.",
            recovery=f"Use {other}, or forget it first.",
        )
    return Conflict(
        f"{handle} cannot be restored: {other} is now the current value ({occupant.validity}).",
        recovery=f"Restore it with supersede=true (command line: --supersede) to supersede {other}.",
    )


async def reverse(
    resources: Resources,
    handle: str,
    caller: Caller | None = None,
    *,
    reason: str | None = None,
    idempotency_key: str | None = None,
) -> Stored:
    """Turn a warning back into a candidate rule, evaluated by feedback from now on. Earlier feedback is kept."""
    caller = caller or resources.local_caller()
    target = parse_handle(MemoryType.RULE, handle)
    reason, admitted = admit_reason(resources, caller, reason)
    require_admin(caller.principal, "reverse a warning", recovery="An administrator runs `memory-butler reverse`.")

    async def work(transaction: Transaction, now: datetime) -> Stored:
        rule = await require_changeable(transaction, caller, target)
        assert isinstance(rule, Rule)
        if rule.maturity is not Maturity.ANTI_PATTERN:
            raise Conflict(
                f"{target} is {rule.maturity}, not a warning; there is nothing to reverse.",
                recovery="Only a rule whose maturity is anti_pattern can be reversed.",
            )
        if rule.validity not in LIVE:
            raise Conflict(f"{target} is {rule.validity}.", recovery="Restore it first, then reverse it.")
        await rules.reverse(transaction, rule.id, now)
        extra = await events.reason_of(transaction, rule.id, reason)
        await events.record(
            transaction,
            audit_trail(resources, caller, now, admitted=admitted),
            [Change(MemoryType.RULE, rule.id, "reversed", extra)],
        )
        return write_result(rule, "reversed")

    digest = Fingerprint("reverse", {"id": str(target), "reason": reason})
    key = clean_key(idempotency_key)
    return await run_idempotent(resources, caller, key, digest, work, admitted=admitted)
