"""The actions a user can take on a memory, and their undo: the same on every page that offers them."""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from uuid import UUID

from memory_butler import models
from memory_butler.adapters.dashboard.server.page_context import PageContext, new_request_id
from memory_butler.adapters.dashboard.view_models import editable_fields
from memory_butler.adapters.dashboard.view_models.phrases import count_text, truncate
from memory_butler.adapters.mcp.tool_base import CallContext
from memory_butler.errors import InvalidInput, MemoryButlerError
from memory_butler.operations.history import undo
from memory_butler.operations.retrieval import get
from memory_butler.operations.trust import quarantine
from memory_butler.operations.writing import correct, feedback, forget, pin, restore, update
from memory_butler.policy.lifecycle.confidence import DecayRules
from memory_butler.policy.memories.sentence import fact_sentence
from memory_butler.resources import Resources

log = logging.getLogger(__name__)
QUOTE_CHARACTERS = 80


@dataclass(frozen=True, slots=True)
class ActionInput:
    """The user's input in an action's dialog."""

    text: str = ""
    reason: str | None = None
    supersede: bool = False
    derived: bool = False
    changes: models.MemoryChanges | None = None


# Arguments: the call, the type and the handle of the memory, and the user's input.
Operation = Callable[[CallContext, str, str, ActionInput], Awaitable[models.Stored]]


@dataclass(frozen=True, slots=True)
class Action:
    """`operation` is its name in the table of roles; `needs` names the input that a dialog asks for first."""

    name: str
    label: str
    icon: str
    operation: str
    done_label: str
    run: Operation
    needs: str = ""


@dataclass(frozen=True, slots=True)
class ActionResult:
    """A message for the user, and the id that undoes the action (None if nothing was changed)."""

    message: str
    stored: models.Stored | None
    undo_id: UUID | None
    action: str = ""


async def _correct(call: CallContext, kind: str, handle: str, input: ActionInput) -> models.Stored:
    return await correct.correct(
        call.resources, handle, input.text, call.caller, reason=input.reason, source=models.Origin.USER
    )


async def _update(call: CallContext, kind: str, handle: str, input: ActionInput) -> models.Stored:
    return await update.update(call.resources, kind, handle, input.changes or models.MemoryChanges(), call.caller)


async def _forget(call: CallContext, kind: str, handle: str, input: ActionInput) -> models.Stored:
    return await forget.forget(call.resources, kind, handle, call.caller, derived=input.derived, reason=input.reason)


async def _restore(call: CallContext, kind: str, handle: str, input: ActionInput) -> models.Stored:
    return await restore.restore(
        call.resources, kind, handle, call.caller, supersede=input.supersede, reason=input.reason
    )


async def _approve(call: CallContext, kind: str, handle: str, input: ActionInput) -> models.Stored:
    return await quarantine.approve(call.resources, kind, handle, call.caller, reason=input.reason)


async def _reject(call: CallContext, kind: str, handle: str, input: ActionInput) -> models.Stored:
    return await quarantine.reject(call.resources, kind, handle, call.caller, reason=input.reason)


def _mark(outcome: models.Outcome) -> Operation:
    return lambda call, _, rule, input: feedback.mark(call.resources, rule, outcome, call.caller, reason=input.reason)


_HARMFUL = _mark(models.Outcome.HARMFUL)


def _on_memory(operation: Callable[[Resources, str, str, models.Caller], Awaitable[models.Stored]]) -> Operation:
    return lambda call, kind, handle, _: operation(call.resources, kind, handle, call.caller)


ACTIONS = {
    action.name: action
    for action in (
        Action("confirm", "Confirm", "check", "memory_confirm", "Confirmed", _on_memory(feedback.confirm)),
        Action(
            "helpful", "Helpful", "thumb_up", "memory_mark_helpful", "Marked as helpful", _mark(models.Outcome.HELPFUL)
        ),
        Action("harmful", "Harmful", "thumb_down", "memory_mark_harmful", "Marked as harmful", _HARMFUL, "reason"),
        Action("correct", "Correct", "edit", "memory_correct", "Corrected", _correct, "text"),
        Action("pin", "Pin", "push_pin", "memory_pin", "Pinned", _on_memory(pin.pin)),
        Action("unpin", "Unpin", "push_pin", "memory_unpin", "Unpinned", _on_memory(pin.unpin)),
        Action("forget", "Forget", "delete", "memory_forget", "Forgotten", _forget, "reason"),
        Action("approve", "Approve", "verified_user", "quarantine", "Approved", _approve),
        Action("reject", "Reject", "block", "quarantine", "Rejected", _reject, "reason"),
        Action("update", "Edit", "edit", "memory_update", "Updated", _update),
        Action("restore", "Restore", "restore_from_trash", "memory_restore", "Restored", _restore),
    )
}


