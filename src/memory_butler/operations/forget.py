"""Forget: withdraw a memory from use. Audited, and recoverable."""

from datetime import datetime

from memory_butler.butler import Butler
from memory_butler.errors import Conflict
from memory_butler.models import Caller, Episode, Fact, Stored, Validity
from memory_butler.operations.change import admit_reason, require_changeable, said
from memory_butler.operations.once import fingerprint, trail, write_once
from memory_butler.policy.admission import optional_label, parse_handle
from memory_butler.policy.lifecycle import may_follow
from memory_butler.store import episodes, events, facts, rules
from memory_butler.store.database import Session
from memory_butler.store.events import Change


async def forget(
    butler: Butler,
    memory_type: str,
    handle: str,
    caller: Caller | None = None,
    *,
    reason: str | None = None,
    idempotency_key: str | None = None,
) -> Stored:
    """Retract a memory: it is out of every read at once, and nothing of it is lost."""
    caller = caller or butler.local_caller()
    wanted = parse_handle(memory_type, handle)
    why = admit_reason(reason)

    async def work(session: Session, now: datetime) -> Stored:
        memory = await require_changeable(session, caller, wanted)
        if memory.validity is Validity.RETRACTED:
            return said(memory, "already_retracted")
        if not may_follow(memory.type, "validity", memory.validity, Validity.RETRACTED):
            raise Conflict(f"{wanted} is {memory.validity}, which is out of use already.")
        noun = facts if isinstance(memory, Fact) else episodes if isinstance(memory, Episode) else rules
        await noun.set_validity(session, memory.id, Validity.RETRACTED)
        extra = await events.reason_of(session, memory.id, why)
        await events.record(session, trail(butler, caller, now), [Change(memory.type, memory.id, "retracted", extra)])
        return said(memory, "retracted")

    digest = fingerprint("forget", {"type": wanted.type, "id": str(wanted), "reason": why})
    return await write_once(butler, caller, optional_label(idempotency_key, "idempotency_key"), digest, work)
