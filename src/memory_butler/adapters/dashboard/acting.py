"""What a person can do to a memory from a page, and taking it back: the same everywhere it is offered."""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from uuid import UUID

from memory_butler.adapters.answering import Visit
from memory_butler.adapters.dashboard.saying import short_of
from memory_butler.adapters.dashboard.visitor import Visitor, new_request_id
from memory_butler.errors import InvalidInput, MemoryButlerError
from memory_butler.models import (
    Episode,
    Fact,
    Memory,
    MemoryType,
    Outcome,
    Portrait,
    Rule,
    Stored,
    UndoReport,
    Validity,
)
from memory_butler.operations import correct, forget, judge, look, pin, restore, undo

log = logging.getLogger(__name__)
NAMED = 80


@dataclass(frozen=True, slots=True)
class Given:
    """What a person filled in."""

    words: str = ""
    reason: str | None = None
    supersede: bool = False


Work = Callable[[Visit, str, str, Given], Awaitable[Stored]]


@dataclass(frozen=True, slots=True)
class Action:
    """`operation` is its name in the table of roles; `asks` says what has to be filled in first."""

    name: str
    label: str
    icon: str
    operation: str
    done: str
    work: Work
    asks: str = ""


@dataclass(frozen=True, slots=True)
class Done:
    """What was done, in words, and the id that takes it back; none if nothing was changed."""

    words: str
    stored: Stored | None
    undo_id: UUID | None
    action: str = ""


async def _confirm(visit: Visit, kind: str, handle: str, given: Given) -> Stored:
    return await judge.confirm(visit.butler, kind, handle, visit.caller)


async def _correct(visit: Visit, kind: str, handle: str, given: Given) -> Stored:
    return await correct.correct(visit.butler, handle, given.words, visit.caller, reason=given.reason)


async def _forget(visit: Visit, kind: str, handle: str, given: Given) -> Stored:
    return await forget.forget(visit.butler, kind, handle, visit.caller, reason=given.reason)


async def _restore(visit: Visit, kind: str, handle: str, given: Given) -> Stored:
    return await restore.restore(
        visit.butler, kind, handle, visit.caller, supersede=given.supersede, reason=given.reason
    )


async def _pin(visit: Visit, kind: str, handle: str, given: Given) -> Stored:
    return await pin.pin(visit.butler, kind, handle, visit.caller)


async def _unpin(visit: Visit, kind: str, handle: str, given: Given) -> Stored:
    return await pin.unpin(visit.butler, kind, handle, visit.caller)


async def _helpful(visit: Visit, kind: str, handle: str, given: Given) -> Stored:
    return await judge.mark(visit.butler, handle, Outcome.HELPFUL, visit.caller)


async def _harmful(visit: Visit, kind: str, handle: str, given: Given) -> Stored:
    return await judge.mark(visit.butler, handle, Outcome.HARMFUL, visit.caller, reason=given.reason)


ACTIONS = {
    action.name: action
    for action in (
        Action("confirm", "Confirm", "check", "memory_confirm", "Confirmed", _confirm),
        Action("helpful", "It helped", "thumb_up", "memory_mark_helpful", "Marked as helpful", _helpful),
        Action("harmful", "It did harm", "thumb_down", "memory_mark_harmful", "Marked as harmful", _harmful, "reason"),
        Action("correct", "Correct", "edit", "memory_correct", "Corrected", _correct, "words"),
        Action("pin", "Pin", "push_pin", "memory_pin", "Pinned", _pin),
        Action("unpin", "Unpin", "push_pin", "memory_unpin", "Unpinned", _unpin),
        Action("forget", "Forget", "delete", "memory_forget", "Forgotten", _forget, "reason"),
        Action("restore", "Restore", "restore_from_trash", "memory_restore", "Restored", _restore),
    )
}


def offered(visitor: Visitor, memory: Memory) -> list[Action]:
    """What makes sense for a memory as it stands and is allowed to this person."""
    in_use = memory.validity in (Validity.ACTIVE, Validity.FADING)
    names: list[str] = []
    if not in_use:
        names.append("restore")
    else:
        if memory.type is MemoryType.FACT:
            names += ["confirm", "correct"]
        if memory.type is MemoryType.RULE:
            names += ["helpful", "harmful", "confirm"]
        names.append("unpin" if memory.pinned else "pin")
        names.append("forget")
    return [ACTIONS[name] for name in names if visitor.may(ACTIONS[name].operation)]


async def act(
    visitor: Visitor, name: str, kind: str, handle: str, given: Given | None = None, *, request_id: str | None = None
) -> Done:
    """Do it, in the person's name, and find what takes it back. The request's id is in everything that it writes.

    Whoever governs acts for the butler whose memory it is: what comes of it is that one's, as the memory was.
    """
    action = ACTIONS.get(name)
    if action is None:
        raise InvalidInput(f"There is no action {name[:40]!r}.")
    request_id = request_id or new_request_id()
    whose = _butler_of((await _seen(visitor, kind, handle)).memory) if visitor.principal.role.governs else None
    stored = await visitor.ask(
        action.operation,
        lambda visit: action.work(visit, kind, handle, given or Given()),
        request_id=request_id,
        butler=whose,
    )
    undo_id = await undo_id_of(visitor, stored.type, str(stored.id), request_id)
    words = "Nothing was changed" if stored.outcome == "unchanged" else action.done
    return Done(f"{words}: {stored.type}:{stored.ref}", stored, undo_id, name)


def with_words(done: Done, content: str) -> Done:
    """What was done, with the words of the memory: people do not know it by its reference."""
    return replace(done, words=f"{done.words} “{short_of(content, NAMED)}”")


async def in_its_place(visitor: Visitor, memory: Memory) -> Fact | Rule | None:
    """What stands where a memory would be restored to."""
    return await visitor.ask(
        "memory_restore",
        lambda visit: restore.in_its_place(visit.butler, memory.type, str(memory.id), visit.caller),
    )


async def take_back(visitor: Visitor, undo_id: UUID, *, request_id: str | None = None) -> UndoReport:
    """Undo what was done. The report has the id that undoes this, too."""
    return await visitor.ask(
        "memory_undo",
        lambda visit: undo.undo(visit.butler, undo_id, visit.caller),
        request_id=request_id or new_request_id(),
    )


async def undo_id_of(visitor: Visitor, kind: str, handle: str, request_id: str) -> UUID | None:
    """The group of the events that a click made, or its one event: what happened to a memory that it changed names it.

    What was asked for is done by now. If this cannot be found out there is no undo to offer, and no more: to say that
    the click failed would have the person do it again.
    """
    if not visitor.may("memory_undo"):
        return None
    try:
        found = await _seen(visitor, kind, handle)
    except MemoryButlerError as problem:
        log.info("what takes a click back could not be found: %s", problem.message)
        return None
    mine = [event for event in found.events if event.request_id == request_id]
    return (mine[-1].group_id or mine[-1].id) if mine else None


async def _seen(visitor: Visitor, kind: str, handle: str) -> Portrait:
    return await visitor.ask(
        "memory_get", lambda visit: look.look(visit.butler, kind, handle, visit.caller, bump=False)
    )


def _butler_of(memory: Memory) -> str:
    return memory.butler if isinstance(memory, Episode) else memory.source_butler