def available_actions(context: PageContext, memory: models.Memory) -> list[Action]:
    """The actions that apply to the memory's current state and that the user's role allows."""
    names: list[str] = []
    if memory.quarantine_reason:
        names += ["approve", "reject"]
    elif memory.validity not in (models.Validity.ACTIVE, models.Validity.FADING):
        names.append("restore")
    else:
        if memory.type is models.MemoryType.FACT:
            names += ["confirm", "correct"]
        if memory.type is models.MemoryType.RULE:
            names += ["helpful", "harmful", "confirm"]
        names.append("unpin" if memory.pinned else "pin")
        names.append("forget")
    return [ACTIONS[name] for name in names if context.may(ACTIONS[name].operation)]


async def run_action(
    context: PageContext,
    name: str,
    kind: str,
    handle: str,
    input: ActionInput | None = None,
    *,
    request_id: str | None = None,
) -> ActionResult:
    """Run an action for the user and find the id that undoes it. Every event it writes carries the request id.

    An admin acts for the memory's own butler, so that the result belongs to the same butler as the memory.
    """
    action = ACTIONS.get(name)
    if action is None:
        raise InvalidInput(f"There is no action {name[:40]!r}.")
    request_id = request_id or new_request_id()
    memory = (await _load(context, kind, handle)).memory
    stored = await write(context, name, memory, input or ActionInput(), request_id=request_id)
    undo_id = await find_undo_id(context, stored.type, str(stored.id), request_id)
    label = "Nothing was changed" if stored.outcome == "unchanged" else action.done_label
    more = f" with {count_text(stored.withdrawn, 'more memory', 'more memories')}" if stored.withdrawn else ""
    return ActionResult(f"{label}{more}: {_said(memory, input or ActionInput())}", stored, undo_id, name)


def _said(memory: models.Memory, input: ActionInput) -> str:
    """The memory in a sentence, as it is after the action: users do not know memories by their reference."""
    changes = input.changes or models.MemoryChanges()
    said = input.text or changes.content or memory.content
    if isinstance(memory, models.Fact):
        subject, predicate = changes.subject or memory.subject_label, changes.predicate or memory.predicate_label
        said = fact_sentence(subject, predicate, said)
    return truncate(said, QUOTE_CHARACTERS)


async def change_field(
    context: PageContext, memory: models.Memory, name: str, value: str, *, request_id: str
) -> ActionResult:
    """Change one field of a memory: another value of a fact is a correction, all else an update."""
    is_correction = name == editable_fields.VALUE and memory.type is models.MemoryType.FACT
    action = "correct" if is_correction else "update"
    input = ActionInput(text=value) if is_correction else ActionInput(changes=editable_fields.changes_from(name, value))
    return await run_action(context, action, memory.type, str(memory.id), input, request_id=request_id)


async def write(
    context: PageContext,
    name: str,
    memory: models.Memory,
    input: ActionInput,
    *,
    request_id: str,
    group_id: UUID | None = None,
) -> models.Stored:
    """Run an action, in a group of events if it is one of several. An admin acts for the memory's own butler."""
    action = ACTIONS[name]
    return await context.call(
        action.operation,
        lambda call: action.run(call, memory.type, str(memory.id), input),
        request_id=request_id,
        group_id=group_id,
        butler=_butler_of(memory) if context.principal.role.governs else None,
    )


async def find_conflict(context: PageContext, memory: models.Memory) -> models.Fact | models.Rule | None:
    """The memory in use that blocks restoring this one, if there is one."""
    return await context.run("memory_restore", restore.find_conflict, memory.type, str(memory.id))


async def find_derived(context: PageContext, memory: models.Memory) -> tuple[models.DerivedMemory, ...]:
    """The facts and rules in use that came from this memory alone."""
    return await context.run("memory_forget", forget.find_derived, memory.type, str(memory.id))


async def undo_change(context: PageContext, undo_id: UUID, *, request_id: str | None = None) -> models.UndoReport:
    """Undo an event or a group of events. The report holds the id that undoes the undo."""
    return await context.run("memory_undo", undo.undo, undo_id, request_id=request_id or new_request_id())


async def find_undo_id(context: PageContext, kind: str, handle: str, request_id: str) -> UUID | None:
    """The id that undoes a request: the group of its events, or its only event, found in the memory's history.

    The request itself has succeeded by now. If its events cannot be read, the page offers no undo; reporting an error
    would make the user repeat the action.
    """
    if not context.may("memory_undo"):
        return None
    try:
        portrait = await _load(context, kind, handle)
    except MemoryButlerError as problem:
        log.info("the id that undoes a click could not be found: %s", problem.message)
        return None
    own = [event for event in portrait.events if event.request_id == request_id]
    return (own[-1].group_id or own[-1].id) if own else None


def decay_rules(context: PageContext, memory: models.Memory) -> DecayRules:
    """The decay rules of the butler that owns a memory."""
    return context.dashboard.settings.lifecycle_of(_butler_of(memory)).decay


async def _load(context: PageContext, kind: str, handle: str) -> models.MemoryDetails:
    return await context.run("memory_get", get.get, kind, handle, bump=False)


def _butler_of(memory: models.Memory) -> str:
    return memory.butler if isinstance(memory, models.Episode) else memory.source_butler
