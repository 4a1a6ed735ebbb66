"""Pin: keep a memory whatever time does. Unpin: let time have it again, from now on."""

from datetime import datetime

from memory_butler.butler import Butler
from memory_butler.errors import Conflict
from memory_butler.models import LIVE, Caller, Episode, Fact, Memory, Stored, Validity
from memory_butler.operations.change import bring_back, require_changeable, said
from memory_butler.operations.once import fingerprint, trail, write_once
from memory_butler.policy.admission import optional_label, parse_handle
from memory_butler.policy.confidence import FADING_BELOW
from memory_butler.store import episodes, events, facts, rules
from memory_butler.store.database import Session
from memory_butler.store.events import Change


async def pin(
    butler: Butler, memory_type: str, handle: str, caller: Caller | None = None, *, idempotency_key: str | None = None
) -> Stored:
    """Exempt a live memory from fading, from its end and from eviction."""
    return await _set(butler, memory_type, handle, caller, pinned=True, key=idempotency_key)


async def unpin(
    butler: Butler, memory_type: str, handle: str, caller: Caller | None = None, *, idempotency_key: str | None = None
) -> Stored:
    """Take the exemption back. Its time starts anew: what was pinned for long is not gone the next morning."""
    return await _set(butler, memory_type, handle, caller, pinned=False, key=idempotency_key)


async def _set(
    butler: Butler, memory_type: str, handle: str, caller: Caller | None, *, pinned: bool, key: str | None
) -> Stored:
    caller = caller or butler.local_caller()
    wanted = parse_handle(memory_type, handle)
    outcome = "pinned" if pinned else "unpinned"

    async def work(session: Session, now: datetime) -> Stored:
        memory = await require_changeable(session, caller, wanted)
        if memory.validity not in LIVE:
            raise Conflict(
                f"{wanted} is {memory.validity}; only what is in use can be {outcome}.",
                recovery="Restore it first if it is to be kept.",
            )
        if memory.pinned is pinned:
            return said(memory, f"already_{outcome}")
        await _apply(butler, session, memory, now, pinned=pinned)
        await events.record(session, trail(butler, caller, now), [Change(memory.type, memory.id, outcome)])
        return said(memory, outcome)

    digest = fingerprint(outcome, {"type": wanted.type, "id": str(wanted)})
    return await write_once(butler, caller, optional_label(key, "idempotency_key"), digest, work)


async def _apply(butler: Butler, session: Session, memory: Memory, now: datetime, *, pinned: bool) -> None:
    noun = facts if isinstance(memory, Fact) else episodes if isinstance(memory, Episode) else rules
    await noun.set_pinned(session, memory.id, pinned)
    if not pinned:
        await bring_back(butler, session, memory, now)
    elif not isinstance(memory, Episode) and memory.validity is Validity.FADING and memory.confidence >= FADING_BELOW:
        # What does not decay is worth what it was stored with, and that is not fading.
        await noun.set_validity(session, memory.id, Validity.ACTIVE)
