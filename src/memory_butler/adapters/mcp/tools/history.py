"""Tool that undoes changes."""

from typing import Annotated

from pydantic import Field

from memory_butler.adapters.mcp.arguments import Context, Key
from memory_butler.adapters.mcp.tool_base import DESTRUCTIVE, ToolGroup, tool
from memory_butler.adapters.wire import answers
from memory_butler.models.wire.memory_answers import UndoAnswer
from memory_butler.operations.history import undo
from memory_butler.policy.access.roles import ADMINS


class HistoryTools(ToolGroup):
    name = "history"

    @tool(ADMINS, DESTRUCTIVE)
    async def memory_undo(
        self,
        *,
        id: Annotated[str, Field(description="Id of an event or of a group of events, as memory_get shows them.")],
        skip_changed: Annotated[
            bool | None,
            Field(description="For a group: skip memories that changed since and undo the rest; default false."),
        ] = None,
        idempotency_key: Key = None,
        request_context: Context = None,
    ) -> UndoAnswer:
        """Undo one change to a memory or a whole group of changes. Administrators only.

        Use it when the user wants a previous state back. An event can be undone while its memory has not changed
        since; undo the later change first. Groups of many thousands exceed the deadline of a call: use `memory-butler
        undo` on the command line. Deleted episodes cannot be restored; the answer names them.
        Returns the number of undone changes, the state of each memory, skipped events with the reason, and `undo_id`,
        which undoes the undo.

        Example: memory_undo(id="0198f3c2-7a10-7c3e-8f4b-2d9f5a6b7c8d")
        """
        resources, caller = await self._open(request_context)
        report = await undo.undo(
            resources, id, caller, skip_changed=bool(skip_changed), idempotency_key=idempotency_key
        )
        return answers.undo_answer(report)
