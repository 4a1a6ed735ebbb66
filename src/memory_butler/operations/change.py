"""What changing one memory always takes: finding it, being allowed to, a reason, and the store of its type."""

from dataclasses import replace
from datetime import datetime, timedelta

from memory_butler.butler import Butler
from memory_butler.errors import InvalidInput, NotFound
from memory_butler.models import Caller, Episode, Fact, Memory, MemoryType, Stored
from memory_butler.operations.look import require
from memory_butler.policy import reach
from memory_butler.policy.admission import REASON_CHARACTERS, Handle, clean_text
from memory_butler.store import episodes, facts, rules
from memory_butler.store.database import Session


async def require_changeable(session: Session, caller: Caller, handle: Handle) -> Memory:
    """The memory a handle names, if the caller may see and write it. One of another type is said to be of that type."""
    try:
        memory = await require(session, caller, handle)
    except NotFound:
        await _refuse_other_type(session, caller, handle)
        raise
    if isinstance(memory, Episode):
        reach.acting_butler(caller.principal, memory.butler)
    else:
        reach.check_writable(caller.principal, memory.scope)
    return memory


async def _refuse_other_type(session: Session, caller: Caller, handle: Handle) -> None:
    for kind in MemoryType:
        other = replace(handle, type=kind)
        try:
            found = other != handle and await require(session, caller, other)
        except NotFound:
            continue
        if found:
            raise InvalidInput(
                f"{other} is {_a(kind)}, not {_a(handle.type)}.",
                recovery=f"Pass the reference or id of {_a(handle.type)}, or use what there is for {kind}s.",
            )


def _a(kind: MemoryType) -> str:
    return f"an {kind}" if kind is MemoryType.EPISODE else f"a {kind}"


def admit_reason(reason: str | None) -> str | None:
    return None if reason is None else clean_text(reason, "reason", REASON_CHARACTERS)


def said(memory: Memory, outcome: str, *, superseded: Fact | None = None) -> Stored:
    """What was done to a memory, for the one who asked for it."""
    return Stored(
        type=memory.type,
        id=memory.id,
        ref=memory.ref,
        outcome=outcome,
        superseded_ref=superseded.ref if superseded else None,
    )


async def bring_back(butler: Butler, session: Session, memory: Memory, now: datetime) -> None:
    """Into use, with its time before it: decay starts again, and an episode has its days anew."""
    if isinstance(memory, Episode):
        days = butler.settings.lifecycle_of(memory.butler).eden.ttl_days
        await episodes.renew(session, memory.id, now + timedelta(days=days))
    else:
        await (facts if isinstance(memory, Fact) else rules).restore(session, memory.id, now)
