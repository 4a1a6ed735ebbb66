"""Actions on many memories at once. Their events are one group, so that one undo takes all of it back."""

import uuid
from collections.abc import Sequence

from memory_butler.adapters.dashboard.actions import memory_actions
from memory_butler.adapters.dashboard.actions.memory_actions import ActionInput, ActionResult
from memory_butler.adapters.dashboard.components.elements import visible_text
from memory_butler.adapters.dashboard.server.page_context import PageContext
from memory_butler.adapters.dashboard.view_models.phrases import count_text
from memory_butler.errors import InvalidInput, MemoryButlerError
from memory_butler.models import Memory, MemoryChanges, MemoryType

MAX_MEMORIES = 200
# The operation that each needs, by its name in the table of roles.
NAMES = {
    "confirm": "memory_confirm",
    "pin": "memory_pin",
    "unpin": "memory_unpin",
    "forget": "memory_forget",
    "tag": "memory_update",
    "scope": "memory_update",
    "subject": "memory_update",
}
_DONE = {"tag": "Tagged", "scope": "Moved to another scope", "subject": "Moved to another subject"}


def available(context: PageContext) -> list[str]:
    return [name for name, operation in NAMES.items() if context.may(operation)]


async def run(
    context: PageContext, name: str, memories: Sequence[Memory], value: str, *, request_id: str
) -> tuple[ActionResult, list[str]]:
    """Run an action on each memory that it applies to. Returns the result, and the problems of those that failed."""
    if name not in NAMES or len(memories) > MAX_MEMORIES:
        raise InvalidInput(f"There is no action {name[:40]!r} for {len(memories)} memories.")
    group = uuid.uuid4()
    problems: list[str] = []
    done = 0
    for memory in memories:
        action, input = _input(name, memory, value)
        is_fact = memory.type is MemoryType.FACT
        if (name == "subject" and not is_fact) or (name not in _DONE and action not in _offered(context, memory)):
            continue
        try:
            stored = await memory_actions.write(context, action, memory, input, request_id=request_id, group_id=group)
        except MemoryButlerError as problem:
            problems.append(problem.message)
            continue
        done += stored.outcome != "unchanged" and not stored.outcome.startswith("already_")
    label = _DONE.get(name) or memory_actions.ACTIONS[name].done_label
    message = f"{label}: {count_text(done, 'memory', 'memories')}" if done else "Nothing was changed"
    undo_id = group if done and context.may("memory_undo") else None
    return ActionResult(message, None, undo_id, name), problems


def problem_text(problems: Sequence[str]) -> str:
    """The first problem, and how many memories have one."""
    more = f" ({len(problems)} failed)" if len(problems) > 1 else ""
    return f"{visible_text(problems[0])}{more}"


def _offered(context: PageContext, memory: Memory) -> set[str]:
    return {action.name for action in memory_actions.available_actions(context, memory)}


def _input(name: str, memory: Memory, value: str) -> tuple[str, ActionInput]:
    if name == "tag":
        tags = tuple(dict.fromkeys([*memory.tags, value.lstrip("# ").strip()]))
        return "update", ActionInput(changes=MemoryChanges(tags=tags))
    if name == "scope":
        return "update", ActionInput(changes=MemoryChanges(scope=value))
    if name == "subject":
        return "update", ActionInput(changes=MemoryChanges(subject=value))
    return name, ActionInput()
