"""Restore: bring back what was forgotten, expired or superseded; or take back that a rule is a warning."""

from datetime import datetime

from memory_butler.butler import Butler
from memory_butler.errors import Conflict, MemoryButlerError, NotFound, PermissionDenied
from memory_butler.models import LIVE, Caller, Fact, Maturity, Memory, MemoryType, Rule, Stored, Validity
from memory_butler.operations.change import admit_reason, bring_back, require_changeable, said
from memory_butler.operations.once import fingerprint, trail, write_once
from memory_butler.policy import reach
from memory_butler.policy.admission import Handle, optional_label, parse_handle
from memory_butler.store import episodes, events, facts, rules
from memory_butler.store.database import Session
from memory_butler.store.events import Change


async def restore(
    butler: Butler,
    memory_type: str,
    handle: str,
    caller: Caller | None = None,
    *,
    supersede: bool = False,
    reason: str | None = None,
    idempotency_key: str | None = None,
) -> Stored:
    """Have a memory in use again, renewed. A live fact in its place stays, unless `supersede` says to replace it."""
    caller = caller or butler.local_caller()
    wanted = parse_handle(memory_type, handle)
    why = admit_reason(reason)

    async def work(session: Session, now: datetime) -> Stored:
        await _refuse_deleted(session, caller, wanted)
        memory = await require_changeable(session, caller, wanted)
        if memory.validity is Validity.ACTIVE:
            return said(memory, "already_active")
        occupant = await _occupant(session, memory)
        if occupant and not (supersede and isinstance(occupant, Fact)):
            raise _place_taken(wanted, occupant)
        made_way = occupant if isinstance(occupant, Fact) else None
        marks = trail(butler, caller, now, grouped=made_way is not None)
        changes = []
        if made_way:
            await facts.set_validity(session, made_way.id, Validity.SUPERSEDED)
            extra = {"restored": str(memory.id), **await events.reason_of(session, made_way.id, why)}
            changes.append(Change(MemoryType.FACT, made_way.id, "superseded", extra))
        await bring_back(butler, session, memory, now)
        extra = {"supersedes": str(made_way.id)} if made_way else {}
        extra |= await events.reason_of(session, memory.id, why)
        await events.record(session, marks, [*changes, Change(memory.type, memory.id, "restored", extra)])
        return said(memory, "restored", superseded=made_way)

    asked = {"type": wanted.type, "id": str(wanted), "supersede": supersede, "reason": why}
    key = optional_label(idempotency_key, "idempotency_key")
    return await write_once(butler, caller, key, fingerprint("restore", asked), work)


async def in_its_place(
    butler: Butler, memory_type: str, handle: str, caller: Caller | None = None
) -> Fact | Rule | None:
    """What a restored memory would have to replace; none if its place is free or it is in use itself."""
    caller = caller or butler.local_caller()
    wanted = parse_handle(memory_type, handle)
    async with butler.database.read(caller.principal.tenant) as session:
        await _refuse_deleted(session, caller, wanted)
        memory = await require_changeable(session, caller, wanted)
        return None if memory.validity is Validity.ACTIVE else await _occupant(session, memory)


async def _refuse_deleted(session: Session, caller: Caller, handle: Handle) -> None:
    if handle.type is not MemoryType.EPISODE:
        return
    grave = await episodes.find_tombstone(session, handle.id, handle.ref)
    if grave and reach.may_see(caller.principal, grave["butler"], is_episode=True):
        raise NotFound(
            f"{handle} was deleted on {grave['deleted_at'].date()} ({grave['reason']}) and cannot be restored.",
            recovery="What was learned from it is linked to it: search for that instead.",
        )


async def _occupant(session: Session, memory: Memory) -> Fact | Rule | None:
    """The live memory that stands in the way: of the same property or occurrence, or a rule that says the same."""
    if isinstance(memory, Fact):
        return await facts.find_occupant(session, memory.id)
    return await rules.find_occupant(session, memory.id) if isinstance(memory, Rule) else None


def _place_taken(handle: Handle, occupant: Fact | Rule) -> MemoryButlerError:
    other = f"{occupant.type}:{occupant.ref}"
    if isinstance(occupant, Rule):
        return Conflict(
            f"{handle} cannot be restored: {other} says the same and is {occupant.validity}.",
            recovery=f"Use {other}, or forget it first.",
        )
    return Conflict(
        f"{handle} cannot be restored: its place is taken by {other}, which is {occupant.validity}.",
        recovery=f"Restore it with supersede=true (on the command line --supersede): {other} is then superseded.",
    )


async def reverse(
    butler: Butler,
    handle: str,
    caller: Caller | None = None,
    *,
    reason: str | None = None,
    idempotency_key: str | None = None,
) -> Stored:
    """Take back that a rule is a warning: a candidate, judged by what is reported from now on. All reports stay."""
    caller = caller or butler.local_caller()
    wanted = parse_handle(MemoryType.RULE, handle)
    why = admit_reason(reason)
    if not caller.principal.role.governs:
        raise PermissionDenied(
            "Only an administrator may take back that a rule is a warning.",
            recovery="Ask the person you work for; `memory-butler reverse` does it.",
        )

    async def work(session: Session, now: datetime) -> Stored:
        rule = await require_changeable(session, caller, wanted)
        assert isinstance(rule, Rule)
        if rule.maturity is not Maturity.ANTI_PATTERN:
            raise Conflict(
                f"{wanted} is {rule.maturity}, not a warning; there is nothing to reverse.",
                recovery="Only a rule whose maturity is anti_pattern can be reversed.",
            )
        if rule.validity not in LIVE:
            raise Conflict(f"{wanted} is {rule.validity}.", recovery="Restore it first, then reverse it.")
        await rules.reverse(session, rule.id, now)
        extra = await events.reason_of(session, rule.id, why)
        await events.record(session, trail(butler, caller, now), [Change(MemoryType.RULE, rule.id, "reversed", extra)])
        return said(rule, "reversed")

    digest = fingerprint("reverse", {"id": str(wanted), "reason": why})
    return await write_once(butler, caller, optional_label(idempotency_key, "idempotency_key"), digest, work)
